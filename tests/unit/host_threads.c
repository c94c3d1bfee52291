/* SPDX-License-Identifier: Apache-2.0 */
/* Processor time of threads: texts of /proc, and this process's own. */
#include <criterion/criterion.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/probe/host/host_threads.h"

#define TEXT(s) s, sizeof(s) - 1

enum { SPIN_NS = 50000000 };

Test(host_threads, reads_schedstat_and_nothing_that_is_cut)
{
	uint64_t cpu, wait;

	cr_assert(tp_host_parse_schedstat(TEXT("183254 5634234 2\n"), &cpu, &wait));
	cr_expect_eq(cpu, 183254);
	cr_expect_eq(wait, 5634234);
	cr_expect_not(tp_host_parse_schedstat(TEXT("183254 5634234"), &cpu, &wait));
	cr_expect_not(tp_host_parse_schedstat(TEXT("183254"), &cpu, &wait));
	cr_expect_not(tp_host_parse_schedstat(TEXT(""), &cpu, &wait));
}

Test(host_threads, reads_the_limit_of_a_group)
{
	cr_expect_eq(tp_host_parse_cpu_max(TEXT("150000 100000\n")), 2);
	cr_expect_eq(tp_host_parse_cpu_max(TEXT("50000 100000\n")), 1);
	cr_expect_eq(tp_host_parse_cpu_max(TEXT("max 100000\n")), 0);
	cr_expect_eq(tp_host_parse_cpu_max(TEXT("100 0\n")), 0);
	cr_expect_eq(tp_host_parse_cpu_max(TEXT("")), 0);
}

static void *spin(void *tid)
{
	*(int *)tid = (int)syscall(SYS_gettid);
	for (uint64_t end = tp_clock_mono_ns() + SPIN_NS; tp_clock_mono_ns() < end;)
		;
	pause();
	return NULL;
}

Test(host_threads, reports_who_ran_since_the_beginning)
{
	char buf[4096], key[32];
	pthread_t thread;
	struct tp_text text;
	volatile int tid = 0;

	if (access("/proc/self/schedstat", R_OK))
		cr_skip_test("this kernel has no schedstat");
	tp_text_init(&text, buf, sizeof(buf));
	tp_host_threads_report(&text);
	cr_expect_eq(text.len, 0, "there is no base yet");
	tp_host_threads_begin();
	pthread_create(&thread, NULL, spin, (void *)&tid);
	usleep(4 * SPIN_NS / 1000);
	tp_host_threads_report(&text);
	cr_expect(strstr(buf, "threads.wall="), "%s", buf);
	cr_expect(strstr(buf, "\nthreads.cores="), "%s", buf);
	snprintf(key, sizeof(key), "\nthread.%d=", tid);
	cr_expect(tid && strstr(buf, key), "%s not in %s", key, buf);
	/* In a child it is the parent's. */
	tp_host_threads_forked();
	tp_text_init(&text, buf, sizeof(buf));
	tp_host_threads_report(&text);
	cr_expect_eq(text.len, 0);
}
