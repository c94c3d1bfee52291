/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_file.c - finds a place for the ring's file and reserves its space
 *
 * Places, best first: the folder that the user named; /dev/shm, when plenty is left there for
 * others; the run folder on a local disk; the run folder on a network file system, with a
 * warning. When none has the room that was asked for, half of it is tried, and so on.
 */
#include "runtime/engine/ring/ring_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/base/text.h"
#include "runtime/engine/ring/ring_sweep.h"

enum {
	LEAST_BYTES = 1 << 20,
	/* Tensors of data loader workers live in /dev/shm as well, and a training that works in
	 * a container with 64 MB of it must go on working: we take at most one part in eight. */
	SHM_PARTS = 8,
	LOCK_MS = 200,
};
static const char shm_dir[] = "/dev/shm";
static const mode_t mode = 0400, mode_to_write = 0600;

struct place {
	const char *dir;
	uint64_t free_parts;	/* this many times the file's size must be free */
	bool is_shared;		/* with other runs, perhaps of other containers */
	bool is_remote;
	const struct tp_folder *folder;	/* that it is, or NULL */
};

/* File systems where the pages of a shared mapping travel to a server. */
static bool is_remote_fs(const char *dir)
{
	static const uint32_t magic[] = {
		0x6969 /* NFS */,     0x0bd00bd0 /* Lustre */, 0xff534d42 /* CIFS */,
		0xfe534d42 /* SMB2 */, 0x00c36400 /* Ceph */,   0x47504653 /* GPFS */,
		0x19830326 /* BeeGFS */, 0x01021997 /* 9P */,   0x65735546 /* FUSE */,
		0x5346414f /* AFS */,
	};
	struct statfs fs;

	if (statfs(dir, &fs) < 0)
		return false;
	for (size_t i = 0; i < sizeof(magic) / sizeof(magic[0]); i++)
		if ((uint32_t)fs.f_type == magic[i])
			return true;
	return false;
}

static uint64_t count_free_bytes(const char *dir)
{
	struct statfs fs;

	return statfs(dir, &fs) < 0 ? 0 : (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
}

/* Where fallocate is not known, writing is the only way to be given the space. */
static int write_zeros(int fd, uint64_t bytes)
{
	static const char zeros[16384];
	int err = 0;

	for (uint64_t done = 0; done < bytes && !err; done += sizeof(zeros)) {
		uint64_t n = bytes - done < sizeof(zeros) ? bytes - done : sizeof(zeros);

		err = tp_file_write_all(fd, zeros, n);
	}
	return err;
}

static int reserve(int fd, uint64_t bytes)
{
	struct rlimit limit;
	int err;

	/* Beyond the limit the kernel does not only refuse, it sends SIGXFSZ. */
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes)
		return -EFBIG;
	do
		err = fallocate(fd, 0, 0, (off_t)bytes) < 0 ? -errno : 0;
	while (err == -EINTR);
	if (err == -EOPNOTSUPP || err == -ENOSYS)
		err = write_zeros(fd, bytes);
	return err;
}

/* Says that we live. A sweep of another process may have it for the moment that it looks. */
static void lock(int fd)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	for (uint32_t i = 0; i < LOCK_MS; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
			return;
		nanosleep(&pause, NULL);
	}
}

/* In a place of many runs the name says whose it is. `is_taken`: the plain name is the ring of
 * a dead process that had our pid, and nobody has read it yet. */
static int create(const struct place *place, const struct tp_ring_spec *spec, bool is_taken,
		  struct tp_ring_file *file)
{
	struct tp_text path;
	int err;

	tp_text_init(&path, file->path, sizeof(file->path));
	tp_text_fmt(&path, "%s/", place->dir);
	if (place->is_shared)
		tp_text_fmt(&path, "trainprof-%lx-", spec->run_id);
	else if (is_taken)
		tp_text_fmt(&path, "%lx-", spec->run_id);
	tp_text_str(&path, spec->name);
	if (path.is_cut)
		return -ENAMETOOLONG;
	err = tp_folder_create(place->folder, file->path, O_RDWR, mode_to_write, &file->own);
	if (err)
		return err;
	/* Servers ask the mode at each write. */
	if (!place->is_remote)
		(void)!fchmod(file->own.fd, mode);
	lock(file->own.fd);
	return 0;
}

/* 0: file->own has `bytes` behind it. */
static int try_place(const struct place *place, const struct tp_ring_spec *spec, uint64_t bytes,
		     struct tp_ring_file *file)
{
	int err;

