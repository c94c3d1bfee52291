/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.c - what a record costs the thread that makes it, what it costs the drain, what a
 * step boundary costs, beside the floor: reading the clock and storing 32 bytes
 *
 * usage: ring
 *
 * Record and floor are measured in turn, 64 at a time, 100 us apart, so that both meet the
 * same caches and the same neighbours; p50 and p99 are of the means of such bursts. The
 * drain thread is at work meanwhile and writes real blocks.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "runtime/base/log.h"
#include "tests/unit/session_rig.h"

enum { BURST = 64, N_BURSTS = 8000, PAUSE_NS = 100000, N_NAMES = 60, FLOOR_RECORDS = 2046 };

static uint32_t names[N_NAMES];
static double ns_per_tick;

struct figures {
	double record[N_BURSTS], floor[N_BURSTS];
	struct tp_rec *room;	/* of the floor loop: as large as a chunk */
	uint32_t room_at;
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(double *v, uint32_t n, double q)
{
	qsort(v, n, sizeof(*v), compare);
	return v[(uint32_t)(q * (n - 1))];
}

/* As an operator's end callback does it: the begin is known, the end is read now. */
static inline void make_record(uint64_t begin, uint32_t n)
{
	struct tp_rec *rec = tp_ring_reserve();

	if (!rec)
		return;
	rec->time = begin;
	tp_rec_set_len(rec, tp_clock_now() - begin);
	rec->kind = TP_REC_OP;
	rec->flags = 0;
	rec->name = names[n % N_NAMES];
	rec->link = n;
	rec->arg = 0;
	tp_ring_commit();
}

static inline void make_floor(struct tp_rec *rec, uint64_t begin, uint32_t n)
{
	rec->time = begin;
	tp_rec_set_len(rec, tp_clock_now() - begin);
	rec->kind = TP_REC_OP;
	rec->flags = 0;
	rec->name = names[n % N_NAMES];
	rec->link = n;
	rec->arg = 0;
	__asm__ volatile("" : : "r"(rec) : "memory");
}

static void *measure_bursts(void *arg)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct figures *figures = arg;

	for (uint32_t b = 0; b < N_BURSTS; b++) {
		uint64_t t0, t1, t2;

		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		/* In turn first: what comes second finds the caches warmer. */
		for (int half = 0; half < 2; half++) {
			t0 = t1 = tp_clock_now();
			if ((b ^ (uint32_t)half) & 1) {
				for (uint32_t i = 0; i < BURST; i++)
					make_record(t0 - 5000 * (i % 7), b * BURST + i);
				t2 = tp_clock_now();
				figures->record[b] = (double)(t2 - t1) * ns_per_tick / BURST;
			} else {
				for (uint32_t i = 0; i < BURST; i++) {
					make_floor(&figures->room[figures->room_at], t0, i);
					figures->room_at = (figures->room_at + 1) % FLOOR_RECORDS;
				}
				t2 = tp_clock_now();
				figures->floor[b] = (double)(t2 - t1) * ns_per_tick / BURST;
			}
		}
	}
	return NULL;
}

static struct figures *new_figures(void)
{
	struct figures *figures = calloc(1, sizeof(*figures));

	figures->room = aligned_alloc(4096, 65536);
	memset(figures->room, 1, 65536);
	return figures;
}

static void say_bursts(const char *what, struct figures *f)
{
	double r50 = quantile(f->record, N_BURSTS, 0.5), r99 = quantile(f->record, N_BURSTS, 0.99);
	double f50 = quantile(f->floor, N_BURSTS, 0.5), f99 = quantile(f->floor, N_BURSTS, 0.99);

	printf("%-28s p50 %5.1f ns  p99 %6.1f ns   floor p50 %5.1f  p99 %6.1f   ratio %.2f  %.2f%s\n",
	       what, r50, r99, f50, f99, r50 / f50, r99 / f99,
	       (r50 <= 20 && r99 <= 40) || (r50 <= 1.25 * f50 && r99 <= 1.25 * f99)
		       ? "" : "   MISSED: 20 and 40 ns, or 1.25");
}

/* What the files of all windows say the drain spent. */
static void say_drain(const char *what)
{
	uint64_t cpu_ns = 0, n_events = 0, n_bytes = 0;

	for (uint32_t w = 0; w < 1000; w++) {
		struct rig_trace *trace = rig_window(w);
		struct stat st;
		char path[600];

		if (!trace->is_there)
			break;
		cpu_ns += rig_total(trace, "drain_cpu_ns");
		n_events += rig_total(trace, "events");
		snprintf(path, sizeof(path), "%s/rank0.%u.tpt", rig_config.dir, w);
		n_bytes += stat(path, &st) ? 0 : (uint64_t)st.st_size;
		free(trace->rec);
		free(trace->thread);
		free(trace);
	}
	printf("%-28s %5.1f ns CPU an event, %.2f bytes, of %lu events%s\n", what,
	       (double)cpu_ns / (double)n_events, (double)n_bytes / (double)n_events, n_events,
	       cpu_ns <= 50 * n_events ? "" : "   MISSED: 50 ns");
}

