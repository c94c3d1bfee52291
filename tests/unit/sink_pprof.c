/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink_pprof.c of the merge: profile.proto, taken apart here by its field numbers
 */
#include <libdeflate.h>

#include "tests/unit/heap_rig.h"

TestSuite(sink_pprof, .init = rig_begin, .fini = rig_end);

enum { MAX = 4096 };

struct field {
	uint32_t number;
	uint64_t value;
	const unsigned char *at;	/* of messages, strings, packed numbers: `value` bytes */
};

static unsigned char profile[1 << 20];
static size_t n_profile;
static struct field top[MAX];
static uint32_t n_top;
static struct field *string[MAX];
static uint32_t n_strings;

static uint64_t varint(const unsigned char **p)
{
	uint64_t v = 0;

	for (int shift = 0;; shift += 7) {
		v |= (uint64_t)(**p & 0x7f) << shift;
		if (!(*(*p)++ & 0x80))
			return v;
	}
}

static uint32_t take_apart(const unsigned char *p, size_t n, struct field *field, uint32_t max)
{
	const unsigned char *end = p + n;
	uint32_t k = 0;

	while (p < end && k < max) {
		uint64_t key = varint(&p);

		field[k].number = (uint32_t)(key >> 3);
		field[k].value = varint(&p);
		cr_assert((key & 7) == 0 || (key & 7) == 2);
		field[k].at = (key & 7) == 2 ? p : NULL;
		if ((key & 7) == 2)
			p += field[k].value;
		k++;
	}
	cr_assert(p == end);
	return k;
}

static void write_rows(const struct tp_heap_rows *heap)
{
	struct tp_flame_rows rows = tp_heap_flame(heap);
	struct libdeflate_decompressor *gzip = libdeflate_alloc_decompressor();
	static char packed[1 << 20];
	char path[128];
	size_t n, in, out, at = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/a.pb.gz", rig.folder);
	cr_assert_eq(tp_pprof_write(&rows, 1, path), 0);
	file = fopen(path, "r");
	n = fread(packed, 1, sizeof(packed), file);
	fclose(file);
	for (n_profile = 0; at < n; at += in, n_profile += out)
		cr_assert_eq(libdeflate_gzip_decompress_ex(gzip, packed + at, n - at,
							   profile + n_profile,
							   sizeof(profile) - n_profile, &in, &out),
			     0);
	libdeflate_free_decompressor(gzip);
	n_top = take_apart(profile, n_profile, top, MAX);
	n_strings = 0;
	for (uint32_t i = 0; i < n_top; i++) {
		if (top[i].number == 6)
			string[n_strings++] = &top[i];
	}
}

static const char *string_at(uint64_t at)
{
	static char text[4][256];
	static int next;
	char *to = text[next++ % 4];

	cr_assert(at < n_strings);
	snprintf(to, sizeof(text[0]), "%.*s", (int)string[at]->value, (const char *)string[at]->at);
	return to;
}

/* The message `number` of the profile whose field `key` is `value`, as its fields. */
static uint32_t find(uint32_t number, uint32_t key, uint64_t value, struct field *field)
{
	for (uint32_t i = 0; i < n_top; i++) {
		uint32_t n;

		if (top[i].number != number)
			continue;
		n = take_apart(top[i].at, top[i].value, field, 64);
		for (uint32_t k = 0; k < n; k++) {
			if (field[k].number == key && field[k].value == value)
				return n;
		}
	}
	cr_assert(false, "no message %u with %u = %llu", number, key, (unsigned long long)value);
	return 0;
}

static uint64_t number_of(const struct field *field, uint32_t n, uint32_t number)
{
	for (uint32_t i = 0; i < n; i++) {
		if (field[i].number == number)
			return field[i].value;
	}
	return 0;
}

/* "name:line@file " for each line of a location, "+" before what others are inlined into. */
static void print_location(FILE *out, uint64_t id)
{
	struct field location[64], line[8], function[8], mapping[16];
	uint32_t n = find(4, 1, id, location), k, m;
	uint64_t map = number_of(location, n, 2);
	bool is_first = true;

	for (uint32_t i = 0; i < n; i++) {
		if (location[i].number != 4)
			continue;
		k = take_apart(location[i].at, location[i].value, line, 8);
		m = find(5, 1, number_of(line, k, 1), function);
		fprintf(out, "%s%s:%d@%s", is_first ? "" : "+",
			string_at(number_of(function, m, 2)), (int)number_of(line, k, 2),
			string_at(number_of(function, m, 4)));
		is_first = false;
	}
	if (map) {
		m = find(3, 1, map, mapping);
		cr_expect(number_of(location, n, 3) >= number_of(mapping, m, 2) &&
			  number_of(location, n, 3) < number_of(mapping, m, 3));
		fprintf(out, "[%s 0x%llx]", string_at(number_of(mapping, m, 5)),
			(unsigned long long)(number_of(location, n, 3) - number_of(mapping, m, 2)));
	}
	fputc('|', out);
}

static const char *print_samples(void)
{
	static char text[1 << 16];
	FILE *out = fmemopen(text, sizeof(text), "w");
	struct field field[8];

	for (uint32_t i = 0; i < n_top; i++) {
		if (top[i].number != 2)
			continue;
		cr_assert_eq(take_apart(top[i].at, top[i].value, field, 8), 2);
		for (const unsigned char *p = field[0].at; p < field[0].at + field[0].value;)
			print_location(out, varint(&p));
		for (const unsigned char *p = field[1].at; p < field[1].at + field[1].value;)
			fprintf(out, " %llu", (unsigned long long)varint(&p));
		fputc('\n', out);
	}
	fclose(out);
	return text;
}

