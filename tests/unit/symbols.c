/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols.c - tests: names of addresses in this very program, and of files that are no such thing
 *
 * What compilers and linkers make of programs is compared with addr2line in flow 550.
 */
#include "merge/symbols/symbols.h"

#include <criterion/criterion.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/symbols/symbols_in.h"
#include "tests/unit/criterion_leak.h"

static char self_path[4096];
static uint8_t self_id[64];
static uint32_t self_id_bytes;
static uint64_t self_bias;

static int find_bias(struct dl_phdr_info *info, size_t size, void *ctx)
{
	self_bias = info->dlpi_addr;
	return 1; /* the program is the first */
}

static uint32_t id_of(const char *path, uint8_t id[64])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const void *bits;
	ssize_t n = 0;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf)
		n = dwelf_elf_gnu_build_id(elf, &bits);
	if (n > 0 && n <= 64)
		memcpy(id, bits, (size_t)n);
	elf_end(elf);
	close(fd);
	return n > 0 && n <= 64 ? (uint32_t)n : 0;
}

static struct tp_symbols_module self_module(void)
{
	if (!*self_path) {
		ssize_t n = readlink("/proc/self/exe", self_path, sizeof(self_path) - 1);

		cr_assert_gt(n, 0);
		self_path[n] = 0;
		self_id_bytes = id_of(self_path, self_id);
		dl_iterate_phdr(find_bias, NULL);
	}
	return (struct tp_symbols_module){self_path, self_id, self_id_bytes};
}

static uint64_t offset_of(uintptr_t code)
{
	self_module();
	return (uint64_t)code - self_bias;
}

static bool has_dwarf(void)
{
	struct tp_symbols_module module = self_module();
	struct tp_symbols_file file;
	char trouble[256];
	bool has;

	cr_assert(tp_symbols_file_open(&file, &module, "", trouble, sizeof(trouble)), "%s", trouble);
	has = file.dwarf;
	tp_symbols_file_close(&file);
	return has;
}

static const struct tp_symbol *only(const struct tp_symbols *symbols, size_t at)
{
	uint32_t n;
	const struct tp_symbol *symbol = tp_symbols_at(symbols, at, &n);

	cr_expect_eq(n, 1);
	return symbol;
}

/* One module, exact addresses. */
static struct tp_symbols *resolved(const char *root, const struct tp_symbols_module *module,
				   struct tp_symbols_place *place, size_t n)
{
	struct tp_symbols *symbols = tp_symbols_new(root);

	cr_assert_not_null(symbols);
	cr_assert_eq(tp_symbols_resolve(symbols, module, 1, place, n), 0);
	return symbols;
}

/* ---- functions whose names are looked for ---- */

static __attribute__((noinline)) uintptr_t here(void)
{
	uintptr_t address = (uintptr_t)__builtin_return_address(0);

	__asm__ volatile("" : "+r"(address));
	return address;
}

static inline __attribute__((always_inline)) uintptr_t inner(void)
{
	return here();
}
enum { INNER_LINE = __LINE__ - 2 };

static __attribute__((noinline)) uintptr_t outer(void)
{
	uintptr_t address = inner();

	__asm__ volatile("" : "+r"(address));
	return address;
}
enum { OUTER_LINE = __LINE__ - 5 };

Test(symbols, names_functions_with_what_was_inlined_into_them)
{
	struct tp_symbols_module module = self_module();
	struct tp_symbols_place place = {.offset = offset_of(outer())};
	struct tp_symbols *symbols = resolved("", &module, &place, 1);
	const struct tp_symbol *symbol;
	uint32_t n;

	symbol = tp_symbols_at(symbols, 0, &n);
	cr_expect_null(tp_symbols_trouble(symbols, 0));
	if (has_dwarf()) {
		cr_assert_eq(n, 2);
		cr_expect_str_eq(symbol[0].function, "inner");
		cr_expect_eq(symbol[0].line, INNER_LINE);
		cr_expect(symbol[0].is_inlined);
		cr_expect_str_eq(symbol[0].file, symbol[1].file);
		cr_expect_eq(symbol[1].line, OUTER_LINE);
		cr_expect_eq(symbol[1].file[0], '/');
		cr_expect_str_eq(strrchr(symbol[1].file, '/'), "/symbols.c");
	} else {
		cr_assert_eq(n, 1);
	}
	cr_expect_str_eq(symbol[n - 1].function, "outer");
	cr_expect_not(symbol[n - 1].is_inlined);
	tp_symbols_free(symbols);
}

