/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_play.c - the threads of a replay, their pace, and how punctual they were
 */
#include "tests/progs/replay_play.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include <cuda.h>

enum {
	LEAD_NS = 500000000,	/* before the file's zero: threads, and a window, must be there by then */
	SPIN_NS = 60000,	/* a sleep may be late by that */
	OPEN_MAX = 1024,
	N_BINS = 64 * 16,	/* of lateness: 16 to a factor of 2 */
};

struct player {
	const struct replay_file *file;
	const struct replay_thread *thread;
	const struct replay_options *options;
	struct replay_moved moved;
	uint64_t span;			/* of one repetition, in the file's ns */
	uint32_t first_item, repetition;

	const struct replay_item *open[OPEN_MAX];	/* ranges and calls, innermost last */
	uint32_t n_open;
	uint64_t n_actions, n_overlaps, late_sum, late_max;
	uint64_t late[N_BINS];
};

static uint64_t read_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint32_t bin_of(uint64_t ns)
{
	uint32_t log = 63 - (uint32_t)__builtin_clzll(ns | 1);
	uint32_t part = log >= 4 ? (uint32_t)(ns >> (log - 4)) & 15 : (uint32_t)ns & 15;

	return log >= 4 ? log * 16 + part : part;
}

static uint64_t bin_value(uint32_t bin)
{
	return bin < 64 ? bin : (16ull + bin % 16) << (bin / 16 - 4);
}

/* Waits until the file's `ns`, and notes how late it is then. */
static void wait_for(struct player *player, uint64_t ns)
{
	uint64_t due = replay_time(&player->moved, ns), now = read_now(), late;

	if (due > now + SPIN_NS) {
		uint64_t rest = due - now - SPIN_NS;
		struct timespec sleep = { (time_t)(rest / 1000000000), (long)(rest % 1000000000) };

		nanosleep(&sleep, NULL);
	}
	while ((now = read_now()) < due)
		;
	late = now - due;
	player->n_actions++;
	player->late_sum += late;
	player->late[bin_of(late)]++;
	if (late > player->late_max)
		player->late_max = late;
}

static void end_innermost(struct player *player)
{
	const struct replay_item *item = player->open[--player->n_open];

	wait_for(player, item->end);
	replay_end(item);
}

static const struct replay_item *innermost(const struct player *player)
{
	return player->n_open ? player->open[player->n_open - 1] : NULL;
}

/* What ends by now ends; then what would be cut by `item` without holding it: `item` waits for it. */
static void make_way(struct player *player, const struct replay_item *item, bool has_length)
{
	while (player->n_open && innermost(player)->end <= item->start)
		end_innermost(player);
	while (has_length && player->n_open && innermost(player)->end < item->end) {
		player->n_overlaps++;
		end_innermost(player);
	}
}

static void play_item(struct player *player, const struct replay_item *item)
{
	bool has_length = item->kind == REPLAY_RANGE || item->kind == REPLAY_API;

	make_way(player, item, has_length);
	if (!has_length) {
		wait_for(player, item->kind == REPLAY_OVERHEAD ? item->end : item->start);
		replay_at_once(item, &player->moved);
		return;
	}
	if (player->n_open == OPEN_MAX) {
		fprintf(stderr, "replay: more than %d ranges in each other\n", OPEN_MAX);
		exit(1);
	}
	wait_for(player, item->start);
	replay_begin(player->file, item, &player->moved);
	player->open[player->n_open++] = item;
}

static void move_on(struct player *player, uint64_t zero, uint32_t repetition)
{
	player->moved = (struct replay_moved){
		.speed = player->options->speed,
		.correlation = repetition * (player->file->max_correlation + 1),
	};
	player->moved.zero_ns = zero;
	player->moved.zero_ns = replay_time(&player->moved, repetition * player->span);
}

static uint64_t zero;	/* of the file's first repetition */

static void *play_thread(void *argument)
{
	struct player *player = argument;

	prctl(PR_SET_TIMERSLACK, 1);
	if (*player->thread->name)
		pthread_setname_np(pthread_self(), player->thread->name);
	for (uint32_t n = 0; n < player->options->repeat; n++) {
		move_on(player, zero, n);
		for (uint32_t i = 0; i < player->thread->n_items; i++)
			play_item(player, &player->file->items[player->thread->items[i]]);
		while (player->n_open)
			end_innermost(player);
	}
	return NULL;
}

/* Records of no call and no thread. */
static void *play_loose(void *argument)
{
	struct player *player = argument;
	const struct replay_file *file = player->file;

	for (uint32_t n = 0; n < player->options->repeat; n++) {
		move_on(player, zero, n);
		for (uint32_t i = 0; i < file->n_loose; i++) {
			wait_for(player, file->items[file->loose[i]].start);
			replay_at_once(&file->items[file->loose[i]], &player->moved);
		}
	}
	return NULL;
}

static void say(const struct player *players, uint32_t n)
{
	uint64_t actions = 0, overlaps = 0, sum = 0, most = 0, seen = 0;
	uint32_t bin;

	for (uint32_t i = 0; i < n; i++) {
		actions += players[i].n_actions;
		overlaps += players[i].n_overlaps;
		sum += players[i].late_sum;
		most = players[i].late_max > most ? players[i].late_max : most;
	}
	for (bin = 0; bin < N_BINS - 1; bin++) {
		for (uint32_t i = 0; i < n; i++)
			seen += players[i].late[bin];
		if (seen * 100 >= actions * 99)
			break;
	}
	fprintf(stderr, "replay: %lu actions; late by %.1f us on average, %.1f us at 99 %%, %.1f us at most; "
		"%lu overlapped\n", actions, actions ? (double)sum / (double)actions / 1e3 : 0,
		(double)bin_value(bin) / 1e3, (double)most / 1e3, overlaps);
}

void replay_play(const struct replay_file *file, const struct replay_options *options)
{
	uint32_t n = file->n_threads + 1, n_born = 0;
	struct player *players = calloc(n, sizeof(*players));
	pthread_t *threads = calloc(n, sizeof(*threads));
	uint32_t *order = calloc(n, sizeof(*order));
	struct player birth = {.file = file, .options = options};

	cuInit(0);
	for (uint32_t i = 0; i < n; i++)
		players[i] = (struct player){
			.file = file, .options = options, .span = file->last + 1,
			.thread = i < file->n_threads ? &file->threads[i] : NULL,
		};
	/* In the order of their first lines. */
	for (uint32_t i = 0; i < file->n_items; i++) {
		uint32_t thread = file->items[i].thread;

		if (thread != UINT32_MAX && file->threads[thread].items[0] == i)
			order[n_born++] = thread;
	}
	zero = read_now() + LEAD_NS;
	move_on(&birth, zero, 0);
	pthread_create(&threads[n - 1], NULL, play_loose, &players[n - 1]);
	for (uint32_t i = 0; i < n_born; i++) {
		uint64_t first = file->items[file->threads[order[i]].items[0]].start;
		uint64_t early = (uint64_t)(1e6 * options->speed);

		if (first > early)
			wait_for(&birth, first - early);
		pthread_create(&threads[order[i]], NULL, play_thread, &players[order[i]]);
	}
	for (uint32_t i = 0; i < n_born; i++)
		pthread_join(threads[order[i]], NULL);
	pthread_join(threads[n - 1], NULL);
	say(players, n);
	free(order);
	free(threads);
	free(players);
}
