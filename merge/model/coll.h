/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coll.h - what strings COLL and XFER say, and how a timeline shows such events
 *
 * The bytes come from files: what a string lacks is zero or empty, what it has too much is ignored.
 */
#ifndef TP_MERGE_COLL_H
#define TP_MERGE_COLL_H

#include "merge/model/model.h"

struct tp_coll_said {
	struct tp_coll is;
	const char *func, *type, *algo, *proto;	/* "AllReduce"; "" if not known */
	const char *comm;	/* the communicator's name; "" if it has none */
};
struct tp_xfer_said {
	struct tp_xfer is;
	const char *func;	/* "": not known */
};
/* Texts live as long as the string. All zero and empty when it is of another kind. */
struct tp_coll_said tp_coll_read(const struct tp_string *string);
struct tp_xfer_said tp_coll_read_xfer(const struct tp_string *string);

/* "ncclAllReduce", "ncclSend to 3"; of an XFER "send to 3". Into buf, returned. */
enum { TP_COLL_TITLE = 96 };
const char *tp_coll_title(char buf[TP_COLL_TITLE], const struct tp_string *string);

/* What is shown of one event besides its title and times. */
struct tp_coll_arg {
	const char *name;
	const char *text;	/* NULL: it is a number */
	int64_t value;
};
enum {
	TP_COLL_ARGS = 16,
	TP_COLL_TEXT_MAX = 64,	/* bytes of a text that are shown */
	TP_COLL_TEXTS = (TP_COLL_ARGS + 2) * 6 * TP_COLL_TEXT_MAX, /* all, and the title, as JSON */
};
/* How many there are. `buf` holds texts that are made. */
uint32_t tp_coll_args(const struct tp_event *event, struct tp_coll_arg arg[TP_COLL_ARGS],
		      char buf[64]);

#endif
