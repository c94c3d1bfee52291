/* SPDX-License-Identifier: Apache-2.0 */
/* The ring: what goes in comes out, also after a death; what does not fit is counted. */
#include <criterion/criterion.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "runtime/base/log.h"
#include "tests/unit/ring_rig.h"

enum { MIB = 1 << 20 };

static void set_up(void)
{
	rig_make_dir();
	tp_clock_init(TP_CLOCK_AUTO);
	tp_log_set_level(TP_LOG_QUIET);
}

static void tear_down(void)
{
	tp_ring_close();
	rig_remove_dir();
}

TestSuite(ring, .init = set_up, .fini = tear_down);

/* Takes records of the rig; `most`: then refuses. */
struct bag {
	uint64_t n, most;
	uint64_t next[4096];	/* expected number, by writer */
	uint64_t slot_of[4096];
	uint32_t n_bad, n_out_of_order;
};

static uint32_t take_into_bag(void *ctx, uint32_t slot, const struct tp_rec *rec, uint32_t n)
{
	struct bag *bag = ctx;
	uint32_t i;

	for (i = 0; i < n && bag->n < bag->most; i++, bag->n++) {
		uint32_t who = rec[i].link % 4096;

		bag->n_bad += !rig_is_whole(&rec[i]);
		bag->n_out_of_order += rec[i].arg != bag->next[who];
		bag->next[who] = rec[i].arg + 1;
		bag->slot_of[who] = slot;
	}
	return i;
}

static struct bag *new_bag(void)
{
	struct bag *bag = calloc(1, sizeof(*bag));

	bag->most = UINT64_MAX;
	return bag;
}

static void take_all(struct bag *bag)
{
	tp_ring_take(take_into_bag, bag);
	tp_ring_release(1, 0);
}

/* A joined thread is not quite gone for the kernel yet. */
static bool reap_down_to(uint32_t n_used, bool and_slots)
{
	for (int i = 0; i < 1000; i++) {
		tp_ring_reap(and_slots);
		if (tp_ring_chunks_used() == n_used)
			return true;
		usleep(1000);
	}
	return false;
}

Test(ring, gives_back_what_was_recorded_in_order_over_many_chunks)
{
	struct bag *bag = new_bag();
	const uint64_t n = 5 * TP_CHUNK_RECORDS + 17;

	cr_assert_eq(rig_open_ring(4 * MIB), 0);
	for (uint64_t i = 0; i < n; i++)
		cr_assert(rig_put(1, i));
	cr_expect_eq(tp_ring_waiting(), n);
	take_all(bag);
	cr_expect_eq(bag->n, n);
	cr_expect_eq(bag->n_bad + bag->n_out_of_order, 0);
	cr_expect_eq(tp_ring_waiting(), 0);
	cr_expect_eq(tp_ring_chunks_used(), 1, "all but the thread's own chunk are free again");
	take_all(bag);
	cr_expect_eq(bag->n, n, "nothing comes twice");
	/* The next chunks are those with the lowest numbers again, below the present one. */
	for (uint64_t i = n; i < 2 * n; i++)
		cr_assert(rig_put(1, i));
	take_all(bag);
	cr_expect_eq(bag->n, 2 * n);
	cr_expect_eq(bag->n_bad + bag->n_out_of_order, 0);
}

/* Refuses the end of the first chunk that it is given, and nothing else. */
static uint32_t refuse_once(void *ctx, uint32_t slot, const struct tp_rec *rec, uint32_t n)
{
	struct bag *bag = ctx;

	if (bag->n == 0)
		n /= 2;
	return take_into_bag(ctx, slot, rec, n);
}

Test(ring, hands_out_no_later_chunk_of_a_thread_whose_earlier_one_was_refused)
{
	struct bag *bag = new_bag();

	cr_assert_eq(rig_open_ring(4 * MIB), 0);
	for (uint64_t i = 0; i < 3 * TP_CHUNK_RECORDS; i++)
		rig_put(1, i);
	tp_ring_take(refuse_once, bag);
	tp_ring_release(1, 0);
	cr_expect_eq(bag->n, TP_CHUNK_RECORDS / 2);
	take_all(bag);
	cr_expect_eq(bag->n, 3 * TP_CHUNK_RECORDS);
	cr_expect_eq(bag->n_out_of_order, 0);
}

