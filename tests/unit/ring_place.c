/* SPDX-License-Identifier: Apache-2.0 */
/* Where the file of a ring lies, how large it is, and who removes it. */
#include <criterion/criterion.h>

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "runtime/base/log.h"
#include "runtime/engine/ring/ring_file.h"
#include "runtime/engine/ring/ring_sweep.h"
#include "tests/unit/ring_bag.h"

/* In /dev/shm, as everybody's are. */
static void set_up_there(void)
{
	unsetenv("TRAINPROF_BUFFER_DIR");
	set_up();
}

TestSuite(ring_place, .init = set_up_there, .fini = tear_down);

Test(ring_place, keeps_a_link_in_the_run_folder_and_removes_both_at_the_end)
{
	char path[512], link[512], target[512];
	ssize_t n;

	cr_assert_eq(rig_open_ring(MIB), 0);
	strcpy(path, tp_ring.path);
	strcpy(link, tp_ring.link_path);
	if (!link[0]) {	/* /dev/shm is small here */
		cr_expect_eq(strncmp(path, rig_dir, strlen(rig_dir)), 0);
		return;
	}
	n = readlink(link, target, sizeof(target) - 1);
	cr_assert_gt(n, 0);
	target[n] = '\0';
	cr_expect_str_eq(target, path);
	tp_ring_close();
	cr_expect_neq(access(path, F_OK), 0);
	cr_expect_neq(access(link, F_OK), 0);
}

Test(ring_place, has_every_page_behind_it_before_it_is_used)
{
	struct stat st;

	cr_assert_eq(rig_open_ring(4 * MIB), 0);
	cr_assert_eq(stat(tp_ring.path, &st), 0);
	cr_expect_geq((uint64_t)st.st_blocks * 512, tp_ring.head->file_bytes);
	cr_expect_eq((uint64_t)st.st_size, tp_ring.head->file_bytes);
}

/* `: >`, truncate(1), cp over it: whoever is not root may do none of it, and the ring goes on. */
Test(ring_place, cannot_be_cut_by_its_own_user_by_mistake)
{
	char dir[] = "/dev/shm/trainprof-cut-XXXXXX";
	const uid_t uid = geteuid();
	int fd;

	/* Not where the run's temporary files are: nobody else may look into that. */
	if (!uid)
		cr_assert_eq(seteuid(65534), 0);
	cr_assert_not_null(mkdtemp(dir));
	cr_assert_eq(open_ring_in(dir, MIB), 0);
	cr_expect_lt(open(tp_ring.path, O_WRONLY | O_TRUNC), 0);
	cr_expect_lt(truncate(tp_ring.path, 0), 0);
	rig_put(1, 1);
	cr_expect_not(tp_ring_is_cut());
	/* Who means to write into it may. */
	for (int i = 0; i < 2; i++) {
		struct stat st;

		fd = tp_ring_file_open(AT_FDCWD, tp_ring.path, O_NOFOLLOW);
		cr_assert_geq(fd, 0);
		cr_expect_eq(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDWR);
		cr_expect_eq(fstat(fd, &st), 0);
		cr_expect_eq(st.st_mode & 0777, 0400);
		close(fd);
	}
	unlink(tp_ring.path);
	cr_expect_eq(rmdir(dir), 0);
	cr_assert_eq(seteuid(uid), 0);
}

/* In a child of its own with a private view of the mounts; false: this machine does not let us. */
static bool mount_tmpfs(const char *where, const char *size)
{
	char options[64];

	snprintf(options, sizeof(options), "size=%s", size);
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", where, "tmpfs", 0, options) == 0;
}

Test(ring_place, goes_to_the_run_folder_when_dev_shm_has_64_KB)
{
	if (!mount_tmpfs("/dev/shm", "64k"))
		cr_skip_test("needs the right to mount");
	cr_assert_eq(open_ring_in("", 2 * MIB), 0);
	cr_expect_eq(strncmp(tp_ring.path, rig_dir, strlen(rig_dir)), 0);
	cr_expect_str_empty(tp_ring.link_path);
	for (uint64_t i = 0; i < 100000; i++)
		rig_put(1, i);	/* no SIGBUS */
}

