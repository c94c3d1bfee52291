/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proposal.c - a proposed window as a file
 */
#include "runtime/engine/trigger/proposal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "runtime/base/open.h"
#include "runtime/base/text.h"
#include "runtime/engine/config/schedule.h"

enum {
	TEXT_BYTES = 320, PATH_BYTES = 700,
	N_NUMBERS = 5,
};

static void name_proposal(const struct tp_proposals *proposals, char path[PATH_BYTES],
			  uint32_t number)
{
	struct tp_text text;

	tp_text_init(&text, path, PATH_BYTES);
	tp_text_fmt(&text, "%s/trigger.", proposals->folder.path);
	if (proposals->restart)
		tp_text_fmt(&text, "restart%u.", proposals->restart);
	tp_text_u64(&text, number);
}

static const char proposal_head[] = "trainprof trigger";

/* From a file: printable, whoever wrote it. */
static void take_why(struct tp_proposal *proposal, const char *text, size_t n)
{
	struct tp_text why;

	tp_text_init(&why, proposal->why, sizeof(proposal->why));
	for (size_t i = 0; i < n; i++)
		tp_text_char(&why, text[i] >= ' ' && text[i] <= '~' ? text[i] : '?');
}

static bool parse_proposal(const char *text, struct tp_proposal *proposal)
{
	uint64_t number[N_NUMBERS];
	const char *at = text + sizeof(proposal_head) - 1;
	size_t n;

	if (strncmp(text, proposal_head, sizeof(proposal_head) - 1))
		return false;
	for (int i = 0; i < N_NUMBERS; i++) {
		if (*at != ' ' || at[1] < '0' || at[1] > '9')
			return false;
		for (number[i] = 0, at++; *at >= '0' && *at <= '9'; at++)
			number[i] = number[i] * 10 + (uint64_t)(*at - '0');
	}
	*proposal = (struct tp_proposal){number[0], number[1], number[2], number[3], number[4], ""};
	n = strcspn(at, "\n");
	if (*at == ' ')
		take_why(proposal, at + 1, n - 1);
	else if (n)
		return false;
	return at[n] == '\n' && proposal->from <= proposal->to && proposal->to <= TP_SCHED_MOST;
}

int tp_proposal_read(const struct tp_proposals *proposals, uint32_t number,
		     struct tp_proposal *proposal)
{
	char path[PATH_BYTES], bytes[TEXT_BYTES];
	struct tp_own_fd file;
	ssize_t n;
	int err;

	name_proposal(proposals, path, number);
	/* It opens the folder, too: a network filesystem then looks whether it has changed. */
	err = tp_folder_open_file(&proposals->folder, path, O_RDONLY, &file);
	if (err)
		return err == -ELOOP || err == -TP_FILE_IRREGULAR ? -EBADMSG : err;
	n = tp_own_fd_read(&file, bytes, sizeof(bytes) - 1, 0);
	tp_own_fd_close(&file);
	bytes[n > 0 ? n : 0] = '\0';
	return parse_proposal(bytes, proposal) ? 0 : -EBADMSG;
}

int tp_proposal_write(const struct tp_proposals *proposals, uint32_t number,
		      const struct tp_proposal *proposal)
{
	char path[PATH_BYTES], draft[PATH_BYTES + 24], bytes[TEXT_BYTES];
	struct iovec part = {.iov_base = bytes};
	struct tp_own_fd file;
	struct tp_text text;
	int err, close_err;

	name_proposal(proposals, path, number);
	tp_text_init(&text, draft, sizeof(draft));
	tp_text_fmt(&text, "%s.%u.%lx", path, proposals->pid, proposal->real_ns);
	tp_text_init(&text, bytes, sizeof(bytes));
	tp_text_fmt(&text, "%s %lu %lu %lu %lu %lu %s\n", proposal_head, proposal->from, proposal->to,
		    proposal->step, proposal->real_ns, proposal->pid, proposal->why);
	part.iov_len = text.len;
	err = tp_folder_create(&proposals->folder, draft, O_WRONLY, 0644, &file);
	if (err)
		return err;
	err = tp_own_fd_write(&file, &part, 1, 0);
	close_err = tp_own_fd_close(&file);
	err = err ? err : close_err;
	if (!err)
		err = tp_folder_link(&proposals->folder, draft, path);
	tp_folder_unlink(&proposals->folder, draft, NULL);
	return err;
}
