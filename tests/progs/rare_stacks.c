/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rare_stacks.c - stacks that few programs have, and memory that moves, while they allocate
 *
 * usage: rare_stacks HABIT
 *
 * contexts	swapcontext between stacks that are made, freed and made again at the same place.
 * wanderers	Contexts that begin on one thread and go on on another.
 * altstack	Handlers leave by siglongjmp; the alternate stack is another one each time, or shared
 *		by being put aside while in use (SS_AUTODISARM).
 * overflow	A recursion without end is caught by a handler, which jumps out of it.
 * small	Threads with the smallest stack that there is, and with stacks of the program's own.
 * last-words	Destructors of thread-specific data allocate, and set it again.
 * mappings	Memory is moved, grown, mapped over, shared by a memfd, and unmapped from the middle.
 * libraries PLUGIN	Threads load and unload it, call it, and take addresses there, at once.
 *
 * What it prints is the same wherever nothing was wrong.
 */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1 << 31)
#endif
#define FRAME __attribute__((noinline))
#define STAY_ON_STACK() __asm__ volatile("" : : : "memory")

enum { ROUNDS = 300, STACK = 64 << 10, THREADS = 4 };

static FRAME void use_heap(int depth)
{
	char *volatile block;

	if (depth > 0)
		use_heap(depth - 1);
	block = malloc((size_t)depth * 10 + 1);
	block[0] = 1;
	free(block);
	STAY_ON_STACK();
}

static int said(const char *what, int is_right)
{
	printf("%s: %s\n", what, is_right ? "right" : "wrong");
	return is_right ? 0 : 1;
}

static void *map(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? abort(), NULL : memory;
}

static int in_threads(void *(*run)(void *), void *arg, size_t bytes)
{
	pthread_t thread[THREADS];
	pthread_attr_t attr;
	long n_right = 0;

	pthread_attr_init(&attr);
	if (bytes)
		pthread_attr_setstacksize(&attr, bytes);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], &attr, run, arg))
			abort();
	for (int i = 0; i < THREADS; i++) {
		void *result;

		pthread_join(thread[i], &result);
		n_right += (long)result;
	}
	pthread_attr_destroy(&attr);
	return (int)n_right;
}

/* ---- contexts ---- */

struct pair {
	ucontext_t back, there;
	int n_turns;
};

static void take_turns(unsigned high, unsigned low)
{
	struct pair *pair = (struct pair *)((unsigned long)high << 32 | low);

	for (int i = 0; i < 5; i++) {
		use_heap(i % 4);
		pair->n_turns++;
		swapcontext(&pair->there, &pair->back);
	}
}

static void begin_pair(struct pair *pair, void *stack)
{
	unsigned long address = (unsigned long)pair;

	pair->n_turns = 0;
	getcontext(&pair->there);
	pair->there.uc_stack.ss_sp = stack;
	pair->there.uc_stack.ss_size = STACK;
	pair->there.uc_link = &pair->back;
	makecontext(&pair->there, (void (*)(void))take_turns, 2, (unsigned)(address >> 32),
		    (unsigned)address);
}

static void *switch_stacks(void *unused)
{
	struct pair pair;
	long n_right = 0;

	for (int i = 0; i < ROUNDS; i++) {
		void *stack = i % 2 ? map(STACK) : malloc(STACK);

		begin_pair(&pair, stack);
		while (pair.n_turns < 3 + i % 3) {
			use_heap(2);
			swapcontext(&pair.back, &pair.there);
		}
		/* In the middle of what it does, mostly. */
		if (i % 2)
			munmap(stack, STACK);
		else
			free(stack);
		use_heap(3);
		n_right += pair.n_turns == 3 + i % 3;
	}
	return (void *)n_right;
}

