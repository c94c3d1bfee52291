/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naming_claim.c - may this process use a run folder, and what must go first
 *
 * The ledger is the mark: it is created with O_EXCL and locked for as long as its process lives, so
 * two processes cannot both have it. Who wants to remove one has to hold that lock, and makes
 * sure then that the file still has its name. So of many that come at once one takes the name.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/hold.h"
#include "runtime/base/log.h"
#include "runtime/engine/naming/naming.h"
#include "runtime/engine/naming/naming_owner.h"
#include "runtime/engine/naming/naming_sweep.h"

enum {
	N_TRIES = 256,	/* names, of processes that have the same number in their containers */
	LOCK_MS = 200,	/* for those that look at a ledger */
};

int tp_naming_ledger_path(const struct tp_naming *naming, const char *dir, char *path,
			  uint32_t cap)
{
	int32_t rank = naming->rank.rank;
	struct tp_text out;

	tp_text_init(&out, path, cap);
	tp_text_fmt(&out, "%s/rank%d", dir, rank >= 0 ? rank : 0);
	if (naming->worker)
		tp_text_fmt(&out, ".worker%u", naming->worker);
	if (naming->rank.restart)
		tp_text_fmt(&out, ".restart%u", naming->rank.restart);
	tp_naming_put_pid(naming, &out);
	tp_text_str(&out, ".steps");
	return out.is_cut ? -ENAMETOOLONG : 0;
}

/* 0, or -errno; -EEXIST also when somebody else took it for a dead process's meanwhile. */
static int create(struct tp_naming *naming, const char *path)
{
	struct tp_own_fd *ledger = &naming->ledger;
	int err = tp_folder_create(naming->folder, path, O_RDWR, 0644, ledger);

	if (err)
		return err;
	err = tp_hold(ledger->fd, LOCK_MS);
	if (err == -EWOULDBLOCK || tp_folder_check(naming->folder, path, ledger)) {
		tp_own_fd_close(ledger);
		return -EEXIST;
	}
	if (err)
		tp_debug("cannot lock '%s': %s", path, strerror(-err));
	return 0;
}

static void take_next_name(struct tp_naming *naming)
{
	if (naming->add_pid)
		naming->twin++;
	naming->add_pid = true;
}

static void leave(struct tp_naming *naming, const char *path, const char *why)
{
	if (!naming->add_pid)
		tp_warn("'%s' stays: %s; files of this process have '.pid%u' in their names", path, why,
			naming->pid);
	take_next_name(naming);
}

/* The ledger of this very run: of a process that lives, or that did when this one began. */
static bool is_of_this_run(const struct tp_naming *naming, const struct tp_owned *owned)
{
	return owned->owner == TP_OWNER_ALIVE ||
	       tp_owned_is_beside(owned, naming->start_ns, naming->fork_ns);
}

/* A dead process's, or perhaps so. */
static int replace(struct tp_naming *naming, const char *dir, const char *pattern,
		   const char *path, const struct tp_owned *owned)
{
	bool is_ledger = owned->kind == TP_OWNED_LEDGER || owned->is_empty;
	int err;

	if (owned->owner != TP_OWNER_DEAD || !owned->is_locked || !is_ledger) {
		leave(naming, path, is_ledger ? "its process may still run, on another machine perhaps"
					      : "it is not a step log");
		return 0;
	}
	if (tp_folder_check(naming->folder, path, &owned->own))
		return 0;
	tp_naming_sweep(naming, dir, pattern, path);
	err = tp_owned_remove(naming->folder, path, owned);
	return err == -ENOENT || err == -ESTALE ? 0 : err;
}

/* The name is taken: 0 when trying again makes sense, else -EEXIST. */
static int make_way(struct tp_naming *naming, const char *dir, const char *pattern,
		    bool overwrite, const char *path)
{
	struct tp_owned owned;
	int err = tp_owned_open(naming->folder, path, &owned);

	if (err == -ENOENT)
		return 0;
	if (err) {
		leave(naming, path, tp_file_error(err));
		return 0;
	}
	if (is_of_this_run(naming, &owned) || (naming->add_pid && !overwrite)) {
		take_next_name(naming);
	} else if (!overwrite) {
		tp_warn("'%s' holds traces of this rank already ('%s'); set TRAINPROF_DIR to another "
			"folder or TRAINPROF_OVERWRITE=1; nothing is recorded", dir, path);
		err = -EEXIST;
	} else {
		err = replace(naming, dir, pattern, path, &owned);
	}
	tp_owned_close(&owned);
	return err;
}

int tp_naming_claim(struct tp_naming *naming, const char *dir, const char *pattern,
		    bool overwrite, char *ledger_path, uint32_t cap)
{
	int err = 0;

	naming->add_pid = false;
	naming->twin = 0;
	naming->ledger = TP_OWN_FD_NONE;
	for (int i = 0; i < N_TRIES; i++) {
		err = tp_naming_ledger_path(naming, dir, ledger_path, cap);
		if (err)
			break;
		err = create(naming, ledger_path);
		if (err != -EEXIST)
			break;
		err = make_way(naming, dir, pattern, overwrite, ledger_path);
		if (err == -EEXIST)
			return err;
		if (err)
			break;
		err = -EEXIST;
	}
	if (err)
		tp_warn("cannot create '%s': %s; nothing is recorded", ledger_path, strerror(-err));
	return err;
}
