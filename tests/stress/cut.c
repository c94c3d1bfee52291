/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cut.c - the ring's file is truncated while threads record, steps and windows follow each other and the
 * drain is at work, again and again, at another moment and to another length each time
 *
 * usage: cut [SECONDS]
 *
 * No process may come to harm, and no record of a file may be one that nobody made. Exit status 0: all was
 * right. Who may not open the ring for writing (root may) changes its mode first.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "runtime/base/log.h"
#include "tests/unit/session_rig.h"

enum { N_RECORDERS = 3, MOST_WAIT_US = 12000, MOST_WINDOWS = 64 };

static _Atomic bool is_over;

/* The sanitizers' own handlers would stand where the program has none: asked before main. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "handle_sigbus=0";
}

/* A ring of zeros gives nothing an order any more: windows begin again at 0 while the drain reads of them.
 * All of it is memory that is given up. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "handle_sigbus=0:die_after_fork=0:report_bugs=0";
}

/* The number of a record says its name; its link says which thread made it. */
static void *record(void *arg)
{
	uint32_t me = (uint32_t)(uintptr_t)arg;
	char name[16];

	for (uint32_t i = 0; !is_over; i++) {
		uint32_t depth = tp_ring_span_begin(TP_REC_OP, 1, tp_clock_now());

		snprintf(name, sizeof(name), "op %u", i % 50);
		if (tp_session_is_armed())
			rig_op(name, 0, me << 16 | i % 50);
		else
			usleep(20);
		tp_ring_span_end(depth);
	}
	return NULL;
}

static void *train(void *arg)
{
	while (!is_over) {
		rig_step();
		usleep(300);
	}
	return NULL;
}

/* To nothing, whole pages, and parts of one. */
static void cut(unsigned *seed)
{
	off_t to = (off_t)((uint64_t)rand_r(seed) % tp_ring.n_bytes);

	if (rand_r(seed) % 3 == 0)
		to = 0;
	else if (rand_r(seed) % 2)
		to &= ~(off_t)4095;
	if (truncate(tp_ring.path, to) && (chmod(tp_ring.path, 0600) || truncate(tp_ring.path, to)))
		_exit(3);
}

/* A process that records, and is cut. */
static void be_guest(unsigned seed)
{
	pthread_t thread[N_RECORDERS + 1];

	rig_config.buffer_bytes = 1 << 20;
	rig_config.log = TP_LOG_QUIET;
	if (rig_open("wait=1,warmup=1,active=3,repeat=0"))
		_exit(2);
	for (uintptr_t i = 0; i < N_RECORDERS; i++)
		pthread_create(&thread[i], NULL, record, (void *)i);
	pthread_create(&thread[N_RECORDERS], NULL, train, NULL);
	/* Not before the drain's first round: nobody handles the signal so early. */
	while (__atomic_load_n(&tp_ring.head->anchor[5], __ATOMIC_RELAXED) == tp_ring.head->anchor[1])
		usleep(50);
	usleep((unsigned)rand_r(&seed) % MOST_WAIT_US);
	cut(&seed);
	usleep((unsigned)rand_r(&seed) % MOST_WAIT_US);
	if (rand_r(&seed) % 4 == 0)
		while (tp_session_is_open())
			usleep(200);
	tp_session_close("exit");
	is_over = true;
	for (uint32_t i = 0; i <= N_RECORDERS; i++)
		pthread_join(thread[i], NULL);
	_exit(0);
}

/* How many records the file has; false ones are counted in *n_wrong. */
static uint64_t check(const char *path, uint64_t *n_wrong)
{
	struct rig_trace *trace = rig_read_trace(path, UINT64_MAX);
	uint64_t n = 0;

	for (uint32_t i = 0; trace->is_there && i < trace->n; i++) {
		const struct tp_rec *rec = &trace->rec[i];
		char name[16];

		/* Of a span that is open yet only its begin is known. */
		if (rec->kind != TP_REC_OP || rec->link == TP_NO_SEQ)
			continue;
		n++;
		snprintf(name, sizeof(name), "op %u", rec->link & 0xffff);
		*n_wrong += rec->link >> 16 >= N_RECORDERS || !rec->time ||
			    strcmp(rig_name_of(trace, rec), name);
	}
	rig_traces = trace->older;
	free(trace->rec);
	free(trace->thread);
	free(trace);
	return n;
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 5;
	uint64_t end_ns, n_wrong = 0, n_records = 0;
	uint32_t n_guests = 0, n_killed = 0, n_failed = 0, n_files = 0;

	rig_set_up();
	end_ns = tp_clock_mono_ns() + (uint64_t)seconds * 1000000000u;
	while (tp_clock_mono_ns() < end_ns) {
		int status = 0;
		char path[600];
		pid_t pid;

		n_guests++;
		snprintf(rig_config.dir, sizeof(rig_config.dir), "%s/run%u", rig_dir, n_guests);
		pid = fork();
		if (!pid)
			be_guest(n_guests * 2654435761u);
		waitpid(pid, &status, 0);
		n_killed += WIFSIGNALED(status);
		n_failed += WIFEXITED(status) && WEXITSTATUS(status);
		for (uint32_t w = 0; w < MOST_WINDOWS; w++) {
			snprintf(path, sizeof(path), "%s/rank0.%u.tpt", rig_config.dir, w);
			if (access(path, F_OK))
				strcat(path, ".part");
			if (access(path, F_OK))
				break;
			n_files++;
			n_records += check(path, &n_wrong);
		}
		snprintf(path, sizeof(path), "rm -rf '%s' /dev/shm/*.%d.ring", rig_config.dir, pid);
		if (system(path))
			n_failed++;
	}
	printf("%u processes whose ring was cut, %u killed, %u failed; %u files, %lu records, %lu wrong\n",
	       n_guests, n_killed, n_failed, n_files, n_records, n_wrong);
	rig_remove_dir();
	return n_killed || n_failed || n_wrong || !n_records;
}