Test(symbols, looks_for_the_call_before_a_return_address)
{
	struct tp_symbols_module module = self_module();
	uint64_t begin = offset_of((uintptr_t)outer);
	struct tp_symbols_place place[] = {
		{.offset = begin, .is_exact = true},
		{.offset = begin},
		{.offset = begin + 1},
		{.offset = 0},
	};
	struct tp_symbols *symbols = resolved("", &module, place, 4);
	uint32_t n;

	cr_expect_str_eq(tp_symbols_at(symbols, 0, &n)[n - 1].function, "outer");
	cr_expect_str_neq(tp_symbols_at(symbols, 1, &n)[n - 1].function, "outer");
	cr_expect_str_eq(tp_symbols_at(symbols, 2, &n)[n - 1].function, "outer");
	cr_expect_str_eq(only(symbols, 3)->function, "");
	tp_symbols_free(symbols);
}

Test(symbols, answers_in_the_order_of_the_questions)
{
	const uintptr_t code[] = {(uintptr_t)outer, (uintptr_t)here, (uintptr_t)tp_symbols_new};
	const char *const name[] = {"outer", "here", "tp_symbols_new"};
	struct tp_symbols_module module[3] = {self_module(), {"/nowhere", NULL, 0}, self_module()};
	struct tp_symbols_place place[3000];
	struct tp_symbols *symbols = tp_symbols_new("");
	uint32_t n;

	for (uint32_t i = 0; i < 3000; i++)
		place[i] = (struct tp_symbols_place){.module = i % 4, /* 3: there is none */
						     .offset = offset_of(code[i % 3]),
						     .is_exact = true};
	/* Twice: what was found before is forgotten. */
	cr_assert_eq(tp_symbols_resolve(symbols, module, 3, place, 10), 0);
	cr_assert_eq(tp_symbols_resolve(symbols, module, 3, place, 3000), 0);
	for (uint32_t i = 0; i < 3000; i++) {
		const struct tp_symbol *found = tp_symbols_at(symbols, i, &n);

		cr_expect_str_eq(found[n - 1].function, i % 2 ? "" : name[i % 3], "place %u", i);
	}
	cr_expect_str_eq(tp_symbols_at(symbols, 3000, &n)->function, "");
	cr_expect_str_eq(tp_symbols_trouble(symbols, 1), "it is not there any more");
	cr_expect_null(tp_symbols_trouble(symbols, 0));
	cr_expect_null(tp_symbols_trouble(symbols, 3));
	cr_assert_eq(tp_symbols_resolve(symbols, module, 3, NULL, 0), 0);
	cr_expect_str_eq(tp_symbols_at(symbols, 0, &n)->function, "");
	cr_expect_eq(n, 1);
	tp_symbols_free(symbols);
}

Test(symbols, believes_only_the_build_id_that_was_recorded)
{
	static const uint8_t other[20] = {1, 2, 3};
	struct tp_symbols_module module = self_module();
	struct tp_symbols_module cases[] = {
		{module.path, other, sizeof(other)},
		{module.path, module.build_id, module.build_id_bytes - 1},
		{module.path, NULL, 0},
	};
	struct tp_symbols_place place = {.offset = offset_of((uintptr_t)outer), .is_exact = true};

	if (!module.build_id_bytes)
		cr_skip("this linker writes no build id");
	for (size_t i = 0; i < 3; i++) {
		struct tp_symbols *symbols = resolved("", &cases[i], &place, 1);

		cr_expect_str_eq(only(symbols, 0)->function, "");
		cr_expect_str_eq(tp_symbols_trouble(symbols, 0),
				 "changed since the run: its build id is another");
		tp_symbols_free(symbols);
	}
}

Test(symbols, says_why_there_are_no_names)
{
	static const struct {
		const char *path, *trouble;
	} cases[] = {
		{"[vdso]", "it is the kernel's own code, in no file"},
		{"linux-vdso.so.1", "it is the kernel's own code, in no file"},
		{"[anon]", "it is in no file: code that was made while the program ran"},
		{"", "it is in no file: code that was made while the program ran"},
		{"/nowhere/at/all", "it is not there any more"},
		{"/dev/null/x", "it is not there any more"},
		{"/dev/null", "what is there now is no file of code"},
		{"/", "what is there now is no file of code"},
		{"/etc/passwd", "what is there now is no file of code"},
	};
	struct tp_symbols_place place = {.offset = 0x1000};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tp_symbols_module module = {.path = cases[i].path};
		struct tp_symbols *symbols = resolved("", &module, &place, 1);

		cr_expect_str_eq(only(symbols, 0)->function, "");
		cr_expect_str_eq(tp_symbols_trouble(symbols, 0), cases[i].trouble, "'%s': '%s'",
				 cases[i].path, tp_symbols_trouble(symbols, 0));
		tp_symbols_free(symbols);
	}
}

