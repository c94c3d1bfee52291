/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_buffers.c - the client's buffers: asked for in the middle of a call, filled, given back
 *
 * A writer is who fills one buffer: a thread, or all threads together. Its lock is held while the
 * client is asked for a buffer, as CUPTI holds locks then: a client that waits there for somebody
 * who flushes hangs, here as on a real one.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/fakes/cupti_state.h"

enum { LATE_NS = 2000000, TAKEN_MAX = 64 };

struct pending {	/* a record whose work is not done */
	uint32_t offset;
	uint64_t start, end;
};

struct buffer {
	struct buffer *next;
	uint8_t *bytes;
	size_t size, valid, n_records, max_records;
	uint64_t complete_at;
	struct pending *pending;
	uint32_t n_pending, cap_pending;
};

struct writer {
	struct writer *next;		/* set once */
	pthread_mutex_t lock;
	struct buffer *current;
	uint32_t is_free;		/* atomic: its thread has ended */
};

static struct {
	struct writer shared;
	struct writer *writers;		/* atomic; only added to */
	pthread_key_t key;
	pthread_once_t once;

	pthread_mutex_t lock;		/* of what follows */
	pthread_cond_t has_full, is_empty;
	struct buffer *full, **full_end;
	uint32_t n_delivering;
	uint32_t n_flushing, n_forced;	/* who waits for the worker; of them, for what is not complete, too */
	bool has_worker;
	uint32_t random;
} out = {
	.shared = {.lock = PTHREAD_MUTEX_INITIALIZER}, .once = PTHREAD_ONCE_INIT,
	.lock = PTHREAD_MUTEX_INITIALIZER, .has_full = PTHREAD_COND_INITIALIZER,
	.is_empty = PTHREAD_COND_INITIALIZER, .random = 12345,
};

static __thread struct writer *mine __attribute__((tls_model("initial-exec")));

/* ---- giving back ---- */

static uint64_t read_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint32_t pick(uint32_t below)
{
	out.random = out.random * 1664525 + 1013904223;
	return (out.random >> 8) % below;
}

/* Times of what is done by now; of the rest none, or, when it has begun, its start. */
static void fill_times(struct buffer *buffer, uint64_t now)
{
	for (uint32_t i = 0; i < buffer->n_pending; i++) {
		const struct pending *pending = &buffer->pending[i];
		uint8_t *record = buffer->bytes + pending->offset;
		uint32_t start, end, completed;

		/* As the real one: who registers a timestamp callback anew takes the times of what is
		 * still in a buffer. */
		if (pending->start < fake_cupti.timestamp_again)
			continue;
		fake_cupti_time_offsets(((CUpti_Activity *)record)->kind, &start, &end, &completed);
		if (pending->start <= now)
			memcpy(record + start, &pending->start, sizeof(pending->start));
		if (pending->end > now)
			continue;
		memcpy(record + end, &pending->end, sizeof(pending->end));
		if (completed)
			memcpy(record + completed, &pending->end, sizeof(pending->end));
	}
}

/* Calls `visit` for each record, with its offset. */
static uint32_t list_records(const struct buffer *buffer, uint32_t *offsets)
{
	uint32_t n = 0;

	for (size_t at = 0; at < buffer->valid;) {
		const CUpti_Activity *record = (const void *)(buffer->bytes + at);

		offsets[n++] = (uint32_t)at;
		at += fake_cupti_record_bytes(record->kind);
	}
	return n;
}

static void release_names(const struct buffer *buffer, const uint32_t *offsets, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const CUpti_ActivityKernel10 *record = (const void *)(buffer->bytes + offsets[i]);

		if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && record->name)
			fake_cupti_name_delivered(record->name);
	}
}

