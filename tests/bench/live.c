/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live.c - CPU time of a refresh of trainprof-merge --live, beside that of reading all ledgers anew
 *
 * usage: live [RANKS [WINDOWS]]	(512 ranks, 20 windows)
 *
 * A generated folder: a ledger of 1,000 steps and a trace file (head only) of each window for every
 * rank. Before each refresh three steps are added to each ledger, which is not measured.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "merge/live/screen.h"
#include "merge/live/metrics.h"

enum { STEPS = 1000, NEW_STEPS = 3, REFRESHES = 30, STEP_NS = 300000000, SCREEN = 50 };

static char folder[] = "/tmp/trainprof-bench-live.XXXXXX";
static uint32_t n_ranks = 512, n_windows = 20;

static double cpu_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static FILE *open_file(const char *name, uint32_t rank, const char *suffix, const char *mode)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s%u%s", folder, name, rank, suffix);
	file = fopen(path, mode);
	if (!file) {
		perror(path);
		exit(1);
	}
	return file;
}

static void add_steps(FILE *file, uint32_t rank, uint64_t from, uint32_t n)
{
	for (uint64_t step = from; step < from + n; step++) {
		struct tp_ledger_row row = {
			.index = step, .in_epoch = (uint32_t)step, .batches = 1, .phase = 2, .source = 1,
			.begin_ns = 1000000000 + step * STEP_NS, .dur_ns = STEP_NS - rank * 1000,
			.data_wait_ns = 1000000 + rank * 1000, .optimizer_ns = 20000000,
			.live_bytes = 1 << 30, .peak_bytes = 3u << 30,
		};
		char line[TP_LEDGER_LINE_MAX];

		fwrite(line, 1, tp_ledger_format_row(line, sizeof(line), &row), file);
	}
}

static void make_rank(uint32_t rank)
{
	struct tp_ledger_head head = {
		.run_id = rank + 1, .mono_ns = 1000000000, .real_ns = 1700000000000000000,
		.rank = (int32_t)rank, .local_rank = (int32_t)(rank % 8), .world_size = (int32_t)n_ranks,
		.node_rank = (int32_t)(rank / 8), .pid = rank + 100, .job = "bench:1",
	};
	struct tp_file_head trace = {.magic = TP_FILE_MAGIC, .run_id = rank + 1};
	char text[2 * TP_LEDGER_LINE_MAX], suffix[32];
	FILE *file = open_file("rank", rank, ".steps", "we");

	snprintf(head.host, sizeof(head.host), "node%u", rank / 8);
	fwrite(text, 1, tp_ledger_format_head(text, sizeof(text), &head), file);
	add_steps(file, rank, 0, STEPS);
	fclose(file);
	for (trace.window = 0; trace.window < n_windows; trace.window++) {
		snprintf(suffix, sizeof(suffix), ".%u.tpt", trace.window);
		file = open_file("rank", rank, suffix, "we");
		fwrite(&trace, 1, sizeof(trace), file);
		fclose(file);
	}
}

static void show(struct tp_live *live, const struct tp_follow *follow)
{
	struct tp_out out = {.width = 160, .has_color = true};
	char *text = NULL;
	size_t n;

	tp_live_update(live, follow, tp_live_page_room(SCREEN));
	out.file = open_memstream(&text, &n);
	tp_live_page(live, &out);
	fclose(out.file);
	free(text);
}

static double measure_anew(void)
{
	struct tp_follow follow;
	double before = cpu_ms();

	tp_follow_open(&follow, folder);
	follow.is_whole = true;
	tp_follow_look(&follow);
	tp_follow_close(&follow);
	return cpu_ms() - before;
}

int main(int argc, char **argv)
{
	double refresh = 0, most = 0, first, before;
	struct tp_live live = {0};
	struct tp_follow follow;
	char remove[80];

	if (argc > 1)
		n_ranks = (uint32_t)atoi(argv[1]);
	if (argc > 2)
		n_windows = (uint32_t)atoi(argv[2]);
	if (!mkdtemp(folder))
		return 1;
	for (uint32_t i = 0; i < n_ranks; i++)
		make_rank(i);
	before = cpu_ms();
	tp_follow_open(&follow, folder);
	tp_follow_look(&follow);
	show(&live, &follow);
	first = cpu_ms() - before;
	for (uint32_t k = 0; k < REFRESHES; k++) {
		for (uint32_t i = 0; i < n_ranks; i++) {
			FILE *file = open_file("rank", i, ".steps", "ae");

			add_steps(file, i, STEPS + k * NEW_STEPS, NEW_STEPS);
			fclose(file);
		}
		before = cpu_ms();
		tp_follow_look(&follow);
		show(&live, &follow);
		before = cpu_ms() - before;
		refresh += before;
		most = before > most ? before : most;
	}
	printf("ranks,windows,steps_each,first_ms,refresh_mean_ms,refresh_most_ms,whole_anew_ms\n");
	printf("%u,%u,%d,%.1f,%.1f,%.1f,%.1f\n", n_ranks, n_windows, STEPS + REFRESHES * NEW_STEPS, first,
	       refresh / REFRESHES, most, measure_anew());
	if (refresh / REFRESHES > 100)
		printf("MISSED: a refresh takes more than 100 ms\n");
	tp_live_free(&live);
	tp_follow_close(&follow);
	snprintf(remove, sizeof(remove), "rm -rf %s", folder);
	return system(remove) != 0;
}
