/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show.h - numbers as people read them, and untrusted text made printable
 */
#ifndef TP_MERGE_SHOW_H
#define TP_MERGE_SHOW_H

#include <stdint.h>

/* Into `buf` (returned): "12.3 ms", "845 us"; "1.23 GiB"; "12,345". */
const char *tp_show_ns(char buf[32], int64_t ns);
const char *tp_show_bytes(char buf[32], int64_t bytes);
const char *tp_show_count(char buf[32], uint64_t n);
const char *tp_show_percent(char buf[32], double part, double whole);
/* The name in a path, without its folders. */
const char *tp_show_base(const char *path);
/* A source file where whole paths are too long: its name and the folder it lies in, "models/gpt.py"; the
 * name alone of one in the working directory. Points into `path`. Asks the kernel for that directory. */
const char *tp_show_file(const char *path);
/* In place: absolute paths in a text normalised, and those below the working directory or the folder
 * above it told from there: "train.py:42 step", "../data.py". Texts for people only. Returns it. */
char *tp_show_paths(char *text);
/* Untrusted text made printable; cut to at most cap - 1 bytes. */
const char *tp_show_text(char *buf, uint32_t cap, const char *bytes, uint32_t n);

#endif
