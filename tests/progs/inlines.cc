// SPDX-License-Identifier: Apache-2.0
/*
 * inlines.cc - a program whose functions are inlined into each other, for flow 550
 *
 * Templates, namespaces, functions of one file, C functions, a cold part.
 */
#include "inlines.h"

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

using outer::inner::Box;

namespace {

struct Shorter {
	bool operator()(const std::string &a, const std::string &b) const
	{
		return a.size() < b.size() || (a.size() == b.size() && a < b);
	}
};

inline int hidden(int x)
{
	return x * 3 + std::rand() % 7;
}

int twice_hidden(int x)
{
	return hidden(x) + hidden(x + 1);
}

} // namespace

extern "C" __attribute__((noinline)) int plain(int n)
{
	std::vector<std::string> words;
	int total = 0;

	for (int i = 0; i < n; i++)
		words.push_back(std::to_string(twice_hidden(i)));
	std::sort(words.begin(), words.end(), Shorter());
	for (const std::string &word : words)
		total += static_cast<int>(word.size());
	if (total == 12345)
		throw std::runtime_error("never");
	return total;
}

/* What is sorted by a lambda is a template of a type without a name outside of here. */
__attribute__((noinline)) int lambdas(int n)
{
	std::vector<int> numbers(static_cast<size_t>(n), n);

	std::sort(numbers.begin(), numbers.end(), [n](int a, int b) { return a % n < b % n; });
	return numbers[0];
}

int main(int argc, char **)
{
	Box<double, 4> box = {{1, 2, 3, static_cast<double>(argc)}};
	Box<int, 3> other = {{1, 2, argc}};

	try {
		std::printf("%f %d %d %d\n", box.twice(2.5), other.twice(3), plain(100), lambdas(9));
	} catch (const std::exception &error) {
		std::puts(error.what());
	}
	return 0;
}
