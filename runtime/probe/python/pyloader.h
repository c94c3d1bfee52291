/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pyloader.h - where the samples of a data loader come from: the class of its dataset
 *
 * A loader that is too slow is slow in code that no operator of torch runs in: the place to
 * look at is the dataset's own.
 */
#ifndef TP_PROBE_PYLOADER_H
#define TP_PROBE_PYLOADER_H

#include <stddef.h>

/*
 * "Photos /home/me/data.py:12": class, file and line of what gives the iterator's samples
 * (__getitem__, else __iter__); the class alone when that is no Python function. "" when nothing
 * is known. torch's own wrappers (Subset...) are looked through. The interpreter's lock is held.
 */
void tp_pyloader_describe(void *iterator, char *text, size_t cap);

#endif
