/* SPDX-License-Identifier: Apache-2.0 */
/* A session where the program, the disk or another process gets in its way. */
#include <criterion/criterion.h>

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "runtime/base/own_table.h"
#include "runtime/engine/facts.h"
#include "tests/unit/session_rig.h"

TestSuite(session_trouble, .init = rig_set_up, .fini = rig_tear_down, .timeout = 60);

Test(session_trouble, opens_once_and_closes_once)
{
	cr_assert_eq(rig_open("always"), 0);
	cr_expect_eq(rig_open("always"), -EALREADY);
	rig_run_steps(0, 2);
	tp_session_close("exit");
	tp_session_close("_exit");
	rig_step();
	tp_session_epoch(tp_clock_now());
	cr_expect(!tp_session_is_open());
	cr_expect_str_eq(rig_steps_in(rig_window(0)), "0 1");
}

Test(session_trouble, does_nothing_when_it_is_off)
{
	rig_config.is_off = true;
	cr_expect_eq(tp_session_open(&rig_config, rig_probes, ""), -ECANCELED);
	rig_step();
	tp_session_close("exit");
	cr_expect_neq(access(rig_config.dir, F_OK), 0);
	cr_expect_str_empty(rig_told);
}

Test(session_trouble, records_nothing_where_it_cannot_make_the_folder)
{
	snprintf(rig_config.dir, sizeof(rig_config.dir), "/proc/none/run");
	cr_expect_lt(rig_open("always"), 0);
	cr_expect(!tp_session_is_armed());
	rig_step();
	tp_session_close("exit");
}

static bool are_our_threads_asleep(void)
{
	DIR *tasks = opendir("/proc/self/task");
	uint32_t n_asleep = 0, n_awake = 0;

	for (struct dirent *entry; (entry = readdir(tasks));) {
		char path[300], text[512];
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/stat", entry->d_name);
		file = fopen(path, "r");
		if (!file)
			continue;
		if (fgets(text, sizeof(text), file) && strstr(text, "(trainprof"))
			strrchr(text, ')')[2] == 'S' ? n_asleep++ : n_awake++;
		fclose(file);
	}
	closedir(tasks);
	return n_asleep && !n_awake;
}

/* When the drain has begun a round after this call was made. */
static uint64_t await_round(void)
{
	volatile uint64_t *round_ns = &tp_ring.head->anchor[5];
	uint64_t seen = *round_ns;

	tp_ring_ring_bell();
	while (*round_ns == seen)
		usleep(1000);
	return *round_ns;
}

/* The round that opened files is over, and for 10 ms nothing has been done since. */
static void await_idle_drain(void)
{
	uint64_t seen;

	await_round();
	seen = await_round();
	for (uint32_t n_idle = 0; n_idle < 10; n_idle++) {
		usleep(1000);
		if (tp_ring.head->anchor[5] != seen || !are_our_threads_asleep())
			n_idle = 0;
		seen = tp_ring.head->anchor[5];
	}
}

/* To touch what is gone would be SIGBUS, in the program's threads and in ours. */
Test(session_trouble, ends_without_harm_when_somebody_cuts_the_ring)
{
	rig_config.buffer_bytes = 1 << 20;
	cr_assert_eq(rig_open("always"), 0);
	rig_run_steps(0, 3);
	await_idle_drain();
	cr_assert_eq(truncate(tp_ring.path, 8192), 0);
	tp_ring_ring_bell();
	while (tp_session_is_open())
		usleep(1000);
	cr_expect(!tp_session_is_armed());
	rig_op("late", 0, 1);
	rig_run_steps(3, 2);
	tp_session_epoch(tp_clock_now());
	tp_session_close("exit");
	cr_expect(AWAIT(!tp_own_table_id()));
}

Test(session_trouble, makes_the_folder_anew_for_the_next_window_when_it_was_removed)
{
	static struct tp_ledger_row row[64];
	char command[600];

	cr_assert_eq(rig_open("wait=1,warmup=0,active=2,repeat=2"), 0);
	rig_run_steps(0, 2);
	cr_assert(rig_await_file(0));
	snprintf(command, sizeof(command), "rm -rf '%s'", rig_config.dir);
	cr_assert_eq(system(command), 0);
	rig_run_steps(2, 2);
	cr_assert(rig_await_written(1));
	rig_run_steps(4, 3);
	tp_session_close("exit");
	cr_expect(!rig_window(0)->is_there);
	cr_expect_str_eq(rig_steps_in(rig_window(1)), "4 5");
	cr_expect_eq(rig_ledger(row, 64), 7, "rows that the ring still had are there, too");
}

/* The run folder on a file system of that size; false: this machine does not let us. */
static bool mount_run(const char *size)
{
	char options[32];

	snprintf(options, sizeof(options), "size=%s", size);
	mkdir(rig_config.dir, 0755);
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", rig_config.dir, "tmpfs", 0, options) == 0;
}

