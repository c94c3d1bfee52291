/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader.c - whether our thread may be inside of the loader
 */
#include "runtime/base/loader.h"

struct tp_spin tp_loader_lock = {.rank = TP_LOCK_LOADER};
__thread bool tp_loader_is_ours __attribute__((tls_model("initial-exec")));
