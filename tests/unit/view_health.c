/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_health.c - tests of the view that says whether the figures may be trusted
 */
#include <criterion/criterion.h>

#include "tests/unit/fake_run.h"

static const struct tp_view_options options = {.top = 20};
static struct fake fake;

static void set_up(void)
{
	struct tp_proc *proc;
	struct tp_window *window;

	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	window = fake_window(&fake, proc, 0, 0, 1000000000);
	window->n_events = 1000;
	window->file_bytes = 5500;
	window->clock_error_ns = 240;
	window->meta = "clock=tsc: invariant\nSCHEDULE=always\nBUFFER=32M\nLOG=debug\n";
	window->totals = "drain_cpu_ns=40000\nstall_ns=9000\nnames_lost=0\n";
}

TestSuite(view_health, .init = set_up);

static char *print(bool has_color)
{
	return fake_print(&fake, &tp_view_health, &options, NULL, 0, 100, has_color);
}

static void expect_has(const char *text, const char *wanted)
{
	cr_expect(strstr(text, wanted), "no '%s' in:\n%s", wanted, text);
}

Test(view_health, is_one_green_line_when_all_is_well)
{
	char *text = print(true);

	expect_has(text, "\033[32m  all good: no events lost, truncated or inconsistent\033[0m\n");
	expect_has(text, "clock     tsc: invariant; error between processes at most +-240 ns");
	expect_has(text, "1,000 events in 5.37 KiB: 5.5 bytes per event");
	expect_has(text, "drain thread: 40.0 us of CPU, 40 ns per event, <0.1 %");
	expect_has(text, "at the edges of windows: 9.00 us");
	/* Options at their defaults are not repeated. */
	expect_has(text, "options   SCHEDULE=always  LOG=debug");
	cr_expect_not(strstr(text, "What is missing or wrong"));
}

/* Each trouble alone takes the green line away and shows itself. */
Test(view_health, shows_every_kind_of_trouble)
{
	static const char *const wanted[] = {
		"1,234",
		"no end",
		"recovered",
		"rank 0: it broke",
		"1 process did not exit cleanly",
		"aten::mm for 3.00 us",
		"7 causality violations before alignment, 3 after",
		"5 names found no room",
	};

	for (uint32_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct tp_proc *proc;
		char *text;

		set_up();
		proc = fake.run.proc[0];
		switch (i) {
		case 0:
			fake.run.window[0].dropped = 1234;
			break;
		case 1:
			fake.run.window[0].is_whole = false;
			break;
		case 2:
			fake.run.window[0].is_recovered = true;
			break;
		case 3:
			fake.run.issue[fake.run.n_issues++] =
				(struct tp_issue){proc, true, "it broke"};
			break;
		case 4:
			proc->is_dead = true;
			break;
		case 5:
			proc->is_dead = true;
			fake.run.open[fake.run.n_open++] = (struct tp_open_at_end){
				proc, &proc->thread[1], fake_op(&fake, "aten::mm"), TP_REC_OP,
				0, 3000, 0};
			break;
		case 6:
			fake.run.violations_before = 7;
			fake.run.violations_after = 3;
			break;
		default:
			fake.run.window[0].totals = "names_lost=5\n";
		}
		text = print(false);
		expect_has(text, wanted[i]);
		cr_expect_not(strstr(text, "all good"), "case %u:\n%s", i, text);
	}
}

/* What the runtime counts as lost is told, whatever it is called. */
Test(view_health, tells_of_each_counter_of_losses)
{
	static const char *const keys[] = {
		"names_lost", "names_cut", "windows_lost", "trigger.late", "trigger.missed", "late",
		"nccl.no_entry", "nccl.unfinished", "nccl.late_ops", "nccl.comms_refused",
		"nccl.unknown", "torch.ranges_lost", "marks.ranges_lost", "module.lost",
		"modules.lost", "cupti.dropped", "cupti.kernel.no_room", "cupti.kernel.late",
		"cupti.buffers_kept", "devmem.not_kept", "heap.sample_no_room",
		"pystack.broken", "pystack.refused", "stack.mismatched",
	};

	for (uint32_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		char totals[64], *text;

		set_up();
		snprintf(totals, sizeof(totals), "%s=77\n", keys[i]);
		fake.run.window[0].totals = totals;
		text = print(false);
		cr_expect(strstr(text, "  77 "), "%s:\n%s", keys[i], text);
		cr_expect_not(strstr(text, "all good"), "%s:\n%s", keys[i], text);
	}
}

Test(view_health, does_not_state_an_error_that_is_not_bounded)
{
	fake_window(&fake, fake.run.proc[0], 1, 0, 1)->clock_error_ns = -1;
	expect_has(print(false), "how far the clocks of the hosts differ is not known");
}

