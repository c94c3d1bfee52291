/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.h - lists of numbers as people give them: "0,2,5-7"
 */
#ifndef TP_MERGE_LIST_H
#define TP_MERGE_LIST_H

#include <stdbool.h>
#include <stdint.h>

/* Is n in it? An empty or NULL list holds everything. */
bool tp_list_has(const char *list, uint64_t n);
/* Is it such a list at all? */
bool tp_list_is_valid(const char *list);

#endif
