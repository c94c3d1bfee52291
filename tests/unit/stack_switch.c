/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks that are not the thread's own: coroutines whose stacks come and go, handlers of
 * signals, with and without a stack of their own; threads, their ends, fork; code without
 * unwind information. Nothing may fault, hang or be made up.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "runtime/probe/stack/stack_memory.h"
#include "tests/unit/stack_rig.h"

static FRAME uint32_t leaf(void)
{
	uint32_t number = rig_take_both();

	STAY_ON_STACK();
	return number;
}

static FRAME uint32_t recurse(int depth, uint32_t (*then)(void))
{
	uint32_t number = depth ? recurse(depth - 1, then) : then();

	STAY_ON_STACK();
	return number;
}

/* ---- coroutines ---- */

static ucontext_t outside, inside;

static void coroutine(void)
{
	for (int i = 0;; i++) {
		rig_expect_truth(recurse(i % 7, leaf), "coroutine");
		swapcontext(&inside, &outside);
	}
}

static void start_coroutine(void *stack, size_t bytes)
{
	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = bytes;
	inside.uc_link = NULL;
	makecontext(&inside, coroutine, 0);
}

Test(stack_switch, coroutines, .init = rig_open, .fini = rig_close)
{
	const size_t bytes = 256 << 10;

	for (int i = 0; i < 4; i++) {
		char *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		start_coroutine(stack, bytes);
		for (int k = 0; k < 9; k++) {
			rig_expect_truth(recurse(k, leaf), "outside");
			swapcontext(&outside, &inside);
		}
		/* The next one's is smaller, and may lie where this one's was. */
		munmap(stack, bytes);
		stack = mmap(stack, bytes / 4, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		start_coroutine(stack, bytes / 4);
		swapcontext(&outside, &inside);
		rig_expect_truth(recurse(3, leaf), "outside");
		munmap(stack, bytes / 4);
	}
	cr_expect_eq(rig_total("mismatched"), 0);
	cr_expect_eq(rig_total("slow"), 0);
}

/* One whose first frame leads nowhere (without frame pointers): what lies above it is not read. */
static FRAME uint32_t call_with_no_end(char *top)
{
	uint32_t number;

#if defined(__x86_64__)
	__asm__ volatile("movq %%rsp, %%rbx\n\t"
			 "movq %1, %%rsp\n\t"
			 "call *%2\n\t"
			 "movq %%rbx, %%rsp"
			 : "=a"(number)
			 : "r"(top), "r"(rig_take)
			 : "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
#endif
	return number;
}

static void *walk_up_to_the_end(void *unused)
{
	char *memory = mmap(NULL, 64 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	char *top = memory + (32 << 10);

	mprotect(top, 32 << 10, PROT_NONE);
	for (int i = 0; i < 5; i++) {
		rig_read(call_with_no_end(top - 16), &rig_stack);
		cr_expect_geq(rig_stack.n, 1);
		rig_expect_truth(recurse(i, leaf), "own");
	}
	return NULL;
}

Test(stack_switch, nothing_above_a_stack_is_read, .init = rig_open, .fini = rig_close)
{
	pthread_t thread;

	walk_up_to_the_end(NULL);
	/* Such memory lies not far below a thread's stack. */
	pthread_create(&thread, NULL, walk_up_to_the_end, NULL);
	pthread_join(thread, NULL);
	cr_expect_eq(rig_total("mismatched"), 0);
}

/* Too little is left for a stack to be taken: none is, and it is counted. The page below is nobody's. */
Test(stack_switch, at_the_end_of_a_stack_none_is_taken, .init = rig_open, .fini = rig_close)
{
	char *memory = mmap(NULL, 64 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	mprotect(memory, 32 << 10, PROT_NONE);
	rig_take();	/* binds what a product is bound to from the start */
	cr_expect_eq(call_with_no_end(memory + (32 << 10) + TP_STACK_ROOM), 0);
	cr_expect_eq(rig_total("skipped"), 1);
	cr_expect(call_with_no_end(memory + (33 << 10) + TP_STACK_ROOM));
	rig_expect_truth(recurse(3, leaf), "own");
	cr_expect_eq(rig_total("skipped"), 1);
}

/* ---- signals ---- */

static uint32_t in_handler;
static struct tp_stack_frame handler_truth[RIG_DEEP];
static uint32_t n_handler_truth;

static void handle(int sig)
{
	in_handler = recurse(2, leaf);
	memcpy(handler_truth, rig_truth, sizeof(rig_truth));
	n_handler_truth = rig_n_truth;
}

static FRAME uint32_t raise_one(void)
{
	raise(SIGUSR1);
	return 1;
}

static void try_signals(int flags)
{
	struct sigaction action = { .sa_handler = handle, .sa_flags = flags };

	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 6; i++) {
		rig_expect_truth(recurse(i, leaf), "before");
		recurse(i, raise_one);
		memcpy(rig_truth, handler_truth, sizeof(rig_truth));
		rig_n_truth = n_handler_truth;
		rig_expect_truth(in_handler, "in the handler");
		rig_expect_truth(recurse(i, leaf), "after");
	}
	cr_expect_eq(rig_total("mismatched"), 0);
	cr_expect_eq(rig_total("cut"), 0);
	cr_expect_eq(rig_total("slow"), 0);
}

Test(stack_switch, a_handler_on_the_same_stack, .init = rig_open, .fini = rig_close)
{
	try_signals(0);
}

Test(stack_switch, a_handler_on_a_stack_of_its_own, .init = rig_open, .fini = rig_close)
{
	stack_t stack = { .ss_size = 256 << 10 };

	stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	sigaltstack(&stack, NULL);
	try_signals(SA_ONSTACK);
}

static uint32_t taken;
static size_t room_left;
static stack_t handler_stack;

/* What the kernel puts on the stack differs with what the processor has and the program uses. */
static void take_in_handler(int sig)
{
	size_t room = (size_t)((char *)__builtin_frame_address(0) - (char *)handler_stack.ss_sp);
	volatile char *used = __builtin_alloca(room > room_left ? room - room_left : 1);

	used[0] = 0;
	taken = rig_take();
}

/* Of a handler's stack the kernel tells the end: what lies below may well be somebody's. */
Test(stack_switch, a_handler_with_a_small_stack_takes_none, .init = rig_open, .fini = rig_close)
{
	struct sigaction action = { .sa_handler = take_in_handler, .sa_flags = SA_ONSTACK };
	char *memory = mmap(NULL, 256 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	handler_stack = (stack_t){ .ss_sp = memory + (64 << 10), .ss_size = 128 << 10 };
	cr_assert_eq(sigaltstack(&handler_stack, NULL), 0);
	sigaction(SIGUSR1, &action, NULL);
	rig_take();
	for (int i = 0; i < 2; i++) {
		room_left = i ? 3 * TP_STACK_ROOM : TP_STACK_ROOM / 2;
		raise(SIGUSR1);
		cr_expect_eq(!taken, i == 0, "%zu bytes", room_left);
		cr_expect_eq(rig_total("skipped"), 1);
	}
}

/* Where a signal came is the next instruction, not a return address: the first of a function is
 * still its own. */
Test(stack_switch, where_a_signal_came_is_exact, .init = rig_open, .fini = rig_close)
{
	uint32_t n_exact = 0;

	try_signals(0);
	rig_read(in_handler, &rig_stack);
	for (uint32_t i = 0; i < rig_stack.n; i++)
		n_exact += rig_stack.flags[i] == TP_FRAME_EXACT;
	cr_expect_eq(n_exact, 1);
}

/* ---- threads and processes ---- */

static uint32_t round_numbers[2];

static void *take_some(void *at)
{
	uint32_t number = 0;

	for (int i = 0; i < 200; i++)
		number = recurse(i % 20, rig_take);
	if (at)
		*(uint32_t *)at = number;
	return NULL;
}

static void count_thread(void *ctx, struct tp_stack_thread *thread)
{
	++*(uint32_t *)ctx;
}

Test(stack_switch, records_of_dead_threads_are_used_again, .init = rig_open, .fini = rig_close)
{
	uint32_t n = 0;

	for (int i = 0; i < 300; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, take_some, NULL);
		pthread_join(thread, NULL);
		rig_collect();
	}
	tp_stack_thread_each(count_thread, &n);
	cr_expect_leq(n, 4, "%u", n);
	/* And their memory can be had before. */
	tp_stack_tick();
	cr_expect_eq(rig_total("walks"), 300 * 200);
	cr_expect_eq(rig_total("mismatched"), 0);
	cr_expect_eq(rig_total("cut"), 0);
}

Test(stack_switch, threads_have_numbers_of_their_own, .init = rig_open, .fini = rig_close)
{
	pthread_t thread[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, take_some, &round_numbers[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	cr_expect(round_numbers[0] && round_numbers[1]);
	rig_read(round_numbers[0], &rig_stack);
	cr_expect_geq(rig_stack.n, 21);
	rig_read(round_numbers[1], &rig_stack);
	cr_expect_geq(rig_stack.n, 21);
}

static bool is_stopping;
static void *learn_always(void *unused)
{
	while (!__atomic_load_n(&is_stopping, __ATOMIC_RELAXED)) {
		tp_stack_rules_forget();
		recurse(5, rig_take);
	}
	return NULL;
}

static FRAME bool is_well_in_child(void)
{
	bool is;

	tp_ring_forked();
	tp_stack_forked();
	/* No ring, no number; but walking must not hang on a lock that was held by the others. */
	is = recurse(4, rig_take) == 0;
	for (int i = 0; i < 30; i++)
		is &= tp_stack_unwind_learn((uint64_t)is_well_in_child + 16, false) != 0;
	return is;
}

Test(stack_switch, fork_beside_threads_that_learn, .init = rig_open, .fini = rig_close)
{
	pthread_t thread[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, learn_always, NULL);
	for (int i = 0; i < 60; i++) {
		int status;
		pid_t pid = fork();

		if (!pid) {
			alarm(20);	/* a hang is a death */
			_exit(is_well_in_child() ? 0 : 1);
		}
		waitpid(pid, &status, 0);
		cr_assert_eq(status, 0, "child %d: status %x", i, status);
		rig_collect();
	}
	__atomic_store_n(&is_stopping, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
}

/* ---- code without unwind information ---- */

#if defined(__x86_64__)

/* push rbp; mov rbp, rsp; call rdi; pop rbp; ret */
static const uint8_t with_rbp[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
/* sub rsp, 24; call rdi; add rsp, 24; ret */
static const uint8_t without_rbp[] = {
	0x48, 0x83, 0xec, 0x18, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x18, 0xc3
};

typedef uint32_t (*made_fn)(uint32_t (*take)(void));

static made_fn make_code(const uint8_t *code, size_t n)
{
	uint8_t *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(memory, code, n);
	return (made_fn)memory;
}

static FRAME uint32_t call_made(made_fn made)
{
	uint32_t number = made(rig_take);

	STAY_ON_STACK();
	return number;
}

Test(stack_switch, made_code_with_frame_pointers_is_walked, .init = rig_open, .fini = rig_close)
{
	made_fn made = make_code(with_rbp, sizeof(with_rbp));

	for (int i = 0; i < 3; i++) {
		rig_read(call_made(made), &rig_stack);
		cr_assert_geq(rig_stack.n, 4, "%u", rig_stack.n);
		cr_expect_eq(rig_stack.pc[0], (uint64_t)made + 6);
		cr_expect_lt(rig_stack.pc[1] - (uint64_t)call_made, 100);
		cr_expect_not(rig_stack.flags[rig_stack.n - 1] & TP_FRAME_CUT);
	}
	cr_expect_geq(rig_total("unknown_code"), 1);
}

/* rbp is whoever's it was last, here 0: no guess is made. */
static FRAME uint32_t call_made_without(made_fn made)
{
	uint32_t number;

	__asm__ volatile("movq %%rsp, %%r12\n\t"
			 "movq %%rbp, %%r13\n\t"
			 "subq $128, %%rsp\n\t"
			 "andq $-16, %%rsp\n\t"
			 "xorl %%ebp, %%ebp\n\t"
			 "call *%1\n\t"
			 "movq %%r13, %%rbp\n\t"
			 "movq %%r12, %%rsp"
			 : "=a"(number)
			 : "b"(made), "D"(rig_take)
			 : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "r12", "r13", "memory", "cc");
	return number;
}

Test(stack_switch, other_made_code_cuts_the_stack, .init = rig_open, .fini = rig_close)
{
	made_fn made = make_code(without_rbp, sizeof(without_rbp));

	for (int i = 0; i < 3; i++) {
		rig_read(call_made_without(made), &rig_stack);
		cr_expect_eq(rig_stack.n, 1);
		cr_expect_eq(rig_stack.pc[0], (uint64_t)made + 6);
		cr_expect(rig_stack.flags[0] & TP_FRAME_CUT);
	}
	cr_expect_eq(rig_total("cut"), 3);
	rig_expect_truth(recurse(3, leaf), "after it");
}

#endif
