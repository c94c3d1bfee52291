/* SPDX-License-Identifier: Apache-2.0 */
/* Names: equal strings get equal ids, and every id can be read by a reader of the dead. */
#include <criterion/criterion.h>

#include <pthread.h>

#include "runtime/base/log.h"
#include "runtime/engine/intern.h"
#include "tests/unit/ring_rig.h"

enum { MIB = 1 << 20 };

static struct tp_arena arena;

static void set_up(void)
{
	rig_make_dir();
	tp_clock_init(TP_CLOCK_AUTO);
	tp_log_set_level(TP_LOG_QUIET);
	cr_assert_eq(rig_open_ring(MIB), 0);
	cr_assert_eq(tp_arena_init(&arena, 16 * MIB), 0);
	cr_assert_eq(tp_intern_init(&arena), 0);
}

static void tear_down(void)
{
	tp_ring_close();
	rig_remove_dir();
}

TestSuite(intern, .init = set_up, .fini = tear_down);

Test(intern, gives_equal_ids_to_equal_strings_of_one_kind_only)
{
	uint32_t a = tp_intern_text("aten::mm"), b = tp_intern_text("aten::addmm");

	cr_expect_neq(a, 0);
	cr_expect_neq(a, b);
	cr_expect_eq(tp_intern_text("aten::mm"), a);
	cr_expect_eq(tp_intern(TP_STRING_TEXT, "aten::mm", 8), a);
	cr_expect_neq(tp_intern(TP_STRING_OP, "aten::mm", 8), a);
	cr_expect_neq(tp_intern(TP_STRING_OP, "aten::mm\0out", 12), tp_intern(TP_STRING_OP, "aten::mm", 8));
	cr_expect_neq(tp_intern_text(""), 0);
	cr_expect_eq(tp_intern_text(""), tp_intern(TP_STRING_TEXT, "x", 0));
}

Test(intern, returns_what_was_put_in)
{
	static const char bytes[] = "a\0b\xff" "c";
	const char *got;
	uint32_t kind, n, id = tp_intern(TP_STRING_SHAPES, bytes, sizeof(bytes));

	cr_assert(tp_intern_get(NULL, id, &kind, &got, &n));
	cr_expect_eq(kind, TP_STRING_SHAPES);
	cr_expect_eq(n, sizeof(bytes));
	cr_expect_eq(memcmp(got, bytes, n), 0);
	cr_expect(!tp_intern_get(NULL, 0, &kind, &got, &n));
	cr_expect(!tp_intern_get(NULL, id + 1000, &kind, &got, &n));
}

Test(intern, cuts_what_is_too_long)
{
	static char longer[TP_INTERN_MAX + 100];
	const char *got;
	uint32_t kind, n, id;

	memset(longer, 'x', sizeof(longer));
	id = tp_intern(TP_STRING_TEXT, longer, sizeof(longer));
	cr_assert(tp_intern_get(NULL, id, &kind, &got, &n));
	cr_expect_eq(n, TP_INTERN_MAX);
	cr_expect_eq(tp_intern(TP_STRING_TEXT, longer, sizeof(longer) - 1), id);
}

Test(intern, is_in_the_shared_file_when_the_id_is_known)
{
	uint32_t id = tp_intern_text("forward");
	const struct tp_ring_head *head = rig_read_file(tp_ring.path);
	const struct tp_name_entry *name =
		(const void *)((const char *)head + head->names_at + 8 * (uint64_t)id);

	cr_expect_gt(head->names_used, 8 * (uint64_t)id);
	cr_expect_eq(name->kind, TP_STRING_TEXT);
	cr_expect_eq(name->n_bytes, 7);
	cr_expect_eq(memcmp(name->bytes, "forward", 7), 0);
}

Test(intern, returns_0_and_counts_when_the_space_is_full_and_still_finds_the_old)
{
	char text[64];
	uint32_t n = 0, first;

	first = tp_intern_text("name 0 with some words behind it");
	for (;; n++) {
		snprintf(text, sizeof(text), "name %u with some words behind it", n);
		if (!tp_intern_text(text))
			break;
	}
	cr_expect_gt(n, 2000);
	cr_expect_eq(tp_ring.head->names_lost, 1);
	cr_expect_leq(tp_ring.head->names_used, tp_ring.head->names_bytes);
	cr_expect_eq(tp_intern_text("name 0 with some words behind it"), first);
	/* Empty strings are the smallest: the table must not fill up before the area. */
	for (uint32_t kind = 100; kind < 100000; kind++)
		tp_intern((enum tp_string_kind)kind, "", 0);
	cr_expect_eq(tp_intern_text("name 0 with some words behind it"), first);
}

Test(intern, does_nothing_without_a_ring)
{
	struct tp_ring_head *head = tp_ring.head;
	const char *got;
	uint32_t kind, n;

	tp_ring.head = NULL;
	cr_expect_eq(tp_intern_text("x"), 0);
	cr_expect(!tp_intern_get(NULL, 1, &kind, &got, &n));
	tp_ring.head = head;
	tp_intern_reset();
	cr_expect_eq(tp_intern_text("x"), 0);
}

enum { N_NAMES = 300, N_THREADS = 4 };
static uint32_t ids[N_THREADS][N_NAMES];

static void *intern_all(void *arg)
{
	uint32_t *mine = arg;

	for (uint32_t round = 0; round < 20; round++) {
		for (uint32_t i = 0; i < N_NAMES; i++) {
			char text[32];
			uint32_t id;

			snprintf(text, sizeof(text), "op_%u", (i * 7 + round) % N_NAMES);
			id = tp_intern_text(text);
			mine[(i * 7 + round) % N_NAMES] = id;
		}
	}
	return NULL;
}

Test(intern, agrees_between_threads)
{
	pthread_t thread[N_THREADS];

	for (int i = 0; i < N_THREADS; i++)
		pthread_create(&thread[i], NULL, intern_all, ids[i]);
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 1; i < N_THREADS; i++)
		cr_expect_eq(memcmp(ids[0], ids[i], sizeof(ids[0])), 0);
	for (int i = 0; i < N_NAMES; i++)
		for (int j = 0; j < i; j++)
			cr_expect_neq(ids[0][i], ids[0][j]);
}
