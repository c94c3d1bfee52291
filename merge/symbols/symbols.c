/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols.c - names and lines for addresses: which files are read, by whom, and what was found
 */
#include "merge/symbols/symbols_in.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "merge/kit/grow.h"
#include "merge/kit/progress.h"

enum {
	THREADS_MOST = 8,
	STACK_BYTES = 8 << 20,	/* of a thread: names are taken apart by recursion */
	POLL_MS = 100,
	SAY_EVERY = 4096,	/* names, until the progress line is looked at */
	LINES_MOST = 2000000,	/* some 100 MB in libdw */
};

struct tp_symbols {
	struct tp_symbols_texts texts;
	char *root;
	bool is_quiet;

	/* Of the last call. */
	const struct tp_symbols_place *place;
	size_t n_places;
	struct tp_symbols_job *job;	/* one for each module */
	uint32_t n_jobs;
	uint32_t *lookup_of;		/* by place */

	/* While it runs. */
	uint32_t *order;		/* of jobs: the longest first */
	uint32_t n_order, next;		/* next: atomic */
	uint32_t n_working;		/* atomic: threads beside the caller's */
	uint64_t n_done;		/* atomic: lookups */
	pthread_t caller;
	struct tp_progress progress;	/* the caller's */
};

static const struct tp_symbol nothing = {.function = "", .file = ""};

struct tp_symbols *tp_symbols_new(const char *root)
{
	struct tp_symbols *symbols = calloc(1, sizeof(*symbols));
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (!symbols)
		return NULL;
	symbols->root = strdup(root);
	if (!symbols->root || tp_symbols_texts_init(&symbols->texts)) {
		free(symbols->root);
		free(symbols);
		return NULL;
	}
	/* A server that is out of reach: ten seconds, not the client's own ninety. */
	if (urls && *urls) {
		setenv("DEBUGINFOD_TIMEOUT", "10", 0);
		setenv("DEBUGINFOD_MAXTIME", "600", 0);
		setenv("DEBUGINFOD_RETRY_LIMIT", "0", 0);
	}
	return symbols;
}

void tp_symbols_quiet(struct tp_symbols *symbols)
{
	symbols->is_quiet = true;
}

static void forget(struct tp_symbols *symbols)
{
	for (uint32_t i = 0; i < symbols->n_jobs; i++) {
		free(symbols->job[i].lookup);
		free(symbols->job[i].found);
		free(symbols->job[i].trouble);
	}
	free(symbols->job);
	free(symbols->lookup_of);
	free(symbols->order);
	symbols->job = NULL;
	symbols->lookup_of = NULL;
	symbols->order = NULL;
	symbols->n_jobs = 0;
	symbols->n_places = 0;
	symbols->n_order = 0;
}

void tp_symbols_free(struct tp_symbols *symbols)
{
	if (!symbols)
		return;
	forget(symbols);
	tp_symbols_texts_fini(&symbols->texts);
	free(symbols->root);
	free(symbols);
}

struct tp_symbols_texts *tp_symbols_texts_of(struct tp_symbols *symbols)
{
	return &symbols->texts;
}

bool tp_symbols_job_add(struct tp_symbols_job *job, struct tp_symbol symbol)
{
	if (!tp_grow(&job->found, &job->cap_found, job->n_found + 1ull, sizeof(*job->found))) {
		job->is_out_of_memory = true;
		return false;
	}
	job->found[job->n_found++] = symbol;
	return true;
}

static void did(struct tp_symbols *symbols, uint32_t n)
{
	uint64_t done = __atomic_add_fetch(&symbols->n_done, n, __ATOMIC_RELAXED);

	if (pthread_equal(pthread_self(), symbols->caller))
		tp_progress_at(&symbols->progress, done);
}

void tp_symbols_job_did(struct tp_symbols_job *job, uint32_t n)
{
	job->n_done += n;
	did(job->symbols, n);
}

/* ---- one module ---- */

static bool is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