Test(ring_place, leaves_room_for_others_in_dev_shm)
{
	if (!mount_tmpfs("/dev/shm", "64m"))
		cr_skip_test("needs the right to mount");
	cr_assert_eq(open_ring_in("", 32 * MIB), 0);
	cr_expect_eq(strncmp(tp_ring.path, rig_dir, strlen(rig_dir)), 0,
		     "half of it would be too much for the loaders of the training");
}

Test(ring_place, becomes_smaller_where_nothing_else_fits)
{
	char small[300];

	snprintf(small, sizeof(small), "%s/small", rig_dir);
	mkdir(small, 0755);
	if (!mount_tmpfs(small, "5m"))
		cr_skip_test("needs the right to mount");
	/* The run folder is small as well. */
	struct tp_ring_spec spec = {
		.bytes = 32 * MIB, .dir = small, .buffer_dir = small, .name = "r.ring", .run_id = 5,
	};
	cr_assert_eq(tp_ring_open(&spec), 0);
	cr_expect_leq(tp_ring.head->file_bytes, 5 * MIB);
	cr_expect_geq(tp_ring.head->file_bytes, 4 * MIB);
	for (uint64_t i = 0; i < 200000; i++)
		rig_put(1, i);
	cr_expect_gt(tp_ring_dropped(), 0);
	tp_ring_close();
	umount2(small, MNT_DETACH);
}

Test(ring_place, gives_up_with_an_error_where_nothing_fits)
{
	char small[300], command[400];

	snprintf(small, sizeof(small), "%s/small", rig_dir);
	mkdir(small, 0755);
	if (!mount_tmpfs(small, "300k"))
		cr_skip_test("needs the right to mount");
	struct tp_ring_spec spec = {
		.bytes = 32 * MIB, .dir = small, .buffer_dir = small, .name = "r.ring", .run_id = 5,
	};
	cr_expect_eq(tp_ring_open(&spec), -ENOSPC);
	cr_expect_null(tp_ring_reserve());
	cr_expect_null(tp_ring_slot());
	snprintf(command, sizeof(command), "ls -A '%s' | grep -q .", small);
	cr_expect_neq(system(command), 0, "nothing was left there");
	umount2(small, MNT_DETACH);
}

Test(ring_place, refuses_files_beyond_the_limit_without_a_signal)
{
	struct rlimit limit = {512 << 10, 512 << 10};

	setrlimit(RLIMIT_FSIZE, &limit);
	signal(SIGXFSZ, SIG_DFL);
	cr_expect_eq(rig_open_ring(4 * MIB), -EFBIG);
}

Test(ring_place, does_not_touch_the_ring_of_a_dead_process_with_the_same_pid)
{
	char path[512];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/rank0.1.ring", rig_dir);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	cr_assert_eq(write(fd, "old", 3), 3);
	close(fd);
	cr_assert_eq(rig_open_ring(MIB), 0);
	cr_expect_str_neq(tp_ring.path, path);
	cr_expect_str_neq(tp_ring.link_path, path);
	cr_assert_eq(stat(path, &st), 0);
	cr_expect_eq(st.st_size, 3);
}

/* What the ring of a process that is killed still has. */
static void leave_nothing(void)
{
	struct bag *bag = new_bag();

	rig_put(1, 0);
	take_all(bag);
}

static void leave_a_record(void)
{
	leave_nothing();
	rig_put(1, 1);
}

static void leave_a_step(void)
{
	leave_nothing();
	tp_ring.head->steps_done = 3;
	tp_ring.head->steps_drained = 2;
}

static void leave_a_window(void)
{
	leave_nothing();
	tp_ring.head->windows_begun = 1;
}

