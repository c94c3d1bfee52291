/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks.cc - a program that makes walking its stack hard, and allocates everywhere
 *
 * usage: stacks ROUNDS PLUGIN...
 *
 * At once: a thread that loads and unloads the plugins, whose code lies at the same addresses
 * with other frames; one that throws exceptions through many frames; one that is interrupted
 * by signals whose handler, on a stack of its own, allocates (it sends them to itself, never
 * inside the allocator); threads that come and go; and processes are forked.
 * Prints what it did, the same with and without a profiler.
 */
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int rounds;
static std::vector<std::string> plugins;

typedef void *(*then_fn)(size_t);
typedef void *(*plug_fn)(then_fn, size_t);

static __attribute__((noinline)) void *take(size_t bytes)
{
	void *block = malloc(bytes);

	asm volatile("" : : "r"(block) : "memory");
	return block;
}

/* ---- libraries ---- */

static void *load_and_unload(void *)
{
	uintptr_t first = 0;
	long n_same = 0;

	for (int i = 0; i < rounds; i++) {
		void *library = dlopen(plugins[i % plugins.size()].c_str(), RTLD_NOW | RTLD_LOCAL);
		plug_fn plug = library ? (plug_fn)dlsym(library, "plug") : nullptr;

		if (!plug) {
			fprintf(stderr, "stacks: %s\n", dlerror());
			exit(2);
		}
		n_same += first == (uintptr_t)plug;
		first = (uintptr_t)plug;
		for (int k = 0; k < 20; k++)
			free(plug(take, (size_t)k + 1));
		dlclose(library);
	}
	return (void *)n_same;
}

/* ---- exceptions ---- */

static __attribute__((noinline)) int deep(int depth)
{
	std::string local(100, 'x');	/* something to take apart on the way */
	void *block = take(24);
	int result;

	if (depth == 0) {
		free(block);
		throw std::runtime_error("from below");
	}
	free(block);
	result = deep(depth - 1);
	asm volatile("" : : : "memory");
	return result + (int)local.size();
}

static void *throw_and_catch(void *)
{
	long n = 0;

	for (int i = 0; i < 10 * rounds; i++) {
		try {
			deep(i % 40);
		} catch (const std::exception &) {
			n++;
		}
	}
	return (void *)n;
}

/* ---- signals ---- */

static volatile sig_atomic_t is_free_to_allocate;
static volatile long n_in_handler;

static void handle(int)
{
	if (!is_free_to_allocate)
		return;
	free(take(40));
	n_in_handler = n_in_handler + 1;
}

static void *be_interrupted(void *)
{
	struct sigaction action = {};
	stack_t stack = {};

	stack.ss_size = 256 << 10;
	stack.ss_sp = mmap(nullptr, stack.ss_size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaltstack(&stack, nullptr);
	action.sa_handler = handle;
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &action, nullptr);
	for (int i = 0; i < 20 * rounds; i++) {
		is_free_to_allocate = 1;
		pthread_kill(pthread_self(), SIGUSR1);
		is_free_to_allocate = 0;
		free(take(48));
	}
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, nullptr);
	munmap(stack.ss_sp, 256 << 10);
	return (void *)n_in_handler;
}

/* ---- threads, processes ---- */

static void *live_shortly(void *)
{
	std::vector<std::string> words;

	for (int i = 0; i < 20; i++)
		words.push_back(std::string((size_t)i * 7 + 20, 'y'));
	return (void *)words.size();
}

static void *start_threads(void *)
{
	long n = 0;

	for (int i = 0; i < 2 * rounds; i++) {
		pthread_t thread;
		void *result;

		if (pthread_create(&thread, nullptr, live_shortly, nullptr))
			continue;
		pthread_join(thread, &result);
		n += result == (void *)20;
	}
	return (void *)n;
}

static long fork_some()
{
	long n = 0;

	for (int i = 0; i < rounds / 4; i++) {
		int status = 1;
		pid_t pid = fork();

		if (!pid) {
			alarm(30);
			for (int k = 0; k < 50; k++)
				free(take(64));
			_exit(0);
		}
		waitpid(pid, &status, 0);
		n += status == 0;
	}
	return n;
}

int main(int argc, char **argv)
{
	void *(*const work[])(void *) = { load_and_unload, throw_and_catch, be_interrupted,
					  start_threads };
	pthread_t thread[4];
	void *result[4];
	long n_forked;

	if (argc < 3 || (rounds = atoi(argv[1])) < 1) {
		fprintf(stderr, "usage: stacks ROUNDS PLUGIN...\n");
		return 2;
	}
	for (int i = 2; i < argc; i++)
		plugins.push_back(argv[i]);
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], nullptr, work[i], nullptr);
	n_forked = fork_some();
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], &result[i]);
	/* Whether the same address came again is the loader's business. */
	fprintf(stderr, "same address: %ld\n", (long)result[0]);
	printf("thrown %ld, interrupted %ld, threads %ld, forked %ld\n", (long)result[1],
	       (long)result[2], (long)result[3], n_forked);
	return 0;
}
