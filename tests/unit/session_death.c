/* SPDX-License-Identifier: Apache-2.0 */
/* A session that is killed: what it recorded is in a file or in the ring, once. */
#include <criterion/criterion.h>

#include <signal.h>
#include <sys/wait.h>

#include "tests/unit/session_rig.h"

TestSuite(session_death, .init = rig_set_up, .fini = rig_tear_down, .timeout = 60);

struct diary {
	uint64_t n_ops;		/* published */
	uint64_t n_windows;
};

/* Steps for ever, each operator numbered, every window a file. */
static void run_doomed(struct diary *diary)
{
	/* Small, so that the drain writes many times in a window, too. */
	rig_config.buffer_bytes = 1 << 20;
	if (rig_open("wait=0,warmup=0,active=30,repeat=0"))
		_exit(1);
	tp_session_epoch(tp_clock_now());
	for (uint32_t n = 0;; n++) {
		while (!rig_op("n", 0, n))
			;
		__atomic_store_n(&diary->n_ops, n + 1ull, __ATOMIC_RELEASE);
		if (n % 3000 == 2999) {
			rig_step();
			usleep(1500);
		}
	}
}

struct sieve {
	uint8_t *seen;
	uint64_t n_twice, n_lost;
	const struct tp_ring_head *head;
};

static void sift(struct sieve *sieve, const struct tp_rec *rec)
{
	if (rec->kind == TP_REC_OP)
		sieve->n_twice += sieve->seen[rec->link]++ != 0;
}

static void sift_left(void *ctx, uint32_t slot, const struct tp_rec *rec)
{
	struct sieve *sieve = ctx;
	uint64_t end = rec->time + tp_rec_len(rec);

	for (uint32_t w = sieve->head->windows_written; w < sieve->head->windows_begun; w++) {
		const struct tp_ring_window *window = &sieve->head->windows[w % TP_RING_WINDOWS];

		if (end >= window->begin && (!window->end || end <= window->end)) {
			sift(sieve, rec);
			return;
		}
	}
	sieve->n_lost++;
}

Test(session_death, shows_every_operator_once_wherever_a_kill_lands, .timeout = 300)
{
	struct diary *diary = mmap(NULL, sizeof(*diary), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned seed = (unsigned)getpid();

	for (int round = 0; round < 20; round++) {
		struct sieve sieve = {.seen = calloc(1, 16 << 20)};
		char path[600], command[1000];
		uint64_t n_missing = 0;
		pid_t pid;

		memset(diary, 0, sizeof(*diary));
		pid = fork();
		if (pid == 0)
			run_doomed(diary);
		while (!__atomic_load_n(&diary->n_ops, __ATOMIC_ACQUIRE))
			usleep(100);
		usleep(20000 + (unsigned)rand_r(&seed) % 120000);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);

		snprintf(path, sizeof(path), "%s/rank0.%d.ring", rig_config.dir, pid);
		sieve.head = rig_read_file(path);
		cr_assert_not_null(sieve.head, "%s", path);
		rig_each_left(sieve.head, sift_left, &sieve);
		for (uint32_t w = 0; w < sieve.head->windows_begun; w++) {
			struct rig_trace *trace = rig_window(w);

			if (!trace->is_there) {
				snprintf(path, sizeof(path), "%s/rank0.%u.tpt.part", rig_config.dir, w);
				free(trace);
				trace = rig_read_trace(path, UINT64_MAX);
				if (trace->is_there && !trace->is_whole &&
				    w >= sieve.head->windows_written)
					trace = rig_read_trace(path, tp_ring_file_bytes(sieve.head, w));
			}
			for (uint32_t i = 0; i < trace->n; i++)
				sift(&sieve, &trace->rec[i]);
		}
		for (uint64_t n = 0; n < diary->n_ops; n++)
			n_missing += !sieve.seen[n];
		cr_expect_eq(sieve.n_twice, 0, "round %d", round);
		cr_expect_eq(sieve.n_lost, 0, "round %d", round);
		cr_expect_eq(n_missing, 0, "round %d", round);
		cr_expect_gt(diary->n_ops, 3000);
		snprintf(command, sizeof(command),
			 "for r in '%s'/*.ring; do rm -f \"$(readlink -f \"$r\")\"; done; rm -rf '%s'",
			 rig_config.dir, rig_config.dir);
		cr_expect_eq(system(command), 0);
		free(sieve.seen);
	}
}
