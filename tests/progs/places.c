/* SPDX-License-Identifier: Apache-2.0 */
/*
 * places.c - names of addresses as trainprof-merge finds them, printed as addr2line does
 *
 * usage: places [-r ROOT] [-b BUILD_ID] [-n] FILE <addresses     (hexadecimal, one a line)
 *
 * -b: the recorded build id, in hexadecimal, "none": none was; without it that of FILE as it is.
 * -n: print nothing but what it took. For each address: "0x..." and for each function, the
 * innermost first, a line with its name and one with file:line ("?" and "?:0" where unknown).
 * Then, if there is trouble, "trouble: ...". Addresses are taken as they are (exact).
 */
#include "merge/symbols/symbols.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>

#include "merge/kit/grow.h"
#include "runtime/base/clock.h"

static uint32_t from_hex(const char *hex, uint8_t id[64])
{
	uint32_t n = 0;
	unsigned int byte;

	for (; n < 64 && sscanf(hex, "%2x", &byte) == 1; hex += 2)
		id[n++] = (uint8_t)byte;
	return n;
}

static uint32_t read_build_id(const char *root, const char *path, uint8_t id[64])
{
	char whole[4096];
	const void *bits;
	ssize_t n = 0;
	Elf *elf;
	int fd;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	fd = open(whole, O_RDONLY | O_CLOEXEC);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf)
		n = dwelf_elf_gnu_build_id(elf, &bits);
	if (n > 0 && n <= 64)
		memcpy(id, bits, (size_t)n);
	elf_end(elf);
	if (fd >= 0)
		close(fd);
	return n > 0 && n <= 64 ? (uint32_t)n : 0;
}

int main(int n_args, char **arg)
{
	const char *root = "", *wanted_id = NULL;
	struct tp_symbols_place *place = NULL;
	struct tp_symbols_module module;
	struct tp_symbols *symbols;
	uint32_t n = 0, cap = 0, n_named = 0;
	struct rusage usage;
	uint64_t begin_ns;
	bool is_silent = false;
	uint8_t id[64];
	char line[64];
	int option;

	while ((option = getopt(n_args, arg, "r:b:n")) != -1) {
		if (option == 'r')
			root = optarg;
		else if (option == 'b')
			wanted_id = optarg;
		else if (option == 'n')
			is_silent = true;
		else
			return 2;
	}
	if (optind + 1 != n_args)
		return 2;
	module = (struct tp_symbols_module){.path = arg[optind], .build_id = id};
	module.build_id_bytes = !wanted_id ? read_build_id(root, module.path, id) :
				strcmp(wanted_id, "none") ? from_hex(wanted_id, id) : 0;
	while (fgets(line, sizeof(line), stdin)) {
		if (!tp_grow(&place, &cap, n + 1ull, sizeof(*place)))
			return 1;
		place[n++] = (struct tp_symbols_place){
			.is_exact = true, .offset = strtoull(line, NULL, 16)};
	}
	symbols = tp_symbols_new(root);
	begin_ns = tp_clock_mono_ns();
	if (!symbols || tp_symbols_resolve(symbols, &module, 1, place, n))
		return 1;
	begin_ns = tp_clock_mono_ns() - begin_ns;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t n_functions;
		const struct tp_symbol *at = tp_symbols_at(symbols, i, &n_functions);

		n_named += *at->function != 0;
		if (is_silent)
			continue;
		printf("0x%016llx\n", (unsigned long long)place[i].offset);
		for (uint32_t k = 0; k < n_functions; k++)
			printf("%s\n%s:%u\n", *at[k].function ? at[k].function : "?",
			       *at[k].file ? at[k].file : "?", at[k].line);
	}
	if (tp_symbols_trouble(symbols, 0))
		printf("trouble: %s\n", tp_symbols_trouble(symbols, 0));
	if (is_silent) {
		getrusage(RUSAGE_SELF, &usage);
		printf("%u of %u places named, %.2f s, %.0f places/s, peak %ld MiB\n", n_named, n,
		       (double)begin_ns / 1e9, n * 1e9 / (double)begin_ns, usage.ru_maxrss >> 10);
	}
	tp_symbols_free(symbols);
	free(place);
	return 0;
}
