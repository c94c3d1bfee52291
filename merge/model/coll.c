/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coll.c - what strings COLL and XFER say, and how a timeline shows such events
 */
#include "merge/model/coll.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/trace/torch_names.h"

/* The structure; what follows it are texts. */
static void read_structure(const struct tp_string *string, void *to, size_t n)
{
	memset(to, 0, n);
	memcpy(to, string->bytes, string->n_bytes < n ? string->n_bytes : n);
}

/* Text number i behind a structure of n bytes. */
static const char *text_at(const struct tp_string *string, size_t n, uint32_t i)
{
	const char *at = string->bytes + n, *end = string->bytes + string->n_bytes;

	if (string->n_bytes <= n)
		return "";
	for (; i && at < end; i--)
		at += strnlen(at, (size_t)(end - at)) + 1;
	/* A zero byte stands behind the string. */
	return at < end ? at : "";
}

struct tp_coll_said tp_coll_read(const struct tp_string *string)
{
	struct tp_coll_said said = {.func = "", .type = "", .algo = "", .proto = "",
				    .comm = ""};

	if (string->kind != TP_STRING_COLL)
		return said;
	read_structure(string, &said.is, sizeof(said.is));
	said.func = text_at(string, sizeof(said.is), 0);
	said.type = text_at(string, sizeof(said.is), 1);
	said.algo = text_at(string, sizeof(said.is), 2);
	said.proto = text_at(string, sizeof(said.is), 3);
	said.comm = text_at(string, sizeof(said.is), 4);
	return said;
}

struct tp_xfer_said tp_coll_read_xfer(const struct tp_string *string)
{
	struct tp_xfer_said said = {.func = ""};

	if (string->kind != TP_STRING_XFER)
		return said;
	read_structure(string, &said.is, sizeof(said.is));
	said.func = text_at(string, sizeof(said.is), 0);
	return said;
}

const char *tp_coll_title(char buf[TP_COLL_TITLE], const struct tp_string *string)
{
	if (string->kind == TP_STRING_XFER) {
		struct tp_xfer_said xfer = tp_coll_read_xfer(string);

		snprintf(buf, TP_COLL_TITLE, "%s %d", xfer.is.is_send ? "send to" : "receive from",
			 xfer.is.peer);
	} else {
		struct tp_coll_said coll = tp_coll_read(string);
		int n = snprintf(buf, TP_COLL_TITLE, TP_NAME_NCCL_KERNEL "%.48s", coll.func);

		if (coll.is.what & TP_COLL_P2P)
			snprintf(buf + n, TP_COLL_TITLE - (size_t)n, "%s %d",
				 !strcmp(coll.func, "Recv") ? " from" : " to", coll.is.root);
	}
	return buf;
}

/* ---- arguments ---- */

struct list {
	struct tp_coll_arg *arg;
	uint32_t n;
};

static void add(struct list *list, const char *name, int64_t value)
{
	list->arg[list->n++] = (struct tp_coll_arg){.name = name, .value = value};
}

static void add_text(struct list *list, const char *name, const char *text)
{
	if (*text)
		list->arg[list->n++] = (struct tp_coll_arg){.name = name, .text = text};
}

static void add_coll(struct list *list, const struct tp_event *event, char buf[64])
{
	struct tp_coll_said coll = tp_coll_read(event->name);

	add(list, "bytes", (int64_t)TP_ARG_COLL_BYTES(event->arg));
	add_text(list, "type", coll.type);
	add_text(list, "algorithm", coll.algo);
	add_text(list, "protocol", coll.proto);
	snprintf(buf, 32, "%" PRIx64, coll.is.hash);
	add_text(list, "communicator", *coll.comm ? coll.comm : buf);
	add(list, "rank", coll.is.rank);
	if (coll.is.n_ranks > 0)
		add(list, "ranks", coll.is.n_ranks);
	if (event->link != TP_NO_SEQ)
		add(list, "sequence", event->link);
	if (coll.is.root >= 0)
		add(list, coll.is.what & TP_COLL_P2P ? "peer" : "root", coll.is.root);
	if (coll.is.channels)
		add(list, "channels", coll.is.channels);
	if (coll.is.stream) {
		snprintf(buf + 32, 32, "0x%" PRIx64, coll.is.stream);
		add_text(list, "stream", buf + 32);
	}
	if (event->flags & TP_F_ENQUEUED)
		add(list, "Only enqueueing is known", 1);
	if (event->flags & TP_F_REPLAY)
		add(list, "By a CUDA graph", 1);
}

static void add_xfer(struct list *list, const struct tp_event *event, char buf[64])
{
	struct tp_xfer_said xfer = tp_coll_read_xfer(event->name);
	/* Of 255. */
	const unsigned part[] = {TP_ARG_XFER_DEVICE(event->arg), TP_ARG_XFER_PEER(event->arg),
				 TP_ARG_XFER_NETWORK(event->arg)};
	static const char *const of[] = {"waits for device %", "waits for peer %", "in network %"};

	add(list, "bytes", (int64_t)TP_ARG_XFER_BYTES(event->arg));
	add_text(list, "function", xfer.func);
	if (xfer.is.hash) {
		snprintf(buf, 32, "%" PRIx64, xfer.is.hash);
		add_text(list, "communicator", buf);
	}
	add(list, "rank", xfer.is.rank);
	add(list, "peer", xfer.is.peer);
	add(list, "channel", xfer.is.channel);
	if (event->link != TP_NO_SEQ)
		add(list, "sequence", event->link);
	for (uint32_t i = 0; i < 3 && part[0] + part[1] + part[2]; i++)
		add(list, of[i], (int64_t)(part[i] * 100 + 127) / 255);
	if (xfer.is.is_foreign)
		add(list, "For another process", 1);
}

uint32_t tp_coll_args(const struct tp_event *event, struct tp_coll_arg arg[TP_COLL_ARGS],
		      char buf[64])
{
	struct list list = {.arg = arg};

	if (event->kind == TP_REC_COLL)
		add_coll(&list, event, buf);
	else
		add_xfer(&list, event, buf);
	if (event->flags & TP_F_EARLY)
		add(&list, "Began before the window", 1);
	if (event->flags & TP_F_OPEN)
		add(&list, "Unfinished", 1);
	return list.n;
}
