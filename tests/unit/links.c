/* SPDX-License-Identifier: Apache-2.0 */
/*
 * links.c - which operator of the forward pass a node of the backward pass is joined to
 */
#include <criterion/criterion.h>

#include "merge/facts/origin/links.h"
#include "tests/unit/fake_run.h"

Test(links, backward_nodes_find_the_last_operator_of_their_number)
{
	enum { FORWARD, BACKWARD };
	static const struct {
		const char *what;
		bool is_backward;
		uint32_t proc, torch_id;	/* torch_id: of the forward thread */
		uint32_t sequence;
		uint8_t kind, flags;
		int64_t want;			/* begin of what is found; -1: nothing */
	} cases[] = {
		{"nothing is known yet", BACKWARD, 0, 1, 5, TP_REC_OP, 0, -1},
		{"makes no node, shows the next number", FORWARD, 0, 1, 5, TP_REC_OP, 0, 0},
		{"makes node 5", FORWARD, 0, 1, 5, TP_REC_OP, 0, 0},
		{"node 5 of another thread", FORWARD, 0, 2, 5, TP_REC_OP, 0, 0},
		{"node 5 of another process", FORWARD, 1, 1, 5, TP_REC_OP, 0, 0},
		{"a range has no number", FORWARD, 0, 1, 5, TP_REC_RANGE, 0, 0},
		{"an async operator is no node", FORWARD, 0, 1, 5, TP_REC_OP, TP_F_ASYNC, 0},
		{"5 of thread 1", BACKWARD, 0, 1, 5, TP_REC_OP, 0, 2},
		{"5 of thread 1, again", BACKWARD, 0, 1, 5, TP_REC_OP, 0, -1},
		{"5 of thread 2", BACKWARD, 0, 2, 5, TP_REC_OP, 0, 3},
		{"5 of the other process", BACKWARD, 1, 1, 5, TP_REC_OP, 0, 4},
		{"a number nobody had", BACKWARD, 0, 1, 6, TP_REC_OP, 0, -1},
		{"a thread nobody knows", BACKWARD, 0, 3, 5, TP_REC_OP, 0, -1},
		{"no number at all", FORWARD, 0, 1, TP_NO_SEQ, TP_REC_OP, 0, 0},
		{"no number, asked for", BACKWARD, 0, 1, TP_NO_SEQ, TP_REC_OP, 0, -1},
		{"number 7", FORWARD, 0, 1, 7, TP_REC_OP, 0, 0},
		{"the same place in the table", FORWARD, 0, 1, 7 + TP_LINKS_KEPT, TP_REC_OP, 0, 0},
		{"7 was overwritten", BACKWARD, 0, 1, 7, TP_REC_OP, 0, -1},
		{"what overwrote it", BACKWARD, 0, 1, 7 + TP_LINKS_KEPT, TP_REC_OP, 0, 16},
	};
	struct tp_links links;
	struct fake fake;

	fake_init(&fake);
	for (int32_t rank = 0; rank < 2; rank++) {
		struct tp_proc *proc = fake_proc(&fake, rank);

		proc->thread[1].torch_id = 1;
		proc->thread[2].torch_id = 2;
	}
	cr_assert_eq(tp_links_init(&links, &fake.run), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t thread = cases[i].is_backward ? 4 : cases[i].torch_id;
		struct tp_event event = fake_span(&fake, fake.procs[cases[i].proc], thread,
						  cases[i].kind, NULL, (int64_t)i, (int64_t)i + 1);
		const struct tp_link_op *found;

		event.link = cases[i].sequence;
		event.flags = cases[i].flags;
		if (!cases[i].is_backward) {
			tp_links_forward(&links, &event);
			continue;
		}
		event.flags |= TP_F_BACKWARD;
		event.arg = TP_ARG_OP(0, cases[i].torch_id, 0);
		found = tp_links_backward(&links, &event);
		cr_expect_eq(found ? found->begin_ns : -1, cases[i].want, "%s: %ld", cases[i].what,
			     found ? (long)found->begin_ns : -1);
	}
	tp_links_free(&links);
}
