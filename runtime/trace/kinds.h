/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kinds.h - what records of a kind have in common; the names of kinds of memory
 */
#ifndef TP_KINDS_H
#define TP_KINDS_H

#include <stdbool.h>
#include <stdint.h>

/* By enum tp_rec_kind: its `len` is a duration; false, too, for kinds that are not known. */
extern const bool tp_kind_is_span[256];

/* Of enum tp_devmem_kind: "device", "pinned" ...; "unknown". */
const char *tp_devmem_kind_name(uint32_t kind);

#endif
