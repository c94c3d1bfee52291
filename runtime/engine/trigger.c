/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trigger.c - a signal, a proposal in the run folder, a window on all ranks
 *
 * The handler stores one word. Everything else happens on the drain thread: files may lie on a
 * slow filesystem. No allocation.
 */
#include "runtime/engine/trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "runtime/base/folder.h"
#include "runtime/base/log.h"
#include "runtime/base/process.h"
#include "runtime/engine/session.h"

enum {
	LOOK_MS = 100,
	LOOK_MOST_MS = 5000,
	POLLS_A_SECOND = 640,	/* of all ranks together: a shared filesystem has other work */
	AHEAD_MS = 1000,	/* for a drain thread that gets no core */
	AHEAD_NODES_MS = 2000,	/* for what a network filesystem caches */
	AHEAD_LEAST = 2,	/* steps */
	PACES = 16,
	TEXT_BYTES = 160, PATH_BYTES = 700,
	N_NUMBERS = 5,
	SLACK_NS = 1000000000,	/* of the clocks of two hosts */
};

struct proposal {
	uint64_t from, to;	/* steps of the run */
	uint64_t step;		/* where its rank stood */
	uint64_t real_ns;
	uint64_t pid;
};

static struct {
	const struct tp_config *config;	/* NULL: no trigger */
	struct tp_folder folder;	/* of all ranks */
	uint32_t restart, pid;
	uint32_t look_ms, ahead_ms;
	uint32_t next;			/* number of the next proposal */
	uint64_t start_real_ns;		/* of this process: older proposals are of another run */
	uint64_t due_ns;
	bool is_alone;			/* proposals cannot be written: said */
	uint32_t n_windows, n_late, n_missed;
	struct proposal last;		/* that was taken over */

	/* Steps per ns, of the last looks at which any had ended. */
	double pace[PACES];
	uint32_t n_paces;
	uint64_t paced_steps, paced_ns;
} trigger;

/* ---- the signal ---- */

static struct {
	uint32_t is_hit;		/* atomic */
	int number;			/* 0: not installed */
	struct sigaction before[2];	/* the program's; the newest is at [which & 1] */
	uint32_t which;			/* atomic */
} sig;

/* A handler of the program may call the one before it, which is ours. */
static __thread bool is_inside __attribute__((tls_model("initial-exec")));

static void on_signal(int number, siginfo_t *info, void *context)
{
	const struct sigaction *before;
	int saved_errno = errno;

	__atomic_store_n(&sig.is_hit, 1, __ATOMIC_RELAXED);
	if (is_inside)
		return;
	is_inside = true;
	before = &sig.before[__atomic_load_n(&sig.which, __ATOMIC_ACQUIRE) & 1];
	if (before->sa_flags & SA_SIGINFO)
		before->sa_sigaction(number, info, context);
	else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN)
		before->sa_handler(number);
	is_inside = false;
	errno = saved_errno;
}

static bool is_ours(const struct sigaction *action)
{
	return action->sa_flags & SA_SIGINFO && action->sa_sigaction == on_signal;
}

