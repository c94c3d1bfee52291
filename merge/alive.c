/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alive.c - is the process that wrote a ring still there?
 */
#include "merge/alive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/file.h"

static void read_boot_id(uint64_t id[2])
{
	char text[64] = "", digit[2] = "";
	ssize_t n = tp_file_read("/proc/sys/kernel/random/boot_id", text, sizeof(text) - 1);
	uint32_t n_digits = 0;

	id[0] = id[1] = 0;
	for (ssize_t i = 0; i < n && n_digits < 32; i++) {
		digit[0] = text[i];
		if (!strspn(digit, "0123456789abcdef"))
			continue;
		id[n_digits / 16] = id[n_digits / 16] << 4 | strtoul(digit, NULL, 16);
		n_digits++;
	}
}

/* 0: no such process, or one that is dead and not waited for. */
static uint64_t start_of(uint32_t pid)
{
	char path[32], text[1024];
	const char *at;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	n = tp_file_read(path, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = 0;
	/* The name in front may hold anything, blanks and brackets too. */
	at = strrchr(text, ')');
	if (!at || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X')
		return 0;
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

bool tp_alive(const uint64_t boot_id[2], uint32_t pid, uint64_t start)
{
	uint64_t here[2];

	read_boot_id(here);
	return here[0] == boot_id[0] && here[1] == boot_id[1] && start && start_of(pid) == start;
}
