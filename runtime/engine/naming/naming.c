/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naming.c - file names from templates, and which traces to keep
 *
 * No allocation, no locale, no time zone (reading one allocates): bounded text on the stack.
 * Whatever a user writes into a template, two processes or two windows never share a file.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/log.h"
#include "runtime/base/options.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/naming/naming.h"

enum { NAME_MAX_BYTES = 1024, KEPT_MAX = 1024, KEPT_PATH_MAX = 512 };

/* ---- fields ---- */

static uint64_t known_or(int32_t value, uint64_t otherwise)
{
	return value >= 0 ? (uint64_t)value : otherwise;
}

/* Days since 1970-01-01 -> date in the Gregorian calendar, by whole 400-year eras that begin
 * on March 1st, so that the leap day is the last of its year. */
static void put_date(int64_t days, struct tp_text *out)
{
	int64_t z = days + 719468, era = z / 146097, of_era = z % 146097;
	int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int64_t shifted = (5 * of_year + 2) / 153;
	int64_t day = of_year - (153 * shifted + 2) / 5 + 1;
	int64_t month = shifted < 10 ? shifted + 3 : shifted - 9;
	int64_t year = year_of_era + era * 400 + (month <= 2);

	tp_text_fmt(out, "%04u%02u%02u", (unsigned)year, (unsigned)month, (unsigned)day);
}

static void put_timestamp(uint64_t real_ns, struct tp_text *out)
{
	uint64_t s = real_ns / 1000000000;

	put_date((int64_t)(s / 86400), out);
	tp_text_fmt(out, "-%02u%02u%02u", (unsigned)(s / 3600 % 24), (unsigned)(s / 60 % 60),
		    (unsigned)(s % 60));
}

enum field {
	RUN_NAME, RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, NODE_RANK, EPOCH, BATCH,
	BATCH_IN_EPOCH, WINDOW, TIMESTAMP, HOST, PID, RESTART, WORKER, N_FIELDS,
};

static const char *const field_name[N_FIELDS] = {
	[RUN_NAME] = "run_name",
	[RANK] = "rank",
	[LOCAL_RANK] = "local_rank",
	[WORLD_SIZE] = "world_size",
	[LOCAL_WORLD_SIZE] = "local_world_size",
	[NODE_RANK] = "node_rank",
	[EPOCH] = "epoch",
	[BATCH] = "batch",
	[BATCH_IN_EPOCH] = "batch_in_epoch",
	[WINDOW] = "window",
	[TIMESTAMP] = "timestamp",
	[HOST] = "host",
	[PID] = "pid",
	[RESTART] = "restart",
	[WORKER] = "worker",
};

static void put_field(const struct tp_naming *naming, enum field field, struct tp_text *out)
{
	const struct tp_rank *rank = &naming->rank;

	switch (field) {
	case RUN_NAME:
		tp_text_str(out, naming->run_name);
		break;
	case RANK:
		tp_text_u64(out, known_or(rank->rank, 0));
		break;
	case LOCAL_RANK:
		tp_text_u64(out, known_or(rank->local_rank, 0));
		break;
	case WORLD_SIZE:
		tp_text_u64(out, known_or(rank->world_size, 1));
		break;
	case LOCAL_WORLD_SIZE:
		tp_text_u64(out, known_or(rank->local_world_size, 1));
		break;
	case NODE_RANK:
		tp_text_u64(out, known_or(rank->node_rank, 0));
		break;
	case EPOCH:
		tp_text_u64(out, naming->epoch);
		break;
	case BATCH:
		tp_text_u64(out, naming->batch);
		break;
	case BATCH_IN_EPOCH:
		tp_text_u64(out, naming->batch_in_epoch);
		break;
	case WINDOW:
		tp_text_u64(out, naming->window);
		break;
	case TIMESTAMP:
		put_timestamp(naming->real_ns, out);
		break;
	case HOST:
		tp_text_str(out, naming->host);
		break;
	case PID:
		tp_text_u64(out, naming->pid);
		break;
	case RESTART:
		tp_text_u64(out, rank->restart);
		break;
	case WORKER:
		tp_text_u64(out, naming->worker);
		break;
	case N_FIELDS:
		break;
	}
}

