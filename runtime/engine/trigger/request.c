/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.c - who may ask, who answers
 *
 * All ranks look; who removes the file has the request. No allocation.
 */
#include "runtime/engine/trigger/request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/log.h"

enum { PATH_BYTES = 700 };

/* Why the file is not taken for a request; NULL: it is fine. "": not yet, look again. */
static const char *judge(const struct tp_own_fd *file)
{
	struct stat st;

	if (tp_own_fd_stat(file, &st))
		return "";
	if (st.st_uid != geteuid() && st.st_uid)
		return "it belongs to another user";
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return "others may write to it";
	if (st.st_size > TP_CONTROL_BYTES)
		return "it is too long";
	/* Being put there by link(2): its draft goes at once. */
	return st.st_nlink == 1 ? NULL : "";
}

static void refuse(const struct tp_folder *folder, const char *why)
{
	if (*why)
		tp_warn_once("'%s/" TP_CONTROL_FILE "' is not taken for a request: %s", folder->path,
			     why);
}

bool tp_request_take(const struct tp_folder *folder, struct tp_request *request)
{
	char path[PATH_BYTES], bytes[TP_CONTROL_BYTES + 1];
	struct tp_own_fd file;
	struct tp_text text;
	const char *why;
	ssize_t n = 0;
	int err;

	tp_text_init(&text, path, sizeof(path));
	tp_text_fmt(&text, "%s/" TP_CONTROL_FILE, folder->path);
	err = tp_folder_open_file(folder, path, O_RDONLY, &file);
	if (err) {
		if (err == -ELOOP || err == -TP_FILE_IRREGULAR || err == -EACCES)
			refuse(folder, err == -ELOOP ? "it is a link" : tp_file_error(err));
		return false;
	}
	why = judge(&file);
	if (!why) {
		n = tp_own_fd_read(&file, bytes, sizeof(bytes), 0);
		if (n < 0 || !tp_control_parse(bytes, (size_t)n, &request->control))
			why = "it is no command";
	}
	if (!why)
		err = tp_folder_unlink(folder, path, &file);
	tp_own_fd_close(&file);
	if (why) {
		refuse(folder, why);
		return false;
	}
	request->n_answered = 0;
	request->is_open = !err;
	return !err;
}

static int open_answers(const struct tp_folder *folder, const struct tp_request *request,
			struct tp_own_fd *file)
{
	char path[PATH_BYTES];
	struct tp_text text;

	tp_text_init(&text, path, sizeof(path));
	tp_text_fmt(&text, "%s/" TP_CONTROL_FILE ".%s", folder->path, request->control.id);
	if (!request->n_answered)
		return tp_folder_create(folder, path, O_WRONLY, 0644, file);
	return tp_folder_open_file(folder, path, O_WRONLY, file);
}

void tp_request_answer(const struct tp_folder *folder, struct tp_request *request,
		       enum tp_answer answer, const char *format, ...)
{
	char line[TP_ANSWER_BYTES / 4];
	struct iovec part = {.iov_base = line};
	struct tp_own_fd file;
	struct tp_text text;
	va_list args;
	int err;

	if (!request->is_open)
		return;
	tp_text_init(&text, line, sizeof(line) - 1);
	tp_text_fmt(&text, "%s ", tp_answer_word(answer));
	va_start(args, format);
	tp_text_vfmt(&text, format, args);
	va_end(args);
	text.cap++;
	tp_text_char(&text, '\n');
	part.iov_len = text.len;
	err = open_answers(folder, request, &file);
	if (!err) {
		err = tp_own_fd_write(&file, &part, 1, request->n_answered);
		tp_own_fd_close(&file);
	}
	request->n_answered += text.len;
	request->is_open = !err && answer == TP_ANSWER_TAKEN;
	/* Who asked may be gone, with the file. */
	if (err && err != -ENOENT)
		tp_warn_once("cannot answer a request in '%s': %s", folder->path, tp_file_error(err));
}