Test(sink_pprof, samples_types_and_inlined_functions_as_locations)
{
	static const char *const type[] = {"peak_space bytes", "alloc_objects count",
					   "inuse_space bytes", "temporary_objects count",
					   "alloc_space bytes", "peak_objects count",
					   "inuse_objects count"};
	struct tp_heap_rows rows = heap_rows(heap_row, HEAP_ROWS, 1);
	struct field field[8];
	char text[64];
	uint32_t n_types = 0;

	write_rows(&rows);
	cr_assert_eq(string[0]->value, 0, "the first string is the empty one");
	for (uint32_t i = 0; i < n_top; i++) {
		uint32_t n;

		if (top[i].number != 1)
			continue;
		n = take_apart(top[i].at, top[i].value, field, 8);
		snprintf(text, sizeof(text), "%s %s", string_at(number_of(field, n, 1)),
			 string_at(number_of(field, n, 2)));
		cr_expect_str_eq(text, type[n_types++]);
	}
	cr_expect_eq(n_types, 7);
	cr_expect_str_eq(string_at(number_of(top, n_top, 14)), "peak_space");
	cr_expect_eq(number_of(top, n_top, 9), 1790000000000000000ull);
	cr_expect_eq(number_of(top, n_top, 10), 5000);
	cr_expect_str_eq(print_samples(),
		"alloc_cpu(unsigned long):92@alloc.cpp[/lib/libc10.so 0x100]|"
		"at::empty(int; int):11@Empty.h+at::native::empty_like:300@Tensor.cpp"
		"[/lib/libtorch_cpu.so 0x2000]|"
		"Net.forward:12@/x/model/net.py|<module>:40@/x/train.py|"
		"_start:0@[/usr/bin/python3 0x99]| 400 10 0 3 1000 4 0\n"
		"alloc_cpu(unsigned long):92@alloc.cpp[/lib/libc10.so 0x100]|"
		"at::empty(int; int):11@Empty.h+at::native::empty_like:300@Tensor.cpp"
		"[/lib/libtorch_cpu.so 0x2010]|"
		"Net.forward:13@/x/model/net.py|<module>:40@/x/train.py|"
		"_start:0@[/usr/bin/python3 0x99]| 30 2 30 0 70 1 1\n"
		"take 12:0@[/lib/libtorch_cpu.so 0x3000]|"
		"#a\nb\t\"c\"\\;\xef\xbf\xbd<d>&\xe2\x80\xae:1@q\"\n.c[/lib/libtorch_cpu.so 0x3100]|"
		" 8 1 0 0 8 1 0\n"
		"(callers not known):0@| 0 7 0 0 7 0 0\n"
		"[/lib/libtorch_cpu.so 0x4000]|[/lib/libtorch_cpu.so 0x4100]|(unknown):0@|"
		"(callers not known):0@| 0 5 0 0 50 0 0\n");
}

Test(sink_pprof, mappings_have_build_ids_and_say_what_is_known)
{
	static const uint8_t id[] = {0xde, 0xad, 0x01};
	struct tp_heap_rows rows = heap_rows(heap_row, HEAP_ROWS, 1);
	struct tp_module_at module[] = {{.path = "/lib/other.so"},
					{.path = HEAP_CODE, .build_id = id, .build_id_bytes = 3}};
	struct field field[16];
	uint32_t n = 0, i;

	heap_proc[0].module = module;
	heap_proc[0].n_modules = 2;
	write_rows(&rows);
	for (i = 0; top[i].number != 3; i++)
		;
	n = take_apart(top[i].at, top[i].value, field, 16);
	cr_expect_str_eq(string_at(number_of(field, n, 5)), HEAP_PYTHON, "_start's comes first");
	for (i = 0; i < n_top; i++) {
		if (top[i].number != 3)
			continue;
		n = take_apart(top[i].at, top[i].value, field, 16);
		if (!strcmp(string_at(number_of(field, n, 5)), HEAP_CODE))
			break;
		cr_expect_eq(number_of(field, n, 6), 0);
	}
	cr_assert(i < n_top);
	cr_expect_str_eq(string_at(number_of(field, n, 6)), "dead01");
	for (uint32_t has = 7; has <= 10; has++)
		cr_expect_eq(number_of(field, n, has), 1, "%u", has);
}

Test(sink_pprof, processes_estimates_and_what_was_folded_are_said)
{
	enum { N = 250000 };
	struct tp_hostmem_row *row = calloc(N, sizeof(*row));
	struct tp_heap_rows rows = heap_rows(row, N, 2);
	const char *text;
	bool is_said = false;

	for (uint32_t i = 0; i < N; i++)
		row[i] = (struct tp_hostmem_row){
			.stack = 1000 + i, .proc = i & 1, .n_allocs = i < 2 ? 100000 : 1,
		};
	rows.sample_bytes = 524288;
	write_rows(&rows);
	text = print_samples();
	cr_expect(strstr(text, "|rank 0: train.py (pid 1000):0@| 0 100000 "), "%s", text);
	cr_expect(strstr(text, "(other: branches below 0.00067 % of the whole):0@|f:1@f.c"), "%.300s",
		  text);
	for (uint32_t i = 0; i < n_top; i++) {
		if (top[i].number == 13 && strstr(string_at(top[i].value), "estimates"))
			is_said = true;
	}
	cr_expect(is_said);
	cr_expect_eq(number_of(top, n_top, 12), 524288);
	free(row);
}
