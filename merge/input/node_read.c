/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_read.c - a node file as the traces, ledgers and rings that it was made of
 *
 * Input is not trusted: a member is what its blocks make of it, and each of these is checked as
 * it would be in a file of its own.
 */
#include "merge/input/node.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "merge/kit/grow.h"
#include "merge/kit/list.h"

enum { RING_BYTES_MAX = 1 << 30 };	/* of a ring's file: far more than TRAINPROF_BUFFER allows */

static void complain_node(void *ctx, const char *path, uint64_t offset, const char *what)
{
	struct tp_run_in *run = ctx;

	tp_run_issue(&run->pub, NULL, true, "'%s': offset %llu: %s", path,
		     (unsigned long long)offset, what);
}

/* ---- the members ---- */

static bool is_own(const struct tp_block_head *head)
{
	return (head->type >= TP_BLOCK_MEMBER && head->type <= TP_BLOCK_RING) ||
	       head->type == TP_BLOCK_REPORT;
}

/* By member; its own blocks first, then those of the trace, as they lay there. */
static int compare_blocks(const void *a, const void *b)
{
	const struct tp_reader_block *x = a, *y = b;
	uint64_t member_x = x->head.reserved[TP_NODE_MEMBER],
		 member_y = y->head.reserved[TP_NODE_MEMBER];
	bool own_x = is_own(&x->head), own_y = is_own(&y->head);

	if (member_x != member_y)
		return member_x < member_y ? -1 : 1;
	if (own_x != own_y)
		return own_x ? -1 : 1;
	if (own_x && x->head.type != y->head.type)
		return x->head.type < y->head.type ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return (x->lies_at > y->lies_at) - (x->lies_at < y->lies_at);
}

/* What its MEMBER block says; false: it has none that can be read. */
static bool take_member(struct tp_node *node, struct tp_node_part *part)
{
	const uint8_t *raw;
	uint32_t n;

	if (!part->n_own || node->reader.block[part->first].head.type != TP_BLOCK_MEMBER ||
	    tp_reader_payload(&node->reader, part->first, &raw, &n) || n < sizeof(part->head))
		return false;
	memcpy(&part->head, raw, sizeof(part->head));
	part->path = strndup((const char *)raw + sizeof(part->head), n - sizeof(part->head));
	return part->path != NULL;
}

static int list_parts(struct tp_run_in *run, struct tp_node *node)
{
	struct tp_reader *reader = &node->reader;
	uint32_t cap = 0, n_lost = 0;

	for (uint32_t i = 0; i < reader->n_blocks; i++)
		reader->block[i].offset = reader->block[i].head.reserved[TP_NODE_OFFSET];
	if (reader->n_blocks)
		qsort(reader->block, reader->n_blocks, sizeof(reader->block[0]), compare_blocks);
	for (uint32_t i = 0, next; i < reader->n_blocks; i = next) {
		uint64_t member = reader->block[i].head.reserved[TP_NODE_MEMBER];
		struct tp_node_part part = {.first = i};

		for (next = i; next < reader->n_blocks &&
			       reader->block[next].head.reserved[TP_NODE_MEMBER] == member; next++)
			part.n_own += is_own(&reader->block[next].head);
		part.n = next - i;
		/* 0: blocks of the node file itself, an index that was not found as such. */
		if (!member)
			continue;
		if (!take_member(node, &part)) {
			n_lost++;
			continue;
		}
		if (!tp_grow(&node->part, &cap, (uint64_t)node->n_parts + 1, sizeof(part))) {
			free(part.path);
			return -ENOMEM;
		}
		node->part[node->n_parts++] = part;
	}
	if (n_lost)
		tp_run_issue(&run->pub, NULL, true,
			     "'%s': %u of its files cannot be identified: what they held is lost",
			     reader->path, n_lost);
	return 0;
}