Test(session_trouble, survives_a_full_disk_and_counts_what_it_cost)
{
	static struct tp_ledger_row row[64];
	const struct rig_trace *trace;
	char filler[600];

	if (!mount_run("256k"))
		cr_skip_test("needs the right to mount");
	rig_config.buffer_bytes = 16 << 20;
	cr_assert_eq(rig_open("wait=0,warmup=0,active=1,repeat=2"), 0);
	tp_session_epoch(tp_clock_now());
	/* Many different records, so that they take more than there is. */
	for (uint32_t i = 0; i < 150000; i++) {
		while (!rig_op("n", tp_clock_now() - i * 7919 % 100000, i * 2654435761u))
			usleep(1000);
	}
	rig_step();
	cr_assert(rig_await_written(1));
	/* The next window has room again. */
	snprintf(filler, sizeof(filler), "rm -f '%s'/rank0.0*", rig_config.dir);
	cr_expect_eq(system(filler), 0);
	for (uint32_t i = 0; i < RIG_OPS; i++)
		rig_op("s1", 0, 1);
	rig_step();
	tp_session_close("exit");
	trace = rig_window(1);
	cr_expect(trace->is_whole);
	cr_expect_str_eq(rig_steps_in(trace), "1");
	cr_expect_eq(rig_total(trace, "lost"), 0);
	cr_expect_eq(rig_ledger(row, 64), 2, "rows waited until there was room");
	umount2(rig_config.dir, MNT_DETACH);
}

Test(session_trouble, leaves_a_readable_file_when_the_disk_is_full)
{
	const struct rig_trace *trace;
	char path[600];
	uint64_t n;

	if (!mount_run("256k"))
		cr_skip_test("needs the right to mount");
	rig_config.buffer_bytes = 16 << 20;
	cr_assert_eq(rig_open("wait=0,warmup=0,active=1,repeat=1"), 0);
	for (uint32_t i = 0; i < 200000; i++)
		while (!rig_op("n", tp_clock_now() - i * 7919 % 100000, i * 2654435761u))
			usleep(1000);
	rig_step();
	tp_session_close("exit");
	trace = rig_window(0);
	if (!trace->is_there) {
		snprintf(path, sizeof(path), "%s/rank0.0.tpt.part", rig_config.dir);
		trace = rig_read_trace(path, UINT64_MAX);
	}
	cr_assert(trace->is_there);
	cr_expect_eq(trace->n_bad_blocks, 0);
	n = rig_count(trace, "n", 0, 0);
	cr_expect_gt(n, 10000);
	cr_expect_lt(n, 200000);
	if (trace->is_whole)
		cr_expect_geq(rig_total(trace, "lost") + n, 200000);
	umount2(rig_config.dir, MNT_DETACH);
}

Test(session_trouble, gives_up_politely_where_it_may_not_write)
{
	if (getuid() != 0)
		cr_skip_test("needs root to become nobody");
	int status;
	pid_t pid;

	mkdir(rig_config.dir, 0555);
	chmod(rig_dir, 0755);
	pid = fork();
	if (pid == 0) {
		bool is_good = setuid(65534) == 0 && rig_open("always") < 0;

		rig_run_steps(0, 3);
		tp_session_close("exit");
		_exit(!is_good);
	}
	waitpid(pid, &status, 0);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* In a child: the test runner keeps descriptors, too. */
static int close_everything_and_go_on(void)
{
	static struct tp_ledger_row row[64];
	char path[600];
	struct stat st;

	if (rig_open("wait=1,warmup=0,active=2,repeat=0"))
		return 1;
	rig_run_steps(0, 2);
	if (!rig_await_file(0))
		return 7;
	close_range(3, ~0u, 0);
	snprintf(path, sizeof(path), "%s/other", rig_dir);
	for (int i = 0; i < 20; i++)	/* takes all the numbers that we had */
		if (open(path, O_CREAT | O_RDWR | O_APPEND, 0644) < 3)
			return 2;
	for (int fd = 300; fd < 320; fd++)
		if (dup2(3, fd) != fd)
			return 2;
	rig_run_steps(2, 6);
	if (!rig_await_written(2))
		return 8;
	tp_session_close("exit");
	if (stat(path, &st) || st.st_size != 0)
		return 3;
	for (int i = 0; i < 20; i++)
		if (fcntl(3 + i, F_GETFD) < 0 || fcntl(300 + i, F_GETFD) < 0)
			return 4;
	if (rig_ledger(row, 64) != 8)
		return 5;
	return strcmp(rig_steps_in(rig_window(1)), "4 5") ? 6 : 0;
}

Test(session_trouble, never_writes_to_a_file_of_the_program_that_has_the_number_of_ours)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(close_everything_and_go_on());
	waitpid(pid, &status, 0);
	cr_expect(WIFEXITED(status));
	cr_expect_eq(WEXITSTATUS(status), 0);
}

