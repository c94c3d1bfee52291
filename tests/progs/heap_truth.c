/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_truth.c - threads that use the whole malloc family at random and keep books of it
 *
 * usage: heap_truth LOG THREADS ROUNDS OPERATIONS
 *
 * ROUNDS times THREADS threads are started, each does OPERATIONS and ends. Blocks go from
 * thread to thread through a common shelf, are freed and allocated in signal handlers and in
 * destructors of threads. LOG gets a line for each call that had an effect, in the order of
 * each thread:
 *
 *	tid	A	address	bytes		a block was given out
 *	tid	F	address	0		it was taken back
 *	tid	M	address	bytes	old	realloc: the block that it was before
 *
 * The first and the last line of a thread are its marks: nothing before or after is compared.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { OWN = 64, SHELF = 32, MOST_THREADS = 16 };

struct line {
	char what;
	int tid;
	void *block, *old;
	size_t bytes;
};

/* Not of the malloc family: the books must not be in the books. */
static struct line *lines;	/* of all threads, each its part */
static size_t lines_each;

struct self {
	int tid;
	struct line *line;
	size_t n;
	uint64_t dice;
	void *own[OWN];
	void *volatile for_signal;
};
static __thread struct self self __attribute__((tls_model("initial-exec")));
static void *shelf[SHELF];	/* atomic */
static int n_wrong;		/* atomic */
static pthread_key_t at_end;
static volatile size_t huge = SIZE_MAX / 2;

static uint32_t roll(uint32_t n)
{
	self.dice = self.dice * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(self.dice >> 33) % n;
}

static void note(char what, void *block, size_t bytes, void *old)
{
	if (self.n == lines_each) {
		__atomic_fetch_add(&n_wrong, 1, __ATOMIC_RELAXED);
		return;
	}
	self.line[self.n++] = (struct line){ what, self.tid, block, old, bytes };
}

static size_t some_bytes(void)
{
	/* Few of them beyond what the C library maps by itself. */
	return roll(50) ? roll(16u << roll(9)) : 150000 + roll(200000);
}

static void *allocate(void)
{
	size_t bytes = some_bytes();
	void *block = NULL;

	switch (roll(9)) {
	case 0:
		block = calloc(bytes / 8 + 1, 8);
		bytes = (bytes / 8 + 1) * 8;
		break;
	case 1:
		if (posix_memalign(&block, (size_t)16 << roll(5), bytes))
			block = NULL;
		break;
	case 2:
		block = aligned_alloc(64, bytes);
		break;
	case 3:
		block = memalign((size_t)32 << roll(8), bytes);
		break;
	case 4:
		block = valloc(bytes);
		break;
	case 5:
		block = realloc(NULL, bytes);
		break;
	case 6:
		block = reallocarray(NULL, 3, bytes);
		bytes *= 3;
		break;
	default:
		block = malloc(bytes);
	}
	if (!block) {
		__atomic_fetch_add(&n_wrong, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	note('A', block, bytes, NULL);
	memset(block, 1, bytes);
	return block;
}

static void release(void *block)
{
	if (!block)
		return;
	note('F', block, 0, NULL);
	free(block);
}

static void handle_signal(int number)
{
	release(self.for_signal);
	self.for_signal = malloc(24);
	note('A', self.for_signal, 24, NULL);
}

/* What has no effect leaves no line. */
static void fail(void)
{
	void *block = (void *)1;

	free(NULL);
	if (malloc(huge + huge) || calloc(huge, 3) || reallocarray(NULL, huge, 3) ||
	    memalign(64, huge + huge) || !posix_memalign(&block, 3, 8) || block != (void *)1)
		__atomic_fetch_add(&n_wrong, 1, __ATOMIC_RELAXED);
	errno = 77;
	free(NULL);
	if (errno != 77)
		__atomic_fetch_add(&n_wrong, 1, __ATOMIC_RELAXED);
}

static void resize(void **place)
{
	size_t bytes = some_bytes() + 1;
	void *old = *place, *block;

	if (!old)
		return;
	/* Refused: the block is still there. */
	if (!roll(20) && realloc(old, huge + huge))
		__atomic_fetch_add(&n_wrong, 1, __ATOMIC_RELAXED);
	if (!roll(10)) {
		note('F', old, 0, NULL);
		if (realloc(old, 0))
			__atomic_fetch_add(&n_wrong, 1, __ATOMIC_RELAXED);
		*place = NULL;
		return;
	}
	block = realloc(old, bytes);
	*place = block;
	note('M', block, bytes, old);
}

static void operate(void)
{
	void **place = &self.own[roll(OWN)];

	switch (roll(16)) {
	case 0: case 1: case 2:
		resize(place);
		break;
	case 3: case 4:
		*place = __atomic_exchange_n(&shelf[roll(SHELF)], *place, __ATOMIC_ACQ_REL);
		break;
	case 5:
		if (!roll(8))
			pthread_kill(pthread_self(), SIGUSR1);
		break;
	case 6:
		if (!roll(16))
			fail();
		break;
	default:
		release(*place);
		*place = allocate();
	}
}

static void end_thread(void *unused)
{
	void *block;

	release(allocate());
	block = malloc(1);
	note('A', block, 1, NULL);
}

static int n_operations;
static void *run(void *part)
{
	self.tid = gettid();
	self.line = part;
	self.dice = (uint64_t)(self.line - lines) * 977 + 11;
	note('A', malloc(3), 3, NULL);
	pthread_setspecific(at_end, &self);
	for (int i = 0; i < n_operations; i++)
		operate();
	/* Half of what it has outlives the thread. */
	for (int i = 0; i < OWN; i += 2)
		release(self.own[i]);
	return NULL;
}

static void write_log(const char *path, size_t n)
{
	FILE *out = fopen(path, "w");

	for (size_t i = 0; out && i < n; i++)
		if (lines[i].what)
			fprintf(out, "%d\t%c\t%lx\t%zu\t%lx\n", lines[i].tid, lines[i].what,
				(unsigned long)lines[i].block, lines[i].bytes,
				(unsigned long)lines[i].old);
	if (!out || fclose(out))
		n_wrong++;
}

int main(int argc, char **argv)
{
	int n_threads = argc > 4 ? atoi(argv[2]) : 0, n_rounds = argc > 4 ? atoi(argv[3]) : 0;
	pthread_t thread[MOST_THREADS];
	size_t n_lines;

	if (n_threads < 1 || n_threads > MOST_THREADS || n_rounds < 1)
		return 2;
	n_operations = atoi(argv[4]);
	lines_each = (size_t)n_operations * 2 + 2 * OWN + 16;
	n_lines = lines_each * (size_t)(n_threads * n_rounds);
	lines = mmap(NULL, n_lines * sizeof(*lines), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (lines == MAP_FAILED || pthread_key_create(&at_end, end_thread))
		return 2;
	signal(SIGUSR1, handle_signal);
	for (int round = 0; round < n_rounds; round++) {
		for (int i = 0; i < n_threads; i++)
			if (pthread_create(&thread[i], NULL, run,
					   lines + lines_each * (size_t)(round * n_threads + i)))
				return 2;
		for (int i = 0; i < n_threads; i++)
			pthread_join(thread[i], NULL);
	}
	write_log(argv[1], n_lines);
	printf("%d wrong\n", n_wrong);
	return n_wrong != 0;
}
