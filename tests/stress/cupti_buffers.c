/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_buffers.c - many threads play CUPTI under more pressure than the drain can take
 *
 * usage: cupti_buffers [SECONDS]
 *
 * Each asks for a buffer, writes words, and gives it back. What was written is what the drain
 * read, plus what was thrown away, plus what found no buffer: exactly. Once with a CUPTI that
 * may be refused, once with an old one.
 * Exit status 0: all was right.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/probe/gpu/cupti_buffers.h"

enum { N_WRITERS = 8, WORDS_MOST = 2048 };

static _Atomic bool is_over;
static _Atomic uint64_t n_written, n_refused_words, n_wrong;
static uint64_t n_read, sum_read;
static _Atomic uint64_t sum_written, sum_trashed;

static bool is_zeroed(const uint8_t *memory, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (memory[i])
			return false;
	return true;
}

static void complete(uint8_t *memory, size_t n_words, size_t size)
{
	tp_cupti_buffer_completed(NULL, 0, memory, size, n_words * 8);
}

static void *play_cupti(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg * 2654435761u;

	while (!is_over) {
		/* Most come back empty, at once: the list of free ones is what all fight for. */
		size_t size, most, n_words = rand_r(&seed) % 16 ? 0 : (unsigned)rand_r(&seed) % WORDS_MOST;
		uint8_t *memory;
		uint64_t sum = 0;

		tp_cupti_buffer_requested(&memory, &size, &most);
		n_written += n_words;
		if (!memory) {
			n_refused_words += n_words;
			continue;
		}
		if (!is_zeroed(memory, n_words * 8))
			n_wrong++;
		for (size_t i = 0; i < n_words; i++) {
			((uint64_t *)memory)[i] = (uint64_t)rand_r(&seed) + 1;
			sum += ((uint64_t *)memory)[i];
		}
		sum_written += sum;
		if (size == 64 << 10)
			sum_trashed += sum;
		complete(memory, n_words, size);
	}
	return NULL;
}

/* Slower than the writers: every buffer is read and summed twice. */
static bool drain_one(void)
{
	size_t n;
	uint8_t *memory = tp_cupti_buffer_take(&n);

	if (!memory)
		return false;
	for (size_t i = 0; i < n / 8; i++)
		sum_read += ((uint64_t *)memory)[i];
	n_read += n / 8;
	tp_cupti_buffer_give(memory);
	return true;
}

static int run(uint32_t version, unsigned seconds)
{
	pthread_t writer[N_WRITERS];
	const struct timespec pause = {.tv_nsec = 200000};
	time_t end = time(NULL) + seconds;
	uint64_t trashed_words;

	is_over = false;
	n_written = n_refused_words = sum_written = sum_trashed = n_read = sum_read = 0;
	tp_cupti_buffers_forked();
	if (tp_cupti_buffers_open(1 << 20, version))
		return 1;
	for (uintptr_t i = 0; i < N_WRITERS; i++)
		pthread_create(&writer[i], NULL, play_cupti, (void *)(i + 1));
	while (time(NULL) < end) {
		for (int i = 0; i < 100 && drain_one(); i++)
			;
		nanosleep(&pause, NULL);	/* so that they run out of buffers */
	}
	is_over = true;
	for (uint32_t i = 0; i < N_WRITERS; i++)
		pthread_join(writer[i], NULL);
	while (drain_one())
		;
	trashed_words = tp_cupti_buffers_trashed_bytes() / 8;
	printf("version %u: %lu words written, %lu read, %lu thrown away, %lu refused\n", version,
	       n_written, n_read, trashed_words, n_refused_words);
	if (n_wrong)
		printf("%lu buffers were not zeroed\n", n_wrong);
	if (n_written != n_read + trashed_words + n_refused_words)
		printf("they do not add up\n");
	if (sum_written != sum_read + sum_trashed)
		printf("their sums differ\n");
	if (!(trashed_words + n_refused_words) || !n_read)
		printf("there was no pressure\n");
	return n_wrong || n_written != n_read + trashed_words + n_refused_words ||
	       sum_written != sum_read + sum_trashed || !(trashed_words + n_refused_words) ||
	       !n_read || tp_cupti_buffers_held() || tp_cupti_buffers_full();
}

int main(int argc, char **argv)
{
	unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 2;

	return run(130000, seconds) || run(24, seconds);
}