/* A pipe has no end to wait for; a device may do something when it is opened. */
Test(symbols, opens_files_only, .timeout = 60)
{
	int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char event[4096];
	char path[] = "/tmp/trainprof-symbols.XXXXXX", pipe[64];
	struct tp_symbols_module module = {.path = pipe};
	struct tp_symbols_place place = {.offset = 0x1000};
	struct tp_symbols *symbols;

	cr_assert_not_null(mkdtemp(path));
	snprintf(pipe, sizeof(pipe), "%s/pipe", path);
	cr_assert_eq(mkfifo(pipe, 0600), 0);
	cr_assert_geq(inotify_add_watch(watch, pipe, IN_OPEN), 0);
	symbols = resolved("", &module, &place, 1);
	cr_expect_lt(read(watch, event, sizeof(event)), 0, "it was opened");
	close(watch);
	cr_expect_str_eq(tp_symbols_trouble(symbols, 0), "what is there now is no file of code");
	tp_symbols_free(symbols);
	unlink(pipe);
	rmdir(path);
}

Test(symbols, puts_the_root_before_every_path)
{
	struct tp_symbols_module module = self_module();
	struct tp_symbols_place place = {.offset = offset_of((uintptr_t)outer), .is_exact = true};
	char root[4096];
	struct tp_symbols *symbols;
	char *slash;
	uint32_t n;

	symbols = resolved("/nowhere", &module, &place, 1);
	cr_expect_str_eq(tp_symbols_trouble(symbols, 0), "it is not there any more");
	tp_symbols_free(symbols);

	snprintf(root, sizeof(root), "%s", module.path);
	slash = strrchr(root, '/');
	module.path += slash - root;
	*slash = 0;
	symbols = resolved(root, &module, &place, 1);
	cr_expect_str_eq(tp_symbols_at(symbols, 0, &n)[n - 1].function, "outer");
	tp_symbols_free(symbols);
}

/* ---- what a symbol table says ---- */

void tp_test_plain(void);
__attribute__((noinline)) void __tp_test_hidden(void);
void __tp_test_hidden(void)
{
	__asm__ volatile("");
}
void tp_test_plain(void) __attribute__((alias("__tp_test_hidden")));

/* As people write it by hand: how long it is stands nowhere. */
__asm__(".pushsection .text.tp_test\n"
	".type tp_test_sizeless, @function\n"
	"tp_test_sizeless:\n"
	"nop\nnop\nnop\nnop\n"
	".type tp_test_sized, @function\n"
	"tp_test_sized:\n"
	"nop\nnop\nnop\nnop\n"
	".size tp_test_sized, . - tp_test_sized\n"
	".p2align 6\n"
	"tp_test_end:\n"
	".type tp_test_last, @function\n"
	"tp_test_last:\n"
	"nop\n"
	".size tp_test_last, . - tp_test_last\n"
	".type tp_test_around, @function\n"
	"tp_test_around:\n"
	"nop\n"
	".type tp_test_within, @function\n"
	"tp_test_within:\n"
	"nop\n"
	".size tp_test_within, . - tp_test_within\n"
	".type tp_test_behind, @object\n"
	"tp_test_behind:\n"
	"nop\n"
	".size tp_test_around, . - tp_test_around\n"
	".popsection\n");
extern const char tp_test_sizeless[], tp_test_sized[], tp_test_last[];
extern const char tp_test_around[], tp_test_within[], tp_test_behind[];

