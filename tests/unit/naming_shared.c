/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naming_shared.c - tests of claiming a run folder that others use at the same time: processes that
 * start at once, those of other pid namespaces (containers), and of other machines
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "runtime/base/hold.h"
#include "tests/unit/naming_rig.h"

TestSuite(shared, .init = make_dir, .fini = remove_dir);

/* What a process writes that has the folder. */
static void write_all(const struct tp_naming *naming, uint64_t run_id, bool and_end)
{
	struct tp_file_head trace = {
		.magic = TP_FILE_MAGIC, .rank = naming->rank.rank, .pid = (uint32_t)getpid(),
		.pid_ns = tp_process_pid_ns(), .run_id = run_id,
	};
	struct tp_ledger_head head = {
		.rank = naming->rank.rank, .pid = trace.pid, .pid_ns = trace.pid_ns,
		.run_id = run_id, .real_ns = tp_clock_real_ns(), .host = "h",
	};
	char line[2 * TP_LEDGER_LINE_MAX], path[256];

	read_boot_id(head.boot_id);
	read_boot_id(trace.boot_id);
	put(strrchr(ledger_path, '/') + 1, line, tp_ledger_format_head(line, sizeof(line), &head));
	if (and_end) {
		FILE *file = fopen(ledger_path, "a");

		fputs(TP_LEDGER_END, file);
		fclose(file);
	}
	if (tp_naming_trace_path(naming, dir, "rank{rank}.{window}.tpt", path, sizeof(path)))
		abort();
	put(strrchr(path, '/') + 1, &trace, sizeof(trace));
}

struct child {
	pid_t pid;
	int go, said;		/* ends of pipes: it starts and ends when `go` is closed */
	bool add_pid;
	uint32_t twin;
	char ledger[256];
};

/*
 * A child, in a pid namespace of its own when `is_apart`, that claims the folder with overwrite
 * once `start` is closed, writes, says which name it has, and stays until it is killed.
 */
static void start_child(struct child *child, const struct tp_naming *like, const int start[2],
			bool is_apart)
{
	int said[2];

	cr_assert_eq(pipe(said), 0);
	child->pid = is_apart ? (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, NULL, NULL, NULL, NULL)
			      : fork();
	if (child->pid < 0)
		return;
	if (child->pid == 0) {
		struct tp_naming naming = *like;
		char byte;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(start[1]);
		if (read(start[0], &byte, 1) || claim(&naming, true))
			_exit(1);
		write_all(&naming, (uint64_t)getpid() << 8 | (uint64_t)said[1], false);
		child->add_pid = naming.add_pid;
		child->twin = naming.twin;
		strcpy(child->ledger, ledger_path);
		if (write(said[1], child, sizeof(*child)) != sizeof(*child))
			_exit(1);
		for (;;)
			pause();
	}
	close(said[1]);
	child->said = said[0];
}

static void hear_child(struct child *child)
{
	struct child heard;

	cr_assert_eq(read(child->said, &heard, sizeof(heard)), sizeof(heard));
	child->add_pid = heard.add_pid;
	child->twin = heard.twin;
	strcpy(child->ledger, heard.ledger);
	close(child->said);
}

static void end_child(const struct child *child)
{
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
}

static uint32_t count_files(const char *end)
{
	DIR *folder = opendir(dir);
	uint32_t n = 0;

	for (struct dirent *entry; (entry = readdir(folder));)
		n += strlen(entry->d_name) > strlen(end) &&
		     !strcmp(entry->d_name + strlen(entry->d_name) - strlen(end), end);
	closedir(folder);
	return n;
}