static struct {
	pthread_mutex_t lock;
	struct pair pair[8];
	bool is_taken[8];
	int n_left;
} wander = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void *carry_on(void *unused)
{
	long n_turns = 0;

	for (int i = 0;; i = (i + 3) % 8) {
		struct pair *pair = NULL;

		pthread_mutex_lock(&wander.lock);
		if (!wander.n_left)
			break;
		if (!wander.is_taken[i] && wander.pair[i].n_turns < 5) {
			wander.is_taken[i] = true;
			pair = &wander.pair[i];
		}
		pthread_mutex_unlock(&wander.lock);
		use_heap(1);
		if (!pair)
			continue;
		swapcontext(&pair->back, &pair->there);
		n_turns++;
		pthread_mutex_lock(&wander.lock);
		wander.n_left -= pair->n_turns == 5;
		wander.is_taken[i] = false;
		pthread_mutex_unlock(&wander.lock);
	}
	pthread_mutex_unlock(&wander.lock);
	return (void *)n_turns;
}

static int let_wander(void)
{
	int n_turns = 0;

	for (int round = 0; round < 50; round++) {
		char *stacks = map(8 * STACK);

		for (int i = 0; i < 8; i++)
			begin_pair(&wander.pair[i], stacks + i * STACK);
		wander.n_left = 8;
		n_turns += in_threads(carry_on, NULL, 0);
		munmap(stacks, 8 * STACK);
	}
	return said("contexts on several threads", n_turns == 50 * 8 * 5);
}

/* ---- handlers ---- */

static __thread sigjmp_buf out;
static __thread volatile int n_handled;

static void jump_out(int number)
{
	n_handled++;
	use_heap(2);
	siglongjmp(out, 1);
}

static void handle(int number)
{
	stack_t other = { .ss_flags = SS_DISABLE }, kept;

	n_handled++;
	use_heap(2);
	/* With SS_AUTODISARM none is set here, and one may be. */
	if (n_handled % 2 && !sigaltstack(&other, &kept))
		use_heap(3);
}

static void *handle_on_stacks(void *unused)
{
	char *stacks = map(4 * STACK);
	int n_jumps = 0;

	for (int i = 0; i < ROUNDS; i++) {
		stack_t stack = { .ss_sp = stacks + i % 4 * STACK, .ss_size = STACK };

		stack.ss_flags = i % 3 ? 0 : SS_AUTODISARM;
		if (sigaltstack(&stack, NULL))
			return NULL;
		if (sigsetjmp(out, 1))
			n_jumps++;
		else
			raise(SIGUSR1);
		use_heap(2);
		raise(SIGUSR2);
		if (i % 50 == 49) {
			stack.ss_flags = SS_DISABLE;
			sigaltstack(&stack, NULL);
			munmap(stacks, 4 * STACK);
			use_heap(1);
			stacks = map(4 * STACK);
		}
	}
	return (void *)(long)(n_handled == 2 * ROUNDS && n_jumps == ROUNDS);
}

static int handle_signals(void)
{
	struct sigaction action = { .sa_handler = jump_out, .sa_flags = SA_ONSTACK };

	sigaction(SIGUSR1, &action, NULL);
	action.sa_handler = handle;
	sigaction(SIGUSR2, &action, NULL);
	return said("handlers on stacks of their own", in_threads(handle_on_stacks, NULL, 0) == THREADS);
}

static FRAME int recurse(volatile int depth)
{
	volatile char room[500];

	room[0] = (char)depth;
	/* Not near the end: there the C library would be left half way, too. */
	if (depth % 64 == 0 && depth < 350)
		use_heap(1);
	return depth ? recurse(depth + 1) + room[0] : 0;
}

static void *overflow(void *unused)
{
	stack_t stack = { .ss_sp = map(STACK), .ss_size = STACK };

	sigaltstack(&stack, NULL);
	for (volatile int i = 0; i < 20; i++)
		if (!sigsetjmp(out, 1))
			recurse(1);
	return (void *)(long)(n_handled == 20);
}

static int catch_overflow(void)
{
	struct sigaction action = { .sa_handler = jump_out, .sa_flags = SA_ONSTACK };

	sigaction(SIGSEGV, &action, NULL);
	return said("recursions without end", in_threads(overflow, NULL, 256 << 10) == THREADS);
}

/* ---- threads ---- */

static void *allocate_a_bit(void *unused)
{
	for (int i = 0; i < 50; i++)
		use_heap(i % 3);
	return (void *)1;
}