	if (count_free_bytes(place->dir) / place->free_parts < bytes)
		return -ENOSPC;
	err = create(place, spec, false, file);
	if (err == -EEXIST)
		err = create(place, spec, true, file);
	if (err)
		return err;
	file->is_elsewhere = place->is_shared;
	err = reserve(file->own.fd, bytes);
	if (err) {
		tp_folder_unlink(place->folder, file->path, &file->own);
		tp_own_fd_close(&file->own);
	}
	return err;
}

int tp_ring_file_open(int dir, const char *name, int flags)
{
	int fd = tp_file_open_at(dir, name, O_RDWR | flags, 0), reader;

	if (fd != -EACCES)
		return fd;
	reader = tp_file_open_at(dir, name, O_RDONLY | flags, 0);
	if (reader < 0)
		return reader;
	if (!fchmod(reader, mode_to_write)) {
		fd = tp_file_open_at(dir, name, O_RDWR | flags, 0);
		(void)!fchmod(reader, mode);
	}
	close(reader);
	return fd;
}

static int try_sizes(const struct place *place, uint32_t n_places, bool is_remote,
		     const struct tp_ring_spec *spec, uint64_t fixed_bytes,
		     struct tp_ring_file *file)
{
	int err = -ENOENT;

	for (file->bytes = spec->bytes;; file->bytes /= 2) {
		for (uint32_t i = 0; i < n_places; i++) {
			if (place[i].is_remote != is_remote)
				continue;
			err = try_place(&place[i], spec, fixed_bytes + file->bytes, file);
			if (!err)
				return 0;
			tp_debug("no room for a buffer file of %lu bytes in '%s': %s",
				 file->bytes, place[i].dir, strerror(-err));
		}
		if (file->bytes / 2 < LEAST_BYTES)
			return err;
	}
}

void tp_ring_file_link(const struct tp_folder *folder, const char *path, const char *link_path)
{
	int err = link_path[0] ? tp_folder_symlink(folder, path, link_path) : 0;

	if (err && err != -EEXIST)
		tp_warn_once("cannot link '%s' to the buffer file '%s': %s; after a kill, pass that file "
			     "to trainprof-merge too", link_path, path, strerror(-err));
}

/* The run folder leads to the ring, wherever that lies. */
static void link_to_run(const struct tp_ring_spec *spec, struct tp_ring_file *file)
{
	for (uint32_t is_taken = 0; is_taken < 2; is_taken++) {
		struct tp_text link;
		struct stat st;

		tp_text_init(&link, file->link_path, sizeof(file->link_path));
		tp_text_fmt(&link, "%s/", spec->dir);
		if (is_taken)
			tp_text_fmt(&link, "%lx-", spec->run_id);
		tp_text_str(&link, spec->name);
		if (link.is_cut)
			file->link_path[0] = '\0';
		if (lstat(file->link_path, &st) < 0)
			break;	/* else it is of a dead process that had our pid: it stays */
	}
	tp_ring_file_link(spec->folder, file->path, file->link_path);
}

int tp_ring_file_make(const struct tp_ring_spec *spec, uint64_t fixed_bytes,
		      struct tp_ring_file *file)
{
	struct place place[3];
	uint32_t n_places = 0;
	int err;

	memset(file, 0, sizeof(*file));
	file->own = TP_OWN_FD_NONE;
	if (spec->buffer_dir && spec->buffer_dir[0])
		place[n_places++] = (struct place){spec->buffer_dir, 1, true, false, NULL};
	else
		place[n_places++] = (struct place){shm_dir, SHM_PARTS, true, false, NULL};
	place[n_places++] = (struct place){spec->dir, 1, false,
						is_remote_fs(spec->dir), spec->folder};

	/* Once a node is enough. */
	tp_ring_sweep(place[0].dir, !spec->worker && spec->local_rank <= 0);
	err = try_sizes(place, n_places, false, spec, fixed_bytes, file);
	if (err && place[n_places - 1].is_remote) {
		err = try_sizes(place, n_places, true, spec, fixed_bytes, file);
		if (!err)
			tp_warn("the buffer file '%s' lies on a network file system, which may slow the "
				"training down; set TRAINPROF_BUFFER_DIR to a local folder",
				file->path);
	}
	if (err) {
		tp_warn("cannot make a buffer file of %lu bytes in '%s' or '%s': %s; nothing is recorded",
			spec->bytes, place[0].dir, spec->dir, strerror(-err));
		return err;
	}
	if (file->bytes < spec->bytes)
		tp_warn("no room for a buffer file of %lu bytes in '%s' or '%s'; it has %lu now and may "
			"drop records", spec->bytes, place[0].dir, spec->dir, file->bytes);
	if (file->is_elsewhere)
		link_to_run(spec, file);
	return 0;
}