static void measure_disarmed(void)
{
	enum { N = 20000000, TRIES = 7 };
	double empty[TRIES], check[TRIES];
	uint64_t n_armed = 0;

	for (int t = 0; t < TRIES; t++) {
		uint64_t t0 = tp_clock_now(), t1;

		for (uint32_t i = 0; i < N; i++)
			__asm__ volatile("" : "+r"(i));
		t1 = tp_clock_now();
		for (uint32_t i = 0; i < N; i++) {
			n_armed += tp_session_is_armed();
			__asm__ volatile("" : "+r"(i) : : "memory");
		}
		empty[t] = (double)(t1 - t0) * ns_per_tick / N;
		check[t] = (double)(tp_clock_now() - t1) * ns_per_tick / N;
	}
	printf("%-28s %5.2f ns, empty loop %.2f%s\n", "disarmed check",
	       quantile(check, TRIES, 0.5), quantile(empty, TRIES, 0.5),
	       n_armed ? "  (armed?)" : "");
}

/* Boundaries of steps with some thousand records each; windows follow after a pause. */
static void measure_steps(void)
{
	enum { N = 400, ACTIVE = 5, CYCLE = 10 };
	static double usual[N], last[N];
	uint32_t n_usual = 0, n_last = 0;
	const struct tp_step_facts facts = {.batches = 1, .source = TP_STEP_OPTIMIZER};

	for (uint32_t s = 0; s < N; s++) {
		bool was_armed = tp_session_is_armed();
		uint64_t t0;

		for (uint32_t i = 0; was_armed && i < 3000; i++)
			make_record(tp_clock_now(), i);
		usleep(1000);
		t0 = tp_clock_now();
		tp_session_step(t0, &facts);
		if (was_armed && !tp_session_is_armed())
			last[n_last++] = (double)(tp_clock_now() - t0) * ns_per_tick;
		else if (!was_armed && !tp_session_is_armed())
			usual[n_usual++] = (double)(tp_clock_now() - t0) * ns_per_tick;
	}
	if (!n_usual || !n_last)
		return;
	printf("%-28s p50 %5.0f ns  p99 %6.0f ns\n", "step boundary, idle",
	       quantile(usual, n_usual, 0.5), quantile(usual, n_usual, 0.99));
	printf("%-28s p50 %5.1f us  worst %.1f us, of %u%s\n", "step boundary, window ends",
	       quantile(last, n_last, 0.5) / 1e3, quantile(last, n_last, 1) / 1e3, n_last,
	       last[n_last - 1] <= 1e6 ? "" : "   MISSED: 1 ms");
}

/* Each part in a process of its own, with a fresh session. */
static void in_child(void (*part)(void))
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		rig_set_up();
		rig_config.buffer_bytes = 32 << 20;
		part();
		tp_session_close("exit");
		rig_remove_dir();
		fflush(stdout);
		_exit(0);
	}
	while (pid > 0 && usleep(10000) == 0 && kill(pid, 0) == 0)
		if (waitpid(pid, NULL, WNOHANG) == pid)
			break;
}

static void start(const char *schedule)
{
	struct tp_clock_anchor a, b;
	char name[32];

	tp_clock_take_anchor(&a);
	usleep(50000);
	tp_clock_take_anchor(&b);
	ns_per_tick = (double)(b.mono_ns - a.mono_ns) / (double)(b.ticks - a.ticks);
	if (rig_open(schedule))
		_exit(1);
	for (uint32_t i = 0; i < N_NAMES; i++) {
		snprintf(name, sizeof(name), "aten::operator_%u", i);
		names[i] = tp_intern(TP_STRING_OP, name, (uint32_t)strlen(name) + 1);
	}
}

static void part_one(void)
{
	struct figures *figures = new_figures();

	start("always");
	measure_bursts(figures);
	say_bursts("record, one thread, paced", figures);
	tp_session_close("exit");
	say_drain("drain, paced");
}

static void part_two(void)
{
	struct figures *figures[2] = {new_figures(), new_figures()};
	pthread_t thread;

	start("always");
	pthread_create(&thread, NULL, measure_bursts, figures[0]);
	measure_bursts(figures[1]);
	pthread_join(thread, NULL);
	say_bursts("record, two threads: first", figures[0]);
	say_bursts("record, two threads: second", figures[1]);
	tp_session_close("exit");
	say_drain("drain, two threads");
}

static void part_full(void)
{
	start("always");
	for (uint32_t i = 0; i < 4000000; i++) {
		while (tp_ring_chunks_used() * 4 > tp_ring.head->n_chunks * 3)
			usleep(100);
		make_record(tp_clock_now() - 40 * (i % 97), i);
	}
	tp_session_close("exit");
	say_drain("drain, full blocks");
}

static void part_steps(void)
{
	start("wait=4,warmup=1,active=5,repeat=0");
	measure_steps();
}

static void part_disarmed(void)
{
	start("wait=100,warmup=0,active=1");
	measure_disarmed();
}

int main(void)
{
	tp_log_set_level(TP_LOG_WARN);
	in_child(part_one);
	in_child(part_two);
	in_child(part_full);
	in_child(part_steps);
	in_child(part_disarmed);
	return 0;
}
