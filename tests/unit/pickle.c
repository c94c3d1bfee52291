/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickle.c - Python objects in a file, byte by byte; flow test 585 has Python read them
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "merge/kit/pickle.h"

/* What was written, and how much. */
static size_t load(const char *path, char *bytes, size_t cap)
{
	FILE *file = fopen(path, "rb");
	size_t n;

	cr_assert_not_null(file);
	n = fread(bytes, 1, cap, file);
	fclose(file);
	unlink(path);
	return n;
}

/* An empty file; `path` ends in XXXXXX and gets its name. */
static struct tp_outfile *begin(struct tp_pickle *p, char *path)
{
	int fd = mkstemp(path);
	struct tp_outfile *out;

	cr_assert(fd >= 0);
	close(fd);
	out = tp_outfile_open(path);
	cr_assert_not_null(out);
	tp_pickle_begin(p, out);
	return out;
}

static size_t end(struct tp_pickle *p, struct tp_outfile *out, const char *path, char *bytes,
		  size_t cap)
{
	tp_pickle_end(p);
	cr_assert_eq(tp_outfile_close(out), 0);
	return load(path, bytes, cap);
}

Test(pickle, objects_are_written_as_protocol_2_has_them)
{
	static const char want[] =
		"\x80\x02"			/* protocol */
		"}(X\1\0\0\0aq\0"		/* {"a": */
		"](K\7J\0\1\0\0J\xff\xff\xff\xff"	/* [7, 256, -1, */
		"\x8a\x8\0\0\0\0\1\0\0\0"	/* 1 << 32, */
		"X\3\0\0\0\xef\xbf\xbdq\1"	/* "?", no UTF-8 before, */
		"h\0" "\x88" "\x89" "e"		/* "a" again, True, False] */
		"h\1}u.";			/* the text again: {}} */
	char path[] = "/tmp/trainprof-pickle.XXXXXX", got[256];
	struct tp_outfile *out;
	struct tp_pickle p;
	size_t n;

	out = begin(&p, path);
	tp_pickle_dict(&p);
	tp_pickle_key(&p, "a");
	tp_pickle_list(&p);
	tp_pickle_int(&p, 7);
	tp_pickle_int(&p, 256);
	tp_pickle_int(&p, -1);
	tp_pickle_int(&p, 1ll << 32);
	tp_pickle_text(&p, "\xff");
	tp_pickle_text(&p, "a");
	tp_pickle_true(&p, true);
	tp_pickle_true(&p, false);
	tp_pickle_close(&p);
	tp_pickle_key(&p, "\xff");
	tp_pickle_dict(&p);
	tp_pickle_close(&p);
	tp_pickle_close(&p);
	n = end(&p, out, path, got, sizeof(got));
	cr_expect_eq(n, sizeof(want) - 1, "%zu", n);
	cr_expect(!memcmp(got, want, sizeof(want) - 1));
}

Test(pickle, long_lists_are_cut_into_batches_that_readers_can_take)
{
	char path[] = "/tmp/trainprof-pickle.XXXXXX", got[16384];
	uint32_t n_batches = 0;
	struct tp_outfile *out;
	struct tp_pickle p;
	size_t n;

	out = begin(&p, path);
	tp_pickle_list(&p);
	for (uint32_t i = 0; i < 2500; i++)
		tp_pickle_int(&p, 1);
	tp_pickle_close(&p);
	n = end(&p, out, path, got, sizeof(got));
	for (size_t i = 0; i < n; i++)
		n_batches += got[i] == 'e';
	cr_expect_eq(n, 2 + 1 + 3 * 2 + 2500 * 2 + 1, "%zu", n);
	cr_expect_eq(n_batches, 3);
}