int tp_node_open(struct tp_run_in *run, int fd, const char *path)
{
	struct tp_node *node = calloc(1, sizeof(*node));
	uint32_t n_issues = run->pub.n_issues;
	int err;

	if (!node) {
		close(fd);
		return -ENOMEM;
	}
	err = tp_reader_take_node(&node->reader, fd, path, complain_node, run);
	if (!err) {
		run->n_input_bytes += node->reader.file_bytes;
		node->file = tp_infiles_add(&run->files, path, node->reader.fd);
		err = node->file ? list_parts(run, node) : -ENOMEM;
	}
	if (!err && !tp_grow(&run->node, &run->cap_nodes, (uint64_t)run->n_nodes + 1, sizeof(node)))
		err = -ENOMEM;
	tp_run_keep(run, n_issues);
	if (err) {
		tp_node_free(node);
		return err == -ENOMEM ? err : -1;
	}
	run->node[run->n_nodes++] = node;
	return 0;
}

void tp_node_free(struct tp_node *node)
{
	for (uint32_t i = 0; i < node->n_parts; i++)
		free(node->part[i].path);
	free(node->part);
	if (node->reader.path)
		tp_reader_close(&node->reader);
	free(node);
}

void tp_node_view(struct tp_node *node, uint32_t at, struct tp_reader *reader)
{
	const struct tp_node_part *part = &node->part[at];

	*reader = node->reader;
	reader->path = part->path;
	reader->is_node = false;
	reader->head = part->head.head;
	reader->file_bytes = part->head.file_bytes;
	reader->is_whole = part->head.flags & TP_MEMBER_WHOLE;
	reader->block = &node->reader.block[part->first + part->n_own];
	reader->n_blocks = part->n - part->n_own;
}

void tp_node_give_back(struct tp_node *node, struct tp_reader *reader)
{
	node->reader.room = reader->room;
}

/* ---- notes ---- */

static struct tp_proc_in *proc_of(const struct tp_node *node, const char *number)
{
	unsigned long part = strtoul(number, NULL, 10);

	return *number >= '0' && *number <= '9' && part < node->n_parts ? node->part[part].proc
									: NULL;
}

/* Lines "! 3 text": a loss, of the process of member 3; "- - text": a note, of none. */
static void tell_notes(struct tp_run_in *run, const struct tp_node *node, char *text)
{
	char *line, *rest;
	uint32_t n_issues = run->pub.n_issues;

	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *said = strlen(line) > 4 ? strchr(line + 2, ' ') : NULL;
		struct tp_proc_in *proc;

		if (!said)
			continue;
		proc = proc_of(node, line + 2);
		tp_run_issue(&run->pub, proc ? &proc->pub : NULL, *line == '!', "%s", said + 1);
	}
	tp_run_keep(run, n_issues);
}

static void read_notes(struct tp_run_in *run, struct tp_node *node,
		       const struct tp_node_part *part)
{
	for (uint32_t i = part->first; i < part->first + part->n_own; i++) {
		const uint8_t *raw;
		uint32_t n;
		char *text;

		if (node->reader.block[i].head.type != TP_BLOCK_NOTES ||
		    tp_reader_payload(&node->reader, i, &raw, &n))
			continue;
		text = strndup((const char *)raw, n);
		if (text)
			tell_notes(run, node, text);
		free(text);
	}
}

/* ---- reports, ledgers and rings ---- */

static int read_report(struct tp_run_in *run, struct tp_node *node, const struct tp_node_part *part)
{
	int err = 0;

	for (uint32_t i = part->first; i < part->first + part->n_own && !err; i++) {
		const uint8_t *raw;
		uint32_t n;

		if (node->reader.block[i].head.type == TP_BLOCK_REPORT &&
		    !tp_reader_payload(&node->reader, i, &raw, &n))
			err = tp_run_take_report(run, (const char *)raw, n, part->path);
	}
	return err;
}

/* A file without a name. */
static int make_file(void)
{
	const char *folder = getenv("TMPDIR");
	int fd;

	folder = folder && *folder ? folder : "/tmp";
	fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/trainprof-merge.XXXXXX", folder);
		fd = mkostemp(path, O_CLOEXEC);
		if (fd >= 0)
			unlink(path);
	}
	return fd < 0 ? -errno : fd;
}

