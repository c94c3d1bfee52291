/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.c - ranks of a running job in Prometheus' text format
 */
#include "merge/live/metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/outfile.h"
#include "merge/kit/show.h"

/* When its last step ended, seconds of CLOCK_REALTIME; 0: it had none. */
static double tp_metrics_time(const struct tp_follow_rank *rank)
{
	if (!rank->has_step)
		return 0;
	return ((double)rank->head.real_ns + (double)(rank->last.begin_ns + rank->last.dur_ns) -
		(double)rank->head.mono_ns) / 1e9;
}

static const struct {
	const char *name, *type, *help;
} metric[] = {
#define _(name, type, help, value) {#name, #type, help},
#include "merge/live/metrics.def"
#undef _
};
enum { N_METRICS = sizeof(metric) / sizeof(metric[0]) };

static void read_values(const struct tp_follow_rank *rank, double value[N_METRICS])
{
	uint32_t i = 0;

#define _(name, type, help, expression) value[i++] = (double)(expression);
#include "merge/live/metrics.def"
#undef _
}

/* What a file told: printable, with the escapes of the format. */
static void put_label(FILE *file, const char *text)
{
	char shown[4 * 80];

	tp_show_text(shown, sizeof(shown), text, (uint32_t)strlen(text));
	for (const char *at = shown; *at; at++) {
		if (*at == '"' || *at == '\\')
			fputc('\\', file);
		fputc(*at, file);
	}
}

static void put_labels(FILE *file, const struct tp_follow_rank *rank)
{
	fprintf(file, "{rank=\"%d\",host=\"", rank->head.rank < 0 ? 0 : rank->head.rank);
	put_label(file, rank->head.host);
	fputs("\",job=\"", file);
	put_label(file, rank->head.job);
	fputs("\"}", file);
}

void tp_metrics_write(const struct tp_live *live, FILE *file)
{
	double (*value)[N_METRICS] = calloc(live->n + 1ull, sizeof(*value));

	if (!value)
		return;
	for (uint32_t i = 0; i < live->n; i++)
		read_values(live->now[i].rank, value[i]);
	for (uint32_t m = 0; m < N_METRICS; m++) {
		fprintf(file, "# HELP trainprof_%s %s\n# TYPE trainprof_%s %s\n", metric[m].name,
			metric[m].help, metric[m].name, metric[m].type);
		for (uint32_t i = 0; i < live->n; i++) {
			fprintf(file, "trainprof_%s", metric[m].name);
			put_labels(file, live->now[i].rank);
			fprintf(file, " %.17g\n", value[i][m]);
		}
	}
	free(value);
}

bool tp_metrics_save(const struct tp_live *live, const char *path)
{
	struct tp_outfile *out = tp_outfile_open(path);
	char *text = NULL;
	size_t n = 0;
	FILE *file;

	if (!out)
		return false;
	file = open_memstream(&text, &n);
	if (!file)
		return tp_outfile_abandon(out, -ENOMEM) == 0;
	tp_metrics_write(live, file);
	fclose(file);
	tp_outfile_bytes(out, text, n);
	free(text);
	return tp_outfile_close(out) == 0;
}
