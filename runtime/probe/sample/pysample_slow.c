/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_slow.c - slow steps, and the functions that their samples share: see pysample_slow.h
 */
#include "runtime/probe/sample/pysample_slow.h"

#include <string.h>

#include "runtime/base/own_python.h"
#include "runtime/trace/ledger.h"

enum {
	SHARED_PART = 5,	/* a function of the step is in all of its samples but one of so many, or
				 * one of fewer */
	NAME_MOST = 512,
};

/* ---- which step is slow ---- */

void tp_slow_step(struct tp_slow *slow, uint64_t duration)
{
	slow->step[slow->n_steps++ % TP_SLOW_STEPS] = duration;
}

uint64_t tp_slow_limit(const struct tp_slow *slow)
{
	uint32_t n = slow->n_steps < TP_SLOW_STEPS ? (uint32_t)slow->n_steps : TP_SLOW_STEPS, n_less, n_equal;

	if (n < TP_SLOW_LEAST)
		return UINT64_MAX;
	/* That of which half are less. */
	for (uint32_t i = 0; i < n; i++) {
		n_less = n_equal = 0;
		for (uint32_t k = 0; k < n; k++) {
			n_less += slow->step[k] < slow->step[i];
			n_equal += slow->step[k] == slow->step[i];
		}
		if (n_less <= n / 2 && n_less + n_equal > n / 2)
			return slow->step[i] + slow->step[i] / 2;
	}
	return UINT64_MAX;
}

/* ---- its functions ---- */

void tp_slow_reset(struct tp_slow *slow)
{
	slow->n_samples = slow->n_collecting = slow->n_functions = 0;
}

static const char *file_of(const char *bytes, uint32_t n_bytes, uint32_t *n_file)
{
	const char *end = memchr(bytes, 0, n_bytes);

	*n_file = end ? n_bytes - (uint32_t)(end + 1 - bytes) : 0;
	return end ? end + 1 : NULL;
}

/* The function's name, ending with 0; its file goes to path[NAME_MOST]. NULL: it has none. */
static const char *read_name(uint32_t string, tp_slow_name *name, char *path, const char **file)
{
	const char *bytes;
	uint32_t n_bytes, n;

	if (!name(string, &bytes, &n_bytes))
		return NULL;
	*file = file_of(bytes, n_bytes, &n);
	if (!*file || n >= NAME_MOST)
		return NULL;
	memcpy(path, *file, n);
	path[n] = '\0';
	return bytes;
}

/* What a function is to the step that it is in. */
static enum tp_slow_part part_of(uint32_t string, tp_slow_name *name)
{
	static const char *const what[] = { "evaluat", "validat", "save" };
	char path[NAME_MOST];
	const char *file, *bytes = read_name(string, name, path, &file);

	if (!bytes)
		return TP_SLOW_OTHER;
	/* Comprehensions and lambdas are part of the function that they stand in. */
	if (tp_own_python(path))
		return file - bytes < 2 || file[-2] != '>' || !strcmp(bytes, "<module>") ? TP_SLOW_OWN
											 : TP_SLOW_OTHER;
	if (!tp_own_python_is_package(path))
		return TP_SLOW_OTHER;
	for (size_t i = 0; i < sizeof(what) / sizeof(what[0]); i++)
		if (strcasestr(bytes, what[i]))
			return TP_SLOW_DOING;
	return tp_own_python_is_public(bytes) ? TP_SLOW_LIBRARY : TP_SLOW_OTHER;
}

bool tp_slow_is_own(uint32_t string, tp_slow_name *name)
{
	return part_of(string, name) == TP_SLOW_OWN;
}

/* NULL: there is no room for another one. */
static struct tp_slow_function *find(struct tp_slow *slow, uint32_t string, tp_slow_name *name)
{
	struct tp_slow_function *function = slow->function;

	for (uint32_t i = 0; i < slow->n_functions; i++, function++)
		if (function->string == string)
			return function;
	if (slow->n_functions == TP_SLOW_FUNCTIONS)
		return NULL;
	*function = (struct tp_slow_function){
		.string = string, .part = part_of(string, name),
	};
	slow->n_functions++;
	return function;
}

/* Boyer and Moore: a line that more than half say is what is left. */
static void vote(struct tp_slow_function *function, uint32_t line)
{
	if (!function->votes)
		function->line = line;
	function->votes += function->line == line ? 1 : -1u;
}

