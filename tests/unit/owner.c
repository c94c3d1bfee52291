/* SPDX-License-Identifier: Apache-2.0 */
/* Who asked: calls read from their bytes, libraries by address, stacks that end early. */
#include <criterion/criterion.h>

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/probe/devmem/owner.h"
#include "runtime/probe/devmem/owner_call.h"
#include "runtime/probe/devmem/owner_objects.h"

#ifdef __x86_64__
/* `code` ends where the call returns to. */
static enum tp_call_form read_call(const uint8_t *code, size_t n, uintptr_t *to,
				   const uint8_t **back)
{
	static uint8_t text[64];

	memset(text, 0x90, sizeof(text));
	memcpy(text + 32 - n, code, n);
	*to = 0;
	*back = text + 32;
	return tp_call_before(text + 32, to);
}
#define READ(...)                                                                          \
	read_call((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }),\
		  &to, &back)

Test(owner, reads_the_forms_of_a_call)
{
	const uint8_t *back;
	uintptr_t to;

	cr_expect_eq(READ(0xe8, 0x10, 0, 0, 0), TP_CALL_DIRECT);
	cr_expect_eq(to, (uintptr_t)back + 0x10);
	cr_expect_eq(READ(0xe8, 0xf0, 0xff, 0xff, 0xff), TP_CALL_DIRECT);
	cr_expect_eq(to, (uintptr_t)back - 0x10);
	cr_expect_eq(READ(0xff, 0x15, 0x20, 0, 0, 0), TP_CALL_SLOT);
	cr_expect_eq(to, (uintptr_t)back + 0x20);
	cr_expect_eq(READ(0xff, 0xd0), TP_CALL_POINTER);		/* call *%rax */
	cr_expect_eq(READ(0x41, 0xff, 0xd4), TP_CALL_POINTER);		/* call *%r12 */
	cr_expect_eq(READ(0xff, 0x50, 0x18), TP_CALL_POINTER);		/* call *0x18(%rax) */
	cr_expect_eq(READ(0xff, 0x54, 0x24, 0x08), TP_CALL_POINTER);	/* call *8(%rsp) */
	cr_expect_eq(READ(0xff, 0x90, 0, 1, 0, 0), TP_CALL_POINTER);	/* call *0x100(%rax) */
	cr_expect_eq(READ(0xff, 0x14, 0xc5, 0, 0, 0, 0), TP_CALL_POINTER); /* call *t(,%rax,8) */
	cr_expect_eq(READ(0x48, 0x89, 0xc3), TP_CALL_NONE);		/* mov %rax,%rbx */
	cr_expect_eq(READ(0xff, 0xe0), TP_CALL_NONE);			/* jmp *%rax */
}

Test(owner, reads_the_slot_of_a_jump_stub)
{
	static const uint8_t plain[16] = { 0xff, 0x25, 0x30, 0, 0, 0 };
	static const uint8_t marked[16] = { 0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0x30, 0, 0, 0 };
	static const uint8_t bound[16] = { 0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0x30, 0, 0, 0 };
	static const uint8_t other[16] = { 0x55, 0x48, 0x89, 0xe5 };

	cr_expect_eq(tp_call_stub_slot(plain), (uintptr_t)plain + 6 + 0x30);
	cr_expect_eq(tp_call_stub_slot(marked), (uintptr_t)marked + 10 + 0x30);
	cr_expect_eq(tp_call_stub_slot(bound), (uintptr_t)bound + 11 + 0x30);
	cr_expect_eq(tp_call_stub_slot(other), 0);
}
#endif

Test(owner, knows_the_libraries_and_the_program)
{
	uint16_t libc, program;

	cr_expect_eq(tp_owner_of((void *)(uintptr_t)gnu_get_libc_version), 0, "nothing before the first look");
	tp_owner_refresh();
	libc = tp_owner_of((void *)(uintptr_t)gnu_get_libc_version);
	program = tp_owner_of((void *)(uintptr_t)tp_owner_refresh);
	cr_assert(libc && program && libc != program);
	cr_expect(strstr(tp_owner_path(libc), "libc.so"));
	cr_expect(strstr(tp_owner_path(program), "/owner"), "%s", tp_owner_path(program));
	cr_expect_str_eq(tp_owner_path(0), "");
	cr_expect_str_eq(tp_owner_path(60000), "");
	cr_expect_eq(tp_owner_of((void *)&libc), 0, "a stack is no library");
	tp_owner_refresh();
	cr_expect_eq(tp_owner_of((void *)(uintptr_t)gnu_get_libc_version), libc, "numbers stay");
}

