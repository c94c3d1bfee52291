/* SPDX-License-Identifier: Apache-2.0 */
/*
 * long_run.c - a run of a million steps, with a window every ten thousand, the flight recorder on and now
 * and then fired: memory stays as it is, the ledger and the folder within their bounds
 *
 * usage: long_run [STEPS]
 *
 * Under a sanitizer, whose own memory grows, fewer steps, and memory is not compared.
 *
 * Exit status 0: all was right.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tests/unit/session_rig.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STEPS = 100000, IS_SANITIZED = 1 };
#else
enum { STEPS = 1000000, IS_SANITIZED = 0 };
#endif

enum {
	OPS = 8,		/* in a step */
	FIRE_EVERY = 99991,
	BEHIND = 512,		/* steps that the ledger may be behind: its ring has 1024 */
	KEPT = 3,
	GROWTH = 1024,		/* bytes in GROWTH_STEPS steps */
	GROWTH_STEPS = 10000,
	LEDGER_BYTES = 100,	/* a step */
	FOLDER_BYTES = 4 << 20,	/* without the ledger */
};

/* Of its own: pages of code come in as they are needed, and those of the ring are there from the start. */
static uint64_t read_memory(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	unsigned long kib = 0;
	char line[200];

	while (file && fgets(line, sizeof(line), file) && sscanf(line, "RssAnon: %lu", &kib) != 1)
		;
	if (file)
		fclose(file);
	return kib * 1024;
}

static void run_steps(uint64_t first, uint64_t end)
{
	for (uint64_t s = first; s < end; s++) {
		for (uint32_t i = 0; i < OPS; i++)
			rig_op("op", 0, i);
		rig_step();
		if (s % FIRE_EVERY == FIRE_EVERY - 1)
			tp_session_fire("a test");
		while (s + 1 - __atomic_load_n(&tp_ring.head->steps_drained, __ATOMIC_RELAXED) > BEHIND)
			usleep(100);
	}
}

/* Bytes of the folder's files with that end, and how many there are. */
static uint64_t weigh(const char *suffix, uint32_t *n)
{
	DIR *folder = opendir(rig_config.dir);
	struct dirent *entry;
	uint64_t bytes = 0;

	*n = 0;
	while (folder && (entry = readdir(folder))) {
		size_t len = strlen(entry->d_name), n_suffix = strlen(suffix);
		char path[800];
		struct stat st;

		snprintf(path, sizeof(path), "%s/%s", rig_config.dir, entry->d_name);
		if (len < n_suffix || strcmp(entry->d_name + len - n_suffix, suffix) || stat(path, &st))
			continue;
		bytes += (uint64_t)st.st_size;
		++*n;
	}
	if (folder)
		closedir(folder);
	return bytes;
}

static uint32_t n_wrong;

static void check(const char *what, uint64_t value, uint64_t most)
{
	printf("%s: %lu, at most %lu\n", what, (unsigned long)value, (unsigned long)most);
	n_wrong += value > most;
}

int main(int argc, char **argv)
{
	uint64_t n_steps = argc > 1 ? strtoull(argv[1], NULL, 10) : STEPS, before, after, ledger, traces;
	uint32_t n_traces, n_ledgers, n_lost;

	rig_set_up();
	rig_config.keep = KEPT;
	rig_config.recorder_steps = 8;
	rig_config.step.source = TP_STEP_OPTIMIZER;	/* else the clock takes over after ten seconds */
	if (rig_open("wait=9995,warmup=1,active=4,repeat=0,per=run"))
		return 2;
	tp_session_epoch(tp_clock_now());
	run_steps(0, n_steps / 5);
	before = read_memory();
	run_steps(n_steps / 5, n_steps);
	after = read_memory();
	n_lost = tp_session_windows_lost();
	n_wrong += !before;
	if (!IS_SANITIZED)
		check("bytes of memory more", after > before ? after - before : 0,
		      n_steps / 5 * 4 / GROWTH_STEPS * GROWTH);
	check("records dropped", tp_ring_dropped(), 0);
	check("records overwritten", tp_ring.head->recorder_overwritten, 0);
	check("windows lost", n_lost, 0);
	tp_session_close("exit");
	ledger = weigh(".steps", &n_ledgers);
	traces = weigh(".tpt", &n_traces);
	check("bytes of ledger, a step", ledger / n_steps, LEDGER_BYTES);
	check("traces", n_traces, KEPT);
	check("bytes of traces", traces, FOLDER_BYTES);
	n_wrong += !ledger || !n_traces || tp_session_steps() != n_steps;
	rig_remove_dir();
	return n_wrong != 0;
}
