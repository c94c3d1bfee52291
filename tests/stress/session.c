/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.c - a whole session under load: threads record and end, steps and windows follow
 * each other without a pause, other threads fork, add facts and change tensor bytes; then the
 * process ends while all of that still goes on
 *
 * usage: session [SECONDS]
 *
 * Each child of fork finds no session, and some open their own, record, and close it. Every trace
 * must be whole. Meant for the thread and the address sanitizer. Exit status 0: all was right.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "runtime/base/log.h"
#include "runtime/engine/facts.h"
#include "tests/unit/session_rig.h"

enum { N_RECORDERS = 3, N_FORKERS = 2 };

/* The address sanitizer's allocator (GCC 12) is not made for forks beside threads: a lock that one of them
 * had then is never free in the child, whose new threads wait for it. */
#ifdef __SANITIZE_ADDRESS__
static const bool has_heap_in_child = false;
#else
static const bool has_heap_in_child = true;
#endif

static _Atomic bool is_over;
static _Atomic uint64_t n_wrong, n_forks;

/* Asked for by the thread sanitizer before main: threads in children of fork are our subject.
 * Its runtime is a shared library, so the answer must be visible. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "die_after_fork=0";
}

static void *record(void *arg)
{
	char name[16];

	for (uint32_t i = 0; !is_over; i++) {
		if (!tp_session_is_armed()) {
			usleep(50);
			continue;
		}
		snprintf(name, sizeof(name), "op %u", i % 50);
		tp_session_live(false, 64);
		rig_op(name, 0, i);
		tp_session_live(false, -64);
		if (i % 200 == 0)
			usleep(200);
	}
	return NULL;
}

static void *restart_recorder(void *arg)
{
	while (!is_over) {
		pthread_t thread;

		pthread_create(&thread, NULL, record, NULL);
		usleep(20000);
		/* It ends with is_over; meanwhile short-lived ones come and go. */
		for (int i = 0; i < 20 && !is_over; i++) {
			pthread_t brief;

			pthread_create(&brief, NULL, (void *(*)(void *))(void *)rig_probe_warm, NULL);
			pthread_join(brief, NULL);
			rig_op("brief", 0, 1);
		}
		is_over ? pthread_join(thread, NULL) : pthread_detach(thread);
		usleep(300000);
	}
	return NULL;
}

/* In the child: what a data loader's worker or a launched script may do. */
static void be_child(uint32_t n)
{
	bool is_good = !tp_session_is_open() && !tp_session_is_armed();

	rig_step();
	rig_op("nowhere", 0, 0);
	tp_session_close("exit");
	if (n % 4 == 0 && has_heap_in_child) {
		snprintf(rig_config.dir, sizeof(rig_config.dir), "%s/child%d", rig_dir, getpid());
		rig_config.buffer_bytes = 1 << 20;
		is_good &= rig_open("always") == 0;
		for (uint32_t i = 0; i < 500; i++)
			rig_op("child", 0, i);
		rig_step();
		tp_session_close("_exit");
	}
	_exit(!is_good);
}

static void *keep_forking(void *arg)
{
	for (uint32_t n = 0; !is_over; n++) {
		int status = 0;
		pid_t pid;

		tp_session_before_fork();
		pid = fork();
		tp_session_after_fork(pid == 0);
		if (pid == 0)
			be_child(n);
		waitpid(pid, &status, 0);
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			n_wrong++;
		n_forks++;
		usleep(2000);
	}
	return NULL;
}

static void *add_facts(void *arg)
{
	for (int i = 0; !is_over; i++) {
		char key[16];

		snprintf(key, sizeof(key), "fact%d", i % 40);
		tp_facts_add(key, "value");
		tp_session_device_live((uint64_t)i);
		usleep(500);
	}
	return NULL;
}

/* Steps of a millisecond or so, epochs now and then; every step is a window of its own half of
 * the time. */
static void *train(void *arg)
{
	for (uint32_t i = 0; !is_over; i++) {
		if (i % 97 == 0)
			tp_session_epoch(tp_clock_now());
		rig_step();
		usleep(i % 10 ? 1500 : 20000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 5;
	pthread_t thread[N_RECORDERS + N_FORKERS + 3];
	uint32_t n = 0, n_windows;
	uint64_t n_events = 0;

	rig_set_up();
	rig_config.log = TP_LOG_WARN;
	if (rig_open("wait=1,warmup=1,active=2,repeat=0"))
		return 2;
	for (int i = 0; i < N_RECORDERS; i++)
		pthread_create(&thread[n++], NULL, record, NULL);
	for (int i = 0; i < N_FORKERS; i++)
		pthread_create(&thread[n++], NULL, keep_forking, NULL);
	pthread_create(&thread[n++], NULL, add_facts, NULL);
	pthread_create(&thread[n++], NULL, train, NULL);
	pthread_create(&thread[n++], NULL, restart_recorder, NULL);
	sleep((unsigned)seconds);
	tp_session_close("exit");	/* while all others go on */
	if (tp_session_is_open())
		n_wrong++;
	is_over = true;
	for (uint32_t i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	/* On a machine so slow that closing reached its limit, the rest is for the merge. */
	n_windows = __atomic_load_n(&tp_ring.head->windows_written, __ATOMIC_ACQUIRE);

	for (uint32_t w = 0; w < n_windows; w++) {
		struct rig_trace *trace = rig_window(w);

		n_wrong += !trace->is_there || !trace->is_whole || trace->n_bad_blocks;
		n_events += trace->n;
		free(trace->rec);
		free(trace->thread);
		free(trace);
	}
	printf("%u windows, %lu events, %lu dropped, %lu forks, %lu wrong\n", n_windows, n_events,
	       tp_ring_dropped(), (unsigned long)n_forks, (unsigned long)n_wrong);
	rig_remove_dir();
	return n_wrong != 0 || !n_events || !n_forks;
}