/* Names from the symbol table for what DWARF did not name. */
static void name_the_rest(struct tp_symbols_job *job, const struct tp_symbols_file *file)
{
	struct tp_symbols_table *table = NULL;
	const char *last = NULL, *function = "";
	uint32_t n_new = 0;
	bool is_read = false;

	for (uint32_t i = 0; i < job->n_lookups && !job->is_out_of_memory; i++) {
		struct tp_symbols_lookup *lookup = &job->lookup[i];
		struct tp_symbol *outer =
			lookup->n ? &job->found[lookup->first + lookup->n - 1] : NULL;
		const char *name;

		if (!outer && ++n_new == SAY_EVERY) {
			tp_symbols_job_did(job, n_new);
			n_new = 0;
		}
		if (outer && *outer->function && !lookup->is_short)
			continue;
		if (!is_read)
			table = tp_symbols_table_new(file);
		is_read = true;
		name = table ? tp_symbols_table_find(table, lookup->pc) : NULL;
		if (!name || (outer && *outer->function && !is_mangled(name)))
			continue;
		/* Places of one function follow each other. */
		if (name != last)
			function = tp_symbols_function(&job->symbols->texts, name);
		last = name;
		if (outer) {
			outer->function = function;
			continue;
		}
		if (tp_symbols_job_add(job, (struct tp_symbol){.function = function, .file = ""})) {
			lookup->first = job->n_found - 1;
			lookup->n = 1;
		}
	}
	tp_symbols_table_free(table);
}

static void say_what_is_missing(struct tp_symbols_job *job)
{
	uint32_t n_unnamed = 0;

	for (uint32_t i = 0; i < job->n_lookups; i++) {
		struct tp_symbols_lookup *lookup = &job->lookup[i];

		if (!lookup->n)
			lookup->n = 1; /* found[0] */
		n_unnamed += !*job->found[lookup->first].function;
	}
	if (job->trouble || !n_unnamed)
		return;
	if (asprintf(&job->trouble, n_unnamed == job->n_lookups ?
					    "it has no symbols for its %u addresses" :
					    "it has no symbols for %u of %u addresses",
		     n_unnamed, job->n_lookups) < 0)
		job->trouble = NULL;
}

static void read_module(struct tp_symbols *symbols, struct tp_symbols_job *job)
{
	struct tp_symbols_file file;
	char trouble[256];

	if (!tp_symbols_job_add(job, nothing))
		return;
	if (!tp_symbols_file_open(&file, job->module, symbols->root, trouble, sizeof(trouble))) {
		job->trouble = strdup(trouble);
	} else {
		if (file.dwarf)
			tp_symbols_dwarf(job, &file, symbols->root);
		if (file.dwfl)
			name_the_rest(job, &file);
		tp_symbols_file_close(&file);
	}
	say_what_is_missing(job);
	did(symbols, job->n_lookups - job->n_done);
}

