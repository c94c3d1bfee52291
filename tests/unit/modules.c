/* SPDX-License-Identifier: Apache-2.0 */
/* modules.c: what the loader says is loaded is in the trace; what came and went, too. */
#include <criterion/criterion.h>

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "runtime/engine/config/config.h"
#include "runtime/probe/python/modules.h"
#include "tests/unit/probe_rig.h"

static const struct tp_config config = {
	.record = TP_RECORD_HEAP, .stacks = TP_STACKS_HEAP | TP_STACKS_NATIVE,
};

static void set_up(void)
{
	rig_open_window("modules-test");
	cr_assert_eq(tp_modules_probe.open(&config), 0);
}

TestSuite(modules, .init = set_up, .fini = tear_down);

struct told {
	struct tp_module module;
	uint8_t build_id[64];
	char path[4096];
};

/* The n-th MODULE string. */
static bool get_told(uint32_t n, struct told *told)
{
	const uint32_t *id;
	const char *bytes;
	uint32_t kind, n_bytes;
	size_t n_path;

	if (n >= tp_intern_loose(&id))
		return false;
	cr_assert(tp_intern_get(NULL, id[n], &kind, &bytes, &n_bytes));
	cr_assert_eq(kind, TP_STRING_MODULE);
	memcpy(&told->module, bytes, sizeof(told->module));
	memcpy(told->build_id, bytes + sizeof(told->module), told->module.build_id_bytes);
	n_path = n_bytes - sizeof(told->module) - told->module.build_id_bytes;
	memcpy(told->path, bytes + n_bytes - n_path, n_path);
	told->path[n_path] = '\0';
	return true;
}

/* The newest string of code at `address`. */
static bool find_told(uintptr_t address, struct told *told)
{
	const uint32_t *id;

	for (uint32_t n = tp_intern_loose(&id); n--;)
		if (get_told(n, told) && address >= told->module.begin && address < told->module.end)
			return true;
	return false;
}

static const uint8_t *find_note(const struct dl_phdr_info *info, uint32_t *n_bytes)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		const uint8_t *at = (const uint8_t *)info->dlpi_addr + part->p_vaddr;
		const uint8_t *end = at + part->p_memsz;

		while (part->p_type == PT_NOTE && at + sizeof(ElfW(Nhdr)) <= end) {
			const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
			const uint8_t *name = at + sizeof(*note), *desc = name + ((note->n_namesz + 3) & ~3u);

			if (note->n_type == NT_GNU_BUILD_ID && !strcmp((const char *)name, "GNU")) {
				*n_bytes = note->n_descsz;
				return desc;
			}
			at = desc + ((note->n_descsz + 3) & ~3u);
		}
	}
	*n_bytes = 0;
	return NULL;
}

static int compare_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	uint32_t *n = ctx, n_id;
	const uint8_t *id = find_note(info, &n_id);
	char path[4096], *real;
	struct told told;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD)
			continue;
		cr_assert(find_told(begin, &told), "'%s' at %lx is not told", info->dlpi_name, begin);
		cr_expect_eq(told.module.bias, info->dlpi_addr, "'%s'", info->dlpi_name);
		cr_expect_geq(told.module.end, begin + part->p_memsz, "'%s'", info->dlpi_name);
	}
	cr_expect_eq(told.module.from, 0);
	cr_expect_eq(told.module.to, 0);
	cr_expect_eq(told.module.build_id_bytes, n_id, "'%s'", told.path);
	cr_expect(!n_id || !memcmp(told.build_id, id, n_id), "'%s'", told.path);
	if (!info->dlpi_name[0]) {
		ssize_t n_path = readlink("/proc/self/exe", path, sizeof(path) - 1);

		path[n_path] = '\0';
		cr_expect_str_eq(told.path, path);
	} else if (strchr(info->dlpi_name, '/')) {
		real = realpath(info->dlpi_name, NULL);
		cr_expect_str_eq(told.path, real);
		free(real);
	} else {
		cr_expect_str_eq(told.path, "[vdso]");
	}
	++*n;
	return 0;
}

Test(modules, are_those_that_the_loader_knows)
{
	uint32_t n = 0;
	const uint32_t *id;

	tp_modules_probe.tick(1000);
	dl_iterate_phdr(compare_object, &n);
	cr_assert_gt(n, 5);
	n = tp_intern_loose(&id);
	tp_modules_probe.tick(2000);
	cr_assert(tp_modules_probe.settle(0, false));
	cr_assert_eq(tp_intern_loose(&id), n, "nothing has changed");
}

