/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_parse.c - lines and fields of /proc texts
 *
 * A cursor walks over a line; a field that is missing or not a number makes the line void.
 */
#include "runtime/probe/host/host_parse.h"

#include <string.h>

struct cursor {
	const char *at, *end;
};

/* Takes a whole line off the text; what follows the last newline was cut and is no line. */
static bool next_line(const char **text, size_t *n, struct cursor *line)
{
	const char *newline = *n ? memchr(*text, '\n', *n) : NULL;

	if (!newline)
		return false;
	*line = (struct cursor){ *text, newline };
	*n -= (size_t)(newline + 1 - *text);
	*text = newline + 1;
	return true;
}

static void skip_blanks(struct cursor *line)
{
	while (line->at < line->end && (*line->at == ' ' || *line->at == '\t'))
		line->at++;
}

static bool take_u64(struct cursor *line, uint64_t *value)
{
	const char *first;

	skip_blanks(line);
	first = line->at;
	*value = 0;
	while (line->at < line->end && *line->at >= '0' && *line->at <= '9')
		*value = *value * 10 + (uint64_t)(*line->at++ - '0');
	return line->at > first;
}

/* n numbers in a row. */
static bool take_row(struct cursor *line, uint64_t *value, int n)
{
	for (int i = 0; i < n; i++) {
		if (!take_u64(line, &value[i]))
			return false;
	}
	return true;
}

static bool take_word(struct cursor *line, const char **word, size_t *n, char end)
{
	skip_blanks(line);
	*word = line->at;
	while (line->at < line->end && *line->at != end)
		line->at++;
	*n = (size_t)(line->at - *word);
	return *n > 0;
}

static bool starts_with(struct cursor *line, const char *prefix)
{
	size_t n = strlen(prefix);

	if ((size_t)(line->end - line->at) < n || memcmp(line->at, prefix, n))
		return false;
	line->at += n;
	return true;
}

static bool take_core(struct cursor *line, struct tp_host_core *core)
{
	enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, N };
	uint64_t part[N] = { 0 };

	/* Steal counts as busy: the core had work and did not get to it. Guest time is in
	 * USER already. Kernels before 2.6.11 have fewer columns. */
	if (!take_row(line, part, IDLE + 1))
		return false;
	take_row(line, part + IOWAIT, N - IOWAIT);
	core->busy = part[USER] + part[NICE] + part[SYSTEM] + part[IRQ] + part[SOFTIRQ] + part[STEAL];
	core->all = core->busy + part[IDLE] + part[IOWAIT];
	return true;
}

uint32_t tp_host_parse_stat(const char *text, size_t n, struct tp_host_core *machine,
			    struct tp_host_core *core, uint32_t most)
{
	struct cursor line;
	uint32_t n_cores = 0;
	uint64_t number;

	/* The cores' lines come first; behind them is one of all interrupts, often long. */
	while (next_line(&text, &n, &line) && starts_with(&line, "cpu")) {
		if (line.at < line.end && *line.at == ' ') {
			take_core(&line, machine);
		} else if (take_u64(&line, &number) && number < UINT32_MAX) {
			struct tp_host_core got;

			if (!take_core(&line, &got))
				continue;
			if (number < most)
				core[number] = got;
			if (number >= n_cores)
				n_cores = (uint32_t)number + 1;
		}
	}
	return n_cores;
}

bool tp_host_parse_statm(const char *text, size_t n, struct tp_host_statm *out)
{
	struct cursor line;
	uint64_t value[3];

	if (!next_line(&text, &n, &line) || !take_row(&line, value, 3))
		return false;
	*out = (struct tp_host_statm){ value[0], value[1], value[2] };
	return true;
}

/* Lines "NAME value kB": a bit for each of the names that was there. */
static uint32_t take_kib(const char *text, size_t n, const char *const *names, uint64_t *kib,
			 int n_names)
{
	uint32_t seen = 0;
	struct cursor line;

	while (next_line(&text, &n, &line)) {
		for (int i = 0; i < n_names; i++) {
			if (!starts_with(&line, names[i]))
				continue;
			if (take_u64(&line, &kib[i]))
				seen |= 1u << i;
			break;
		}
	}
	return seen;
}

