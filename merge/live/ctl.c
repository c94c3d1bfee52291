/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl.c - a request to a running job, through its run folder
 *
 * The request appears whole under its name, by link(2): so two that come at once do not mix. Files and
 * their words: runtime/trace/control.h; who answers: runtime/engine/trigger/request.h.
 */
#include "merge/live/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "merge/kit/say.h"
#include "merge/live/follow.h"
#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "runtime/trace/control.h"

enum {
	LOOK_NS = 50000000,
	ALIVE_NS = 1000000000,
	ANSWER_NS = 2000000000,	/* who took a request answers at once */
};

struct asking {
	const char *folder;
	int dir;			/* it, open */
	struct tp_control control;
	char name[TP_CONTROL_ID + 16];	/* of the answers */
	uint64_t n_read;		/* bytes of them */
	struct tp_follow follow;	/* does somebody live? */
	uint64_t next_ns;		/* when to ask that again */
};

/* Puts the whole request there as `control`. 0 or -errno; -EEXIST: another one waits. */
static int put_request(const struct asking *asking)
{
	char draft[TP_CONTROL_ID + 24], bytes[TP_CONTROL_BYTES];
	struct tp_text text;
	int fd, err;

	snprintf(draft, sizeof(draft), "%s.draft", asking->name);
	tp_text_init(&text, bytes, sizeof(bytes));
	tp_control_format(&asking->control, &text);
	fd = tp_file_open_at(asking->dir, draft, O_WRONLY | O_CREAT | O_EXCL, 0644);
	if (fd < 0)
		return fd;
	/* Whatever the umask: the job refuses what others may write to. */
	fchmod(fd, 0644);
	err = tp_file_write_all(fd, bytes, text.len);
	close(fd);
	if (!err && linkat(asking->dir, draft, asking->dir, TP_CONTROL_FILE, 0) < 0)
		err = -errno;
	unlinkat(asking->dir, draft, 0);
	return err;
}

/* True: it was still there, so nobody has taken it. Another's request is left alone. */
static bool take_back(const struct asking *asking)
{
	char bytes[TP_CONTROL_BYTES + 1];
	struct tp_control control;
	int fd = tp_file_open_at(asking->dir, TP_CONTROL_FILE, O_RDONLY | O_NOFOLLOW, 0);
	ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));

	if (fd >= 0)
		close(fd);
	return n > 0 && tp_control_parse(bytes, (size_t)n, &control) &&
	       !strcmp(control.id, asking->control.id) &&
	       !unlinkat(asking->dir, TP_CONTROL_FILE, 0);
}

/* Prints the lines that are new. Returns the last answer; TP_ANSWER_NONE: nothing new. */
static enum tp_answer print_answers(struct asking *asking)
{
	char bytes[TP_ANSWER_BYTES + 1];
	int fd = tp_file_open_at(asking->dir, asking->name, O_RDONLY | O_NOFOLLOW, 0);
	ssize_t n = fd < 0 ? -1 : pread(fd, bytes, sizeof(bytes) - 1, (off_t)asking->n_read);
	enum tp_answer answer, last = TP_ANSWER_NONE;
	const char *at = bytes, *said;
	size_t n_said;

	if (fd >= 0)
		close(fd);
	bytes[n > 0 ? n : 0] = '\0';
	while ((answer = tp_answer_parse(&at, &said, &n_said)) != TP_ANSWER_NONE) {
		if (answer == TP_ANSWER_REFUSED)
			tp_say("refused: %.*s", (int)n_said, said);
		else
			tp_say_to(stdout, "%.*s", (int)n_said, said);
		last = answer;
	}
	fflush(stdout);
	asking->n_read += (uint64_t)(at - bytes);
	return last;
}

static void pause_briefly(void)
{
	nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
}

/* The job was killed, and answers no more. */
static bool is_job_gone(struct asking *asking)
{
	asking->next_ns = tp_clock_mono_ns() + ALIVE_NS;
	return !tp_follow_look(&asking->follow) && tp_follow_is_over(&asking->follow);
}

/* Nothing was answered until that time: is that said, and the end? Not while somebody took it just now. */
static bool is_given_up(const struct asking *asking, uint64_t end_ns, uint32_t wait_s)
{
	uint64_t now_ns = tp_clock_mono_ns();

	if (now_ns <= end_ns || asking->n_read)
		return false;
	if (take_back(asking))
		tp_say("no process of a job took the request in '%s' within %u s: does it run, with "
		       "TRAINPROF_TRIGGER other than none, and into this folder?", asking->folder, wait_s);
	else if (now_ns > end_ns + ANSWER_NS)
		tp_say("the process that took the request in '%s' answers nothing: it has died, or was none "
		       "of a job", asking->folder);
	else
		return false;
	return true;
}

static enum tp_ctl_end await_answers(struct asking *asking, uint32_t wait_s)
{
	uint64_t end_ns = tp_clock_mono_ns() + wait_s * 1000000000ull;

	for (;;) {
		enum tp_answer answer = print_answers(asking);

		if (answer == TP_ANSWER_DONE || answer == TP_ANSWER_REFUSED) {
			unlinkat(asking->dir, asking->name, 0);
			return answer == TP_ANSWER_DONE ? TP_CTL_DONE : TP_CTL_REFUSED;
		}
		if (is_given_up(asking, end_ns, wait_s))
			return TP_CTL_REFUSED;
		if (asking->n_read && tp_clock_mono_ns() > asking->next_ns && is_job_gone(asking) &&
		    print_answers(asking) == TP_ANSWER_NONE) {
			tp_say("the job in '%s' has ended without a last answer", asking->folder);
			return TP_CTL_REFUSED;
		}
		pause_briefly();
	}
}

/* Of a job that has ended, or of another user: nobody comes for it. */
static int put_soon(const struct asking *asking, uint32_t wait_s)
{
	uint64_t end_ns = tp_clock_mono_ns() + wait_s * 1000000000ull;
	int err;

	while ((err = put_request(asking)) == -EEXIST && tp_clock_mono_ns() < end_ns)
		pause_briefly();
	return err;
}

enum tp_ctl_end tp_ctl(const char *folder, const char *command, uint32_t wait_s)
{
	struct asking asking = {.folder = folder, .follow = {.dir = -1}};
	enum tp_ctl_end end;
	int err;

	if (!tp_control_parse_command(command, &asking.control)) {
		tp_say("'%s' is no command for '--ctl': window=N (1 to %d steps), stop or status", command,
		       TP_CONTROL_STEPS_MOST);
		return TP_CTL_USAGE;
	}
	snprintf(asking.control.id, sizeof(asking.control.id), "%x-%llx", (unsigned)getpid(),
		 (unsigned long long)tp_clock_real_ns());
	snprintf(asking.name, sizeof(asking.name), TP_CONTROL_FILE ".%s", asking.control.id);
	asking.dir = tp_file_open(folder, O_RDONLY | O_DIRECTORY, 0);
	if (asking.dir < 0) {
		tp_say("cannot open folder '%s': %s", folder, tp_file_error(asking.dir));
		return TP_CTL_REFUSED;
	}
	err = put_soon(&asking, wait_s);
	if (err == -EEXIST)
		tp_say("another request waits in '%s': remove '" TP_CONTROL_FILE "' there if its job has "
		       "ended", folder);
	else if (err)
		tp_say("cannot write a request into '%s': %s", folder, tp_file_error(err));
	if (!err)
		err = tp_follow_open(&asking.follow, folder);
	end = err ? TP_CTL_REFUSED : await_answers(&asking, wait_s);
	tp_follow_close(&asking.follow);
	close(asking.dir);
	return end;
}