static enum field find_field(const char *name, size_t n)
{
	enum field field = 0;

	while (field < N_FIELDS &&
	       (strlen(field_name[field]) != n || memcmp(field_name[field], name, n)))
		field++;
	return field;
}

struct expansion {
	const struct tp_naming *naming;
	bool names_worker;	/* the pattern does, somewhere */
	uint32_t used;		/* bit for each field that the pattern names */
};

static void put_worker(const struct tp_naming *naming, struct tp_text *out)
{
	tp_text_fmt(out, ".worker%u", naming->worker);
}

static bool look_up(void *ctx, const char *name, size_t n, struct tp_text *out)
{
	struct expansion *expansion = ctx;
	enum field field = find_field(name, n);

	if (field == N_FIELDS)
		return false;
	expansion->used |= 1u << field;
	put_field(expansion->naming, field, out);
	if (field == RANK && expansion->naming->worker && !expansion->names_worker)
		put_worker(expansion->naming, out);
	return true;
}

static void report_unknown(void *ctx, const char *name, size_t n)
{
	(void)ctx;
	tp_warn_once("no field '{%.*s}' is known for names of files; it stays as it is", (int)n,
		     name);
}

/* Returns which fields the pattern names, a bit each. */
static uint32_t expand(const struct tp_naming *naming, const char *pattern, struct tp_text *out)
{
	struct expansion expansion = {naming, strstr(pattern, "{worker}") != NULL, 0};

	tp_text_expand(out, pattern, look_up, report_unknown, &expansion);
	return expansion.used;
}

void tp_naming_expand(const struct tp_naming *naming, const char *pattern, struct tp_text *out)
{
	expand(naming, pattern, out);
}

/* ---- the path of a trace ---- */

/* Stays below the folder it is put in, and names a file. */
static bool is_safe(const char *name)
{
	if (!*name || *name == '/')
		return false;
	while (*name) {
		size_t n = strcspn(name, "/");

		if (n == 0 || (n == 1 && name[0] == '.') || (n == 2 && !memcmp(name, "..", 2)))
			return false;
		name += n;
		if (*name == '/' && !*++name)
			return false;
	}
	return true;
}

static bool names_all(uint32_t used, uint32_t fields)
{
	return (used & fields) == fields;
}

void tp_naming_put_pid(const struct tp_naming *naming, struct tp_text *out)
{
	if (naming->add_pid)
		tp_text_fmt(out, ".pid%u", naming->pid);
	if (naming->add_pid && naming->twin)
		tp_text_fmt(out, "-%u", naming->twin);
}

static uint32_t read_number(const char **at)
{
	uint32_t n = 0;

	for (; **at >= '0' && **at <= '9'; ++*at)
		n = n * 10 + (uint32_t)(**at - '0');
	return n;
}

void tp_naming_take_pid(struct tp_naming *naming, const char *ledger_path)
{
	const char *base = strrchr(ledger_path, '/');
	const char *at = base ? strstr(base, ".pid") : NULL;

	naming->add_pid = at != NULL;
	naming->twin = 0;
	if (!at)
		return;
	at += strlen(".pid");
	read_number(&at);
	if (*at++ == '-')
		naming->twin = read_number(&at);
}

/* What `name` lacks to be this window's of this process alone. */
static void put_additions(const struct tp_naming *naming, uint32_t used, struct tp_text *out)
{
	const struct tp_rank *rank = &naming->rank;
	bool has_process = used & (1u << RANK | 1u << PID) ||
			   names_all(used, 1u << LOCAL_RANK | 1u << NODE_RANK);
	bool has_window = used & (1u << WINDOW | 1u << BATCH) ||
			  names_all(used, 1u << EPOCH | 1u << BATCH_IN_EPOCH);

	if (!has_process && (rank->rank > 0 || rank->world_size > 1))
		tp_text_fmt(out, ".rank%u", (unsigned)known_or(rank->rank, 0));
	if (!has_window && naming->window > 0)
		tp_text_fmt(out, ".window%u", naming->window);
	if (naming->worker && !(used & (1u << RANK | 1u << WORKER)))
		put_worker(naming, out);
	if (rank->restart && !(used & 1u << RESTART))
		tp_text_fmt(out, ".restart%u", rank->restart);
	/* Where others have the same number the pattern's {pid} does not tell them apart. */
	if (naming->twin || !(used & 1u << PID))
		tp_naming_put_pid(naming, out);
}

