/* SPDX-License-Identifier: Apache-2.0 */
/*
 * identity.c - reads who this process is, makes and claims the folder that it writes to, tells both
 */
#include "runtime/engine/identity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/base/own_table.h"
#include "runtime/base/process.h"
#include "runtime/engine/facts.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/worker.h"

struct tp_identity tp_identity;

static struct tp_identity *const self = &tp_identity;

/* ---- who ---- */

static const char *look_up(void *ctx, const char *name)
{
	return getenv(name);
}

/* Its numbers are the rank's. */
static void take_root_identity(void)
{
	const struct tp_ring_head *root = tp_worker_root();

	self->naming.rank.rank = root->rank;
	self->naming.rank.local_rank = root->local_rank;
	self->naming.rank.world_size = root->world_size;
	self->naming.rank.node_rank = root->node_rank;
	self->naming.rank.restart = root->restart;
	self->naming.worker = tp_worker_number();
	tp_naming_take_pid(&self->naming, root->ledger_path);
}

void tp_identity_read(const struct tp_config *config, uint64_t fork_ns)
{
	memset(&self->naming, 0, sizeof(self->naming));
	self->naming.ledger = TP_OWN_FD_NONE;
	if (gethostname(self->host, sizeof(self->host) - 1) < 0 || !self->host[0])
		strcpy(self->host, "localhost");
	tp_rank_read(&self->naming.rank, look_up, NULL);
	tp_rank_take(&self->naming.rank);
	if (tp_worker_number())
		take_root_identity();
	tp_log_set_rank(self->naming.rank.rank);
	if (self->naming.rank.complaint[0] && !tp_worker_number())
		tp_warn("%s", self->naming.rank.complaint);
	self->naming.run_name = config->run_name;
	self->naming.host = self->host;
	tp_job_read(self->job, &self->naming.rank, look_up, NULL);
	self->naming.job = self->job;
	self->naming.pid = (uint32_t)getpid();
	self->naming.real_ns = tp_clock_real_ns();
	self->naming.start_ns = tp_process_start_real_ns(tp_process_own_start());
	self->naming.parent_pid = (uint32_t)getppid();
	self->naming.fork_ns = fork_ns;
	if (getrandom(&self->run_id, sizeof(self->run_id), GRND_NONBLOCK) != sizeof(self->run_id))
		self->run_id = tp_clock_real_ns() ^ (uint64_t)getpid() << 40;
}

void tp_identity_describe(const struct tp_config *config, const char *program)
{
	const struct tp_rank *rank = &self->naming.rank;
	char options[4096];
	struct tp_text text;

	tp_facts_add("host", self->host);
	tp_facts_add_i64("pid", self->naming.pid);
	tp_facts_add_i64("rank", rank->rank);
	if (tp_worker_number()) {
		const struct tp_ring_head *root = tp_worker_root();
		char run_id[24];

		tp_text_init(&text, run_id, sizeof(run_id));
		tp_text_fmt(&text, "%lx", root->run_id);
		tp_facts_add_i64("worker", tp_worker_number());
		tp_facts_add_i64("parent_pid", root->pid);
		tp_facts_add("parent_run_id", run_id);
	}
	tp_facts_add_i64("local_rank", rank->local_rank);
	tp_facts_add_i64("world_size", rank->world_size);
	tp_facts_add_i64("local_world_size", rank->local_world_size);
	tp_facts_add_i64("node_rank", rank->node_rank);
	tp_facts_add_i64("restart", rank->restart);
	tp_facts_add("launcher", rank->launcher ? rank->launcher : "none");
	if (self->job[0])
		tp_facts_add("job", self->job);
	tp_facts_add("run_name", config->run_name);
	tp_facts_add("program", program ? program : "");
	tp_facts_add("clock", tp_clock_reason());
	tp_text_init(&text, options, sizeof(options));
	tp_config_describe(config, &text);
	tp_facts_add_lines(options, text.len);
}

/* ---- where ---- */

/* A pattern of a folder with its fields filled in, absolute: the guest may change its own later. */
static int expand_dir(const char *pattern, char *path, size_t cap)
{
	char name[512];
	struct tp_text text, dir;

	tp_text_init(&text, name, sizeof(name));
	tp_naming_expand(&self->naming, pattern, &text);
	tp_text_init(&dir, path, cap);
	if (name[0] != '/') {
		if (!getcwd(path, cap))
			return -errno;
		dir.len = strlen(path);
		tp_text_char(&dir, '/');
	}
	tp_text_str(&dir, name);
	return dir.is_cut || text.is_cut ? -ENAMETOOLONG : 0;
}