Test(ring, keeps_what_the_drain_refuses_and_everything_after_it)
{
	struct bag *bag = new_bag();
	const uint64_t n = 3 * TP_CHUNK_RECORDS;

	cr_assert_eq(rig_open_ring(4 * MIB), 0);
	for (uint64_t i = 0; i < n; i++)
		rig_put(1, i);
	for (uint64_t most = 100; bag->n < n; most += 1000) {
		bag->most = most;
		take_all(bag);
		cr_expect_eq(bag->n, most < n ? most : n);
	}
	cr_expect_eq(bag->n_bad + bag->n_out_of_order, 0);
}

Test(ring, drops_and_counts_when_full_and_goes_on_after_a_drain)
{
	struct bag *bag = new_bag();
	uint64_t n = 0, capacity;

	cr_assert_eq(rig_open_ring(MIB), 0);
	capacity = tp_ring.head->n_chunks * (uint64_t)TP_CHUNK_RECORDS;
	while (rig_put(1, n))
		n++;
	cr_expect_eq(n, capacity, "one thread may use all of it");
	for (int i = 0; i < 9; i++)
		cr_expect(!rig_put(1, n));
	cr_expect_eq(tp_ring_dropped(), 10);
	cr_expect_eq(tp_ring.slots[0].dropped, 10);
	take_all(bag);
	cr_expect(rig_put(1, n));
	take_all(bag);
	cr_expect_eq(bag->n, n + 1);
	cr_expect_eq(bag->n_out_of_order, 0);
	cr_expect_eq(tp_ring_dropped(), 10);
}

Test(ring, rings_the_bell_once_when_half_is_used)
{
	uint32_t bell, half;

	cr_assert_eq(rig_open_ring(2 * MIB), 0);
	bell = tp_ring_bell;
	half = (tp_ring.head->n_chunks + 1) / 2;
	for (uint64_t i = 0; i < (half - 1) * (uint64_t)TP_CHUNK_RECORDS; i++)
		rig_put(1, i);
	cr_expect_eq(tp_ring_bell, bell);
	for (uint64_t i = 0; i < 3 * TP_CHUNK_RECORDS; i++)
		rig_put(1, i);
	cr_expect_eq(tp_ring_bell, bell + 1);
}

/* ---- threads ---- */

static void *put_ten(void *who)
{
	for (uint64_t i = 0; i < 10; i++)
		rig_put((uint32_t)(uintptr_t)who, i);
	return NULL;
}

Test(ring, gets_chunks_and_slots_of_ended_threads_back)
{
	struct bag *bag = new_bag();

	cr_assert_eq(rig_open_ring(MIB), 0);
	rig_put(0, 0);
	/* Many times as many threads as chunks, some at a time. */
	for (uintptr_t round = 0; round < 20; round++) {
		pthread_t thread[8];

		for (uintptr_t i = 0; i < 8; i++)
			pthread_create(&thread[i], NULL, put_ten, (void *)(1 + round * 8 + i));
		for (int i = 0; i < 8; i++)
			pthread_join(thread[i], NULL);
		take_all(bag);
		cr_expect(reap_down_to(1, true));
	}
	cr_expect_eq(bag->n, 1 + 20 * 8 * 10);
	cr_expect_eq(bag->n_bad + bag->n_out_of_order, 0);
	cr_expect_eq(tp_ring_dropped(), 0);
	cr_expect_eq(tp_ring.slots[1].tid, 0);
	cr_expect_neq(tp_ring.slots[0].tid, 0);
}