Test(view_health, does_not_call_nothing_good)
{
	fake.run.n_windows = 0;
	expect_has(print(false), "nothing was recorded");
	cr_expect_not(strstr(print(false), "all good"));
}

Test(view_health, tells_what_is_off_once_for_all_ranks)
{
	char *text;

	for (int32_t rank = 1; rank < 3; rank++)
		fake_window(&fake, fake_proc(&fake, rank), 0, 0, 1)->meta =
			rank == 2 ? "off.shapes=not found\noff.heap=static libc\n"
				  : "off.shapes=not found\n";
	fake.run.window[0].meta = "off.shapes=not found\n";
	text = print(false);
	expect_has(text, "shapes            not found\n");
	expect_has(text, "heap              static libc (rank 2)\n");
	cr_expect_eq(strstr(strstr(text, "not found") + 1, "not found"), NULL, "%s", text);
}

Test(view_health, cuts_long_lists_and_says_how_long)
{
	for (uint32_t i = 0; i < 50; i++)
		fake.run.issue[fake.run.n_issues++] = (struct tp_issue){NULL, false, "odd"};
	expect_has(print(false), "30 more problems: --top 0 shows all");
}

Test(view_health, counts_what_is_missing_of_the_gpus_records)
{
	static const struct {
		const char *totals, *wanted;
	} cases[] = {
		{"cupti.dropped=12\n", "12 records of the GPU were dropped by CUPTI"},
		{"cupti.refused=3\n", "3 times CUPTI requested a buffer and got none"},
		{"cupti.trashed_bytes=4096\n", "4.00 KiB of records were given up"},
		{"cupti.kernel.no_time=5\ncupti.memcpy.no_time=6\n",
		 "11 pieces of GPU work have no times"},
		{"cupti.kernel.late=2\ncupti.call.late=1\n",
		 "3 records of the GPU came after the file of their window was finished"},
		{"cupti.buffers_kept=2\n", "2 buffers with records of the GPU did not come back"},
		{"cupti.kernel.no_room=7\n", "7 records of the GPU found no room"},
		{"cupti.sync.no_name=8\n", "8 records of the GPU have lost their names"},
		{"cupti.errors=1\n", "1 calls of CUPTI failed"},
		{"cupti.unknown=2\n", "2 records of CUPTI are of kinds"},
		{"cupti.clock_steps=1\n", "1 times the clock was set"},
		{"cupti.yielded=2\ncupti.yielded_ns=1500000000\n",
		 "2 times CUPTI was left to another profiler: the GPU's records have gaps of 1.50 s"},
		{"devmem.unknown_frees=9\n", "9 blocks of device memory were freed"},
		{"devmem.not_kept=4\n", "4 blocks of device memory were too many"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text;

		fake.run.window[0].totals = cases[i].totals;
		text = print(120);
		cr_expect(strstr(text, cases[i].wanted), "no '%s' in:\n%s", cases[i].wanted, text);
		cr_expect_not(strstr(text, "all good"), "%s", text);
	}
}

Test(view_health, says_what_cupti_told)
{
	char *text;

	fake.run.window[0].totals =
		"cupti.version=130001\ncupti.call=1000\ncupti.kernel=500\ncupti.kernel.outside=20\n";
	text = print(120);
	cr_expect(strstr(text, "CUPTI     13.0: 1,500 records in the windows, 20 outside them"),
		  "%s", text);
	cr_expect(strstr(text, "all good"), "%s", text);
}

Test(view_health, tells_of_stacks_and_host_memory)
{
	char *text;

	fake.run.window[0].totals =
		"stack.walks=1000\nstack.checked=100\nstack.mismatched=0\nstack.cut=3\n"
		"heap.sample_bytes=65536\n";
	text = print(false);
	expect_has(text, "stacks    1,000 taken; 100 compared with libunwind's, 0 differed; the outer "
			 "end of 3 is not");
	expect_has(text, "sampled   one block of host memory in 64.0 KiB on average");
	expect_has(text, "all good");
	fake.run.window[0].totals = "stack.walks=9\nstack.mismatched=2\nstack.skipped=7\nmodules.lost=4\n"
				    "heap.sample_no_room=5\npystack.refused=6\n";
	text = print(false);
	expect_has(text, "2 call stacks differed from libunwind's");
	expect_has(text, "7 call stacks were not taken");
	expect_has(text, "4 loaded libraries are not described");
	expect_has(text, "5 chosen blocks of host memory were too many");
	expect_has(text, "6 threads found no memory for their Python frames");
	cr_expect_not(strstr(text, "all good"), "%s", text);
}
