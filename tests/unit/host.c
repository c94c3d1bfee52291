/* SPDX-License-Identifier: Apache-2.0 */
/* The host probe on this machine, with a ring and without a session. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/probe/host/host.h"
#include "tests/unit/probe_rig.h"

static struct tp_config config = { .record = TP_RECORD_HOST, .host_period_ms = 20 };

static void set_up(void)
{
	rig_open_window("host-test");
	cr_assert_eq(tp_host_probe.open(&config), 0);
}

/* The i-th record of that name; NULL: there are fewer. Checks its unit. */
static const struct tp_rec *find(const char *name, const char *unit, uint32_t i)
{
	for (uint32_t at = 0; at < got.n; at++) {
		const char *bytes;
		uint32_t kind, n;

		cr_assert_eq(got.rec[at].kind, TP_REC_COUNTER);
		cr_assert(tp_intern_get(NULL, got.rec[at].name, &kind, &bytes, &n));
		cr_assert_eq(kind, TP_STRING_COUNTER);
		if (strcmp(bytes, name) != 0 || i--)
			continue;
		cr_expect_str_eq(bytes + strlen(bytes) + 1, unit);
		return &got.rec[at];
	}
	return NULL;
}

static void spin(int ms)
{
	uint64_t end = tp_clock_mono_ns() + (uint64_t)ms * 1000000u;

	while (tp_clock_mono_ns() < end)
		;
}

struct usage {
	uint64_t wall_ns, cpu_ns;
};

static struct usage use_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (struct usage){
		.wall_ns = tp_clock_mono_ns(),
		.cpu_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
	};
}

TestSuite(host, .init = set_up, .fini = tear_down);

