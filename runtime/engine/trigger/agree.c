/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agree.c - proposals taken over one after the other, by all ranks alike
 */
#include "runtime/engine/trigger/agree.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/process.h"

enum { SLACK_NS = 1000000000 };	/* of the clocks of two hosts */

static bool is_stop(const struct tp_proposal *proposal)
{
	return proposal->from == proposal->to;
}

static void take_window(struct tp_agree *agree, const struct tp_proposal *proposal)
{
	unsigned long from = proposal->from, last = proposal->to - 1, here = agree->ops->steps();

	agree->n_windows++;
	agree->last = *proposal;
	agree->ops->fire(proposal->why);
	agree->asked = agree->ops->ask(proposal->from, proposal->to);
	switch (agree->asked) {
	case TP_SCHED_ASKED_OK:
		tp_info("steps %lu to %lu will be recorded: %s", from, last, proposal->why);
		break;
	case TP_SCHED_ASKED_LATE:
		agree->n_late++;
		tp_warn("steps %lu to %lu are to be recorded, and this rank is in step %lu already: "
			"the first of them are missing here", from, last, here);
		break;
	case TP_SCHED_ASKED_MISSED:
		agree->n_missed++;
		tp_warn("steps %lu to %lu were to be recorded, and this rank is in step %lu already: "
			"none of them is recorded here; a larger ahead= in TRAINPROF_TRIGGER helps",
			from, last, here);
		break;
	}
}

static enum tp_agreed take(struct tp_agree *agree, const struct tp_proposal *proposal)
{
	if (!is_stop(proposal)) {
		take_window(agree, proposal);
		return TP_AGREED_WINDOW;
	}
	agree->stop = *proposal;
	agree->ops->stop(proposal->from);
	tp_info("from step %lu on only requested windows open: %s", proposal->from,
		proposal->why);
	return TP_AGREED_STOP;
}

enum tp_agreed tp_agree_next(struct tp_agree *agree)
{
	struct tp_proposal proposal;
	int err;

	while (!(err = tp_proposal_read(&agree->proposals, agree->next, &proposal)) ||
	       err == -EBADMSG) {
		if (err || proposal.real_ns + SLACK_NS < agree->start_real_ns) {
			agree->next++;
			continue;
		}
		/* One after the other: the session remembers one. */
		if (!is_stop(&proposal) && !agree->ops->is_asked_over())
			return TP_AGREED_NOTHING;
		agree->next++;
		return take(agree, &proposal);
	}
	return TP_AGREED_NOTHING;
}

enum tp_agreed tp_agree_propose(struct tp_agree *agree, uint64_t from, uint64_t to, const char *why)
{
	struct tp_proposal proposal = {.from = from, .to = to, .step = agree->ops->steps(),
				       .real_ns = tp_clock_real_ns(), .pid = agree->proposals.pid};
	struct tp_text text;
	int err = -EEXIST;

	tp_text_init(&text, proposal.why, sizeof(proposal.why));
	tp_text_str(&text, why);
	if (!agree->is_alone)
		err = tp_proposal_write(&agree->proposals, agree->next, &proposal);
	if (!err || (err == -EEXIST && !agree->is_alone))
		return tp_agree_next(agree);
	if (!agree->is_alone)
		tp_warn("cannot tell the other ranks of a window in '%s': %s; it opens here alone",
			agree->proposals.folder.path, strerror(-err));
	agree->is_alone = true;
	return take(agree, &proposal);
}

void tp_agree_open(struct tp_agree *agree, const char *dir, uint32_t restart,
		   const struct tp_trigger_ops *ops)
{
	memset(agree, 0, sizeof(*agree));
	agree->ops = ops;
	agree->is_alone = tp_folder_open(&agree->proposals.folder, dir) != 0;
	agree->proposals.restart = restart;
	agree->proposals.pid = (uint32_t)getpid();
	agree->start_real_ns = tp_process_start_real_ns(tp_process_own_start());
}

void tp_agree_close(struct tp_agree *agree)
{
	tp_folder_close(&agree->proposals.folder);
}
