/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shapes.c - tests of input shapes as text
 */
#include <criterion/criterion.h>
#include <string.h>

#include "merge/model/shapes.h"
#include "runtime/trace/trainprof_trace.h"

static const struct {
	const char *what;
	uint8_t n, bytes[24];
	const char *text;
} cases[] = {
	{"nothing", 0, {0}, ""},
	{"a tensor", 5, {TP_SHAPE_TENSOR, 6, 2, 64, 127}, "f32[64,127]"},
	{"no dimensions", 3, {TP_SHAPE_TENSOR, 4, 0}, "i64[]"},
	{"a size of two bytes", 5, {TP_SHAPE_TENSOR, 15, 1, 0x80, 0x02}, "bf16[256]"},
	{"all kinds",
	 14,
	 {TP_SHAPE_TENSOR, 11, 1, 3, TP_SHAPE_NONE, TP_SHAPE_SCALAR, TP_SHAPE_SCALAR_LIST,
	  TP_SHAPE_TENSOR_LIST, 1, TP_SHAPE_TENSOR, 5, 1, 2, TP_SHAPE_CUT},
	 "bool[3], -, scalar, list, (f16[2]), ..."},
	{"an undefined tensor in a list",
	 8,
	 {TP_SHAPE_TENSOR_LIST, 2, TP_SHAPE_NONE, TP_SHAPE_TENSOR, 6, 1, 9, TP_SHAPE_SCALAR},
	 "(-, f32[9]), scalar"},
	{"a type that was not told", 4, {TP_SHAPE_TENSOR, 255, 1, 16}, "tensor[16]"},
	{"an empty list", 2, {TP_SHAPE_TENSOR_LIST, 0}, "()"},
	{"an unknown type", 3, {TP_SHAPE_TENSOR, 200, 0}, "dtype200[]"},
	{"cut in a tensor", 4, {TP_SHAPE_TENSOR, 6, 2, 64}, "f32[64?"},
	{"cut in a size", 4, {TP_SHAPE_TENSOR, 6, 1, 0x80}, "f32[?"},
	{"a group, and what a later writer adds",
	 12,
	 {TP_SHAPE_TENSOR, 6, 1, 3, TP_SHAPE_GROUP, 2, 1, 2, 99, 0, TP_SHAPE_SCALAR, TP_SHAPE_NONE},
	 "f32[3], scalar, -"},
	{"a group that is cut", 6, {TP_SHAPE_SCALAR, TP_SHAPE_GROUP, 9, 1, 2, 3}, "scalar?"},
	{"an unknown item", 2, {TP_SHAPE_SCALAR, 77}, "scalar, ?"},
	{"a list of no tensors", 3, {TP_SHAPE_TENSOR_LIST, 1, TP_SHAPE_SCALAR}, "(?"},
};

Test(shapes, writes_every_kind_of_input_and_marks_what_is_damaged)
{
	char buf[128];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tp_show_shapes(buf, sizeof(buf), (const char *)cases[i].bytes, cases[i].n);
		/* What stands after the damage does not matter, only that it is marked. */
		if (strchr(cases[i].text, '?'))
			cr_expect(strchr(buf, '?'), "%s: %s", cases[i].what, buf);
		else
			cr_expect_str_eq(buf, cases[i].text, "%s: %s", cases[i].what, buf);
	}
}

Test(shapes, ends_with_dots_where_the_buffer_is_full)
{
	static const char many[] = {TP_SHAPE_TENSOR, 6, 5, 100, 101, 102, 103, 104};

	for (uint32_t cap = 8; cap < 40; cap++) {
		char buf[40];

		memset(buf, 'x', sizeof(buf));
		tp_show_shapes(buf, cap, many, sizeof(many));
		cr_assert_lt(strlen(buf), cap);
		if (cap < 28)
			cr_expect_str_eq(buf + strlen(buf) - 3, "...", "%s", buf);
	}
}

Test(shapes, finds_the_group_behind_the_inputs)
{
	static const char bytes[] = {TP_SHAPE_TENSOR, 6, 1, 3, TP_SHAPE_GROUP, 15, 3, 4, 2, (char)0x87, 1,
				     '1', '2', 0, 'm', 'e', 's', 'h', '_', 't', 'p'};
	struct tp_shapes_group group;
	uint8_t dtype;

	cr_assert(tp_shapes_group(bytes, sizeof(bytes), &group));
	cr_expect_eq(group.rank, 2);
	cr_expect_eq(group.size, 4);
	cr_expect_eq(group.peer, 1);
	cr_expect_eq(group.tag, 135);
	cr_expect_eq(group.n_name, 2);
	cr_expect_arr_eq(group.name, "12", 2);
	cr_expect_eq(group.n_description, 7);
	cr_expect_arr_eq(group.description, "mesh_tp", 7);
	cr_expect_eq(tp_shapes_bytes(bytes, sizeof(bytes), &dtype), 12);
	/* Cut anywhere there is none. */
	for (uint32_t n = 0; n < sizeof(bytes); n++)
		cr_expect_not(tp_shapes_group(bytes, n, &group), "%u bytes", n);
}

Test(shapes, survives_random_bytes)
{
	unsigned seed = 2;

	for (uint32_t round = 0; round < 20000; round++) {
		struct tp_shapes_group group;
		char bytes[32], buf[64];
		uint32_t n = (uint32_t)rand_r(&seed) % sizeof(bytes);

		for (uint32_t i = 0; i < n; i++)
			bytes[i] = (char)(rand_r(&seed) % (round % 2 ? 256 : 8));
		tp_show_shapes(buf, sizeof(buf), bytes, n);
		cr_assert_lt(strlen(buf), sizeof(buf));
		if (tp_shapes_group(bytes, n, &group))
			cr_assert_leq(group.description + group.n_description, bytes + n);
	}
}
