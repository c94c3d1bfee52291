/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naming.c - tests of file names, of claiming a run folder, and of the traces to keep
 */
#include <time.h>

#include "tests/unit/naming_rig.h"

Test(naming, fills_every_field)
{
	static const struct {
		const char *pattern, *wanted;
	} rows[] = {
		{"{run_name}/torch_traces", "night/torch_traces"},
		{"rank{rank}.{batch}.pt.trace.json", "rank9.142.pt.trace.json"},
		{"ep{epoch}-ba{batch}-rank{rank}.json", "ep3-ba142-rank9.json"},
		{"node{node_rank}.json", "node1.json"},
		{"{local_rank} {world_size} {local_world_size}", "1 16 8"},
		{"{batch_in_epoch} {window} {restart}", "42 2 0"},
		{"{host} {pid} {timestamp}", "node7 77 20260228-235959"},
		{"{rank}{rank}", "99"},
		{"no field", "no field"},
		{"", ""},
		{"{unknown} {rank}", "{unknown} 9"},
		{"{rank", "{rank"},
		{"rank}", "rank}"},
	};
	struct tp_naming naming = make(9);

	tp_log_set_level(TP_LOG_QUIET);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char buf[256];
		struct tp_text text;

		tp_text_init(&text, buf, sizeof(buf));
		tp_naming_expand(&naming, rows[i].pattern, &text);
		cr_expect_str_eq(buf, rows[i].wanted, "%s: %s", rows[i].pattern, buf);
	}
}

Test(naming, leaves_no_field_of_an_unknown_rank_unfilled)
{
	struct tp_naming naming = make_unknown();
	char buf[256];
	struct tp_text text;

	tp_text_init(&text, buf, sizeof(buf));
	tp_naming_expand(&naming, "{rank} {local_rank} {world_size} {local_world_size} {node_rank}",
			 &text);
	cr_expect_str_eq(buf, "0 0 1 1 0");
}

Test(naming, knows_the_calendar)
{
	for (uint64_t day = 0; day < 80000; day += 13) {
		time_t s = (time_t)(day * 86400 + day % 86400);
		struct tp_naming naming = make(0);
		char buf[64], wanted[64];
		struct tp_text text;
		struct tm tm;

		naming.real_ns = (uint64_t)s * 1000000000;
		tp_text_init(&text, buf, sizeof(buf));
		tp_naming_expand(&naming, "{timestamp}", &text);
		strftime(wanted, sizeof(wanted), "%Y%m%d-%H%M%S", gmtime_r(&s, &tm));
		cr_assert_str_eq(buf, wanted);
	}
}

