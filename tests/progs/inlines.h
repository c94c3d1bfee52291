/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inlines.h - the half of inlines.cc that stands in another file: templates that are inlined
 */
#include <cstdlib>

namespace outer {
namespace inner {

template <typename T, int N>
struct Box {
	T value[N];

	__attribute__((always_inline)) inline T sum(const T &scale) const
	{
		T total = T();

		for (int i = 0; i < N; i++)
			total += value[i] * scale + static_cast<T>(std::rand());
		return total;
	}
	T twice(T by) const;
};

template <typename T, int N>
T Box<T, N>::twice(T by) const
{
	return sum(by) + sum(by + by);
}

} // namespace inner
} // namespace outer