static void remove_files(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -f '%s'/*", dir);
	cr_assert_eq(system(command), 0);
}

Test(shared, of_many_that_overwrite_at_once_one_takes_the_name_and_no_file_is_lost, .timeout = 120)
{
	enum { N = 4, ROUNDS = 100 };

	for (int round = 0; round < ROUNDS; round++) {
		struct tp_naming naming = make(3);
		struct child child[N];
		int start[2], n_plain = 0;

		cr_assert_eq(pipe(start), 0);
		put_ledger("rank3.steps", 3, 0, dead_pid(), REAL_NS);
		put_trace("rank3.9.tpt", 3, 0);
		for (int i = 0; i < N; i++) {
			naming.pid = 100 + (uint32_t)i;
			start_child(&child[i], &naming, start, false);
		}
		close(start[0]);
		close(start[1]);
		for (int i = 0; i < N; i++) {
			hear_child(&child[i]);
			n_plain += !child[i].add_pid;
		}
		cr_expect_eq(n_plain, 1, "round %d: %d have the plain name", round, n_plain);
		cr_expect_eq(count_files(".steps"), N, "round %d", round);
		cr_expect_eq(count_files(".tpt"), N, "round %d", round);
		cr_expect_not(exists("rank3.9.tpt"));
		for (int i = 0; i < N; i++)
			end_child(&child[i]);
		remove_files();
	}
}

Test(shared, files_of_a_process_in_another_pid_namespace_stay_while_it_lives)
{
	struct tp_naming naming = make(3), other;
	struct child child;
	int start[2];

	cr_assert_eq(pipe(start), 0);
	start_child(&child, &naming, start, true);
	if (child.pid < 0)
		cr_skip_test("needs the right to make a pid namespace");
	close(start[0]);
	close(start[1]);
	hear_child(&child);
	cr_expect_not(child.add_pid);

	naming.pid = 78;
	cr_expect_eq(claim(&naming, true), 0);
	cr_expect(naming.add_pid);
	cr_expect(exists("rank3.steps") && exists("rank3.2.tpt") && exists("rank3.pid78.steps"));
	unlink(ledger_path);
	naming = make(3);
	naming.pid = 79;
	cr_expect_eq(claim(&naming, false), 0, "it is known to live: this is no used folder");
	cr_expect(naming.add_pid);
	unlink(ledger_path);

	end_child(&child);
	other = make(3);
	cr_expect_eq(claim(&other, false), -EEXIST);
	cr_expect_eq(claim(&other, true), 0);
	cr_expect_not(other.add_pid);
	cr_expect_not(exists("rank3.2.tpt"));
}

Test(shared, processes_of_the_same_number_have_names_of_their_own)
{
	static const struct {
		bool add_pid;
		uint32_t twin;
		const char *ledger;
	} wanted[] = {
		{false, 0, "rank3.steps"},
		{true, 0, "rank3.pid77.steps"},
		{true, 1, "rank3.pid77-1.steps"},
		{true, 2, "rank3.pid77-2.steps"},
	};
	enum { N = sizeof(wanted) / sizeof(wanted[0]) };
	struct tp_naming naming = make(3);
	struct child child[N];

	for (int i = 0; i < N; i++) {
		int start[2];

		cr_assert_eq(pipe(start), 0);
		start_child(&child[i], &naming, start, false);
		close(start[0]);
		close(start[1]);
		hear_child(&child[i]);
		cr_expect_eq(child[i].add_pid, wanted[i].add_pid, "%d", i);
		cr_expect_eq(child[i].twin, wanted[i].twin, "%d", i);
		cr_expect_str_eq(child[i].ledger, in_dir(wanted[i].ledger));
	}
	cr_expect_eq(count_files(".tpt"), N);
	for (int i = 0; i < N; i++)
		end_child(&child[i]);
}

Test(shared, a_worker_has_the_name_of_its_rank)
{
	static const struct {
		const char *ledger;
		bool add_pid;
		uint32_t twin;
	} rows[] = {
		{"/r/rank3.steps", false, 0},
		{"/r.pid7/rank3.steps", false, 0},
		{"/r/rank3.pid77.steps", true, 0},
		{"/r/rank3.restart1.pid77-12.steps", true, 12},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tp_naming naming = make(3);
		char path[256];

		naming.worker = 1;
		tp_naming_take_pid(&naming, rows[i].ledger);
		cr_expect_eq(naming.add_pid, rows[i].add_pid, "%s", rows[i].ledger);
		cr_expect_eq(naming.twin, rows[i].twin, "%s", rows[i].ledger);
		if (!naming.twin)
			continue;
		cr_expect_eq(tp_naming_trace_path(&naming, "d", "{pid}.tpt", path, sizeof(path)), 0);
		cr_expect_str_eq(path, "d/77.window2.worker1.pid77-12.tpt");
	}
}

/* ---- other machines ---- */

static void put_foreign(const char *end)
{
	struct tp_file_head trace = {.magic = TP_FILE_MAGIC, .rank = 3, .pid = 1, .pid_ns = 4026531836u,
				     .run_id = 5, .boot_id = {1, 2}};
	struct tp_file_head worker = {.magic = TP_FILE_MAGIC, .rank = 3, .pid = 2, .pid_ns = 4026531836u,
				      .run_id = 6, .parent_run_id = 5, .boot_id = {1, 2}};
	struct tp_ledger_head head = {.rank = 3, .pid = 1, .pid_ns = 4026531836u, .run_id = 5,
				      .boot_id = {1, 2}, .real_ns = REAL_NS, .host = "h"};
	char text[2 * TP_LEDGER_LINE_MAX];
	size_t n = tp_ledger_format_head(text, sizeof(text), &head);

	strcpy(text + n, end);
	put("rank3.steps", text, n + strlen(end));
	put("rank3.2.tpt", &trace, sizeof(trace));
	put("rank3.worker1.2.tpt", &worker, sizeof(worker));
}

Test(shared, files_of_another_machine_stay_when_nothing_tells_whether_their_process_lives)
{
	struct tp_naming naming = make(3);

	put_foreign("s1 t5 d5\n");
	cr_expect_eq(claim(&naming, false), -EEXIST, "a used folder is one, wherever it was used");
	cr_expect_eq(claim(&naming, true), 0);
	cr_expect(naming.add_pid);
	cr_expect(exists("rank3.steps") && exists("rank3.2.tpt") && exists("rank3.worker1.2.tpt"));
}

Test(shared, files_of_another_machine_go_when_their_process_has_ended_in_order)
{
	struct tp_naming naming = make(3);

	put_foreign("s1 t5 d5\n" TP_LEDGER_END);
	cr_expect_eq(claim(&naming, true), 0);
	cr_expect_not(naming.add_pid);
	cr_expect_not(exists("rank3.2.tpt"));
	cr_expect_not(exists("rank3.worker1.2.tpt"), "a worker's by its rank's ledger");
	cr_expect(exists("rank3.steps"));
}

Test(shared, an_end_in_the_middle_of_a_line_is_none)
{
	static const char *const ends[] = {"s1 t5#end\n", "#end", "#end\ns2 t6\n", "#ended\n"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct tp_naming naming = make(3);

		put_foreign(ends[i]);
		cr_expect_eq(claim(&naming, true), 0);
		cr_expect(naming.add_pid, "%s", ends[i]);
		unlink(ledger_path);
	}
}

/* flock(2) answers ENOSYS from here on. */
static void refuse_locks(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_flock, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {sizeof(filter) / sizeof(filter[0]), filter};

	cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	cr_assert_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog), 0);
}