int tp_naming_trace_path(const struct tp_naming *naming, const char *dir, const char *pattern,
			 char *path, uint32_t cap)
{
	const char *preset = tp_options[TP_OPTION_ID_TRACE_NAME].preset;
	char buf[NAME_MAX_BYTES];
	struct tp_text name, out;
	const char *base, *suffix;
	uint32_t used;

	tp_text_init(&name, buf, sizeof(buf));
	used = expand(naming, pattern, &name);
	if (name.is_cut || !is_safe(buf)) {
		tp_warn_once("TRAINPROF_TRACE_NAME: '%s' gives no name of a file below "
			     "TRAINPROF_DIR; using '%s'", pattern, preset);
		tp_text_init(&name, buf, sizeof(buf));
		used = expand(naming, preset, &name);
	}
	base = strrchr(buf, '/');
	base = base ? base + 1 : buf;
	suffix = strrchr(base, '.');
	if (!suffix || suffix == base)
		suffix = buf + name.len;

	tp_text_init(&out, path, cap);
	tp_text_str(&out, dir);
	tp_text_char(&out, '/');
	tp_text_bytes(&out, buf, (size_t)(suffix - buf));
	put_additions(naming, used, &out);
	tp_text_str(&out, suffix);
	return out.is_cut ? -ENAMETOOLONG : 0;
}

/* ---- which traces to keep ---- */

_Static_assert((int)KEPT_MAX > (int)TP_KEEP_MOST, "the oldest trace kept is remembered");

/* The newest traces of this process, a ring. Drain thread only. */
static struct {
	char path[KEPT_MAX][KEPT_PATH_MAX];
	bool has_steps[KEPT_MAX];
	uint64_t n_noted, n_forgotten;	/* of those between, n_with_steps have steps */
	uint64_t n_with_steps, n_removed;
	uint32_t pid;
} kept;

static void remove_oldest(const struct tp_naming *naming)
{
	uint64_t at = kept.n_forgotten++ % KEPT_MAX;
	int err = tp_folder_unlink(naming->folder, kept.path[at], NULL);

	kept.n_with_steps -= kept.has_steps[at];
	kept.n_removed += !err;
	if (err && err != -ENOENT)
		tp_warn_once("cannot remove the old trace '%s': %s; it stays", kept.path[at],
			     strerror(-err));
}

void tp_naming_keep(const struct tp_naming *naming, const char *path, uint64_t keep, bool has_steps)
{
	size_t n = strlen(path);

	if (!keep || keep > TP_KEEP_MOST)
		return;
	if (kept.pid != (uint32_t)getpid()) {
		/* Forked: what is remembered are the parent's traces. */
		kept.pid = (uint32_t)getpid();
		kept.n_noted = kept.n_forgotten = kept.n_with_steps = kept.n_removed = 0;
	}
	if (n >= KEPT_PATH_MAX) {
		tp_warn_once("the name of trace '%s' is too long to be remembered; "
			     "TRAINPROF_KEEP does not count it", path);
		return;
	}
	/* So many without steps in a row: their places are needed. */
	if (kept.n_noted - kept.n_forgotten == KEPT_MAX)
		remove_oldest(naming);
	memcpy(kept.path[kept.n_noted % KEPT_MAX], path, n + 1);
	kept.has_steps[kept.n_noted++ % KEPT_MAX] = has_steps;
	kept.n_with_steps += has_steps;
	while (kept.n_with_steps > keep)
		remove_oldest(naming);
}

uint64_t tp_naming_removed(void)
{
	return kept.pid == (uint32_t)getpid() ? kept.n_removed : 0;
}