Test(session_trouble, keeps_facts_and_what_is_off_for_the_trace_and_for_the_dead)
{
	const struct rig_trace *trace;

	tp_probe_off("shapes", "layout not\nfound");
	tp_probe_off("shapes", "layout not\nfound");
	cr_assert_eq(rig_open("always"), 0);
	tp_facts_add("torch", "2.13.0");
	cr_expect_not_null(strstr(tp_ring.head->meta, "torch=2.13.0\n"));
	cr_expect_not_null(strstr(tp_ring.head->meta, "off.shapes=layout not found\n"));
	cr_expect_not_null(strstr(tp_ring.head->meta, "program=file:/x/train.py\n"));
	rig_run_steps(0, 1);
	tp_session_close("exit");
	trace = rig_window(0);
	cr_expect_not_null(strstr(trace->meta, "torch=2.13.0\n"));
	cr_expect_not_null(strstr(trace->meta, "off.shapes=layout not found\n"));
	cr_expect_eq(strstr(strstr(trace->meta, "off.shapes") + 1, "off.shapes"), NULL);
}

/* ---- processes ---- */

Test(session_trouble, a_forked_child_has_none_and_may_open_its_own)
{
	int status;
	pid_t pid;

	cr_assert_eq(rig_open("always"), 0);
	rig_run_steps(0, 2);
	tp_session_before_fork();
	pid = fork();
	tp_session_after_fork(pid == 0);
	if (pid == 0) {
		bool is_good = !tp_session_is_open() && !tp_session_is_armed() &&
			       strstr(rig_told, "forked ") != NULL;

		rig_step();
		rig_op("child", 0, 0);
		tp_session_close("exit");	/* as the child's exit handlers do */
		snprintf(rig_config.dir, sizeof(rig_config.dir), "%s/child", rig_dir);
		is_good &= rig_open("always") == 0;
		rig_run_steps(50, 3);
		tp_session_close("_exit");
		is_good &= !strcmp(rig_steps_in(rig_window(0)), "50 51 52");
		_exit(!is_good);
	}
	waitpid(pid, &status, 0);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	rig_run_steps(2, 2);
	tp_session_close("exit");
	cr_expect_str_eq(rig_steps_in(rig_window(0)), "0 1 2 3");
	cr_expect_eq(rig_count(rig_window(0), "child", 0, 0), 0);
	cr_expect_null(strstr(rig_told, "forked"));
}

static void arm_slowly(void)
{
	const struct timespec while_arming = {.tv_nsec = 20000000};

	rig_note("arming");
	nanosleep(&while_arming, NULL);
	rig_note("armed");
}

static void *cross_boundary(void *unused)
{
	rig_step();
	return NULL;
}

Test(session_trouble, a_fork_waits_until_no_probe_is_being_armed)
{
	static struct tp_probe slow;
	static const struct tp_probe *const probes[] = {&slow, NULL};
	char bad[64];
	pthread_t thread;

	slow = rig_probe;
	slow.arm = arm_slowly;
	cr_assert_eq(tp_sched_parse(&rig_config.schedule, "wait=1,active=1", bad, sizeof(bad)), 0);
	cr_assert_eq(tp_session_open(&rig_config, probes, "file:/x/train.py"), 0);
	cr_assert_eq(pthread_create(&thread, NULL, cross_boundary, NULL), 0);
	while (!strstr(rig_told, "arming"))
		usleep(100);
	tp_session_before_fork();
	cr_expect_not_null(strstr(rig_told, "armed"));
	tp_session_after_fork(false);
	pthread_join(thread, NULL);
}

Test(session_trouble, a_failure_is_not_repeated_in_every_child)
{
	int status;
	pid_t pid;

	snprintf(rig_config.dir, sizeof(rig_config.dir), "/proc/none/run");
	cr_expect_lt(rig_open("always"), 0);
	tp_session_before_fork();
	pid = fork();
	tp_session_after_fork(pid == 0);
	if (pid == 0)
		_exit(rig_open("always") != -EALREADY);
	waitpid(pid, &status, 0);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

Test(session_trouble, leaves_the_folder_unused_when_it_cannot_open)
{
	struct rlimit limit = {.rlim_cur = 4096, .rlim_max = RLIM_INFINITY};
	char path[300];

	setrlimit(RLIMIT_FSIZE, &limit);	/* too little for any ring */
	cr_assert_lt(rig_open("always"), 0);
	snprintf(path, sizeof(path), "%s/run/rank0.steps", rig_dir);
	cr_expect_eq(access(path, F_OK), -1);
}
