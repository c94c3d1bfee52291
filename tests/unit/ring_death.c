/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of a process that is killed: what was published is there, once. */
#include <criterion/criterion.h>

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "tests/unit/ring_bag.h"

TestSuite(ring_death, .init = set_up, .fini = tear_down);

/* Shared with a child that will be killed. */
struct diary {
	uint64_t put[2];	/* records published so far, by thread */
	char path[512];
	uint32_t is_ready;
};
static struct diary *diary;

static void *put_for_ever(void *arg)
{
	uint32_t who = (uint32_t)(uintptr_t)arg;

	for (uint64_t n = 0;; n++) {
		while (!rig_put(who, n))
			;
		__atomic_store_n(&diary->put[who], n + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static uint32_t take_some(void *ctx, uint32_t slot, const struct tp_rec *rec, uint32_t n)
{
	uint64_t *n_taken = ctx;

	for (uint32_t i = 0; i < n; i++)
		n_taken[rec[i].link]++;
	return n;
}

/* Records on two threads, drained by this one, until it is killed. */
static void run_doomed(void)
{
	pthread_t thread[2];
	uint64_t n_taken[2] = {0};

	if (rig_open_ring(MIB))
		_exit(1);
	strcpy(diary->path, tp_ring.path);
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, put_for_ever, (void *)i);
	__atomic_store_n(&diary->is_ready, 1, __ATOMIC_RELEASE);
	for (uint64_t file_bytes = 1;; file_bytes++) {
		tp_ring_take(take_some, n_taken);
		/* As much as a block takes to be written. */
		usleep(300);
		tp_ring_release(1, n_taken[0] + n_taken[1]);
	}
}

struct left {
	uint64_t first[2], next[2];
	uint64_t n;
	uint32_t n_bad;
};

static void look_at_left(void *ctx, uint32_t slot, const struct tp_rec *rec)
{
	struct left *left = ctx;
	uint32_t who = rec->link & 1;

	left->n_bad += !rig_is_whole(rec);
	if (left->first[who] == UINT64_MAX)
		left->first[who] = rec->arg;
	else
		left->n_bad += rec->arg != left->next[who];
	left->next[who] = rec->arg + 1;
	left->n++;
}

/* One life and death; what is in the ring and what the passes counted must fit exactly. */
static void kill_one(unsigned us)
{
	struct tp_ring_head *head;
	struct left left = {{UINT64_MAX, UINT64_MAX}, {0, 0}, 0, 0};
	uint64_t in_file = 0, in_all = 0, n_unsure = 0;
	pid_t pid;

	memset(diary, 0, sizeof(*diary));
	pid = fork();
	if (pid == 0)
		run_doomed();
	while (!__atomic_load_n(&diary->is_ready, __ATOMIC_ACQUIRE))
		usleep(100);
	usleep(us);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);

	head = rig_read_file(diary->path);
	cr_assert_not_null(head);
	cr_assert_eq(head->magic, TP_RING_MAGIC);
	rig_each_left(head, look_at_left, &left);
	cr_expect_eq(left.n_bad, 0, "every record is whole, and none is missing in between");
	in_file = tp_ring_file_bytes(head, 0);
	for (int who = 0; who < 2; who++) {
		/* One more may be there than the thread came to write down. */
		uint64_t from = left.first[who] == UINT64_MAX ? diary->put[who] : left.first[who];
		uint64_t to = left.first[who] == UINT64_MAX ? diary->put[who] : left.next[who];

		cr_expect_geq(to, diary->put[who], "no published record is lost");
		cr_expect_leq(to, diary->put[who] + 1);
		in_all += from;
		n_unsure += left.first[who] == UINT64_MAX;
	}
	cr_expect_leq(in_all, in_file, "what is not in the ring is in the file");
	cr_expect_geq(in_all + n_unsure, in_file, "and none is in both");
	unlink(diary->path);
	free(head);
}

Test(ring_death, leaves_every_published_record_once_wherever_the_kill_lands, .timeout = 120)
{
	unsigned seed = (unsigned)getpid();
	char link[512];

	diary = mmap(NULL, sizeof(*diary), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	snprintf(link, sizeof(link), "%s/rank0.1.ring", rig_dir);
	for (int i = 0; i < 40; i++) {
		kill_one((unsigned)rand_r(&seed) % 15000);
		unlink(link);
	}
}

Test(ring_death, finds_open_spans_whole_or_not_at_all)
{
	struct tp_ring_head *head;
	const struct tp_ring_slot *slot;

	cr_assert_eq(rig_open_ring(MIB), 0);
	tp_ring_span_begin(TP_REC_RANGE, 21, 500);
	tp_ring_span_begin(TP_REC_OP, 22, 600);
	head = rig_read_file(tp_ring.path);
	slot = (const void *)((const char *)head + head->slots_at);
	cr_expect_eq(slot->depth, 2);
	cr_expect_eq(slot->open[1].name, 22);
	cr_expect_eq(slot->open[1].time, 600);
}

Test(ring_death, is_not_touched_by_a_forked_child)
{
	struct bag *bag = new_bag();
	int status;
	pid_t pid;

	cr_assert_eq(rig_open_ring(MIB), 0);
	rig_put(1, 0);
	pid = fork();
	if (pid == 0) {
		tp_ring_forked();
		/* No ring: nothing is recorded, nothing breaks. */
		_exit(rig_put(1, 1) || tp_ring_slot() || tp_ring_dropped());
	}
	waitpid(pid, &status, 0);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	rig_put(1, 1);
	take_all(bag);
	cr_expect_eq(bag->n, 2);
	cr_expect_eq(bag->n_bad + bag->n_out_of_order, 0);
}

Test(ring_death, a_child_has_a_ring_of_its_own)
{
	int status;
	pid_t pid;

	cr_assert_eq(rig_open_ring(MIB), 0);
	rig_put(1, 0);
	pid = fork();
	if (pid == 0) {
		struct bag *bag = new_bag();

		tp_ring_forked();
		if (open_ring_in("", MIB))
			_exit(2);
		for (uint64_t i = 0; i < 5000; i++)
			rig_put(2, i);
		take_all(bag);
		tp_ring_close();
		_exit(bag->n != 5000 || bag->n_bad || bag->n_out_of_order);
	}
	waitpid(pid, &status, 0);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	cr_expect_eq(tp_ring_waiting(), 1);
}