Test(symbols, takes_a_symbol_only_for_what_it_covers)
{
	struct tp_symbols_module module = self_module();
	uint64_t sizeless = offset_of((uintptr_t)tp_test_sizeless);
	uint64_t sized = offset_of((uintptr_t)tp_test_sized);
	uint64_t last = offset_of((uintptr_t)tp_test_last);
	const struct {
		uint64_t offset;
		const char *name;
	} cases[] = {
		{sizeless, "tp_test_sizeless"}, {sized - 1, "tp_test_sizeless"},
		{sized, "tp_test_sized"}, {last - 1, ""}, {last, "tp_test_last"},
		{offset_of((uintptr_t)tp_test_plain), "tp_test_plain"},
		{offset_of((uintptr_t)tp_test_around), "tp_test_around"},
		{offset_of((uintptr_t)tp_test_within), "tp_test_within"},
		{offset_of((uintptr_t)tp_test_behind), "tp_test_around"},
	};
	enum { N = sizeof(cases) / sizeof(cases[0]) };
	struct tp_symbols_file file;
	struct tp_symbols_table *table;
	char trouble[256];

	cr_assert(tp_symbols_file_open(&file, &module, "", trouble, sizeof(trouble)));
	table = tp_symbols_table_new(&file);
	cr_assert_not_null(table);
	for (size_t i = 0; i < N; i++) {
		const char *name = tp_symbols_table_find(table, cases[i].offset);

		cr_expect_str_eq(name ? name : "", cases[i].name, "case %zu: '%s'", i,
				 name ? name : "");
	}
	/* What is no code belongs to nobody, however near. */
	cr_expect_null(tp_symbols_table_find(table, offset_of((uintptr_t)self_path)));
	cr_expect_null(tp_symbols_table_find(table, 0));
	cr_expect_null(tp_symbols_table_find(table, UINT64_MAX));
	tp_symbols_table_free(table);
	tp_symbols_file_close(&file);
}

Test(symbols, opens_a_file_anew_when_it_has_read_much_of_it)
{
	static const uintptr_t code[] = {
		(uintptr_t)outer, (uintptr_t)tp_symbols_new, (uintptr_t)tp_symbols_text,
		(uintptr_t)tp_symbols_file_open, (uintptr_t)tp_symbols_table_new,
	};
	static const char *const name[] = {
		"outer", "tp_symbols_new", "tp_symbols_text", "tp_symbols_file_open",
		"tp_symbols_table_new",
	};
	enum { N = sizeof(code) / sizeof(code[0]) };
	struct tp_symbols_module module = self_module();
	struct tp_symbols *symbols = tp_symbols_new("");
	struct tp_symbols_lookup lookup[N] = {{.pc = 0}};
	struct tp_symbols_job job = {.symbols = symbols, .module = &module, .lookup = lookup,
				     .n_lookups = N};
	struct tp_symbols_file file;
	char trouble[256];

	if (!has_dwarf())
		cr_skip("built without -g");
	for (size_t i = 0; i < N; i++)
		lookup[i].pc = offset_of(code[i]);
	cr_assert(tp_symbols_file_open(&file, &module, "", trouble, sizeof(trouble)));
	free(file.debug_path);
	file.debug_path = strdup("of the first time");
	tp_symbols_dwarf(&job, &file, "");
	for (size_t i = 0; i < N; i++) {
		cr_assert_geq(lookup[i].n, 1);
		cr_expect_str_eq(job.found[lookup[i].first + lookup[i].n - 1].function, name[i]);
	}
	cr_expect_str_eq(file.debug_path, "/usr/lib/debug");
	tp_symbols_file_close(&file);
	free(job.found);
	tp_symbols_free(symbols);
}

/* ---- files that are damaged ---- */

/* A copy of this program that can be changed. */
static uint8_t *copy_of_self(char path[64], size_t *bytes)
{
	struct stat status;
	int from, to;
	uint8_t *copy;

	self_module();
	from = open(self_path, O_RDONLY | O_CLOEXEC);
	strcpy(path, "/tmp/trainprof-symbols.XXXXXX");
	to = mkstemp(path);
	cr_assert(from >= 0 && to >= 0 && !fstat(from, &status));
	*bytes = (size_t)status.st_size;
	for (off_t at = 0; at < status.st_size;)
		cr_assert_gt(sendfile(to, from, &at, *bytes - (size_t)at), 0);
	copy = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, to, 0);
	cr_assert_neq(copy, MAP_FAILED);
	close(from);
	close(to);
	return copy;
}

