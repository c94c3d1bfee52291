/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kinds.c - what records of a kind have in common, from their list
 */
#include "runtime/trace/kinds.h"

const bool tp_kind_is_span[256] = {
#define _(id, NAME, text, is_span, since) [id] = is_span,
#include "runtime/trace/records.def"
#undef _
};