/* The folder that the ranks have in common: DIR up to the first field that tells them apart. */
static int find_shared_dir(const char *pattern)
{
	static const char *const apart[] = {"{rank}", "{local_rank}", "{node_rank}", "{host}",
					    "{pid}", "{timestamp}", "{worker}"};
	char common[512];
	struct tp_text text;
	size_t n = strlen(pattern);

	for (size_t i = 0; i < sizeof(apart) / sizeof(apart[0]); i++) {
		const char *at = strstr(pattern, apart[i]);

		if (at && (size_t)(at - pattern) < n)
			n = (size_t)(at - pattern);
	}
	while (pattern[n] && n && pattern[n - 1] != '/')
		n--;
	tp_text_init(&text, common, sizeof(common));
	tp_text_bytes(&text, n ? pattern : ".", n ? n : 1);
	return expand_dir(common, self->shared_dir, sizeof(self->shared_dir));
}

/* Beside `dir`: the first of DIR-2, DIR-3 .. that holds nothing of another run, or is not there. */
static int find_unused(void *arg)
{
	static char base[sizeof(tp_identity.dir)];
	struct tp_text text;
	size_t n = strlen(self->dir);

	while (n > 1 && self->dir[n - 1] == '/')
		self->dir[--n] = '\0';
	memcpy(base, self->dir, n + 1);
	for (unsigned i = 2; tp_naming_is_used(&self->naming, self->dir); i++) {
		tp_text_init(&text, self->dir, sizeof(self->dir));
		tp_text_fmt(&text, "%s-%u", base, i);
		if (text.is_cut)
			return -ENAMETOOLONG;
	}
	if (strcmp(base, self->dir) != 0 && self->naming.rank.rank <= 0)
		tp_warn("'%s' holds files of another run: this one is recorded into '%s'", base, self->dir);
	return 0;
}

static int make_dir(const struct tp_config *config)
{
	int err = expand_dir(config->dir, self->dir, sizeof(self->dir));
	bool is_shared;

	if (!err)
		err = find_shared_dir(config->dir);
	is_shared = !err && !strcmp(self->dir, self->shared_dir);
	if (!err && config->overwrite == TP_OVERWRITE_NEW)
		err = tp_own_table_call(find_unused, NULL);
	if (err)
		return err;
	if (is_shared)
		memcpy(self->shared_dir, self->dir, sizeof(self->shared_dir));
	err = tp_file_make_dirs(self->dir, 0755);
	if (err)
		tp_warn("cannot make folder '%s': %s; nothing is recorded", self->dir,
			strerror(-err));
	return err;
}

static int open_folder(void)
{
	int err = tp_folder_open(&self->folder, self->dir);

	if (err)
		tp_warn("cannot open folder '%s': %s; nothing is recorded", self->dir,
			strerror(-err));
	self->naming.folder = &self->folder;
	return err;
}

/* Whole, because it reads folders. */
static int claim_folder(void *arg)
{
	const struct tp_config *config = arg;

	return tp_naming_claim(&self->naming, self->dir, config->trace_name,
			       config->overwrite == TP_OVERWRITE_REPLACE, self->ledger_path,
			       sizeof(self->ledger_path));
}

/* A worker writes where its rank does, whatever its own environment says by now. */
static int take_root_dir(void)
{
	const char *ledger_path = tp_worker_root()->ledger_path;
	const char *slash = strrchr(ledger_path, '/');
	struct tp_text dir;

	tp_text_init(&dir, self->dir, sizeof(self->dir));
	if (slash)
		tp_text_bytes(&dir, ledger_path, (size_t)(slash - ledger_path));
	if (!slash || dir.is_cut)
		return -ENOENT;
	return tp_naming_ledger_path(&self->naming, self->dir, self->ledger_path,
				     sizeof(self->ledger_path));
}

int tp_identity_take_folder(const struct tp_config *config)
{
	const bool is_worker = tp_worker_number() != 0;
	int err = is_worker ? take_root_dir() : make_dir(config);

	if (!err)
		err = open_folder();
	if (!err && !is_worker)
		err = tp_own_table_call(claim_folder, (void *)config);
	return err;
}