Test(owner, a_stack_that_ends_is_not_read_beyond)
{
	long page = sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 3 * (size_t)page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(pages, MAP_FAILED);
	cr_assert_eq(mprotect(pages + page, (size_t)page, PROT_NONE), 0);
	tp_owner_refresh();
	cr_expect_null(tp_owner_caller_in(pages + page - 64, TP_OWNER_SCAN_BYTES));
	cr_assert_eq(munmap(pages + page, (size_t)page), 0);
	cr_expect_null(tp_owner_caller_in(pages + page - 64, TP_OWNER_SCAN_BYTES));
}

#ifdef __x86_64__
static volatile int n_called;

static void called(void)
{
	n_called++;
}

/* A call through a register in the program's own code. */
static __attribute__((noinline)) void call_through(void (*volatile *function)(void))
{
	void (*target)(void) = *function;

	__asm__ volatile("call *%0" : : "r"(target) : "memory", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9",
			 "r10", "r11", "cc");
}

static const uint8_t *find_pointer_call(const uint8_t *code)
{
	for (int i = 2; i < 4000; i++)
		if (code[i - 2] == 0xff && (code[i - 1] & 0xf8) == 0xd0)
			return code + i;
	return NULL;
}

/* Code that was unmapped, or never was code, behind an address on the stack. */
Test(owner, a_call_through_a_pointer_is_a_guess_and_other_words_are_none)
{
	uintptr_t words[64] = { 0 };
	void (*volatile function)(void) = called;
	const uint8_t *code = (const uint8_t *)(uintptr_t)call_through, *call;

	call_through(&function);
	tp_owner_refresh();
	call = find_pointer_call(code);
	cr_assert(call);
	words[3] = (uintptr_t)code;		/* a function's start: behind no call, mostly */
	words[10] = 0x1234;
	words[20] = (uintptr_t)words;
	words[40] = (uintptr_t)call;
	cr_expect_eq(tp_owner_caller_in(words, sizeof(words)), call);
	cr_expect_eq(tp_owner_caller_in(words, sizeof(words)), call, "the same when it is remembered");
	words[40] = 0;
	cr_expect_null(tp_owner_caller_in(words, sizeof(words)));
}

/* Old words of it stand on every stack. */
Test(owner, the_c_library_asks_for_no_memory_of_a_device)
{
	uintptr_t words[64] = { 0 };
	const uint8_t *call;

	tp_owner_refresh();
	/* It has calls through registers somewhere (qsort's comparison). */
	call = find_pointer_call((const uint8_t *)(uintptr_t)qsort_r);
	if (!call)
		cr_skip_test("no such call in this libc");
	words[40] = (uintptr_t)call;
	cr_assert(strstr(tp_owner_path(tp_owner_of(call)), "libc.so"));
	cr_expect_null(tp_owner_caller_in(words, sizeof(words)));
}

Test(owner, reads_jumps_out_of_a_function)
{
	static const uint8_t direct[8] = { 0xe9, 0x10, 0, 0, 0 };
	static const uint8_t slot[8] = { 0xff, 0x25, 0x20, 0, 0, 0 };
	static const uint8_t other[8] = { 0xff, 0xe0 };
	uintptr_t to = 0;

	cr_expect_eq(tp_call_jump(direct, &to), TP_CALL_DIRECT);
	cr_expect_eq(to, (uintptr_t)direct + 5 + 0x10);
	cr_expect_eq(tp_call_jump(slot, &to), TP_CALL_SLOT);
	cr_expect_eq(to, (uintptr_t)slot + 6 + 0x20);
	cr_expect_eq(tp_call_jump(other, &to), TP_CALL_NONE);
}
#endif

static int is_ending;

