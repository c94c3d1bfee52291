// SPDX-License-Identifier: Apache-2.0
//
// heap_throw.cc - exceptions thrown through frames that allocate, in several threads, also out of
// operator new
//
// usage: heap_throw TIMES

#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static long caught[2];

__attribute__((noinline)) static int throw_from(int depth, std::string text)
{
	std::vector<std::string> held(3, text + std::string(40, 'x'));

	if (depth == 0)
		throw std::runtime_error(held[0]);
	return throw_from(depth - 1, held[1]) + 1;
}

static void run(long *n_caught, int times)
{
	volatile std::size_t huge = static_cast<std::size_t>(-1) / 4;

	for (int i = 0; i < times; i++) {
		try {
			std::printf("%d", throw_from(i % 30, "text"));
		} catch (const std::runtime_error &error) {
			*n_caught += error.what()[0] == 't';
		}
		try {
			std::free(::operator new(huge));
		} catch (const std::bad_alloc &) {
			++*n_caught;
		}
	}
}

int main(int argc, char **argv)
{
	int times = argc > 1 ? std::atoi(argv[1]) : 1;
	std::thread other(run, &caught[1], times);

	run(&caught[0], times);
	other.join();
	std::printf("%ld of %d\n", caught[0] + caught[1], times * 4);
	return caught[0] + caught[1] != times * 4;
}