bool tp_host_parse_rollup(const char *text, size_t n, struct tp_host_rollup *out)
{
	enum { PSS, CLEAN, DIRTY, ANON, FILE_PAGES, SHMEM, N };
	static const char *const names[N] = {
		"Pss:", "Private_Clean:", "Private_Dirty:", "Pss_Anon:", "Pss_File:", "Pss_Shmem:",
	};
	const uint32_t needed = 1u << PSS | 1u << CLEAN | 1u << DIRTY;
	const uint32_t sorts = 1u << ANON | 1u << FILE_PAGES | 1u << SHMEM;
	uint64_t kib[N] = { 0 };
	uint32_t seen = take_kib(text, n, names, kib, N);

	if ((seen & needed) != needed)
		return false;
	*out = (struct tp_host_rollup){
		.pss = kib[PSS] << 10,
		.private = (kib[CLEAN] + kib[DIRTY]) << 10,
		.pss_anonymous = kib[ANON] << 10,
		.pss_file = kib[FILE_PAGES] << 10,
		.pss_shmem = kib[SHMEM] << 10,
		.has_sorts = (seen & sorts) == sorts,
	};
	return true;
}

bool tp_host_parse_meminfo(const char *text, size_t n, struct tp_host_meminfo *out)
{
	enum { TOTAL, FREE, AVAILABLE, BUFFERS, CACHED, SWAP_TOTAL, SWAP_FREE, N };
	static const char *const names[N] = {
		"MemTotal:", "MemFree:", "MemAvailable:", "Buffers:",
		"Cached:",   "SwapTotal:", "SwapFree:",
	};
	uint64_t kib[N] = { 0 };
	uint32_t seen = take_kib(text, n, names, kib, N);

	if (!(seen & 1u << TOTAL) || !(seen & 1u << FREE))
		return false;
	if (!(seen & 1u << AVAILABLE))
		kib[AVAILABLE] = kib[FREE] + kib[BUFFERS] + kib[CACHED];
	out->total = kib[TOTAL] << 10;
	out->available = kib[AVAILABLE] << 10;
	out->swap_used = kib[SWAP_TOTAL] > kib[SWAP_FREE] ? (kib[SWAP_TOTAL] - kib[SWAP_FREE]) << 10 : 0;
	return true;
}

bool tp_host_next_disk(const char **text, size_t *n, struct tp_host_flow *out)
{
	/* After the name: reads, merged, sectors, ms, writes, merged, sectors ... A sector is
	 * 512 bytes here whatever the device's own is. */
	enum { READ_SECTORS = 2, WRITE_SECTORS = 6, N, SECTOR_BYTES = 512 };
	uint64_t number[2], value[N];
	struct cursor line;

	while (next_line(text, n, &line)) {
		if (!take_row(&line, number, 2) || !take_word(&line, &out->name, &out->n_name, ' ') ||
		    !take_row(&line, value, N))
			continue;
		out->in = value[READ_SECTORS] * SECTOR_BYTES;
		out->out = value[WRITE_SECTORS] * SECTOR_BYTES;
		return true;
	}
	return false;
}

bool tp_host_next_interface(const char **text, size_t *n, struct tp_host_flow *out)
{
	/* "name: bytes packets errs drop fifo frame compressed multicast | bytes ..." The two
	 * lines of headings have no such row of numbers. */
	enum { RECEIVED = 0, SENT = 8, N };
	uint64_t value[N];
	struct cursor line;

	while (next_line(text, n, &line)) {
		if (!take_word(&line, &out->name, &out->n_name, ':') || !starts_with(&line, ":") ||
		    !take_row(&line, value, N))
			continue;
		out->in = value[RECEIVED];
		out->out = value[SENT];
		return true;
	}
	return false;
}
