/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of /proc, as kernels of all ages write them, whole and cut. */
#include <criterion/criterion.h>

#include <string.h>

#include "runtime/base/file.h"
#include "runtime/probe/host/host_parse.h"

#define TEXT(s) s, sizeof(s) - 1

Test(host_parse, reads_cores_of_stat)
{
	static const char text[] = "cpu  10 20 30 400 50 6 7 8 9 9\n"
				   "cpu0 1 2 3 40 5 6 7 8 900 900\n"
				   "cpu2 100 0 0 100 0 0 0 0 0 0\n"
				   "intr 1 2 3\nctxt 5\n";
	struct tp_host_core machine = { 0, 0 }, core[4] = { { 77, 77 }, { 77, 77 }, { 77, 77 }, { 0, 0 } };

	cr_expect_eq(tp_host_parse_stat(TEXT(text), &machine, core, 4), 3);
	cr_expect_eq(machine.busy, 10 + 20 + 30 + 6 + 7 + 8);
	cr_expect_eq(machine.all, machine.busy + 400 + 50);
	/* Guest time is part of user time: not counted again. */
	cr_expect_eq(core[0].busy, 1 + 2 + 3 + 6 + 7 + 8);
	cr_expect_eq(core[0].all, core[0].busy + 45);
	cr_expect_eq(core[1].all, 77, "a core that is offline keeps its figures");
	cr_expect_eq(core[2].busy, 100);
	cr_expect_eq(core[2].all, 200);
}

Test(host_parse, reads_stat_of_old_kernels_and_more_cores_than_wanted)
{
	struct tp_host_core machine = { 0, 0 }, core[1];

	cr_expect_eq(tp_host_parse_stat(TEXT("cpu 1 2 3 4\ncpu0 1 2 3 4\ncpu1 5 5 5 5\n"), &machine,
					core, 1), 2);
	cr_expect_eq(machine.all, 10);
	cr_expect_eq(core[0].busy, 6);
	cr_expect_eq(tp_host_parse_stat(TEXT("nothing of the kind\n"), &machine, core, 1), 0);
	cr_expect_eq(tp_host_parse_stat("", 0, &machine, core, 1), 0);
}

Test(host_parse, reads_statm)
{
	struct tp_host_statm statm;

	cr_assert(tp_host_parse_statm(TEXT("1000 300 200 10 0 90 0\n"), &statm));
	cr_expect_eq(statm.virtual, 1000);
	cr_expect_eq(statm.resident, 300);
	cr_expect_eq(statm.shared, 200);
	cr_expect_not(tp_host_parse_statm(TEXT("1000 300\n"), &statm));
	cr_expect_not(tp_host_parse_statm(TEXT("1000 300 200"), &statm));
}

Test(host_parse, reads_a_rollup_in_bytes)
{
	static const char whole[] = "563e-7fff ---p 00000000 00:00 0    [rollup]\nRss:  1688 kB\n"
		"Pss:   194 kB\nPss_Dirty:  112 kB\nPss_Anon:   112 kB\nPss_File:    81 kB\n"
		"Pss_Shmem:   1 kB\nShared_Clean:  1536 kB\nPrivate_Clean:   40 kB\n"
		"Private_Dirty:  113 kB\nSwap:  0 kB\n";
	static const char old[] = "x [rollup]\nPss: 5 kB\nPrivate_Clean: 1 kB\nPrivate_Dirty: 2 kB\n";
	struct tp_host_rollup got;

	cr_assert(tp_host_parse_rollup(whole, strlen(whole), &got));
	cr_expect(got.pss == 194 << 10 && got.private == 153 << 10 && got.has_sorts);
	cr_expect(got.pss_anonymous == 112 << 10 && got.pss_file == 81 << 10 && got.pss_shmem == 1 << 10);
	cr_assert(tp_host_parse_rollup(old, strlen(old), &got));
	cr_expect(got.pss == 5 << 10 && got.private == 3 << 10 && !got.has_sorts);
	/* Cut anywhere: nothing that is not so. */
	for (size_t n = 0; n < strlen(old); n++)
		cr_expect_not(tp_host_parse_rollup(old, n, &got), "%zu bytes", n);
}