/* Libraries come and go, and the snapshot is taken anew. */
static void *change_libraries(void *ctx)
{
	while (!__atomic_load_n(&is_ending, __ATOMIC_RELAXED)) {
		void *library = dlopen("libanl.so.1", RTLD_NOW | RTLD_LOCAL);

		tp_owner_refresh();
		if (library)
			dlclose(library);
		tp_owner_refresh();
	}
	return NULL;
}

Test(owner, a_reader_that_a_newer_snapshot_overtakes_looks_again)
{
	const void *known = (const void *)(uintptr_t)gnu_get_libc_version;
	uint32_t n_lost = 0;
	pthread_t thread;
	uint16_t libc;

	tp_owner_refresh();
	libc = tp_owner_of(known);
	cr_assert(libc);
	cr_assert_eq(pthread_create(&thread, NULL, change_libraries, NULL), 0);
	for (int i = 0; i < 1000000; i++)
		n_lost += tp_owner_of(known) != libc;
	__atomic_store_n(&is_ending, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	cr_expect_eq(n_lost, 0, "%u of a million were not found", n_lost);
}

static void *refresh(void *ctx)
{
	while (!__atomic_load_n(&is_ending, __ATOMIC_RELAXED))
		tp_owner_refresh();
	return NULL;
}

/* A library that has just come is known at once, also while the snapshot that will have it is taken; and
 * one that went may have left its place in the loader's list to it. */
Test(owner, a_library_that_came_during_a_snapshot_is_found)
{
	static const char *const names[] = { "libthread_db.so.1", "libBrokenLocale.so.1" };
	static const char *const symbols[] = { "td_init", "__ctype_get_mb_cur_max" };
	uint32_t n_lost = 0, n_wrong = 0, n = 0;
	pthread_t thread;
	int minor = 0;

	if (sscanf(gnu_get_libc_version(), "2.%d", &minor) != 1 || minor < 35)
		cr_skip_test("what came after the snapshot is not known before glibc 2.35");
	tp_owner_refresh();
	is_ending = 0;
	cr_assert_eq(pthread_create(&thread, NULL, refresh, NULL), 0);
	for (int i = 0; i < 20000; i++) {
		void *library = dlopen(names[i % 2], RTLD_LAZY | RTLD_LOCAL);
		void *code = library ? dlsym(library, symbols[i % 2]) : NULL;

		if (code) {
			uint16_t owner = tp_owner_of(code);

			n++;
			n_lost += !owner;
			n_wrong += owner && !strstr(tp_owner_path(owner), names[i % 2]);
		}
		if (library)
			dlclose(library);
	}
	__atomic_store_n(&is_ending, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	cr_expect_eq(n_lost, 0, "%u of %u were not found", n_lost, n);
	cr_expect_eq(n_wrong, 0, "%u of %u were taken for another", n_wrong, n);
}

/* A copy of a small library, mapped: its code, which is at the same place for each copy that is alone. */
static void *map_copy(const char *path, void **code)
{
	void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);

	*code = library ? dlsym(library, "__ctype_get_mb_cur_max") : NULL;
	cr_assert(*code, "%s", dlerror());
	return library;
}

Test(owner, a_library_that_came_to_where_another_was_is_not_taken_for_it)
{
	char folder[] = "/tmp/owner-XXXXXX", command[4096];
	void *library = dlopen("libBrokenLocale.so.1", RTLD_LAZY), *code[3];
	struct link_map *map;

	if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map))
		cr_skip_test("this C library has no small library");
	cr_assert(mkdtemp(folder) && !chdir(folder));
	snprintf(command, sizeof(command), "for i in a b c; do cp '%s' owner-$i.so; done", map->l_name);
	cr_assert_eq(system(command), 0);
	dlclose(library);
	library = map_copy("./owner-a.so", &code[0]);
	tp_owner_refresh();
	cr_expect(strstr(tp_owner_path(tp_owner_of(code[0])), "owner-a.so"));
	dlclose(library);
	map_copy("./owner-b.so", &code[1]);
	map_copy("./owner-c.so", &code[2]);
	snprintf(command, sizeof(command), "rm -r '%s'", folder);
	cr_expect_eq(system(command), 0);
	if (code[1] != code[0])
		cr_skip_test("it came to another place");
	cr_expect(strstr(tp_owner_path(tp_owner_of(code[1])), "owner-b.so"), "%s",
		  tp_owner_path(tp_owner_of(code[1])));
}
