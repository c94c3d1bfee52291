/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_picture.c - counts of lines, and what the ledger is told of them: see pysample_picture.h
 */
#include "runtime/probe/sample/pysample_picture.h"

enum {
	HEAD_BYTES = 100,	/* of the first line, and of a row before its place */
	TIMES = 2,		/* as many samples as were told: not later than then */
};

/* ---- counting ---- */

/* The innermost of the user's own, else the innermost; NULL: none has a name. */
static const struct tp_pysample_frame *find_line(const struct tp_pysample_look *look, tp_slow_name *name)
{
	const struct tp_pysample_frame *first = NULL;

	for (uint32_t i = 0; i < look->n; i++) {
		const struct tp_pysample_frame *frame = &look->frame[i];

		if (frame->is_hidden || !frame->string)
			continue;
		first = first ? first : frame;
		if (tp_slow_is_own(frame->string, name))
			return frame;
	}
	return first;
}

/* A new one, or that which had the fewest. */
static struct tp_picture_row *make_room(struct tp_picture *picture)
{
	struct tp_picture_row *least = picture->row;

	if (picture->n_rows < TP_PICTURE_ROWS)
		return &picture->row[picture->n_rows++];
	for (uint32_t i = 1; i < TP_PICTURE_ROWS; i++)
		if (picture->row[i].n < least->n)
			least = &picture->row[i];
	picture->n_unlisted += least->n;
	return least;
}

static void count_line(struct tp_picture *picture, const struct tp_pysample_frame *frame, bool is_other)
{
	struct tp_picture_row *row;

	for (uint32_t i = 0; i < picture->n_rows; i++) {
		row = &picture->row[i];
		if (row->string != frame->string || row->line != frame->line || row->is_other != is_other)
			continue;
		row->n++;
		return;
	}
	row = make_room(picture);
	*row = (struct tp_picture_row){frame->string, frame->line, is_other, 1};
}

void tp_picture_take(struct tp_picture *picture, const struct tp_pysample_look *look, bool is_other,
		     bool is_collecting, tp_slow_name *name)
{
	const struct tp_pysample_frame *frame = find_line(look, name);

	*(is_other ? &picture->n_other : &picture->n_training) += 1;
	picture->n_collecting += !is_other && is_collecting;
	if (frame)
		count_line(picture, frame, is_other);
	else
		picture->n_unlisted++;
}

/* ---- telling ---- */

static uint64_t count_samples(const struct tp_picture *picture)
{
	return picture->n_training + picture->n_other;
}

bool tp_picture_is_due(const struct tp_picture *picture, uint64_t steps, bool is_last)
{
	const uint64_t n = count_samples(picture), told = picture->told_samples;

	if (is_last)
		return n > told;
	if (n < TP_PICTURE_FIRST || n < told + told / 2)
		return false;
	return !told || n / TIMES >= told || steps >= picture->told_steps + TP_PICTURE_STEPS;
}

/* Of those that are not told yet the one with most samples; NULL: none. */
static const struct tp_picture_row *find_next(const struct tp_picture *picture, const bool *is_told)
{
	const struct tp_picture_row *most = NULL;

	for (uint32_t i = 0; i < picture->n_rows; i++)
		if (!is_told[i] && (!most || picture->row[i].n > most->n))
			most = &picture->row[i];
	return most;
}

static void put_row(const struct tp_picture *picture, const struct tp_picture_row *row, uint32_t at,
		    tp_slow_name *name, struct tp_text *rows)
{
	tp_text_fmt(rows, "outside.%u.%u=%lu %c ", picture->n_told, at, (unsigned long)row->n,
		    row->is_other ? 'o' : 't');
	if (!tp_slow_put(rows, row->string, row->line, name))
		tp_text_str(rows, "?:0 ?");
	tp_text_char(rows, '\n');
}

void tp_picture_tell(struct tp_picture *picture, uint64_t steps, tp_slow_name *name, struct tp_text *out)
{
	char text[TP_PICTURE_BYTES - HEAD_BYTES];
	bool is_told[TP_PICTURE_ROWS] = {false};
	uint64_t n_unlisted = picture->n_unlisted;
	struct tp_text rows;
	uint32_t n = 0;

	picture->n_told++;
	tp_text_init(&rows, text, sizeof(text));
	for (const struct tp_picture_row *row; (row = find_next(picture, is_told)) != NULL;) {
		const size_t before = rows.len;

		is_told[row - picture->row] = true;
		if (n < TP_PICTURE_TOLD)
			put_row(picture, row, n, name, &rows);
		if (n < TP_PICTURE_TOLD && !rows.is_cut) {
			n++;
			continue;
		}
		rows.len = before;
		rows.is_cut = false;
		n_unlisted += row->n;
	}
	tp_text_fmt(out, "outside.%u=%lu %lu %lu %lu %u\n", picture->n_told, (unsigned long)picture->n_training,
		    (unsigned long)picture->n_other, (unsigned long)picture->n_collecting,
		    (unsigned long)n_unlisted, n);
	tp_text_bytes(out, text, rows.len);
	picture->told_samples = count_samples(picture);
	picture->told_steps = steps;
}