void tp_slow_take(struct tp_slow *slow, const struct tp_pysample_look *look, bool is_collecting,
		  tp_slow_name *name)
{
	slow->n_samples++;
	slow->n_collecting += is_collecting;
	for (uint32_t i = look->n; i-- > 0;) {
		const struct tp_pysample_frame *frame = &look->frame[i];
		struct tp_slow_function *function;

		if (frame->is_hidden || !frame->string)
			continue;
		function = find(slow, frame->string, name);
		/* One that calls itself is in the sample once. */
		if (!function || function->last == slow->n_samples)
			continue;
		function->last = slow->n_samples;
		function->n++;
		function->depth = look->n - i;
		vote(function, frame->line);
	}
}

static void put(struct tp_text *out, const char *bytes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		tp_text_char(out, (unsigned char)bytes[i] < ' ' ? '?' : bytes[i]);
}

bool tp_slow_put(struct tp_text *out, uint32_t string, uint32_t line, tp_slow_name *name)
{
	const char *bytes, *file;
	uint32_t n_bytes, n_file;

	if (!name(string, &bytes, &n_bytes))
		return false;
	file = file_of(bytes, n_bytes, &n_file);
	if (!file)
		return false;
	put(out, file, n_file);
	tp_text_fmt(out, ":%u ", line);
	put(out, bytes, n_bytes - n_file - 1);
	return true;
}

static uint32_t least_shared(uint32_t n)
{
	return n - (n < SHARED_PART ? 1 : n / SHARED_PART);
}

/* The innermost of that part that is in so many samples and lies between these depths; NULL: none. */
static const struct tp_slow_function *
find_innermost(const struct tp_slow *slow, enum tp_slow_part part, uint32_t least, uint32_t above,
	       uint32_t below)
{
	const struct tp_slow_function *found = NULL;

	for (uint32_t i = 0; i < slow->n_functions; i++) {
		const struct tp_slow_function *it = &slow->function[i];

		if (it->part == part && it->depth > above && it->depth < below && it->n >= least &&
		    (!found || it->depth > found->depth))
			found = it;
	}
	return found;
}

/* Where the samples share no more than the outermost function of the user's, those that most have. */
static uint32_t least_own(const struct tp_slow *slow)
{
	const uint32_t least = least_shared(slow->n_samples);
	const struct tp_slow_function *found = find_innermost(slow, TP_SLOW_OWN, least, 0, UINT32_MAX);

	return found && find_innermost(slow, TP_SLOW_OWN, least, 0, found->depth) ? least
										   : slow->n_samples / 2 + 1;
}

static void put_between(struct tp_text *out)
{
	if (out->len)
		tp_text_str(out, " > ");
}

static void put_next(struct tp_text *out, const struct tp_slow_function *function, tp_slow_name *name)
{
	put_between(out);
	tp_slow_put(out, function->string, function->line, name);
}

bool tp_slow_tell(const struct tp_slow *slow, uint32_t most, tp_slow_name *name, struct tp_text *out)
{
	const struct tp_slow_function *told[TP_SLOW_TOLD], *inside;
	const bool is_garbage = slow->n_collecting >= slow->n_samples - slow->n_samples / 2;
	const uint32_t least = least_own(slow), shared = least_shared(slow->n_samples);
	uint32_t n = 0, below = UINT32_MAX;

	if (slow->n_samples < TP_SLOW_SAMPLES)
		return false;
	while (n < most && n < TP_SLOW_TOLD && (told[n] = find_innermost(slow, TP_SLOW_OWN, least, 0, below)))
		below = told[n++]->depth;
	for (uint32_t i = n; i-- > 0;)
		put_next(out, told[i], name);
	inside = find_innermost(slow, TP_SLOW_DOING, shared, n ? told[0]->depth : 0, UINT32_MAX);
	/* Garbage is collected wherever something is made. */
	if (!inside && !is_garbage)
		inside = find_innermost(slow, TP_SLOW_LIBRARY, shared, n ? told[0]->depth : 0, UINT32_MAX);
	if (inside)
		put_next(out, inside, name);
	if (is_garbage) {
		put_between(out);
		tp_text_str(out, TP_LEDGER_GARBAGE);
	}
	return out->len != 0;
}