static int have_small_stacks(void)
{
	int n_right = 0, n_own = 0;

	for (int i = 0; i < ROUNDS / 4; i++)
		n_right += in_threads(allocate_a_bit, NULL, (size_t)PTHREAD_STACK_MIN);
	for (int i = 0; i < ROUNDS / 4; i++) {
		void *stack = map(STACK), *result;
		pthread_attr_t attr;
		pthread_t thread;

		pthread_attr_init(&attr);
		pthread_attr_setstack(&attr, stack, STACK);
		pthread_create(&thread, &attr, allocate_a_bit, NULL);
		pthread_join(thread, &result);
		munmap(stack, STACK);
		n_own += result == (void *)1;
	}
	return said("small stacks", n_right == ROUNDS / 4 * THREADS) + said("own stacks", n_own == ROUNDS / 4);
}

static pthread_key_t key;
static atomic_int n_destroyed;

static void destroy(void *value)
{
	n_destroyed++;
	use_heap(5);
	if ((long)value > 1)
		pthread_setspecific(key, (void *)((long)value - 1));
}

static void *leave_words(void *unused)
{
	pthread_setspecific(key, (void *)4);
	use_heap(2);
	return (void *)1;
}

static int have_last_words(void)
{
	int n_right = 0;

	pthread_key_create(&key, destroy);
	for (int i = 0; i < ROUNDS; i++)
		n_right += in_threads(leave_words, NULL, 0);
	return said("last words", n_right == ROUNDS * THREADS && n_destroyed == 4 * n_right);
}

/* ---- memory ---- */

static void *move_memory(void *unused)
{
	const size_t page = (size_t)getpagesize();
	int file = memfd_create("shared", 0);
	long n_right = 0;

	if (file < 0 || ftruncate(file, (off_t)(16 * page)))
		return NULL;
	for (int i = 0; i < ROUNDS; i++) {
		char *memory = map(8 * page), *other, *shared;

		memory[page] = (char)i;
		use_heap(1);
		memory = mremap(memory, 8 * page, 64 * page, MREMAP_MAYMOVE);
		other = map(64 * page);
		other = mremap(memory, 64 * page, 64 * page, MREMAP_MAYMOVE | MREMAP_FIXED, other);
		munmap(other + 16 * page, 8 * page);	/* from here on anybody's */
		mmap(other + 4 * page, 2 * page, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		shared = mmap(other + 32 * page, 16 * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			      file, 0);
		shared[0] = (char)i;
		use_heap(2);
		n_right += other[page] == (char)i && other[4 * page] == 0 && other[32 * page] == (char)i;
		munmap(other, 16 * page);
		munmap(other + 24 * page, 40 * page);
	}
	close(file);
	return (void *)n_right;
}

static void *load_on(void *path)
{
	long n_right = 0;

	for (int i = 0; i < ROUNDS / 3; i++) {
		void *library = dlopen(path, i % 2 ? RTLD_NOW : RTLD_LAZY);

		if (!library) {
			fprintf(stderr, "%s\n", dlerror());
			return NULL;
		}
		use_heap(i % 6);
		n_right++;
		dlclose(library);
		use_heap(1);
	}
	return (void *)n_right;
}

int main(int argc, char **argv)
{
	const char *habit = argc > 1 ? argv[1] : "";

	if (!strcmp(habit, "contexts"))
		return said("contexts", in_threads(switch_stacks, NULL, 0) == THREADS * ROUNDS);
	if (!strcmp(habit, "wanderers"))
		return let_wander();
	if (!strcmp(habit, "altstack"))
		return handle_signals();
	if (!strcmp(habit, "overflow"))
		return catch_overflow();
	if (!strcmp(habit, "small"))
		return have_small_stacks();
	if (!strcmp(habit, "last-words"))
		return have_last_words();
	if (!strcmp(habit, "mappings"))
		return said("memory that moves", in_threads(move_memory, NULL, 0) == THREADS * ROUNDS);
	if (!strcmp(habit, "libraries") && argc > 2)
		return said("libraries", in_threads(load_on, argv[2], 0) == THREADS * (ROUNDS / 3));
	return 2;
}