static bool is_handler(const struct sigaction *action)
{
	return action->sa_flags & SA_SIGINFO ||
	       (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

/* Ours, before the one that the program has now; again when it has installed another. */
static void install(int number)
{
	struct sigaction now, ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
	uint32_t next = sig.which + 1;

	if (sigaction(number, NULL, &now) < 0 || is_ours(&now))
		return;
	if (is_handler(&now)) {
		/* Interrupted calls come back as the program's handler wants them to. */
		ours.sa_flags = SA_SIGINFO | (now.sa_flags & (SA_RESTART | SA_ONSTACK | SA_NODEFER));
		ours.sa_mask = now.sa_mask;
	}
	sig.before[next & 1] = now;
	__atomic_store_n(&sig.which, next, __ATOMIC_RELEASE);
	if (!sigaction(number, &ours, NULL))
		sig.number = number;
}

void tp_trigger_shield(const struct tp_config *config)
{
	struct sigaction now;
	int number = config ? (int)config->trigger.signal : 0;

	if (number && !sigaction(number, NULL, &now) && !is_handler(&now) &&
	    now.sa_handler == SIG_DFL)
		install(number);
}

static void restore(void)
{
	struct sigaction now;

	if (sig.number && !sigaction(sig.number, NULL, &now) && is_ours(&now))
		sigaction(sig.number, &sig.before[sig.which & 1], NULL);
	sig.number = 0;
}

/* ---- proposals ---- */

static void name_proposal(char path[PATH_BYTES], uint32_t number)
{
	struct tp_text text;

	tp_text_init(&text, path, PATH_BYTES);
	tp_text_fmt(&text, "%s/trigger.", trigger.folder.path);
	if (trigger.restart)
		tp_text_fmt(&text, "restart%u.", trigger.restart);
	tp_text_u64(&text, number);
}

/* "trainprof trigger FROM TO STEP REAL_NS PID\n" */
static const char proposal_head[] = "trainprof trigger";

static bool parse_proposal(const char *text, struct proposal *proposal)
{
	uint64_t number[N_NUMBERS];
	const char *at = text + sizeof(proposal_head) - 1;

	if (strncmp(text, proposal_head, sizeof(proposal_head) - 1))
		return false;
	for (int i = 0; i < N_NUMBERS; i++) {
		if (*at != ' ' || at[1] < '0' || at[1] > '9')
			return false;
		for (number[i] = 0, at++; *at >= '0' && *at <= '9'; at++)
			number[i] = number[i] * 10 + (uint64_t)(*at - '0');
	}
	*proposal = (struct proposal){number[0], number[1], number[2], number[3], number[4]};
	return *at == '\n' && proposal->from < proposal->to && proposal->to <= TP_SCHED_MOST;
}

/* 0; -ENOENT: there is none of this number; another -errno, or it makes no sense. */
static int read_proposal(uint32_t number, struct proposal *proposal)
{
	char path[PATH_BYTES], bytes[TEXT_BYTES];
	struct tp_own_fd file;
	ssize_t n;
	int err;

	name_proposal(path, number);
	/* It opens the folder, too: a network filesystem then looks whether it has changed. */
	err = tp_folder_open_file(&trigger.folder, path, O_RDONLY, &file);
	if (err)
		return err == -ELOOP || err == -TP_FILE_IRREGULAR ? -EBADMSG : err;
	n = tp_own_fd_read(&file, bytes, sizeof(bytes) - 1, 0);
	tp_own_fd_close(&file);
	bytes[n > 0 ? n : 0] = '\0';
	return parse_proposal(bytes, proposal) ? 0 : -EBADMSG;
}

/* 0, -EEXIST: another rank was faster, or another -errno. */
static int write_proposal(uint32_t number, const struct proposal *proposal)
{
	char path[PATH_BYTES], draft[PATH_BYTES + 24], bytes[TEXT_BYTES];
	struct iovec part = {.iov_base = bytes};
	struct tp_own_fd file;
	struct tp_text text;
	int err, close_err;

	name_proposal(path, number);
	tp_text_init(&text, draft, sizeof(draft));
	tp_text_fmt(&text, "%s.%u.%lx", path, trigger.pid, proposal->real_ns);
	tp_text_init(&text, bytes, sizeof(bytes));
	tp_text_fmt(&text, "%s %lu %lu %lu %lu %lu\n", proposal_head, proposal->from, proposal->to,
		    proposal->step, proposal->real_ns, proposal->pid);
	part.iov_len = text.len;
	err = tp_folder_create(&trigger.folder, draft, O_WRONLY, 0644, &file);
	if (err)
		return err;
	err = tp_own_fd_write(&file, &part, 1, 0);
	close_err = tp_own_fd_close(&file);
	err = err ? err : close_err;
	if (!err)
		err = tp_folder_link(&trigger.folder, draft, path);
	tp_folder_unlink(&trigger.folder, draft, NULL);
	return err;
}

/* ---- when ---- */

static void note_pace(uint64_t mono_ns)
{
	uint64_t steps = tp_session_steps();

	if (steps == trigger.paced_steps)
		return;
	if (trigger.paced_steps)
		trigger.pace[trigger.n_paces++ % PACES] =
			(double)(steps - trigger.paced_steps) /
			(double)(mono_ns - trigger.paced_ns + 1);
	trigger.paced_steps = steps;
	trigger.paced_ns = mono_ns;
}

/* Steps that the fastest stretch would do until every rank has looked. */
static uint64_t steps_ahead(void)
{
	double most = 0;

	if (trigger.config->trigger.ahead)
		return trigger.config->trigger.ahead;
	for (uint32_t i = 0; i < PACES; i++)
		if (trigger.pace[i] > most)
			most = trigger.pace[i];
	return AHEAD_LEAST + (uint64_t)(most * (double)trigger.ahead_ms * 1e6);
}

static void ask(const struct proposal *proposal)
{
	unsigned long from = proposal->from, last = proposal->to - 1, here = tp_session_steps();

	trigger.n_windows++;
	trigger.last = *proposal;
	switch (tp_session_ask(proposal->from, proposal->to)) {
	case TP_SESSION_ASKED_OK:
		tp_info("steps %lu to %lu will be recorded: process %lu asked for them", from,
			last, (unsigned long)proposal->pid);
		break;
	case TP_SESSION_ASKED_LATE:
		trigger.n_late++;
		tp_warn("steps %lu to %lu are to be recorded, and this rank is in step %lu already: "
			"the first of them are missing here", from, last, here);
		break;
	case TP_SESSION_ASKED_MISSED:
		trigger.n_missed++;
		tp_warn("steps %lu to %lu were to be recorded, and this rank is in step %lu already: "
			"none of them is recorded here; a greater ahead= in TRAINPROF_TRIGGER helps",
			from, last, here);
		break;
	}
}

/* Takes over the next proposal, if there is one. */
static bool take_next(void)
{
	struct proposal proposal;
	int err;

	/* One after the other: the session remembers one. */
	if (!tp_session_is_asked_over())
		return false;
	while (!(err = read_proposal(trigger.next, &proposal)) || err == -EBADMSG) {
		trigger.next++;
		if (err || proposal.real_ns + SLACK_NS < trigger.start_real_ns)
			continue;
		ask(&proposal);
		return true;
	}
	return false;
}

static void propose(void)
{
	const struct tp_config *config = trigger.config;
	struct proposal proposal = {.real_ns = tp_clock_real_ns(), .pid = trigger.pid};
	int err = -EEXIST;

	proposal.step = tp_session_steps();
	/* Ahead of them all is the warm-up. */
	proposal.from = proposal.step + steps_ahead() + config->schedule.warmup;
	proposal.to = proposal.from + config->trigger.steps;
	if (!trigger.is_alone)
		err = write_proposal(trigger.next, &proposal);
	if (!err || (err == -EEXIST && !trigger.is_alone)) {
		take_next();
		return;
	}
	if (!trigger.is_alone)
		tp_warn("cannot tell the other ranks of a window in '%s': %s; it opens here alone",
			trigger.folder.path, strerror(-err));
	trigger.is_alone = true;
	ask(&proposal);
}

uint64_t tp_trigger_look(uint64_t mono_ns)
{
	if (!trigger.config)
		return UINT64_MAX;
	if (mono_ns < trigger.due_ns)
		return trigger.due_ns - mono_ns;
	trigger.due_ns = mono_ns + trigger.look_ms * 1000000ull;
	install(sig.number);
	note_pace(mono_ns);
	take_next();
	if (__atomic_exchange_n(&sig.is_hit, 0, __ATOMIC_RELAXED)) {
		if (trigger.config->schedule.always)
			tp_info("a trigger came; every step is recorded anyway");
		else if (tp_session_is_asked_over())
			propose();
		else
			tp_info("a trigger came before the window of the last one was over");
	}
	return trigger.look_ms * 1000000ull;
}

void tp_trigger_report(struct tp_text *totals)
{
	if (trigger.config)
		tp_text_fmt(totals, "trigger.windows=%u\ntrigger.late=%u\ntrigger.missed=%u\n",
			    trigger.n_windows, trigger.n_late, trigger.n_missed);
}

/* ---- begin and end ---- */

void tp_trigger_open(const struct tp_config *config, const struct tp_rank *rank, const char *dir)
{
	uint32_t n_ranks = rank->world_size > 0 ? (uint32_t)rank->world_size : 1;
	bool has_nodes = n_ranks > 1 && rank->local_world_size != rank->world_size;

	if (!config->trigger.signal)
		return;
	memset(&trigger, 0, sizeof(trigger));
	if (tp_folder_open(&trigger.folder, dir))
		trigger.is_alone = true;
	trigger.restart = rank->restart;
	trigger.pid = (uint32_t)getpid();
	trigger.start_real_ns = tp_process_start_real_ns(tp_process_own_start());
	trigger.look_ms = n_ranks * 1000 / POLLS_A_SECOND;
	if (trigger.look_ms < LOOK_MS)
		trigger.look_ms = LOOK_MS;
	if (trigger.look_ms > LOOK_MOST_MS)
		trigger.look_ms = LOOK_MOST_MS;
	trigger.ahead_ms = AHEAD_MS + 2 * trigger.look_ms + (has_nodes ? AHEAD_NODES_MS : 0);
	trigger.config = config;
	__atomic_store_n(&sig.is_hit, 0, __ATOMIC_RELAXED);
	sig.number = (int)config->trigger.signal;
	install(sig.number);
}

/* The program is at its end: whoever sent a signal hears what became of it, once. */
static void answer_the_last(void)
{
	const struct proposal *last = &trigger.last;
	unsigned long n_steps = tp_session_steps();

	if (last->from > n_steps && last->pid == trigger.pid)
		tp_warn("steps %lu to %lu were to be recorded, as a signal asked, and the run ended "
			"after %lu steps; ahead= in TRAINPROF_TRIGGER says how soon a window opens",
			(unsigned long)last->from, (unsigned long)last->to - 1, n_steps);
	else if (__atomic_load_n(&sig.is_hit, __ATOMIC_RELAXED) && last->to <= n_steps &&
		 !trigger.config->schedule.always)
		tp_warn("a signal asked for a window at the very end of the run: none was opened");
}

void tp_trigger_close(void)
{
	if (trigger.config) {
		answer_the_last();
		tp_folder_close(&trigger.folder);
	}
	trigger.config = NULL;
	restore();
}

void tp_trigger_forked(void)
{
	trigger.config = NULL;
	is_inside = false;
}