Test(host, records_what_it_knows_at_once_and_rates_from_the_second_sample)
{
	const struct tp_rec *rec;
	struct usage before[2], after[2];
	uint64_t least, most;

	before[0] = use_now();
	tp_host_probe.tick(7);
	before[1] = use_now();
	collect();
	rec = find("RSS", "B", 0);
	cr_assert(rec);
	cr_expect(rec->time == 7 && rec->arg > 1 << 20 && rec->arg < 1ull << 36);
	cr_expect(find("shared", "B", 0) && find("virtual", "B", 0));
	cr_assert(find("memory used", "B", 0) && find("memory available", "B", 0));
	cr_expect_eq(find("memory used", "B", 0)->arg + find("memory available", "B", 0)->arg,
		     (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
	cr_expect_null(find("process CPU", "%", 0));

	spin(150);
	after[0] = use_now();
	tp_host_probe.tick(8);
	after[1] = use_now();
	/* Wherever in the two calls it looked: on a busy machine they take long. */
	least = (after[0].cpu_ns - before[1].cpu_ns) * 100 / (after[1].wall_ns - before[0].wall_ns);
	most = (after[1].cpu_ns - before[0].cpu_ns) * 100 / (after[0].wall_ns - before[1].wall_ns);
	collect();
	rec = find("process CPU", "%", 0);
	cr_assert(rec);
	/* The kernel may count in ticks of 10 ms. */
	cr_expect(rec->arg > 0 && rec->arg + 20 >= least && rec->arg <= most + 20,
		  "one busy thread: %lu %%, by its clock %lu to %lu %%", (unsigned long)rec->arg,
		  (unsigned long)least, (unsigned long)most);
	cr_expect(find("machine CPU", "%", 0));
	rec = find("core", "%", 0);
	cr_assert(rec);
	cr_expect(rec->arg <= 100 && rec->link < (uint32_t)sysconf(_SC_NPROCESSORS_CONF));
}

Test(host, counts_pages_where_host_memory_is_recorded)
{
	static struct tp_config heap = { .record = TP_RECORD_HEAP, .host_period_ms = 20 };
	enum { PAGES = 8 << 20 };
	const struct tp_rec *pss, *own;
	char *pages = mmap(NULL, PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (access("/proc/self/smaps_rollup", R_OK))
		cr_skip_test("a kernel before 4.14");
	tp_host_probe.tick(1);
	collect();
	cr_expect_null(find("PSS", "B", 0));

	cr_assert_eq(tp_host_probe.open(&heap), 0);
	/* In a new window all there is is recorded. */
	tp_ring.head->windows_begun = 2;
	tp_host_probe.tick(2);
	collect();
	cr_expect(find("RSS", "B", 0) && !find("memory used", "B", 0) && !find("process CPU", "%", 0));
	pss = find("PSS", "B", 0);
	own = find("private", "B", 0);
	cr_assert(pss && own && find("PSS anonymous", "B", 0) && find("PSS shmem", "B", 0));
	cr_expect(own->arg > 0 && own->arg <= pss->arg && pss->arg <= find("RSS", "B", 0)->arg + (1 << 20));

	/* The next one only when the last one's cost has been made good. */
	memset(pages, 1, PAGES);
	tp_host_probe.tick(3);
	collect();
	cr_expect_null(find("PSS", "B", 0));
	/* Another window has its own. */
	tp_ring.head->windows_begun = 3;
	tp_host_probe.tick(4);
	collect();
	cr_assert(find("private", "B", 0));
	cr_expect(find("private", "B", 0)->arg >= PAGES);
	munmap(pages, PAGES);
}

Test(host, repeats_a_value_only_when_it_changed_or_a_window_begins)
{
	tp_host_probe.tick(1);
	tp_host_probe.tick(2);
	collect();
	cr_expect(find("swap used", "B", 0));
	cr_expect_null(find("swap used", "B", 1));
	tp_ring.head->windows_begun = 2;
	tp_host_probe.tick(3);
	collect();
	cr_expect(find("swap used", "B", 0));
}

Test(host, records_nothing_in_warm_up_but_has_its_base_then)
{
	tp_ring.head->phase = TP_PHASE_WARMUP;
	tp_host_probe.warm();
	tp_host_probe.tick(1);
	collect();
	cr_expect_eq(got.n, 0);
	spin(5);
	tp_ring.head->phase = TP_PHASE_ACTIVE;
	tp_host_probe.tick(2);
	collect();
	cr_expect(find("process CPU", "%", 0));
}

Test(host, does_not_take_the_pause_between_windows_for_a_rate)
{
	tp_host_probe.tick(1);
	usleep(250000);
	tp_host_probe.tick(2);
	collect();
	cr_expect_null(find("process CPU", "%", 0));
}

Test(host, shows_the_bytes_that_go_to_a_disk)
{
	static char block[1 << 20];
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/var/tmp/trainprof-host-test.%d", (int)getpid());
	file = fopen(path, "w");
	if (!file || access("/sys/block", F_OK))
		cr_skip_test("no disk to write to");
	tp_host_probe.tick(1);
	for (int i = 0; i < 8; i++)
		fwrite(block, 1, sizeof(block), file);
	fflush(file);
	cr_expect_eq(fsync(fileno(file)), 0);
	fclose(file);
	unlink(path);
	usleep(20000);
	tp_host_probe.tick(2);
	collect();
	for (uint32_t i = 0; i < got.n; i++) {
		const char *bytes;
		uint32_t kind, n;

		tp_intern_get(NULL, got.rec[i].name, &kind, &bytes, &n);
		if (strstr(bytes, " write") && got.rec[i].arg > 1 << 20) {
			cr_expect_str_eq(bytes + strlen(bytes) + 1, "B/s");
			cr_expect_str_eq(bytes + strlen(bytes) + 5, "disk");
			return;
		}
	}
	cr_skip_test("nothing was written to a disk (memory file system?)");
}

Test(host, a_sample_costs_the_drain_thread_little)
{
	enum { N = 50 };
	struct timespec begin, end;
	double us;

	tp_host_probe.tick(1);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	for (uint64_t i = 0; i < N; i++)
		tp_host_probe.tick(2 + i);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	us = ((double)(end.tv_sec - begin.tv_sec) * 1e6 + (double)(end.tv_nsec - begin.tv_nsec) / 1e3) / N;
	/* Ten a second: a thousandth of a core is 100 us; twenty times that is a mistake. */
	cr_expect(us < 2000, "%.0f us a sample", us);
	cr_log_info("%.0f us a sample", us);
}