Test(shared, nothing_is_removed_where_there_are_no_locks)
{
	struct tp_naming naming = make(3);

	put_ledger("rank3.steps", 3, 0, dead_pid(), REAL_NS);
	put_trace("rank3.0.tpt", 3, 0);
	refuse_locks();
	cr_expect_eq(claim(&naming, true), 0);
	cr_expect(naming.add_pid, "several may have found the same process dead");
	cr_expect(exists("rank3.steps") && exists("rank3.0.tpt"));
	naming = make(3);
	cr_expect_eq(claim(&naming, false), -EEXIST);
}

Test(shared, what_is_no_ledger_stays)
{
	struct tp_naming naming = make(3);

	cr_assert_eq(mkdir(in_dir("rank3.steps"), 0755), 0);
	cr_expect_eq(claim(&naming, true), 0);
	cr_expect(naming.add_pid && exists("rank3.steps"));
	unlink(ledger_path);
	cr_assert_eq(rmdir(in_dir("rank3.steps")), 0);

	cr_assert_eq(mkfifo(in_dir("rank3.steps"), 0644), 0);
	naming = make(3);
	cr_expect_eq(claim(&naming, true), 0);
	cr_expect(naming.add_pid && exists("rank3.steps"));
	unlink(ledger_path);
	unlink(in_dir("rank3.steps"));

	put("rank3.steps", "notes of mine\n", 14);
	naming = make(3);
	cr_expect_eq(claim(&naming, true), 0);
	cr_expect(naming.add_pid && exists("rank3.steps"));
}

/* ---- the lock ---- */

/* Of the lock as another process sees it. */
static int look_at(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC), err = tp_hold_briefly(fd);

	close(fd);
	return err;
}

static int hold_new(const char *name)
{
	int fd = open(in_dir(name), O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	cr_assert_eq(tp_hold(fd, 0), 0);
	return fd;
}

Test(shared, the_lock_outlives_the_descriptor_but_not_the_process)
{
	int ends[2];
	char byte;
	pid_t pid;

	cr_assert_eq(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		pid_t child;

		close(hold_new("held"));
		child = fork();
		if (child == 0) {
			/* Lives on, and keeps nothing. */
			prctl(PR_SET_PDEATHSIG, 0);
			close(ends[0]);
			sleep(60);
			_exit(0);
		}
		if (write(ends[1], &child, sizeof(child)) != sizeof(child))
			_exit(1);
		for (;;)
			pause();
	}
	pid_t child;

	cr_assert_eq(read(ends[0], &child, sizeof(child)), sizeof(child));
	byte = look_at(in_dir("held")) == -EWOULDBLOCK;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	cr_expect_eq(look_at(in_dir("held")), 0, "a child keeps no lock of its parent's");
	kill(child, SIGKILL);
	if (!byte)
		cr_skip_test("a lock ends with its descriptor here (an overlay file system?)");
}