/* A library of the system that this program does not use. */
static void *load(uintptr_t *address)
{
	void *library = dlopen("libBrokenLocale.so.1", RTLD_NOW | RTLD_LOCAL);
	struct link_map *map;

	if (!library)
		cr_skip_test("no libBrokenLocale.so.1");
	cr_assert_eq(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
	*address = (uintptr_t)map->l_ld;
	return library;
}

Test(modules, that_come_and_go_have_a_begin_and_an_end)
{
	uintptr_t address;
	struct told told;
	void *library;

	tp_modules_probe.tick(1000);
	library = load(&address);
	cr_assert(!find_told(address, &told));
	tp_modules_probe.tick(2000);
	cr_assert(find_told(address, &told));
	cr_expect_eq(told.module.from, 2000);
	cr_expect_eq(told.module.to, 0);
	tp_modules_probe.tick(3000);
	dlclose(library);
	tp_modules_probe.tick(4000);
	cr_assert(find_told(address, &told));
	cr_expect_eq(told.module.from, 2000);
	cr_expect_eq(told.module.to, 3000, "the last look that saw it");
	cr_expect(strstr(told.path, "libBrokenLocale"), "'%s'", told.path);
	/* The same again is another one. */
	library = load(&address);
	tp_modules_probe.tick(5000);
	cr_assert(find_told(address, &told));
	cr_expect_eq(told.module.from, 5000);
	dlclose(library);
}

/* A mapped file of code that is no library, twice, and one of data. */
Test(modules, that_the_loader_does_not_know_are_told_as_far_as_can_be_seen)
{
	char path[] = "/tmp/trainprof-modules.XXXXXX";
	int fd = mkstemp(path);
	struct told told;
	char *code, *data;

	cr_assert(fd >= 0 && !ftruncate(fd, 1 << 20));
	code = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0x3000);
	data = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0x10000);
	cr_assert(code != MAP_FAILED && data != MAP_FAILED);
	unlink(path);
	tp_modules_probe.tick(1000);
	cr_assert(find_told((uintptr_t)code, &told));
	cr_expect_str_eq(told.path, path, "of a removed file: '%s'", told.path);
	cr_expect_eq(told.module.build_id_bytes, 0);
	cr_expect_eq((uintptr_t)code - told.module.bias, 0x3000);
	munmap(data, 8192);
	munmap(code, 8192);
	close(fd);
}

/* Like a program that is not position-independent: addresses in the file are not offsets. */
static void write_elf(int fd)
{
	static const struct {
		ElfW(Ehdr) head;
		ElfW(Phdr) part[2];
		ElfW(Nhdr) note;
		char name[4];
		uint8_t id[8];
	} file = {
		.head = {.e_ident = ELFMAG, .e_phoff = sizeof(ElfW(Ehdr)),
			 .e_phentsize = sizeof(ElfW(Phdr)), .e_phnum = 2},
		.part = {{.p_type = PT_LOAD, .p_vaddr = 0x400000, .p_filesz = 8192, .p_memsz = 0x5000},
			 {.p_type = PT_NOTE, .p_filesz = 24,
			  .p_vaddr = 0x400000 + sizeof(ElfW(Ehdr)) + 2 * sizeof(ElfW(Phdr))}},
		.note = {4, 8, NT_GNU_BUILD_ID}, .name = "GNU", .id = {1, 2, 3, 4, 5, 6, 7, 8},
	};

	cr_assert_eq(write(fd, &file, sizeof(file)), (ssize_t)sizeof(file));
	cr_assert_eq(ftruncate(fd, 8192), 0);
}

/* Two copies of it, one right behind the other. */
Test(modules, headers_and_build_ids_are_read_from_memory)
{
	char path[] = "/tmp/trainprof-modules.XXXXXX";
	int fd = mkstemp(path);
	struct told told;
	char *room;

	cr_assert_geq(fd, 0);
	write_elf(fd);
	room = mmap(NULL, 16384, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 2; i++)
		cr_assert_neq(mmap(room + 8192 * i, 8192, PROT_READ | PROT_EXEC,
				   MAP_PRIVATE | MAP_FIXED, fd, 0), MAP_FAILED);
	unlink(path);
	tp_modules_probe.tick(1000);
	for (int i = 0; i < 2; i++) {
		uintptr_t begin = (uintptr_t)room + 8192 * (uintptr_t)i;

		cr_assert(find_told(begin, &told));
		cr_expect_eq(told.module.begin, begin, "copy %d", i);
		cr_expect_eq(told.module.bias, begin - 0x400000);
		cr_expect_eq(told.module.end, begin + 0x5000);
		cr_expect_eq(told.module.build_id_bytes, 8);
		cr_expect_eq(memcmp(told.build_id, "\1\2\3\4\5\6\7\10", 8), 0);
	}
	munmap(room, 16384);
	close(fd);
}

Test(modules, are_told_again_in_a_child)
{
	const uint32_t *id;
	int status;
	pid_t child;

	tp_modules_probe.tick(1000);
	child = fork();
	if (!child) {
		struct told told;
		void *library;
		uint32_t n;
		int is_wrong = 0;

		tp_ring_forked();
		tp_intern_reset();
		tp_modules_probe.forked();
		rig_open_window("modules-child");
		tp_modules_probe.tick(9000);
		if (tp_intern_loose(&id) < 5 || !find_told((uintptr_t)&config, &told) ||
		    told.module.from)
			is_wrong = 1;
		/* Its own: what it maps now is seen. */
		library = dlopen("libBrokenLocale.so.1", RTLD_NOW);
		n = tp_intern_loose(&id);
		tp_modules_probe.tick(9500);
		if (library && tp_intern_loose(&id) != n + 1)
			is_wrong = 2;
		tear_down();
		_exit(is_wrong);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status));
	cr_assert_eq(WEXITSTATUS(status), 0);
}

Test(modules, are_not_looked_for_without_stacks)
{
	static const struct tp_config none = {.record = TP_RECORD_HEAP, .stacks = 0};
	const uint32_t *id;

	cr_assert_eq(tp_modules_probe.open(&none), 0);
	cr_assert_eq(tp_modules_probe.period_ms(), 0);
	cr_assert(tp_modules_probe.settle(0, false));
	cr_assert_eq(tp_intern_loose(&id), 0);
}