static void *work(void *arg)
{
	struct tp_symbols *symbols = arg;
	uint32_t at;

	while ((at = __atomic_fetch_add(&symbols->next, 1, __ATOMIC_RELAXED)) < symbols->n_order)
		read_module(symbols, &symbols->job[symbols->order[at]]);
	__atomic_fetch_sub(&symbols->n_working, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* ---- all of them ---- */

static int by_pc(const void *a, const void *b)
{
	const struct tp_symbols_lookup *x = a, *y = b;

	return (x->pc > y->pc) - (x->pc < y->pc);
}

static int by_length(const void *a, const void *b, void *jobs)
{
	const struct tp_symbols_job *job = jobs;
	uint32_t x = job[*(const uint32_t *)a].n_lookups, y = job[*(const uint32_t *)b].n_lookups;

	return (x < y) - (x > y);
}

/* The call is before the address to which it returns. */
static uint64_t pc_of(const struct tp_symbols_place *place)
{
	return place->offset - (!place->is_exact && place->offset);
}

static int share_out(struct tp_symbols *symbols, const struct tp_symbols_module *module,
		     uint32_t n_modules)
{
	symbols->job = calloc(n_modules, sizeof(*symbols->job));
	symbols->order = calloc(n_modules, sizeof(*symbols->order));
	symbols->lookup_of = calloc(symbols->n_places, sizeof(*symbols->lookup_of));
	if (!symbols->job || !symbols->order || !symbols->lookup_of)
		return -ENOMEM;
	symbols->n_jobs = n_modules;
	for (size_t i = 0; i < symbols->n_places; i++)
		if (symbols->place[i].module < n_modules)
			symbols->job[symbols->place[i].module].n_lookups++;
	for (uint32_t i = 0; i < n_modules; i++) {
		struct tp_symbols_job *job = &symbols->job[i];

		job->symbols = symbols;
		job->module = &module[i];
		job->lines_most = LINES_MOST;
		if (!job->n_lookups)
			continue;
		job->lookup = calloc(job->n_lookups, sizeof(*job->lookup));
		if (!job->lookup)
			return -ENOMEM;
		job->n_lookups = 0;
		symbols->order[symbols->n_order++] = i;
	}
	for (size_t i = 0; i < symbols->n_places; i++) {
		const struct tp_symbols_place *place = &symbols->place[i];
		struct tp_symbols_job *job;

		if (place->module >= n_modules)
			continue;
		job = &symbols->job[place->module];
		job->lookup[job->n_lookups++].pc = pc_of(place);
	}
	for (uint32_t i = 0; i < n_modules; i++) {
		struct tp_symbols_job *job = &symbols->job[i];
		uint32_t n = 0;

		if (!job->n_lookups)
			continue;
		qsort(job->lookup, job->n_lookups, sizeof(*job->lookup), by_pc);
		for (uint32_t k = 0; k < job->n_lookups; k++)
			if (!n || job->lookup[n - 1].pc != job->lookup[k].pc)
				job->lookup[n++] = job->lookup[k];
		job->n_lookups = n;
	}
	for (size_t i = 0; i < symbols->n_places; i++) {
		const struct tp_symbols_place *place = &symbols->place[i];
		struct tp_symbols_lookup key = {.pc = pc_of(place)}, *found;
		struct tp_symbols_job *job;

		if (place->module >= n_modules)
			continue;
		job = &symbols->job[place->module];
		found = bsearch(&key, job->lookup, job->n_lookups, sizeof(key), by_pc);
		symbols->lookup_of[i] = (uint32_t)(found - job->lookup);
	}
	qsort_r(symbols->order, symbols->n_order, sizeof(*symbols->order), by_length, symbols->job);
	return 0;
}

static uint32_t start_threads(struct tp_symbols *symbols, pthread_t thread[THREADS_MOST])
{
	long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t n_most = n_cores > THREADS_MOST ? THREADS_MOST : n_cores < 1 ? 1 : (uint32_t)n_cores;
	pthread_attr_t attr;
	uint32_t n = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	/* This thread works too. Those that cannot be started are missed by nobody. */
	while (n + 1 < n_most && n + 1 < symbols->n_order) {
		__atomic_fetch_add(&symbols->n_working, 1, __ATOMIC_RELAXED);
		if (pthread_create(&thread[n], &attr, work, symbols)) {
			__atomic_fetch_sub(&symbols->n_working, 1, __ATOMIC_RELAXED);
			break;
		}
		n++;
	}
	pthread_attr_destroy(&attr);
	return n;
}

int tp_symbols_resolve(struct tp_symbols *symbols, const struct tp_symbols_module *module,
		       uint32_t n_modules, const struct tp_symbols_place *place, size_t n_places)
{
	const struct timespec poll = {.tv_nsec = POLL_MS * 1000000l};
	pthread_t thread[THREADS_MOST];
	uint64_t n_lookups = 0;
	uint32_t n_threads;
	int err;

	forget(symbols);
	if (n_places > UINT32_MAX)
		return -ENOMEM;
	symbols->place = place;
	symbols->n_places = n_places;
	if (!n_places || !n_modules)
		return 0;
	err = share_out(symbols, module, n_modules);
	if (err) {
		forget(symbols);
		return err;
	}
	for (uint32_t i = 0; i < n_modules; i++)
		n_lookups += symbols->job[i].n_lookups;
	elf_version(EV_CURRENT);
	symbols->next = 0;
	symbols->n_done = 0;
	symbols->caller = pthread_self();
	tp_progress_begin(&symbols->progress, symbols->is_quiet, n_lookups);
	symbols->progress.doing = "reading symbols";
	n_threads = start_threads(symbols, thread);
	__atomic_fetch_add(&symbols->n_working, 1, __ATOMIC_RELAXED);
	work(symbols);
	while (symbols->progress.is_on && __atomic_load_n(&symbols->n_working, __ATOMIC_ACQUIRE)) {
		nanosleep(&poll, NULL);
		did(symbols, 0);
	}
	for (uint32_t i = 0; i < n_threads; i++)
		pthread_join(thread[i], NULL);
	tp_progress_end(&symbols->progress);
	for (uint32_t i = 0; i < n_modules; i++)
		if (symbols->job[i].is_out_of_memory)
			err = -ENOMEM;
	return err;
}

const struct tp_symbol *tp_symbols_at(const struct tp_symbols *symbols, size_t at, uint32_t *n)
{
	const struct tp_symbols_lookup *lookup;
	const struct tp_symbols_job *job;

	*n = 1;
	if (at >= symbols->n_places || symbols->place[at].module >= symbols->n_jobs)
		return &nothing;
	job = &symbols->job[symbols->place[at].module];
	lookup = &job->lookup[symbols->lookup_of[at]];
	if (!job->found || !lookup->n)
		return &nothing;
	*n = lookup->n;
	return &job->found[lookup->first];
}

const char *tp_symbols_trouble(const struct tp_symbols *symbols, uint32_t module)
{
	return module < symbols->n_jobs ? symbols->job[module].trouble : NULL;
}