static void ask_everywhere(const char *path)
{
	enum { N = 60 };
	uint64_t begin = offset_of((uintptr_t)tp_symbols_new);
	struct tp_symbols_place place[N];
	struct tp_symbols_module module = {.path = path};
	struct tp_symbols *symbols;
	uint8_t id[64];
	uint32_t n;

	module.build_id = id;
	module.build_id_bytes = id_of(path, id);
	for (uint32_t i = 0; i < N; i++)
		place[i] = (struct tp_symbols_place){.offset = begin + i * 997 - N / 2 * 997};
	symbols = resolved("", &module, place, N);
	for (uint32_t i = 0; i < N; i++) {
		const struct tp_symbol *found = tp_symbols_at(symbols, i, &n);

		cr_expect_geq(n, 1);
		cr_expect_not_null(found[n - 1].function);
		cr_expect_not_null(found[n - 1].file);
	}
	tp_symbols_free(symbols);
}

Test(symbols, bears_cut_files, .timeout = 300)
{
	char path[64];
	size_t bytes;
	uint8_t *copy = copy_of_self(path, &bytes);

	munmap(copy, bytes);
	for (uint32_t i = 0; i < 40; i++) {
		bytes -= bytes / 5 + 1;
		cr_assert_eq(truncate(path, (off_t)bytes), 0);
		ask_everywhere(path);
	}
	unlink(path);
}

/* Where the damage hurts: the file's head, its table of sections, and what they are of. */
static size_t anywhere_in(const uint8_t *file, size_t bytes, unsigned int *seed)
{
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)file;
	const Elf64_Shdr *section = (const Elf64_Shdr *)(file + head->e_shoff);
	uint32_t at = (uint32_t)rand_r(seed) % head->e_shnum;

	switch (rand_r(seed) % 4) {
	case 0:
		return (size_t)rand_r(seed) % 1024;
	case 1:
		return head->e_shoff + (size_t)rand_r(seed) % (head->e_shnum * sizeof(*section));
	default:
		if (section[at].sh_type == SHT_NOBITS || !section[at].sh_size)
			return (size_t)rand_r(seed) % bytes;
		return section[at].sh_offset + (size_t)rand_r(seed) % section[at].sh_size;
	}
}

Test(symbols, bears_damaged_files, .timeout = 600)
{
	enum { ROUNDS = 1500, MOST = 200 };
	char path[64];
	size_t bytes;
	uint8_t *copy = copy_of_self(path, &bytes);
	unsigned int seed = 5;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint32_t n = 1u << round % 8;
		size_t at[MOST];
		uint8_t was[MOST];

		for (uint32_t i = 0; i < n; i++) {
			at[i] = 0;
			was[i] = copy[0];
		}
		for (uint32_t i = 0; i < n; i++)
			at[i] = anywhere_in(copy, bytes, &seed);
		for (uint32_t i = 0; i < n; i++) {
			was[i] = copy[at[i]];
			copy[at[i]] = (uint8_t)rand_r(&seed);
		}
		ask_everywhere(path);
		while (n--)
			copy[at[n]] = was[n];
	}
	munmap(copy, bytes);
	unlink(path);
}

/* ---- texts ---- */

Test(symbols, keeps_each_text_once)
{
	struct tp_symbols_texts texts;
	const char *kept[5000];
	char text[32];

	cr_assert_eq(tp_symbols_texts_init(&texts), 0);
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 5000; i++) {
			const char *it;
			int n = snprintf(text, sizeof(text), "name %d", i);

			it = tp_symbols_text(&texts, text, (size_t)n);
			cr_expect_str_eq(it, text);
			if (round)
				cr_expect_eq(it, kept[i]);
			kept[i] = it;
		}
	cr_expect_str_eq(tp_symbols_text(&texts, "", 0), "");
	cr_expect_str_eq(tp_symbols_text(&texts, "name 12", 6), "name 1");
	cr_expect_str_eq(tp_symbols_function(&texts, NULL), "");
	cr_expect_str_eq(tp_symbols_function(&texts, "_Z3foov"), "foo()");
	cr_expect_str_eq(tp_symbols_function(&texts, "memcpy@@GLIBC_2.14"), "memcpy");
	cr_expect_str_eq(tp_symbols_function(&texts, "@"), "@");
	cr_expect_str_eq(tp_symbols_function(&texts, "take.part.0.cold"), "take");
	cr_expect_str_eq(tp_symbols_function(&texts, "_Z3foov.isra.0"), "foo()");
	cr_expect_str_eq(tp_symbols_function(&texts, "_RNvCs6GmmlP4bgsG_1r4main.llvm.123"), "r::main");
	cr_expect_str_eq(tp_symbols_function(&texts, "sum._omp_fn.0"), "sum._omp_fn.0");
	tp_symbols_texts_fini(&texts);
}