static void leave_a_span(void)
{
	leave_nothing();
	tp_ring_span_begin(TP_REC_RANGE, 21, 500);
}

static void leave_what_was_taken_but_not_committed(void)
{
	struct bag *bag = new_bag();

	rig_put(1, 0);
	tp_ring_take(take_into_bag, bag);
}

Test(ring_place, sweeps_rings_of_the_dead_that_nothing_leads_to_and_that_have_nothing_left)
{
	static const struct {
		void (*leave)(void);
		bool is_linked, lives, stays;
	} rows[] = {
		{leave_nothing, true, false, true},	/* the merge finds it */
		{leave_nothing, false, true, true},	/* it is in use */
		{leave_nothing, false, false, false},
		{leave_a_record, false, false, true},
		{leave_a_step, false, false, true},
		{leave_a_window, false, false, true},
		{leave_a_span, false, false, true},
		{leave_what_was_taken_but_not_committed, false, false, true},
	};
	enum { N = sizeof(rows) / sizeof(rows[0]) };
	char place[300], path[N][512], command[700];
	pid_t pid[N];

	snprintf(place, sizeof(place), "%s/place", rig_dir);
	mkdir(place, 0755);
	for (int i = 0; i < N; i++) {
		int pipe_fd[2];

		cr_assert_eq(pipe(pipe_fd), 0);
		pid[i] = fork();
		if (pid[i] == 0) {
			char name[32];
			struct tp_ring_spec spec = {
				.bytes = MIB, .dir = rig_dir, .buffer_dir = place, .name = name,
				.run_id = 100 + (uint64_t)i,
			};

			snprintf(name, sizeof(name), "r%d.ring", i);
			if (tp_ring_open(&spec))
				_exit(1);
			rows[i].leave();
			if (!rows[i].is_linked)
				unlink(tp_ring.link_path);
			if (write(pipe_fd[1], tp_ring.path, 512) != 512)
				_exit(1);
			for (;;)
				pause();
		}
		cr_assert_eq(read(pipe_fd[0], path[i], 512), 512);
		if (rows[i].lives)
			continue;
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	cr_assert_eq(open_ring_in(place, MIB), 0);
	for (int i = 0; i < N; i++)
		cr_expect_eq(access(path[i], F_OK) == 0, rows[i].stays, "row %d", i);
	for (int i = 0; i < N; i++) {
		if (!rows[i].lives)
			continue;
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	snprintf(command, sizeof(command), "rm -rf '%s'", place);
	cr_expect_eq(system(command), 0);
}

struct seen {
	uint64_t n, n_bad;
};

static void look(void *ctx, uint32_t slot, const struct tp_rec *rec)
{
	struct seen *seen = ctx;

	seen->n_bad += !rig_is_whole(rec) || rec->arg != 10000 + seen->n;
	seen->n++;
}

static struct seen look_at(const char *path)
{
	struct seen seen = {0};
	struct tp_ring_head *head = rig_read_file(path);

	cr_assert_not_null(head);
	rig_each_left(head, look, &seen);
	free(head);
	return seen;
}

/* 10,000 records are in a file, 3,000 more and a name are not; the next run frees the memory of the rest. */
Test(ring_place, gives_the_memory_of_a_dead_ring_back_but_for_what_is_in_no_file)
{
	struct bag *bag = new_bag();
	struct tp_ring_head *head;
	char place[300], path[512], command[700];
	struct stat before, after;
	struct seen seen;
	pid_t pid = fork();

	snprintf(place, sizeof(place), "%s/place", rig_dir);
	snprintf(path, sizeof(path), "%s/path", rig_dir);
	mkdir(place, 0755);
	if (pid == 0) {
		if (open_ring_in(place, 8 * MIB))
			_exit(1);
		for (uint64_t n = 0; n < 10000; n++)
			rig_put(1, n);
		take_all(bag);
		for (uint64_t n = 10000; n < 13000; n++)
			rig_put(1, n);
		memcpy((char *)tp_ring.head + tp_ring.head->names_at + 8, "a name", 6);
		tp_ring.head->names_used += 6;
		if (symlink(tp_ring.path, path))
			_exit(1);
		raise(SIGKILL);
	}
	waitpid(pid, NULL, 0);
	cr_assert_eq(stat(path, &before), 0);
	cr_assert_geq(before.st_blocks * 512, 8 * MIB);
	seen = look_at(path);
	cr_assert(seen.n == 3000 && !seen.n_bad);

	tp_ring_sweep(place, false);
	cr_assert_eq(stat(path, &after), 0);
	cr_assert_eq(after.st_size, before.st_size);
	/* The head, the slots, a page of each chunk and two whole ones. */
	cr_expect_lt(after.st_blocks * 512, 2 * MIB, "%ld", (long)after.st_blocks * 512);
	seen = look_at(path);
	cr_expect(seen.n == 3000 && !seen.n_bad, "%lu", (unsigned long)seen.n);
	head = rig_read_file(path);
	cr_expect_eq(memcmp((char *)head + head->names_at + 8, "a name", 6), 0);
	free(head);

	/* In use: it is left as it is. */
	cr_assert_eq(open_ring_in(place, 8 * MIB), 0);
	cr_assert_eq(stat(tp_ring.path, &before), 0);
	tp_ring_sweep(place, false);
	cr_assert_eq(stat(tp_ring.path, &after), 0);
	cr_expect_eq(after.st_blocks, before.st_blocks);
	snprintf(command, sizeof(command), "rm -rf '%s'", place);
	cr_expect_eq(system(command), 0);
}

/* A dead process's ring in `place`, to which no link leads: closed, or with an open span. Under a name that
 * is no ring's, or the next to be opened would sweep it. */
static void leave_ring(const char *place, bool is_closed)
{
	char path[600];
	pid_t pid = fork();

	if (pid == 0) {
		if (open_ring_in(place, MIB))
			_exit(1);
		snprintf(path, sizeof(path), "%s/trainprof-of-%d.hidden", place, (int)getpid());
		if (rename(tp_ring.path, path))
			_exit(1);
		if (is_closed)
			tp_ring.head->is_closed = 1;
		else
			tp_ring_span_begin(TP_REC_OP, 1, 1);
		raise(SIGKILL);
	}
	waitpid(pid, NULL, 0);
}

Test(ring_place, says_in_one_line_how_many_dead_rings_it_removed_and_how_many_it_kept)
{
	char place[300], command[700], said[1024] = "", *second;
	int fd = memfd_create("said", 0);

	snprintf(place, sizeof(place), "%s/place", rig_dir);
	mkdir(place, 0755);
	leave_ring(place, true);
	leave_ring(place, true);
	leave_ring(place, false);
	leave_ring(place, false);
	leave_ring(place, false);
	snprintf(command, sizeof(command), "cd '%s' && for f in *.hidden; do mv $f ${f%%.hidden}.ring; done",
		 place);
	cr_assert_eq(system(command), 0);
	tp_log_set_level(TP_LOG_INFO);
	tp_log_set_fd(fd);
	tp_ring_sweep(place, true);
	cr_assert_gt(pread(fd, said, sizeof(said) - 1, 0), 0);
	cr_expect_not_null(strstr(said, "removed 2 buffer files of dead processes"), "%s", said);
	cr_expect_not_null(strstr(said, "3 buffer files of dead processes"), "%s", said);
	second = strchr(said, '\n');
	cr_assert_not_null(second);
	cr_expect_eq(strchr(second + 1, '\n'), said + strlen(said) - 1, "%s", said);

	/* Not by the other ranks of the node. */
	cr_assert_eq(ftruncate(fd, 0), 0);
	tp_ring_sweep(place, false);
	cr_expect_eq(lseek(fd, 0, SEEK_END), 0);
}
