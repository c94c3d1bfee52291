/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.c - the rooms below, called from a library
 */
#include "merge/arrow/guard.h"

#include <errno.h>
#include <pthread.h>

#include "merge/kit/need.h"
#include "merge/kit/say.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void take_line(void *ctx, const char *line)
{
	struct tp_text *said = ctx;

	tp_text_fmt(said, "%s%s", said->len ? "; " : "", line);
}

int tp_guard(int (*what)(void *ctx), void *ctx, struct tp_text *said)
{
	jmp_buf out;
	int err;

	pthread_mutex_lock(&lock);
	tp_say_take(take_line, said);
	if (setjmp(out)) {
		err = ENOMEM;
		take_line(said, "out of memory: choose steps, ranks or windows");
	} else {
		tp_need_leave(&out);
		err = what(ctx);
	}
	tp_need_leave(NULL);
	tp_say_take(NULL, NULL);
	pthread_mutex_unlock(&lock);
	return err;
}

void tp_guard_quiet(void (*what)(void *ctx), void *ctx)
{
	pthread_mutex_lock(&lock);
	what(ctx);
	pthread_mutex_unlock(&lock);
}