static void shuffle_records(struct buffer *buffer, uint32_t *offsets, uint32_t n)
{
	uint8_t *copy = malloc(buffer->valid);
	size_t at = 0;

	memcpy(copy, buffer->bytes, buffer->valid);
	pthread_mutex_lock(&out.lock);
	for (uint32_t i = n; i > 1; i--) {
		uint32_t other = pick(i), kept = offsets[i - 1];

		offsets[i - 1] = offsets[other];
		offsets[other] = kept;
	}
	pthread_mutex_unlock(&out.lock);
	for (uint32_t i = 0; i < n; i++) {
		const CUpti_Activity *record = (const void *)(copy + offsets[i]);
		uint32_t bytes = fake_cupti_record_bytes(record->kind);

		memcpy(buffer->bytes + at, record, bytes);
		at += bytes;
	}
	free(copy);
}

static void deliver(struct buffer *buffer)
{
	CUpti_BuffersCallbackCompleteFunc completed =
		__atomic_load_n(&fake_cupti.completed, __ATOMIC_ACQUIRE);

	fill_times(buffer, read_now());
	if (fake_cupti.stale_flushes || fake_cupti.deliver == FAKE_SHUFFLED) {
		uint32_t *offsets = malloc((buffer->n_records + 1) * sizeof(*offsets));
		uint32_t n = list_records(buffer, offsets);

		if (fake_cupti.stale_flushes)
			release_names(buffer, offsets, n);
		if (fake_cupti.deliver == FAKE_SHUFFLED)
			shuffle_records(buffer, offsets, n);
		free(offsets);
	}
	if (completed)
		completed(NULL, 0, buffer->bytes, buffer->size, buffer->valid);
	free(buffer->pending);
	free(buffer);
}

static void append_full(struct buffer *buffer)
{
	pthread_mutex_lock(&out.lock);
	if (!out.full)
		out.full_end = &out.full;
	buffer->next = NULL;
	*out.full_end = buffer;
	out.full_end = &buffer->next;
	pthread_cond_signal(&out.has_full);
	pthread_mutex_unlock(&out.lock);
}

/* Under the lock: takes full buffers whose work is done `late` ns ago, or all. */
static uint32_t take_full(struct buffer **taken, uint64_t late, bool all)
{
	uint64_t now = read_now();
	struct buffer **at = &out.full;
	uint32_t n = 0;

	while (*at && n < TAKEN_MAX) {
		struct buffer *buffer = *at;

		if (!all && buffer->complete_at + late > now) {
			at = &buffer->next;
			continue;
		}
		*at = buffer->next;
		taken[n++] = buffer;
	}
	out.full_end = at;
	while (*out.full_end)
		out.full_end = &(*out.full_end)->next;
	for (uint32_t i = n; fake_cupti.deliver == FAKE_SHUFFLED && i > 1; i--) {
		uint32_t other = pick(i);
		struct buffer *kept = taken[i - 1];

		taken[i - 1] = taken[other];
		taken[other] = kept;
	}
	out.n_delivering += n;
	return n;
}

/* Without the lock; it is taken after. */
static void deliver_taken(struct buffer **taken, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		deliver(taken[i]);
	pthread_mutex_lock(&out.lock);
	out.n_delivering -= n;
	if (!out.n_delivering)
		pthread_cond_broadcast(&out.is_empty);
}

/* Under the lock: 1 ms, or until somebody flushes. */
static void rest(void)
{
	uint64_t until = read_now() + 1000000;
	struct timespec at = {(time_t)(until / 1000000000), (long)(until % 1000000000)};

	pthread_cond_timedwait(&out.has_full, &out.lock, &at);
}

static void *work(void *unused)
{
	struct buffer *taken[TAKEN_MAX];
	uint32_t n;

	pthread_setname_np(pthread_self(), "fake-cupti");
	pthread_mutex_lock(&out.lock);
	for (;;) {
		while (!out.full)
			pthread_cond_wait(&out.has_full, &out.lock);
		n = take_full(taken, out.n_flushing ? 0 : LATE_NS, out.n_forced != 0);
		if (n) {
			pthread_mutex_unlock(&out.lock);
			deliver_taken(taken, n);
		} else {
			rest();
		}
	}
	return NULL;
}