/* The bytes of its blocks of that type, each where it belongs. 0 or -errno. */
static int write_bytes(struct tp_node *node, const struct tp_node_part *part, uint8_t type,
		       int fd)
{
	if (part->head.file_bytes > RING_BYTES_MAX && type == TP_BLOCK_RING)
		return -EFBIG;
	if (type == TP_BLOCK_RING && ftruncate(fd, (off_t)part->head.file_bytes))
		return -errno;
	for (uint32_t i = part->first; i < part->first + part->n_own; i++) {
		const struct tp_reader_block *block = &node->reader.block[i];
		const uint8_t *raw;
		uint32_t n;
		ssize_t done;

		/* A damaged one was complained about: what it held is not there. */
		if (block->head.type != type || tp_reader_payload(&node->reader, i, &raw, &n))
			continue;
		if (block->offset > part->head.file_bytes ||
		    n > part->head.file_bytes - block->offset)
			return -EBADMSG;
		done = pwrite(fd, raw, n, (off_t)block->offset);
		if (done != (ssize_t)n)
			return done < 0 ? -errno : -ENOSPC;
	}
	return 0;
}

static int read_ledger(struct tp_run_in *run, struct tp_node_part *part, int fd)
{
	FILE *text = fdopen(dup(fd), "re");
	int err;

	if (!text)
		return -ENOMEM;
	rewind(text);
	err = tp_run_read_ledger_text(run, text, part->path, &part->proc);
	fclose(text);
	return err;
}

static int read_loose(struct tp_run_in *run, struct tp_node *node, uint32_t at)
{
	struct tp_node_part *part = &node->part[at];
	bool is_ring = part->head.kind == TP_MEMBER_RING;
	int fd = make_file();
	int err = fd < 0 ? fd
			 : write_bytes(node, part, is_ring ? TP_BLOCK_RING : TP_BLOCK_LEDGER, fd);

	if (!err)
		err = is_ring ? tp_recover_kept(run, fd, part->path, &part->proc)
			      : read_ledger(run, part, fd);
	if (fd >= 0)
		close(fd);
	if (err && err != -ENOMEM) {
		tp_run_issue(&run->pub, NULL, true, "'%s': '%s' in it: %s", node->reader.path,
			     part->path, strerror(-err));
		return 0;
	}
	if (!err && part->proc &&
	    !tp_run_member(run, (struct tp_member){.kind = part->head.kind, .proc = part->proc,
						   .path = node->file->path, .shown = part->path,
						   .node = node, .part = at}))
		err = -ENOMEM;
	return err;
}

/* Files of that process were read before this node file: then its ring was one of them, or is
 * in files by now. */
static bool has_files(const struct tp_run_in *run, const struct tp_file_head *head)
{
	for (uint32_t i = 0; i < run->n_members; i++) {
		const struct tp_proc *proc = &run->member[i].proc->pub;

		if (proc->run_id == head->run_id && proc->pid == head->pid &&
		    !memcmp(proc->boot_id, head->boot_id, sizeof(proc->boot_id)))
			return true;
	}
	return false;
}

/* ---- all of it ---- */

static bool is_chosen(const struct tp_run_in *run, const struct tp_node_part *part)
{
	int32_t rank = part->head.head.rank;

	return tp_list_has(run->options.ranks, rank < 0 ? 0 : (uint64_t)rank);
}

int tp_node_read(struct tp_run_in *run, uint32_t node_at, enum tp_member_kind kind)
{
	struct tp_node *node = run->node[node_at];
	int err = 0;

	for (uint32_t i = 0; i < node->n_parts && err != -ENOMEM; i++) {
		struct tp_node_part *part = &node->part[i];

		if (part->head.kind != kind)
			continue;
		/* Of files that are not asked for, too, as these tell when they are opened. */
		read_notes(run, node, part);
		if (kind == TP_MEMBER_NOTES || !is_chosen(run, part))
			continue;
		if (kind == TP_MEMBER_TRACE)
			err = tp_run_read_part(run, node, i);
		else if (kind == TP_MEMBER_RING && has_files(run, &part->head.head))
			node->n_told++;
		else if (kind == TP_MEMBER_REPORT)
			err = read_report(run, node, part);
		else
			err = read_loose(run, node, i);
	}
	return err == -ENOMEM ? err : 0;
}

void tp_node_tell(struct tp_run_in *run, const struct tp_node *node)
{
	if (!node->n_told)
		return;
	tp_run_issue(&run->pub, NULL, false,
		     "'%s': %u of the files in it are given by themselves too; each is counted once",
		     node->reader.path, node->n_told);
	tp_run_keep(run, run->pub.n_issues - 1);
}
