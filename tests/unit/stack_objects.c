/* SPDX-License-Identifier: Apache-2.0 */
/* Which library an address is in: by the C library's index, and by the list for older ones. */
#include <criterion/criterion.h>

#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/probe/stack/stack_objects.h"

static void expect_object(const char *what, void *pc)
{
	struct tp_stack_object object;
	bool has_code = false;
	Dl_info info;

	cr_assert(tp_stack_object_find((uint64_t)pc, &object), "%s", what);
	cr_assert(dladdr(pc, &info));
	cr_expect_eq(object.headers, (void *)((char *)info.dli_fbase + sizeof(ElfW(Ehdr))), "%s", what);
	for (int i = 0; i < object.n_headers; i++) {
		const ElfW(Phdr) *part = &object.headers[i];
		uint64_t at = object.base + part->p_vaddr;

		has_code |= part->p_type == PT_LOAD && (uint64_t)pc >= at &&
			    (uint64_t)pc < at + part->p_memsz;
	}
	cr_expect(has_code, "%s: no part of it has the address", what);
}

static void try_all(bool own_list)
{
	struct tp_stack_object object;

	tp_stack_objects_open(own_list);
	expect_object("the program", (void *)try_all);
	expect_object("the C library", dlsym(RTLD_NEXT, "qsort"));
	expect_object("another library", dlsym(RTLD_DEFAULT, "inflate"));
	cr_expect_not(tp_stack_object_find((uint64_t)&object, &object), "the stack");
	cr_expect_not(tp_stack_object_find(1, &object));
	cr_expect_not(tp_stack_object_find(~0ull, &object));
}

Test(stack_objects, by_the_c_library)
{
	try_all(false);
}

Test(stack_objects, by_the_list)
{
	try_all(true);
}

/* A library that comes is in the list when the drain thread has looked, one that goes is not. */
Test(stack_objects, the_list_follows)
{
	struct tp_stack_object object;
	void *library, *code;

	tp_stack_objects_open(true);
	cr_expect_not(tp_stack_objects_shrank());
	library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		cr_skip_test("no libunwind.so.8");
	code = dlsym(library, "unw_backtrace");
	cr_expect_not(tp_stack_object_find((uint64_t)code, &object));
	tp_stack_objects_look();
	expect_object("the new one", code);
	cr_expect_not(tp_stack_objects_shrank());
	dlclose(library);
	cr_expect(tp_stack_objects_shrank());
	cr_expect_not(tp_stack_objects_shrank(), "once");
	tp_stack_objects_look();
	cr_expect_not(tp_stack_object_find((uint64_t)code, &object));
}

static bool is_stopping;
static void *look_always(void *unused)
{
	while (!__atomic_load_n(&is_stopping, __ATOMIC_RELAXED)) {
		/* Something came or went each time, or nothing would be copied. */
		void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);

		tp_stack_objects_look();
		if (library)
			dlclose(library);
		tp_stack_objects_look();
	}
	return NULL;
}

Test(stack_objects, a_reader_never_sees_half_an_entry)
{
	struct tp_stack_object want, object;
	uint64_t code = (uint64_t)dlsym(RTLD_DEFAULT, "inflate");
	pthread_t thread;
	uint32_t n_found = 0;

	tp_stack_objects_open(true);
	cr_assert(tp_stack_object_find(code, &want));
	pthread_create(&thread, NULL, look_always, NULL);
	for (int i = 0; i < 1000000; i++) {
		if (!tp_stack_object_find(code, &object))
			continue;	/* while the list is written */
		n_found++;
		cr_assert(object.base == want.base && object.headers == want.headers &&
			  object.n_headers == want.n_headers);
	}
	__atomic_store_n(&is_stopping, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	cr_expect_gt(n_found, 0);
}