void fake_cupti_start_worker(void)
{
	sigset_t all, kept;
	pthread_t thread;

	pthread_mutex_lock(&out.lock);
	if (!out.has_worker) {
		out.has_worker = true;
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &kept);
		if (!pthread_create(&thread, NULL, work, NULL))
			pthread_detach(thread);
		pthread_sigmask(SIG_SETMASK, &kept, NULL);
	}
	pthread_mutex_unlock(&out.lock);
}

/* ---- flushing ---- */

/* The writer's buffer goes to the full ones, when it may. */
static void close_current(struct writer *writer, bool is_forced)
{
	struct buffer *buffer;

	pthread_mutex_lock(&writer->lock);
	buffer = writer->current;
	if (buffer && buffer->valid && (is_forced || buffer->complete_at <= read_now()))
		writer->current = NULL;
	else
		buffer = NULL;
	pthread_mutex_unlock(&writer->lock);
	if (buffer)
		append_full(buffer);
}

/* Under the lock. */
static bool has_due(uint64_t now, bool is_forced)
{
	for (const struct buffer *buffer = out.full; buffer; buffer = buffer->next)
		if (is_forced || buffer->complete_at <= now)
			return true;
	return false;
}

/* Under the lock: the worker gives back what is due. */
static void have_flushed(bool is_forced)
{
	uint64_t now = read_now();

	out.n_flushing++;
	out.n_forced += is_forced;
	while (has_due(now, is_forced) || out.n_delivering) {
		pthread_cond_signal(&out.has_full);
		pthread_cond_wait(&out.is_empty, &out.lock);
	}
	out.n_flushing--;
	out.n_forced -= is_forced;
}

void fake_cupti_flush(bool is_forced)
{
	struct writer *writer = __atomic_load_n(&out.writers, __ATOMIC_ACQUIRE);
	struct buffer *taken[TAKEN_MAX];
	uint32_t n;

	close_current(&out.shared, is_forced);
	for (; writer; writer = writer->next)
		close_current(writer, is_forced);
	pthread_mutex_lock(&out.lock);
	if (out.has_worker && !fake_cupti.flushes_here)
		have_flushed(is_forced);
	while ((n = take_full(taken, 0, is_forced))) {
		pthread_mutex_unlock(&out.lock);
		deliver_taken(taken, n);
	}
	/* What another thread is delivering is delivered when a flush returns. */
	while (out.n_delivering)
		pthread_cond_wait(&out.is_empty, &out.lock);
	pthread_mutex_unlock(&out.lock);
}

void fake_cupti_deliver_full(void)
{
	pthread_mutex_lock(&out.lock);
	while (out.full || out.n_delivering)
		pthread_cond_wait(&out.is_empty, &out.lock);
	pthread_mutex_unlock(&out.lock);
}

/* ---- filling ---- */

static void let_go(void *writer)
{
	__atomic_store_n(&((struct writer *)writer)->is_free, 1, __ATOMIC_RELEASE);
}

static void make_key(void)
{
	pthread_key_create(&out.key, let_go);
}

/* A writer of a thread that has ended serves the next one, with what is in its buffer. */
static struct writer *adopt_writer(void)
{
	struct writer *writer = __atomic_load_n(&out.writers, __ATOMIC_ACQUIRE);
	uint32_t is_free;