Test(host_parse, reads_meminfo_in_bytes)
{
	static const struct {
		const char *text;
		bool is_good;
		uint64_t total, available, swap_used;
	} cases[] = {
		{ "MemTotal:   2000 kB\nMemFree: 100 kB\nMemAvailable:  900 kB\nBuffers: 1 kB\n"
		  "SwapCached: 5 kB\nSwapTotal: 50 kB\nSwapFree: 20 kB\n",
		  true, 2000 << 10, 900 << 10, 30 << 10 },
		{ "MemTotal: 2000 kB\nMemFree: 100 kB\nBuffers: 10 kB\nCached: 200 kB\n", true,
		  2000 << 10, 310 << 10, 0 },
		{ "MemTotal: 2000 kB\n", false, 0, 0, 0 },
		{ "SwapTotal: 2000 kB\n", false, 0, 0, 0 },
		{ "", false, 0, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tp_host_meminfo info = { 0, 0, 0 };

		cr_expect_eq(tp_host_parse_meminfo(cases[i].text, strlen(cases[i].text), &info),
			     cases[i].is_good, "case %zu", i);
		cr_expect_eq(info.total, cases[i].total, "case %zu", i);
		cr_expect_eq(info.available, cases[i].available, "case %zu", i);
		cr_expect_eq(info.swap_used, cases[i].swap_used, "case %zu", i);
	}
}

Test(host_parse, reads_disks_with_fields_of_every_age)
{
	static const char text[] =
		"   8       0 sda 100 1 2000 5 200 2 4000 6 0 7 8\n"
		"   8       1 broken 100\n"
		" 259       0 nvme0n1 63483 17203 6824778 11765 54365 38374 6785624 16176 0 8504 28583 7317 0 309312 369 8564 271\n"
		"   8      16 cut 1 2 3 4 5 6 7";
	const char *at = text;
	size_t n = sizeof(text) - 1;
	struct tp_host_flow flow;

	cr_assert(tp_host_next_disk(&at, &n, &flow));
	cr_expect(flow.n_name == 3 && !memcmp(flow.name, "sda", 3));
	cr_expect_eq(flow.in, 2000 * 512);
	cr_expect_eq(flow.out, 4000 * 512);
	cr_assert(tp_host_next_disk(&at, &n, &flow));
	cr_expect(flow.n_name == 7 && !memcmp(flow.name, "nvme0n1", 7));
	cr_expect_eq(flow.in, 6824778ull * 512);
	cr_expect_eq(flow.out, 6785624ull * 512);
	cr_expect_not(tp_host_next_disk(&at, &n, &flow));
}

Test(host_parse, reads_interfaces_and_not_the_headings)
{
	static const char text[] =
		"Inter-|   Receive                                                |  Transmit\n"
		" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n"
		"    lo:    3193      29    0    0    0     0          0         0     3194      29    0    0    0     0       0          0\n"
		"  eth0:182717519    3533    0    0    0     0          0         0   167385    1981    0    0    0     0       0          0\n";
	const char *at = text;
	size_t n = sizeof(text) - 1;
	struct tp_host_flow flow;

	cr_assert(tp_host_next_interface(&at, &n, &flow));
	cr_expect(flow.n_name == 2 && !memcmp(flow.name, "lo", 2));
	cr_expect_eq(flow.in, 3193);
	cr_expect_eq(flow.out, 3194);
	/* A long count leaves no blank after the colon. */
	cr_assert(tp_host_next_interface(&at, &n, &flow));
	cr_expect(flow.n_name == 4 && !memcmp(flow.name, "eth0", 4));
	cr_expect_eq(flow.in, 182717519);
	cr_expect_eq(flow.out, 167385);
	cr_expect_not(tp_host_next_interface(&at, &n, &flow));
}

Test(host_parse, understands_this_machine)
{
	static char text[1 << 16];
	struct tp_host_core machine = { 0, 0 }, core[8];
	struct tp_host_meminfo info;
	struct tp_host_statm statm;
	ssize_t n;

	n = tp_file_read("/proc/stat", text, sizeof(text));
	cr_assert_gt(n, 0);
	cr_expect_gt(tp_host_parse_stat(text, (size_t)n, &machine, core, 8), 0);
	cr_expect_gt(machine.all, 0);
	n = tp_file_read("/proc/meminfo", text, sizeof(text));
	cr_assert(n > 0 && tp_host_parse_meminfo(text, (size_t)n, &info));
	cr_expect(info.total > 1 << 20 && info.available <= info.total);
	n = tp_file_read("/proc/self/statm", text, sizeof(text));
	cr_assert(n > 0 && tp_host_parse_statm(text, (size_t)n, &statm));
	cr_expect(statm.resident > 0 && statm.resident <= statm.virtual);
}
