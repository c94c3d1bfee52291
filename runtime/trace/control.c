/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.c - the words of requests to a running job, and of its answers
 */
#include "runtime/trace/control.h"

#include <string.h>

static const char head[] = "trainprof control ";

static const char *const command_word[TP_CONTROL_WHATS] = {
	[TP_CONTROL_STATUS] = "status", [TP_CONTROL_WINDOW] = "window=", [TP_CONTROL_STOP] = "stop",
};

static const char *const answer_word[TP_ANSWER_NONE] = {
	[TP_ANSWER_TAKEN] = "taken", [TP_ANSWER_DONE] = "done", [TP_ANSWER_REFUSED] = "refused",
};

bool tp_control_parse_command(const char *command, struct tp_control *control)
{
	const size_t n_window = strlen(command_word[TP_CONTROL_WINDOW]);
	uint64_t steps;

	for (enum tp_control_what what = 0; what < TP_CONTROL_WHATS; what++) {
		if (what != TP_CONTROL_WINDOW && !strcmp(command, command_word[what])) {
			control->what = what;
			control->steps = 0;
			return true;
		}
	}
	if (strncmp(command, command_word[TP_CONTROL_WINDOW], n_window) ||
	    tp_text_parse_u64(command + n_window, &steps) || !steps ||
	    steps > TP_CONTROL_STEPS_MOST)
		return false;
	control->what = TP_CONTROL_WINDOW;
	control->steps = (uint32_t)steps;
	return true;
}

static bool is_id(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((text[i] < '0' || text[i] > '9') && (text[i] < 'a' || text[i] > 'z') &&
		    text[i] != '-')
			return false;
	return n > 0 && n < TP_CONTROL_ID;
}

bool tp_control_parse(const char *text, size_t n, struct tp_control *control)
{
	const size_t n_head = sizeof(head) - 1;
	char command[32];
	size_t n_id, n_command;
	const char *at;

	if (n <= n_head || n > TP_CONTROL_BYTES || text[n - 1] != '\n' || memcmp(text, head, n_head) ||
	    memchr(text, '\0', n))
		return false;
	at = text + n_head;
	n_id = strcspn(at, " \n");
	if (at[n_id] != ' ' || !is_id(at, n_id))
		return false;
	n_command = (size_t)(text + n - 1 - (at + n_id + 1));
	if (n_command >= sizeof(command))
		return false;
	memcpy(command, at + n_id + 1, n_command);
	command[n_command] = '\0';
	if (!tp_control_parse_command(command, control))
		return false;
	memcpy(control->id, at, n_id);
	control->id[n_id] = '\0';
	return true;
}

void tp_control_format(const struct tp_control *control, struct tp_text *out)
{
	tp_text_fmt(out, "%s%s %s", head, control->id, command_word[control->what]);
	if (control->what == TP_CONTROL_WINDOW)
		tp_text_u64(out, control->steps);
	tp_text_char(out, '\n');
}

const char *tp_answer_word(enum tp_answer answer)
{
	return answer < TP_ANSWER_NONE ? answer_word[answer] : "";
}

enum tp_answer tp_answer_parse(const char **text, const char **said, size_t *n_said)
{
	size_t n = strcspn(*text, "\n");

	if ((*text)[n] != '\n')
		return TP_ANSWER_NONE;
	for (enum tp_answer answer = 0; answer < TP_ANSWER_NONE; answer++) {
		size_t n_word = strlen(answer_word[answer]);

		if (n <= n_word || memcmp(*text, answer_word[answer], n_word) ||
		    (*text)[n_word] != ' ')
			continue;
		*said = *text + n_word + 1;
		*n_said = n - n_word - 1;
		*text += n + 1;
		return answer;
	}
	return TP_ANSWER_NONE;
}