Test(naming, gives_each_window_of_each_process_a_path_of_its_own)
{
	static const struct {
		const char *what, *pattern;
		struct tp_rank rank;
		uint32_t window;
		bool add_pid;
		const char *wanted;
	} rows[] = {
		{"the default", "rank{rank}.{window}.tpt", {.rank = 3, .world_size = 4}, 1, false,
		 "d/rank3.1.tpt"},
		{"folders", "{epoch}/a/rank{rank}.{window}", {.rank = 3}, 1, false, "d/3/a/rank3.1"},
		{"a restart", "rank{rank}.{window}.tpt", {.rank = 3, .restart = 2}, 1, false,
		 "d/rank3.1.restart2.tpt"},
		{"a restart that is named", "r{restart}-{rank}-{window}.tpt", {.rank = 3, .restart = 2}, 1,
		 false, "d/r2-3-1.tpt"},
		{"a living twin", "rank{rank}.{window}.tpt", {.rank = -1}, 0, true,
		 "d/rank0.0.pid77.tpt"},
		{"a living twin, pid named", "{pid}.{window}.tpt", {.rank = -1}, 0, true, "d/77.0.tpt"},
		{"no rank in the name", "{window}.tpt", {.rank = 3, .world_size = 4}, 0, false,
		 "d/0.rank3.tpt"},
		{"no rank in the name, first of several", "{window}.tpt", {.rank = 0, .world_size = 4}, 0,
		 false, "d/0.rank0.tpt"},
		{"no rank in the name, alone", "{window}.tpt", {.rank = 0, .world_size = 1}, 0, false,
		 "d/0.tpt"},
		{"no rank, but what makes one", "{node_rank}-{local_rank}.{window}.tpt",
		 {.rank = 3, .local_rank = 1, .node_rank = 1, .world_size = 4}, 0, false, "d/1-1.0.tpt"},
		{"no window in the name, the first", "rank{rank}.tpt", {.rank = 3}, 0, false,
		 "d/rank3.tpt"},
		{"no window in the name, the second", "rank{rank}.tpt", {.rank = 3}, 1, false,
		 "d/rank3.window1.tpt"},
		{"the batch instead", "rank{rank}.{batch}.tpt", {.rank = 3}, 1, false, "d/rank3.142.tpt"},
		{"the batch in its epoch alone", "{rank}.{batch_in_epoch}.tpt", {.rank = 3}, 1, false,
		 "d/3.42.window1.tpt"},
		{"with its epoch", "{rank}.{epoch}.{batch_in_epoch}.tpt", {.rank = 3}, 1, false,
		 "d/3.3.42.tpt"},
		{"nothing at all", "x.tpt", {.rank = 3, .restart = 1}, 1, true,
		 "d/x.rank3.window1.restart1.pid77.tpt"},
		{"no suffix", "x/y", {.rank = 3}, 1, false, "d/x/y.rank3.window1"},
		{"a dot in a folder is no suffix", "a.b/rank{rank}", {.rank = 3}, 1, false,
		 "d/a.b/rank3.window1"},
		{"hidden", ".{rank}", {.rank = 3}, 1, false, "d/.3.window1"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tp_naming naming = make(0);
		char path[256];

		naming.rank = rows[i].rank;
		naming.window = rows[i].window;
		naming.add_pid = rows[i].add_pid;
		cr_expect_eq(tp_naming_trace_path(&naming, "d", rows[i].pattern, path, sizeof(path)), 0);
		cr_expect_str_eq(path, rows[i].wanted, "%s: %s", rows[i].what, path);
	}
}

Test(naming, tells_workers_from_their_rank_and_from_each_other)
{
	static const struct {
		const char *pattern;
		uint32_t worker;
		const char *wanted;
	} rows[] = {
		{"rank{rank}.{window}.tpt", 1, "d/rank3.worker1.2.tpt"},
		{"rank{rank}.{window}.tpt", 12, "d/rank3.worker12.2.tpt"},
		{"{rank}/{window}.tpt", 1, "d/3.worker1/2.tpt"},
		{"{rank}-{worker}.{window}.tpt", 1, "d/3-1.2.tpt"},
		{"{rank}-{worker}.{window}.tpt", 0, "d/3-0.2.tpt"},
		{"{pid}.{window}.tpt", 1, "d/77.2.worker1.tpt"},
		{"{window}.tpt", 1, "d/2.rank3.worker1.tpt"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tp_naming naming = make(3);
		char path[256];

		naming.worker = rows[i].worker;
		cr_expect_eq(tp_naming_trace_path(&naming, "d", rows[i].pattern, path, sizeof(path)), 0);
		cr_expect_str_eq(path, rows[i].wanted, "%s: %s", rows[i].pattern, path);
	}
}

Test(naming, refuses_names_that_leave_the_folder)
{
	static const char *const patterns[] = {
		"/etc/{rank}.tpt", "../{rank}.tpt", "a/../../{rank}", "a/..", "..", ".", "", "a//b",
		"a/", "./x", "a/./b",
	};

	tp_log_set_level(TP_LOG_QUIET);
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		struct tp_naming naming = make(9);
		char path[256];

		cr_expect_eq(tp_naming_trace_path(&naming, "d", patterns[i], path, sizeof(path)), 0);
		cr_expect_str_eq(path, "d/rank9.2.tpt", "'%s': %s", patterns[i], path);
	}
}

Test(naming, refuses_what_a_field_smuggles_in)
{
	struct tp_naming naming = make(9);
	char path[256];

	tp_log_set_level(TP_LOG_QUIET);
	naming.run_name = "../../etc";
	cr_expect_eq(tp_naming_trace_path(&naming, "d", "{run_name}/x", path, sizeof(path)), 0);
	cr_expect_str_eq(path, "d/rank9.2.tpt");
}

Test(naming, says_when_a_path_is_too_long)
{
	struct tp_naming naming = make(9);
	char path[12];

	cr_expect_eq(tp_naming_trace_path(&naming, "folder", "rank{rank}.tpt", path, sizeof(path)),
		     -ENAMETOOLONG);
}

static const struct tp_naming keeper;

/* ---- claiming ---- */

TestSuite(claim, .init = make_dir, .fini = remove_dir);

Test(claim, takes_an_empty_folder_and_makes_the_ledger)
{
	struct tp_naming naming = make(3);

	cr_expect_eq(claim(&naming, false), 0);
	cr_expect_str_eq(ledger_path, in_dir("rank3.steps"));
	cr_expect(exists("rank3.steps"));
	cr_expect_not(naming.add_pid);
}

Test(claim, minds_other_ranks_and_restarts_no_more_than_other_files)
{
	struct tp_naming naming = make(3);

	put_ledger("rank2.steps", 2, 0, dead_pid(), REAL_NS);
	put_ledger("rank3.steps", 3, 0, dead_pid(), REAL_NS);
	put("notes.txt", "x", 1);
	naming.rank.restart = 1;
	cr_expect_eq(claim(&naming, false), 0);
	cr_expect_str_eq(ledger_path, in_dir("rank3.restart1.steps"));
	cr_expect(exists("rank3.steps") && exists("rank2.steps") && exists("notes.txt"));
}

Test(claim, refuses_a_used_folder)
{
	struct tp_naming naming = make(3);

	put_ledger("rank3.steps", 3, 0, dead_pid(), REAL_NS);
	put_trace("rank3.0.tpt", 3, 0);
	cr_expect_eq(claim(&naming, false), -EEXIST);
	cr_expect(exists("rank3.steps") && exists("rank3.0.tpt"));
}

Test(claim, removes_with_overwrite_what_this_rank_left_and_nothing_else)
{
	static const char *const gone[] = {
		"rank3.0.tpt", "rank3.1.tpt.part", "odd.name.tpt", "rank3.restart1.steps",
		"rank3.5.ring", "link.ring", "elsewhere.dat", "node1.json.gz",
	};
	static const char *const kept[] = {
		"rank2.0.tpt", "rank2.steps", "notes.txt", "notes.tpt", "rank3.json.gz", "rank2.7.ring", "node0.json.gz",
		"sub",
	};
	struct tp_naming naming = make(3);
	uint32_t pid = dead_pid();

	put_ledger("rank3.steps", 3, 0, pid, REAL_NS);
	put_ledger("rank3.restart1.steps", 3, 1, pid, REAL_NS);
	put_ledger("rank2.steps", 2, 0, pid, REAL_NS);
	put_trace("rank3.0.tpt", 3, 0);
	put_trace("rank3.1.tpt.part", 3, 0);
	put_trace("odd.name.tpt", 3, 0);
	put_trace("rank2.0.tpt", 2, 0);
	put("notes.txt", "x", 1);
	put("notes.tpt", "no trace", 8);
	put("rank3.json.gz", "x", 1);
	put("node1.json.gz", "x", 1);
	put("node0.json.gz", "x", 1);
	put_ring("rank3.5.ring", 3, pid);
	put_ring("rank2.7.ring", 2, pid);
	put_ring("elsewhere.dat", 3, pid);
	cr_assert_eq(symlink(in_dir("elsewhere.dat"), in_dir("link.ring")), 0);
	cr_assert_eq(mkdir(in_dir("sub"), 0755), 0);
	put_trace("sub/rank3.0.tpt", 3, 0);

	cr_expect_eq(claim(&naming, true), 0);
	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
		cr_expect_not(exists(gone[i]), "%s", gone[i]);
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		cr_expect(exists(kept[i]), "%s", kept[i]);
	cr_expect(exists("sub/rank3.0.tpt"), "the pattern names no folder");
	cr_expect(exists("rank3.steps"));
}

Test(claim, looks_as_deep_as_the_pattern_goes)
{
	struct tp_naming naming = make(3);

	put_ledger("rank3.steps", 3, 0, dead_pid(), REAL_NS);
	cr_assert_eq(mkdir(in_dir("a"), 0755), 0);
	cr_assert_eq(mkdir(in_dir("a/b"), 0755), 0);
	put_trace("a/rank3.trace", 3, 0);
	put_trace("a/rank4.trace", 4, 0);
	put_trace("a/b/rank3.trace", 3, 0);
	cr_expect_eq(tp_naming_claim(&naming, dir, "{run_name}/rank{rank}.trace", true, ledger_path,
				     sizeof(ledger_path)), 0);
	cr_expect_not(exists("a/rank3.trace"));
	cr_expect(exists("a/rank4.trace") && exists("a/b/rank3.trace"));
}

Test(claim, removes_nothing_of_living_processes_of_the_same_rank)
{
	struct tp_naming naming = make(3);
	struct tp_file_head trace = {.magic = TP_FILE_MAGIC, .rank = 3, .pid = (uint32_t)getpid(),
				     .pid_ns = tp_process_pid_ns(), .run_id = 2};
	struct tp_ring_head ring = {.magic = TP_RING_MAGIC, .rank = 3, .pid = (uint32_t)getpid(),
				    .pid_ns = tp_process_pid_ns()};

	read_boot_id(trace.boot_id);
	read_boot_id(ring.boot_id);
	put_ledger("rank3.steps", 3, 0, dead_pid(), REAL_NS);
	put_ledger("rank3.pid1.steps", 3, 0, (uint32_t)getpid(), tp_clock_real_ns());
	put("rank3.0.pid1.tpt", &trace, sizeof(trace));
	ring.anchor[2] = tp_clock_real_ns();
	put("rank3.pid1.1.ring", &ring, sizeof(ring));
	put_trace("rank3.0.tpt", 3, 0);
	cr_expect_eq(claim(&naming, true), 0);
	cr_expect(exists("rank3.pid1.steps") && exists("rank3.0.pid1.tpt") &&
		  exists("rank3.pid1.1.ring"));
	cr_expect_not(exists("rank3.0.tpt"));
}

Test(claim, keeps_earlier_restarts_of_the_same_run)
{
	struct tp_naming naming = make(3);

	put_ledger("rank3.steps", 3, 0, dead_pid(), REAL_NS);
	put_ledger("rank3.restart1.steps", 3, 1, dead_pid(), REAL_NS);
	put_trace("rank3.0.tpt", 3, 0);
	put_trace("rank3.0.restart1.tpt", 3, 1);
	naming.rank.restart = 1;
	cr_expect_eq(claim(&naming, true), 0);
	cr_expect(exists("rank3.steps") && exists("rank3.0.tpt"));
	cr_expect_not(exists("rank3.0.restart1.tpt"));
}

Test(claim, leaves_the_files_of_a_living_process_alone)
{
	for (int overwrite = 0; overwrite < 2; overwrite++) {
		struct tp_naming naming = make_unknown();

		put_ledger("rank0.steps", -1, 0, (uint32_t)getpid(), tp_clock_real_ns());
		put_trace("rank0.0.tpt", -1, 0);
		cr_expect_eq(claim(&naming, overwrite), 0);
		cr_expect(naming.add_pid);
		cr_expect_str_eq(ledger_path, in_dir("rank0.pid5.steps"));
		cr_expect(exists("rank0.steps") && exists("rank0.0.tpt"));
		unlink(ledger_path);
	}
}

Test(claim, leaves_the_files_of_a_sister_that_has_ended_alone)
{
	static const struct {
		uint64_t fork_ns;
		int64_t start_ns;	/* of this process, before the ledger's end; 0: not known */
		int result;
	} cases[] = {
		{0, 0, -EEXIST},		/* no fork: an older run */
		{REAL_NS + 1, 0, -EEXIST},	/* older than the first fork: an older run, too */
		{REAL_NS, 0, 0},
		{REAL_NS - 5, 0, 0},
		{0, -1000000000, -EEXIST},	/* it had ended when this process began */
		{0, 5000000, -EEXIST},		/* perhaps, starts are known to 10 ms */
		{0, 1000000000, 0},		/* both ran */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tp_naming naming = make(3);

		naming.fork_ns = cases[i].fork_ns;
		put_ledger("rank3.steps", 3, 0, dead_pid(), REAL_NS);
		if (cases[i].start_ns)
			naming.start_ns = tp_clock_real_ns() - (uint64_t)cases[i].start_ns;
		put_trace("rank3.0.tpt", 3, 0);
		cr_expect_eq(claim(&naming, false), cases[i].result, "case %zu", i);
		cr_expect_eq(naming.add_pid, !cases[i].result, "case %zu", i);
		cr_expect(exists("rank3.0.tpt"));
		if (!cases[i].result) {
			unlink(ledger_path);
			cr_expect_eq(claim(&naming, true), 0);
			cr_expect(exists("rank3.0.tpt") && exists("rank3.steps"));
			unlink(ledger_path);
		}
	}
}

Test(claim, does_not_take_another_process_of_the_same_number_for_the_owner)
{
	struct tp_naming naming = make(3);

	/* The ledger is older than the process that has its number now. */
	put_ledger("rank3.steps", 3, 0, (uint32_t)getpid(), tp_clock_real_ns() - 3600ull * 1000000000);
	cr_expect_eq(claim(&naming, false), -EEXIST);
	cr_expect_not(naming.add_pid);
}

Test(claim, gives_a_ledger_without_a_head_some_time)
{
	struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
	struct tp_naming naming = make(3);

	put("rank3.steps", "", 0);
	cr_expect_eq(claim(&naming, false), 0);
	cr_expect(naming.add_pid, "whoever made it is about to write to it");

	cr_assert_eq(utimensat(AT_FDCWD, in_dir("rank3.steps"), long_ago, 0), 0);
	cr_expect_eq(claim(&naming, false), -EEXIST);
}

Test(claim, gives_a_folder_to_one_of_many_that_come_at_once)
{
	enum { N = 8 };
	int n_plain = 0, n_pid = 0;

	for (int i = 0; i < N; i++) {
		if (fork())
			continue;
		struct tp_naming naming = make_unknown();
		int err;

		naming.pid = (uint32_t)getpid();
		err = claim(&naming, false);
		_exit(err ? 9 : naming.add_pid);
	}
	for (int i = 0; i < N; i++) {
		int status;

		wait(&status);
		n_plain += WIFEXITED(status) && WEXITSTATUS(status) == 0;
		n_pid += WIFEXITED(status) && WEXITSTATUS(status) == 1;
	}
	cr_expect_eq(n_plain, 1);
	cr_expect_eq(n_pid, N - 1);
}

Test(claim, says_what_it_cannot_do)
{
	struct tp_naming naming = make(3);
	char path[8];

	cr_expect_eq(tp_naming_claim(&naming, "/nowhere/at/all", "x", false, ledger_path,
				     sizeof(ledger_path)), -ENOENT);
	cr_expect_eq(tp_naming_claim(&naming, dir, "x", false, path, sizeof(path)), -ENAMETOOLONG);
}

/* ---- keeping ---- */

Test(claim, keeps_the_newest_traces)
{
	static const char *const names[] = {"a", "b", "c", "d", "e"};

	for (int i = 0; i < 5; i++) {
		put(names[i], "x", 1);
		tp_naming_keep(&keeper, in_dir(names[i]), 2, true);
		cr_expect(exists(names[i]));
		if (i >= 2)
			cr_expect_not(exists(names[i - 2]));
	}
	cr_expect(exists("d"));
}

Test(claim, keeps_all_traces_when_keep_is_minus_one_or_they_are_to_be_delivered)
{
	for (char name[] = "a"; name[0] < 'h'; name[0]++) {
		put(name, "x", 1);
		tp_naming_keep(&keeper, in_dir(name), name[0] % 2 ? 0 : TP_KEEP_ALL, true);
		cr_expect(exists(name));
	}
	cr_expect(exists("a"));
}

Test(claim, gives_windows_without_steps_no_place)
{
	static const char has_steps[] = "ynnyynyn";
	uint64_t n_before = tp_naming_removed();

	for (int i = 0; has_steps[i]; i++) {
		char name[] = {(char)('a' + i), '\0'};

		put(name, "x", 1);
		tp_naming_keep(&keeper, in_dir(name), 2, has_steps[i] == 'y');
	}
	/* Two with steps stay, e and g, and what follows the older of them. */
	for (char name[] = "a"; name[0] < 'i'; name[0]++)
		cr_expect_eq(exists(name), name[0] >= 'd' + 1, "%s", name);
	cr_expect_eq(tp_naming_removed() - n_before, 4);
}

Test(claim, tells_what_another_run_left_from_its_own)
{
	static const struct {
		const char *what, *name;
		uint64_t fork_ns;
		uint32_t restart, theirs;	/* restarts: of this process, of the ledger's */
		const char *job;
		bool is_alive, is_younger, is_used;
	} rows[] = {
		{"this rank's", "rank3.steps", 0, 0, 0, "", false, false, true},
		{"another rank's", "rank0.steps", 0, 0, 0, "", false, false, true},
		{"one that lives", "rank0.steps", 0, 0, 0, "", true, false, false},
		{"one that has ended since this process began", "rank0.steps", 0, 0, 0, "", false, true, false},
		{"one that this program forked", "rank3.steps", REAL_NS, 0, 0, "", false, false, false},
		{"an earlier start of the job", "rank3.steps", 0, 1, 0, "torchrun:x", false, false, false},
		{"an earlier job's that was started again", "rank3.steps", 0, 1, 0, "torchrun:y", false, false, true},
		{"another rank's of this job, just ended", "rank0.steps", 0, 0, 0, "torchrun:x", false, false, false},
		{"this rank's of a job of that name", "rank3.steps", 0, 0, 0, "torchrun:x", false, false, true},
		{"another rank's of another job", "rank0.steps", 0, 0, 0, "torchrun:y", false, false, true},
		{"the same start again", "rank3.steps", 0, 1, 1, "torchrun:x", false, false, true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const uint64_t now = tp_clock_real_ns();
		struct tp_naming naming = make(3);
		bool is_used;

		naming.fork_ns = rows[i].fork_ns;
		naming.job = "torchrun:x";
		naming.rank.restart = rows[i].restart;
		naming.start_ns = rows[i].is_younger ? now - 1000000000 : now + 1000000000;
		put_job_ledger(rows[i].name, rows[i].name[4] - '0', rows[i].theirs,
			       rows[i].is_alive ? (uint32_t)getpid() : dead_pid(),
			       rows[i].is_alive ? now : REAL_NS, rows[i].job);
		is_used = tp_naming_is_used(&naming, dir);
		cr_expect_eq(is_used, rows[i].is_used, "%s", rows[i].what);
		unlink(in_dir(rows[i].name));
	}
}

Test(claim, a_forked_child_does_not_remove_its_parents_traces)
{
	put("a", "x", 1);
	tp_naming_keep(&keeper, in_dir("a"), 1, true);
	if (!fork()) {
		put("b", "x", 1);
		tp_naming_keep(&keeper, in_dir("b"), 1, true);
		_exit(0);
	}
	wait(NULL);
	cr_expect(exists("a") && exists("b"));
}

Test(claim, goes_on_when_a_trace_to_be_removed_is_gone)
{
	put("a", "x", 1);
	tp_naming_keep(&keeper, in_dir("a"), 1, true);
	unlink(in_dir("a"));
	put("b", "x", 1);
	tp_naming_keep(&keeper, in_dir("b"), 1, true);
	put("c", "x", 1);
	tp_naming_keep(&keeper, in_dir("c"), 1, true);
	cr_expect(exists("c"));
	cr_expect_not(exists("b"));
}
