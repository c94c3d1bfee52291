/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols.c - threads read the symbols of all files of this program at once, again and again
 *
 * usage: symbols [ROUNDS]
 *
 * What is found must be the same each time, and in the order of the questions.
 * Exit status 0: all was right.
 */
#include "merge/symbols/symbols.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODULES_MOST = 64, COPIES = 4, PLACES = 2000 };

static char path_of[MODULES_MOST][512];
static uint8_t id_of[MODULES_MOST][64];
static struct tp_symbols_module module[MODULES_MOST * COPIES];
static uint64_t code_of[MODULES_MOST], code_bytes_of[MODULES_MOST];
static uint32_t n_modules;

static void take_build_id(const char *note, size_t bytes, struct tp_symbols_module *its,
			  uint8_t *id)
{
	while (bytes > sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *head = (const void *)note;
		size_t name_bytes = (head->n_namesz + 3u) & ~3u, id_bytes = (head->n_descsz + 3u) & ~3u;
		size_t all = sizeof(*head) + name_bytes + id_bytes;

		if (all > bytes)
			return;
		if (head->n_type == NT_GNU_BUILD_ID && head->n_descsz <= 64) {
			memcpy(id, note + sizeof(*head) + name_bytes, head->n_descsz);
			its->build_id = id;
			its->build_id_bytes = head->n_descsz;
		}
		note += all;
		bytes -= all;
	}
}

static int take_module(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct tp_symbols_module *its = &module[n_modules];

	if (n_modules == MODULES_MOST)
		return 1;
	if (!*info->dlpi_name && n_modules)
		return 0; /* the kernel's */
	snprintf(path_of[n_modules], sizeof(path_of[0]), "%s", info->dlpi_name);
	if (!n_modules && !realpath("/proc/self/exe", path_of[0]))
		return 1;
	its->path = path_of[n_modules];
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_NOTE)
			take_build_id((const char *)(info->dlpi_addr + segment->p_vaddr),
				      segment->p_memsz, its, id_of[n_modules]);
		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X) {
			code_of[n_modules] = segment->p_vaddr;
			code_bytes_of[n_modules] = segment->p_memsz;
		}
	}
	n_modules += code_bytes_of[n_modules] != 0;
	return 0;
}

static uint64_t sum_of(const struct tp_symbols *symbols, size_t at)
{
	uint32_t n;
	const struct tp_symbol *found = tp_symbols_at(symbols, at, &n);
	uint64_t sum = n;

	for (uint32_t i = 0; i < n; i++) {
		for (const char *c = found[i].function; *c; c++)
			sum = sum * 31 + (uint8_t)*c;
		sum = sum * 31 + found[i].line;
	}
	return sum;
}

int main(int n_args, char **arg)
{
	int n_rounds = n_args > 1 ? atoi(arg[1]) : 5, n_wrong = 0, n_named = 0;
	static struct tp_symbols_place place[PLACES];
	static uint64_t first[PLACES];
	uint32_t n_all;

	dl_iterate_phdr(take_module, NULL);
	/* Several of each, so that two threads read one file, each for itself. */
	n_all = n_modules * COPIES;
	for (uint32_t i = n_modules; i < n_all; i++)
		module[i] = module[i % n_modules];
	for (int round = 0; round < n_rounds; round++) {
		struct tp_symbols *symbols = tp_symbols_new("");

		for (uint32_t i = 0; i < PLACES; i++) {
			uint32_t of = i % n_modules;

			place[i] = (struct tp_symbols_place){
				.module = of + n_modules * ((i / n_modules + (uint32_t)round) % COPIES),
				.offset = code_of[of] + i * 7919ull % code_bytes_of[of],
			};
		}
		if (!symbols || tp_symbols_resolve(symbols, module, n_all, place, PLACES))
			return 1;
		for (uint32_t i = 0; i < PLACES; i++) {
			uint64_t sum = sum_of(symbols, i);
			uint32_t n;

			n_named += *tp_symbols_at(symbols, i, &n)->function != 0;
			n_wrong += round && sum != first[i];
			first[i] = sum;
		}
		tp_symbols_free(symbols);
	}
	printf("%u files, %d of %d named, %d wrong\n", n_modules, n_named, n_rounds * PLACES, n_wrong);
	return n_wrong || !n_named;
}