Test(ring, keeps_the_chunk_of_an_ended_thread_until_it_is_drained)
{
	struct bag *bag = new_bag();
	pthread_t thread;

	cr_assert_eq(rig_open_ring(MIB), 0);
	pthread_create(&thread, NULL, put_ten, (void *)1);
	pthread_join(thread, NULL);
	tp_ring_reap(true);
	cr_expect_eq(tp_ring_chunks_used(), 1);
	take_all(bag);
	cr_expect_eq(bag->n, 10);
	cr_expect(reap_down_to(0, false));
	cr_expect_neq(tp_ring.slots[0].tid, 0, "the slot stays until the window ends");
	tp_ring_reap(true);
	cr_expect_eq(tp_ring.slots[0].tid, 0);
}

static pthread_barrier_t all_there, all_done;

static void *put_and_stay(void *who)
{
	put_ten(who);
	tp_ring_span_begin(TP_REC_OP, 5, 100);
	pthread_barrier_wait(&all_there);
	pthread_barrier_wait(&all_done);
	return NULL;
}

Test(ring, lets_threads_beyond_the_slots_share_the_last_one)
{
	enum { N = TP_RING_SLOTS + 50 };
	static pthread_t thread[N];
	struct bag *bag = new_bag();
	uint32_t n_shared = 0;
	pthread_attr_t attr;

	cr_assert_eq(rig_open_ring(64 * MIB), 0);
	pthread_barrier_init(&all_there, NULL, N + 1);
	pthread_barrier_init(&all_done, NULL, N + 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (uintptr_t i = 0; i < N; i++)
		cr_assert_eq(pthread_create(&thread[i], &attr, put_and_stay, (void *)i), 0);
	pthread_barrier_wait(&all_there);
	take_all(bag);
	cr_expect_eq(bag->n, N * 10);
	cr_expect_eq(bag->n_bad + bag->n_out_of_order, 0, "each has its own chunk");
	for (uint32_t i = 0; i < N; i++)
		n_shared += bag->slot_of[i] == TP_RING_SLOTS - 1;
	cr_expect_eq(n_shared, N - (TP_RING_SLOTS - 1));
	cr_expect_str_eq(tp_ring.slots[TP_RING_SLOTS - 1].name, "other threads");
	cr_expect_eq(tp_ring.slots[TP_RING_SLOTS - 1].tid, TP_TID_MANY);
	cr_expect_eq(tp_ring.slots[TP_RING_SLOTS - 1].depth, 0, "open spans cannot be shared");
	cr_expect_eq(tp_ring.slots[7].depth, 1);
	pthread_barrier_wait(&all_done);
	for (uint32_t i = 0; i < N; i++)
		pthread_join(thread[i], NULL);
	cr_expect(reap_down_to(0, true), "also of threads without a slot");
}

/* ---- open spans ---- */

Test(ring, knows_what_a_thread_is_inside_of)
{
	struct tp_ring_slot *slot;
	uint32_t outer, inner;

	cr_assert_eq(rig_open_ring(MIB), 0);
	outer = tp_ring_span_begin(TP_REC_RANGE, 11, 1000);
	inner = tp_ring_span_begin(TP_REC_OP, 12, 2000);
	slot = tp_ring_slot();
	cr_expect_eq(slot->depth, 2);
	cr_expect_eq(slot->open[0].name, 11);
	cr_expect_eq(slot->open[1].time, 2000);
	tp_ring_span_end(inner);
	cr_expect_eq(slot->depth, 1);
	tp_ring_span_end(outer);
	cr_expect_eq(slot->depth, 0);
	/* Deeper than the stack: counted, not kept. */
	for (uint32_t i = 0; i < TP_OPEN_SPANS + 5; i++)
		cr_expect_eq(tp_ring_span_begin(TP_REC_OP, i, i + 1), i);
	cr_expect_eq(slot->depth, TP_OPEN_SPANS + 5);
	tp_ring_span_end(3);
	cr_expect_eq(slot->depth, 3, "an outer one ended first");
}

Test(ring, forgets_operators_but_not_the_ranges_around_them)
{
	cr_assert_eq(rig_open_ring(MIB), 0);
	tp_ring_span_begin(TP_REC_RANGE, 1, 10);
	tp_ring_span_begin(TP_REC_RANGE, 2, 20);
	tp_ring_span_begin(TP_REC_OP, 3, 30);
	tp_ring_span_begin(TP_REC_RANGE, 4, 40);
	tp_ring_forget_spans();
	cr_expect_eq(tp_ring_slot()->depth, 2);
}

/* ---- places ---- */

TestSuite(ring_place, .init = set_up, .fini = tear_down);

Test(ring_place, keeps_a_link_in_the_run_folder_and_removes_both_at_the_end)
{
	char path[512], link[512], target[512];
	ssize_t n;

	cr_assert_eq(rig_open_ring(MIB), 0);
	strcpy(path, tp_ring.path);
	strcpy(link, tp_ring.link_path);
	if (!link[0]) {	/* /dev/shm is small here */
		cr_expect_eq(strncmp(path, rig_dir, strlen(rig_dir)), 0);
		return;
	}
	n = readlink(link, target, sizeof(target) - 1);
	cr_assert_gt(n, 0);
	target[n] = '\0';
	cr_expect_str_eq(target, path);
	tp_ring_close();
	cr_expect_neq(access(path, F_OK), 0);
	cr_expect_neq(access(link, F_OK), 0);
}

Test(ring_place, has_every_page_behind_it_before_it_is_used)
{
	struct stat st;

	cr_assert_eq(rig_open_ring(4 * MIB), 0);
	cr_assert_eq(stat(tp_ring.path, &st), 0);
	cr_expect_geq((uint64_t)st.st_blocks * 512, tp_ring.head->file_bytes);
	cr_expect_eq((uint64_t)st.st_size, tp_ring.head->file_bytes);
	cr_expect_eq(st.st_mode & 0777, 0600);
}

/* In a child of its own with a private view of the mounts; false: this machine does not let us. */
static bool mount_tmpfs(const char *where, const char *size)
{
	char options[64];

	snprintf(options, sizeof(options), "size=%s", size);
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", where, "tmpfs", 0, options) == 0;
}

static int open_ring_in(const char *buffer_dir, uint64_t bytes)
{
	struct tp_ring_spec spec = {
		.bytes = bytes, .dir = rig_dir, .buffer_dir = buffer_dir, .name = "r.ring", .run_id = 5,
	};

	return tp_ring_open(&spec);
}

Test(ring_place, goes_to_the_run_folder_when_dev_shm_has_64_KB)
{
	if (!mount_tmpfs("/dev/shm", "64k"))
		cr_skip_test("needs the right to mount");
	cr_assert_eq(open_ring_in("", 2 * MIB), 0);
	cr_expect_eq(strncmp(tp_ring.path, rig_dir, strlen(rig_dir)), 0);
	cr_expect_str_empty(tp_ring.link_path);
	for (uint64_t i = 0; i < 100000; i++)
		rig_put(1, i);	/* no SIGBUS */
}

Test(ring_place, leaves_room_for_others_in_dev_shm)
{
	if (!mount_tmpfs("/dev/shm", "64m"))
		cr_skip_test("needs the right to mount");
	cr_assert_eq(open_ring_in("", 32 * MIB), 0);
	cr_expect_eq(strncmp(tp_ring.path, rig_dir, strlen(rig_dir)), 0,
		     "half of it would be too much for the loaders of the training");
}

Test(ring_place, becomes_smaller_where_nothing_else_fits)
{
	char small[300];

	snprintf(small, sizeof(small), "%s/small", rig_dir);
	mkdir(small, 0755);
	if (!mount_tmpfs(small, "5m"))
		cr_skip_test("needs the right to mount");
	/* The run folder is small as well. */
	struct tp_ring_spec spec = {
		.bytes = 32 * MIB, .dir = small, .buffer_dir = small, .name = "r.ring", .run_id = 5,
	};
	cr_assert_eq(tp_ring_open(&spec), 0);
	cr_expect_leq(tp_ring.head->file_bytes, 5 * MIB);
	cr_expect_geq(tp_ring.head->file_bytes, 4 * MIB);
	for (uint64_t i = 0; i < 200000; i++)
		rig_put(1, i);
	cr_expect_gt(tp_ring_dropped(), 0);
	tp_ring_close();
	umount2(small, MNT_DETACH);
}

Test(ring_place, gives_up_with_an_error_where_nothing_fits)
{
	char small[300], command[400];

	snprintf(small, sizeof(small), "%s/small", rig_dir);
	mkdir(small, 0755);
	if (!mount_tmpfs(small, "300k"))
		cr_skip_test("needs the right to mount");
	struct tp_ring_spec spec = {
		.bytes = 32 * MIB, .dir = small, .buffer_dir = small, .name = "r.ring", .run_id = 5,
	};
	cr_expect_eq(tp_ring_open(&spec), -ENOSPC);
	cr_expect_null(tp_ring_reserve());
	cr_expect_null(tp_ring_slot());
	snprintf(command, sizeof(command), "ls -A '%s' | grep -q .", small);
	cr_expect_neq(system(command), 0, "nothing was left there");
	umount2(small, MNT_DETACH);
}

Test(ring_place, refuses_files_beyond_the_limit_without_a_signal)
{
	struct rlimit limit = {512 << 10, 512 << 10};

	setrlimit(RLIMIT_FSIZE, &limit);
	signal(SIGXFSZ, SIG_DFL);
	cr_expect_eq(rig_open_ring(4 * MIB), -EFBIG);
}

Test(ring_place, does_not_touch_the_ring_of_a_dead_process_with_the_same_pid)
{
	char path[512];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/rank0.1.ring", rig_dir);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	cr_assert_eq(write(fd, "old", 3), 3);
	close(fd);
	cr_assert_eq(rig_open_ring(MIB), 0);
	cr_expect_str_neq(tp_ring.path, path);
	cr_expect_str_neq(tp_ring.link_path, path);
	cr_assert_eq(stat(path, &st), 0);
	cr_expect_eq(st.st_size, 3);
}

Test(ring_place, sweeps_rings_of_the_dead_whose_run_folder_is_gone)
{
	char place[300], kept[600], gone[600], living[600], command[700];
	pid_t last_pid = 0;

	snprintf(place, sizeof(place), "%s/place", rig_dir);
	mkdir(place, 0755);
	/* Dead with a link, dead without, alive without. */
	for (int i = 0; i < 3; i++) {
		int pipe_fd[2];
		pid_t pid;

		cr_assert_eq(pipe(pipe_fd), 0);
		pid = fork();
		if (pid == 0) {
			char name[32];
			struct tp_ring_spec spec = {
				.bytes = MIB, .dir = rig_dir, .buffer_dir = place, .name = name,
				.run_id = 100 + (uint64_t)i,
			};

			snprintf(name, sizeof(name), "r%d.ring", i);
			if (tp_ring_open(&spec) || write(pipe_fd[1], tp_ring.path, 512) != 512)
				_exit(1);
			if (i > 0)
				unlink(tp_ring.link_path);
			if (i < 2)
				kill(getpid(), SIGKILL);
			pause();
		}
		cr_assert_eq(read(pipe_fd[0], i == 0 ? kept : i == 1 ? gone : living, 512), 512);
		if (i < 2)
			waitpid(pid, NULL, 0);
		else
			usleep(50000);
		last_pid = pid;
	}
	cr_assert_eq(open_ring_in(place, MIB), 0);
	cr_expect_eq(access(kept, F_OK), 0, "the merge can still find it");
	cr_expect_neq(access(gone, F_OK), 0);
	cr_expect_eq(access(living, F_OK), 0, "it is in use");
	kill(last_pid, SIGKILL);
	waitpid(last_pid, NULL, 0);
	snprintf(command, sizeof(command), "rm -rf '%s'", place);
	cr_expect_eq(system(command), 0);
}

/* ---- death ---- */

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