	pthread_once(&out.once, make_key);
	for (; writer; writer = writer->next) {
		is_free = 1;
		if (__atomic_compare_exchange_n(&writer->is_free, &is_free, 0, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			break;
	}
	if (!writer) {
		writer = calloc(1, sizeof(*writer));
		pthread_mutex_init(&writer->lock, NULL);
		writer->next = __atomic_load_n(&out.writers, __ATOMIC_RELAXED);
		while (!__atomic_compare_exchange_n(&out.writers, &writer->next, writer, true,
						    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			;
	}
	pthread_setspecific(out.key, writer);
	return mine = writer;
}

static void check_zeros(const uint8_t *bytes, size_t n)
{
	if (fake_cupti.deliver == FAKE_NOW)
		return;
	for (size_t i = 0; i < n; i++)
		if (bytes[i])
			fake_cupti_die("a buffer that was said to be zeroed is not");
}

/* NULL: the client refused. */
static struct buffer *request(void)
{
	CUpti_BuffersCallbackRequestFunc requested =
		__atomic_load_n(&fake_cupti.requested, __ATOMIC_ACQUIRE);
	struct buffer *buffer;
	uint8_t *bytes = NULL;
	size_t size = 0, max_records = 0;

	if (!requested)
		return NULL;
	requested(&bytes, &size, &max_records);
	if (!bytes || !size) {
		if (fake_cupti.release < 1209)
			fake_cupti_die("no buffer: CUPTI before 12.9 crashes here");
		return NULL;
	}
	if ((uintptr_t)bytes % ACTIVITY_RECORD_ALIGNMENT)
		fake_cupti_die("a buffer is not aligned to 8 bytes");
	if (fake_cupti.is_zeroed)
		check_zeros(bytes, size);
	buffer = calloc(1, sizeof(*buffer));
	buffer->bytes = bytes;
	buffer->size = size;
	buffer->max_records = max_records;
	return buffer;
}

static bool has_room(const struct buffer *buffer, uint32_t n_bytes)
{
	return buffer->valid + n_bytes <= buffer->size &&
	       (!buffer->max_records || buffer->n_records < buffer->max_records);
}

/* The record lies in the buffer already; its times come when the work is done. */
static void make_pending(struct buffer *buffer, uint8_t *record)
{
	struct pending *pending;
	uint32_t start, end, completed;

	fake_cupti_time_offsets(((CUpti_Activity *)record)->kind, &start, &end, &completed);
	if (buffer->n_pending == buffer->cap_pending) {
		buffer->cap_pending = buffer->cap_pending ? 2 * buffer->cap_pending : 64;
		buffer->pending = realloc(buffer->pending,
					  buffer->cap_pending * sizeof(*buffer->pending));
	}
	pending = &buffer->pending[buffer->n_pending++];
	pending->offset = (uint32_t)(record - buffer->bytes);
	memcpy(&pending->start, record + start, sizeof(pending->start));
	memcpy(&pending->end, record + end, sizeof(pending->end));
	memset(record + start, 0, 2 * sizeof(uint64_t));
	if (completed)
		memset(record + completed, 0, sizeof(uint64_t));
	if (pending->end > buffer->complete_at)
		buffer->complete_at = pending->end;
}

void fake_cupti_put(const void *record, uint32_t n_bytes, uint64_t end)
{
	struct writer *writer = !fake_cupti.is_per_thread ? &out.shared :
				mine ? mine : adopt_writer();
	struct buffer *buffer, *full = NULL;
	uint8_t *at;

	pthread_mutex_lock(&writer->lock);
	buffer = writer->current;
	if (buffer && !has_room(buffer, n_bytes)) {
		full = buffer;
		buffer = writer->current = NULL;
	}
	if (!buffer) {
		buffer = writer->current = request();
		if (buffer && !has_room(buffer, n_bytes))
			fake_cupti_die("a buffer has no room for one record");
	}
	if (buffer) {
		at = buffer->bytes + buffer->valid;
		memcpy(at, record, n_bytes);
		buffer->valid += n_bytes;
		buffer->n_records++;
		if (end && fake_cupti.deliver != FAKE_NOW)
			make_pending(buffer, at);
	} else {
		__atomic_add_fetch(&fake_cupti.dropped, 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&writer->lock);
	if (!full)
		return;
	if (fake_cupti.deliver == FAKE_NOW)
		deliver(full);
	else
		append_full(full);
}
