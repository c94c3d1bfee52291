/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outside.c - sums of samples outside windows, out of the ledgers: see outside.h
 */
#include "merge/facts/code/outside.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/need.h"
#include "merge/model/label.h"
#include "runtime/base/text.h"

enum {
	ROWS_MOST = 64,		/* of one process */
	ALL_MOST = 4096,	/* of all: more are not listed */
	VALUE_BYTES = 1024,
	MOST_COUNT = 1 << 30,	/* samples: three years of them, and sums that hold */
};

static const char prefix[] = "outside.";

/* What one process says. */
struct said {
	uint64_t number, training, other, collecting, unlisted;
	uint32_t n_rows, n_there;
	struct tp_outside_row row[ROWS_MOST];	/* text is in `text` */
	char text[ROWS_MOST][VALUE_BYTES];
};

static bool read_head(const char *value, struct said *said)
{
	return sscanf(value, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu32, &said->training,
		      &said->other, &said->collecting, &said->unlisted, &said->n_rows) == 5 &&
	       said->n_rows <= ROWS_MOST && said->training <= MOST_COUNT && said->other <= MOST_COUNT &&
	       said->unlisted <= MOST_COUNT && said->collecting <= said->training;
}

static void read_row(const char *value, struct said *said)
{
	struct tp_outside_row *row = &said->row[said->n_there];
	char *text = said->text[said->n_there];
	int n_before = 0;
	char who;

	if (said->n_there == said->n_rows ||
	    sscanf(value, "%" SCNu64 " %c %n", &row->n, &who, &n_before) < 2 || !n_before ||
	    row->n > MOST_COUNT || (who != 't' && who != 'o'))
		return;
	row->is_other = who == 'o';
	row->text = strcpy(text, value + n_before);
	said->n_there++;
}

/* False: it says nothing, or nothing whole. */
static bool read_last(const struct tp_proc *proc, struct said *last, struct said *said)
{
	const char *at = proc->started;
	char key[64], value[VALUE_BYTES];
	bool is_any = false;

	*said = (struct said){.number = 0};
	while (at && tp_fact_next(&at, prefix, key, value, sizeof(value))) {
		char *row = strchr(key, '.');
		uint64_t number;

		if (row)
			*row = '\0';
		if (tp_text_parse_u64(key, &number))
			continue;
		if (!row) {
			*said = (struct said){.number = 0};
			said->number = read_head(value, said) ? number : 0;
		} else if (said->number && number == said->number) {
			read_row(value, said);
		}
		if (!said->number || said->n_there < said->n_rows)
			continue;
		*last = *said;
		for (uint32_t i = 0; i < last->n_there; i++)
			last->row[i].text = last->text[i];
		is_any = true;
	}
	return is_any;
}

static void add_row(struct tp_outside *outside, const struct tp_outside_row *row)
{
	for (uint32_t i = 0; i < outside->n_rows; i++) {
		if (outside->row[i].is_other != row->is_other || strcmp(outside->row[i].text, row->text) != 0)
			continue;
		outside->row[i].n += row->n;
		return;
	}
	if (outside->n_rows == ALL_MOST) {
		outside->n_unlisted += row->n;
		return;
	}
	tp_need_room(&outside->row, &outside->cap_rows, outside->n_rows + 1, sizeof(*outside->row));
	outside->row[outside->n_rows] = *row;
	outside->row[outside->n_rows].text = tp_need(strlen(row->text) + 1, 1);
	strcpy(outside->row[outside->n_rows++].text, row->text);
}

static int compare_rows(const void *a, const void *b)
{
	const struct tp_outside_row *x = a, *y = b;

	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	if (x->is_other != y->is_other)
		return x->is_other ? 1 : -1;
	return strcmp(x->text, y->text);
}

void tp_outside_read(const struct tp_run *run, struct tp_outside *outside)
{
	struct said *last = tp_need(2, sizeof(*last));

	*outside = (struct tp_outside){.n_rows = 0};
	for (uint32_t i = 0; i < run->n_procs; i++) {
		if (!read_last(run->proc[i], &last[0], &last[1]))
			continue;
		outside->n_training += last->training;
		outside->n_other += last->other;
		outside->n_collecting += last->collecting;
		outside->n_unlisted += last->unlisted;
		for (uint32_t k = 0; k < last->n_there; k++)
			add_row(outside, &last->row[k]);
	}
	free(last);
	if (outside->n_rows)
		qsort(outside->row, outside->n_rows, sizeof(*outside->row), compare_rows);
}

void tp_outside_free(struct tp_outside *outside)
{
	for (uint32_t i = 0; i < outside->n_rows; i++)
		free(outside->row[i].text);
	free(outside->row);
	*outside = (struct tp_outside){.n_rows = 0};
}

uint32_t tp_outside_split(const struct tp_outside_row *row, char *buf, size_t cap, const char **file,
			  const char **function)
{
	struct tp_text out;
	uint64_t line = 0;
	char *blank, *colon;

	tp_text_init(&out, buf, cap);
	tp_text_str(&out, row->text);
	*file = buf;
	*function = "";
	blank = strrchr(buf, ' ');
	if (!blank)
		return 0;
	*blank = '\0';
	*function = blank + 1;
	colon = strrchr(buf, ':');
	if (!colon || tp_text_parse_u64(colon + 1, &line) || line > UINT32_MAX)
		return 0;
	*colon = '\0';
	return (uint32_t)line;
}
