/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.h - marks the names that the library defines for the program
 *
 * Everything is hidden unless marked, and a marked name must also stand in libtrainprof.map.
 */
#ifndef TP_PRELOAD_EXPORT_H
#define TP_PRELOAD_EXPORT_H

#define TP_EXPORT __attribute__((visibility("default")))

/* What runs before the address sanitizer has begun, in a build for it. */
#define TP_EARLY __attribute__((no_sanitize("address")))

#endif
