/* SPDX-License-Identifier: Apache-2.0 */
/* Return addresses: what a call instruction is, and where a thread that waits stands. */
#include <criterion/criterion.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/probe/hang/hang_native.h"

#ifdef __x86_64__

Test(hang_native, call_instructions_end_where_they_return_to)
{
	/* As `as` assembles them, behind nops. */
	static const uint8_t calls[][7] = {
		{0x90, 0x90, 0xe8, 1, 2, 3, 4},		/* call rel32 */
		{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0},	/* call *%rax */
		{0x90, 0x90, 0x90, 0x90, 0x41, 0xff, 0xd4},	/* call *%r12 */
		{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x13},	/* call *(%rbx) */
		{0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 8},	/* call *8(%rax) */
		{0x90, 0x90, 0x90, 0xff, 0x54, 0x24, 8},	/* call *8(%rsp) */
		{0x90, 0x90, 0x90, 0x90, 0xff, 0x14, 0xc3},	/* call *(%rbx,%rax,8) */
		{0x90, 0xff, 0x15, 1, 2, 3, 4},		/* call *x(%rip) */
		{0x90, 0xff, 0x90, 0, 1, 0, 0},		/* call *256(%rax) */
		{0xff, 0x94, 0x24, 0, 1, 0, 0},		/* call *256(%rsp) */
	}, others[][7] = {
		{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90},
		{0x90, 0x90, 0xe9, 1, 2, 3, 4},		/* jmp rel32 */
		{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0},	/* jmp *%rax */
		{0x48, 0x89, 0xd8, 0x48, 0x83, 0xc4, 0x20},	/* mov, add $32, %rsp */
		{0x90, 0xff, 0x25, 1, 2, 3, 4},		/* jmp *x(%rip) */
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		cr_expect(tp_hang_native_is_call(calls[i], 7), "call %zu", i);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		cr_expect_not(tp_hang_native_is_call(others[i], 7), "other %zu", i);
	cr_expect_not(tp_hang_native_is_call(calls[0], 6), "too short to be told");
}

static int ends[2];
static uint32_t waiter;

static void *wait_in_read(void *unused)
{
	char byte;

	__atomic_store_n(&waiter, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	return (void *)read(ends[0], &byte, 1);
}

/* False: the kernel does not say. */
static bool look_at_waiter(struct tp_hang_call *call)
{
	char path[64], text[256];
	size_t n;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%u/syscall", waiter);
	file = fopen(path, "r");
	if (!file)
		return false;
	n = fread(text, 1, sizeof(text), file);
	fclose(file);
	tp_hang_call_parse(text, n, call);
	return n != 0;
}

Test(hang_native, a_thread_that_waits_stands_in_the_c_library_called_by_the_program)
{
	struct tp_hang_call call = {.number = -1};
	struct tp_text out;
	pthread_t thread;
	char text[2048];

	cr_assert_eq(pipe(ends), 0);
	cr_assert_eq(pthread_create(&thread, NULL, wait_in_read, NULL), 0);
	for (int i = 0; i < 5000 && call.number != SYS_read; i++) {
		usleep(1000);
		if (__atomic_load_n(&waiter, __ATOMIC_ACQUIRE) && !look_at_waiter(&call))
			cr_skip_test("the kernel does not say what threads wait for");
	}
	cr_assert_eq(call.number, SYS_read);
	tp_hang_native_look();
	tp_text_init(&out, text, sizeof(text));
	cr_expect(tp_hang_native_put(&call, &out));
	cr_expect_eq(strncmp(text, "libc", 4), 0, "%s", text);
	cr_expect_not_null(strstr(text, " < hang_native+0x"), "%s", text);
	cr_assert_eq(write(ends[1], "x", 1), 1);
	pthread_join(thread, NULL);
}

#endif

Test(hang_native, nothing_is_said_of_what_is_not_known)
{
	const struct tp_hang_call running = {.number = -1, .is_known = true, .is_running = true},
				  nowhere = {.number = 0, .is_known = true, .sp = 8, .pc = 8};
	struct tp_text out;
	char text[64];

	tp_hang_native_look();
	tp_text_init(&out, text, sizeof(text));
	cr_expect_not(tp_hang_native_put(&running, &out));
	cr_expect_not(tp_hang_native_put(&nowhere, &out));
	cr_expect_eq(out.len, 0);
}

Test(hang_native, words_of_the_kernel_are_taken_apart)
{
	static const char waits[] = "202 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffe10 0x7f0a\n", page[] = "-1 0x10 0x20\n",
			  cut[] = "202 0x1 0x2";
	struct tp_hang_call call;

	tp_hang_call_parse(waits, sizeof(waits) - 1, &call);
	cr_expect(call.number == 202 && call.argument[5] == 6 && call.sp == 0x7ffe10 && call.pc == 0x7f0a);
	tp_hang_call_parse(page, sizeof(page) - 1, &call);
	cr_expect(call.number == -1 && call.sp == 0x10 && call.pc == 0x20);
	tp_hang_call_parse(cut, sizeof(cut) - 1, &call);
	cr_expect(call.number == 202 && call.argument[1] == 2 && !call.sp && !call.pc);
	tp_hang_call_parse("running", 7, &call);
	cr_expect(call.is_running && !call.pc);
}
