/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hangs.c - reports of processes that hung at the same time are one hang
 */
#include "merge/model/hangs.h"

#include <stdlib.h>
#include <string.h>

static uint64_t begin_ns(const struct tp_hang *hang)
{
	return hang->real_ns > hang->late_ns ? hang->real_ns - hang->late_ns : 0;
}

static bool is_same(const struct tp_hang *a, const struct tp_hang *b)
{
	return begin_ns(a) <= b->real_ns && begin_ns(b) <= a->real_ns;
}

/* The lowest rank of those that hung speaks for all; of several files of it the first. */
static bool is_speaker(const struct tp_run *run, uint32_t at)
{
	const struct tp_hang *hang = &run->hang[at].hang;

	if (hang->worker || !tp_hang_is_report(hang))
		return false;
	for (uint32_t i = 0; i < run->n_hangs; i++) {
		const struct tp_hang *other = &run->hang[i].hang;

		if (i == at || other->worker || !tp_hang_is_report(other) || !is_same(hang, other))
			continue;
		if (other->rank < hang->rank || (other->rank == hang->rank && i < at))
			return false;
	}
	return true;
}

static void say_lines(char *said, tp_hangs_say_fn say, void *ctx)
{
	for (char *line = said, *eol; *line; line = eol) {
		eol = line + strcspn(line, "\n");
		if (*eol)
			*eol++ = '\0';
		say(ctx, line);
	}
}

/* Lines of one hang, from what all said at that time. */
static void say_one(const struct tp_run *run, const struct tp_hang *of, struct tp_hang *peer,
		    tp_hangs_say_fn say, void *ctx)
{
	char said[TP_HANG_SAID_MAX];
	struct tp_text text;
	uint32_t n = 0;

	for (uint32_t i = 0; i < run->n_hangs; i++)
		if (is_same(&run->hang[i].hang, of))
			peer[n++] = run->hang[i].hang;
	tp_text_init(&text, said, sizeof(said));
	tp_hang_say(of, peer, n, &text);
	say_lines(said, say, ctx);
}

uint32_t tp_hangs_say(const struct tp_run *run, tp_hangs_say_fn say, void *ctx)
{
	struct tp_hang *peer = calloc(run->n_hangs + 1, sizeof(*peer));
	uint32_t n = 0;

	for (uint32_t i = 0; peer && i < run->n_hangs; i++) {
		if (!is_speaker(run, i))
			continue;
		say_one(run, &run->hang[i].hang, peer, say, ctx);
		n++;
	}
	free(peer);
	return n;
}

uint32_t tp_ooms_say(const struct tp_run *run, uint32_t most, bool with_holders, tp_hangs_say_fn say,
		     void *ctx)
{
	char said[TP_HANG_SAID_MAX];
	struct tp_text text;

	for (uint32_t i = 0; i < run->n_ooms && i < most; i++) {
		tp_text_init(&text, said, sizeof(said));
		if (run->oom[i].oom.rank >= 0)
			tp_text_fmt(&text, "rank %d: ", run->oom[i].oom.rank);
		tp_oom_say(&run->oom[i].oom, &text);
		if (with_holders)
			tp_oom_say_held(&run->oom[i].oom, &text);
		say_lines(said, say, ctx);
	}
	return run->n_ooms;
}
