/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts.c - what META says about the process: "key=value" lines, gathered at any time
 *
 * One text, appended to under a lock of no other use; its length is stored last (release).
 */
#include "runtime/engine/facts.h"

#include <string.h>

#include "runtime/base/log.h"
#include "runtime/base/sync.h"
#include "runtime/engine/probe.h"
#include "runtime/engine/ring/ring.h"

enum { FACTS_BYTES = 12288, LINE_BYTES = 1024 };

static struct {
	char text[FACTS_BYTES];
	uint32_t len;		/* atomic; written under `lock` */
	uint32_t ring_len;	/* of the copy in the ring's head; under `lock` */
	bool has_ring;		/* under `lock` */
	struct tp_spin lock;
} facts = {.lock = {.rank = TP_LOCK_INTERN}};

/* Whole lines only: what does not fit is left out, the rest can still be read. */
static void copy_to_ring(void)
{
	char *meta = tp_ring.head->meta;
	const uint32_t cap = sizeof(tp_ring.head->meta) - 1;

	while (facts.ring_len < facts.len) {
		const char *line = facts.text + facts.ring_len;
		uint32_t n = (uint32_t)((const char *)memchr(line, '\n', facts.len - facts.ring_len) -
					line) + 1;

		if (facts.ring_len + n > cap)
			break;
		/* The first byte last: until then the text ends where it did. */
		memcpy(meta + facts.ring_len + 1, line + 1, n - 1);
		__atomic_store_n(meta + facts.ring_len, line[0], __ATOMIC_RELEASE);
		facts.ring_len += n;
	}
}

/* Under the lock. */
static bool has_line(const char *line, uint32_t n)
{
	for (const char *at = facts.text, *end = facts.text + facts.len; at < end;) {
		const char *next = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;

		if ((uint32_t)(next - at) == n && !memcmp(at, line, n))
			return true;
		at = next;
	}
	return false;
}

/* True: it was not there. */
static bool add_line(const char *line, uint32_t n)
{
	bool is_new;

	if (tp_own_words_is_stranger())
		return false;	/* the ring's head is its parent's */
	tp_spin_lock(&facts.lock);
	is_new = !has_line(line, n);
	if (is_new && facts.len + n <= FACTS_BYTES) {
		memcpy(facts.text + facts.len, line, n);
		__atomic_store_n(&facts.len, facts.len + n, __ATOMIC_RELEASE);
		if (facts.has_ring)
			copy_to_ring();
	}
	tp_spin_unlock(&facts.lock);
	return is_new;
}

static bool add_pair(const char *prefix, const char *key, const char *value)
{
	char line[LINE_BYTES];
	struct tp_text text;

	tp_text_init(&text, line, sizeof(line) - 1);
	tp_text_fmt(&text, "%s%s=%s", prefix, key, value);
	for (size_t i = 0; i < text.len; i++)
		if (line[i] == '\n')
			line[i] = ' ';
	line[text.len] = '\n';
	return add_line(line, (uint32_t)text.len + 1);
}

void tp_facts_add(const char *key, const char *value)
{
	add_pair("", key, value);
}

void tp_facts_add_i64(const char *key, int64_t value)
{
	char digits[24];
	struct tp_text text;

	tp_text_init(&text, digits, sizeof(digits));
	tp_text_i64(&text, value);
	add_pair("", key, digits);
}

void tp_facts_add_lines(const char *lines, size_t n)
{
	const char *end = lines + n;

	while (lines < end) {
		const char *stop = memchr(lines, '\n', (size_t)(end - lines));

		if (!stop)
			break;
		add_line(lines, (uint32_t)(stop + 1 - lines));
		lines = stop + 1;
	}
}

void tp_facts_describe(struct tp_text *out)
{
	tp_text_bytes(out, facts.text, __atomic_load_n(&facts.len, __ATOMIC_ACQUIRE));
}

void tp_facts_to_ring(void)
{
	tp_spin_lock(&facts.lock);
	facts.has_ring = true;
	facts.ring_len = 0;
	copy_to_ring();
	tp_spin_unlock(&facts.lock);
}

void tp_facts_reset(void)
{
	tp_spin_lock(&facts.lock);
	__atomic_store_n(&facts.len, 0, __ATOMIC_RELEASE);
	tp_spin_unlock(&facts.lock);
}

void tp_facts_forked(void)
{
	/* Another thread of the parent may have held it; at worst its line is missing. */
	atomic_store(&facts.lock.held, 0);
	facts.has_ring = false;
}

void tp_probe_off(const char *feature, const char *why)
{
	if (add_pair("off.", feature, why))
		tp_warn("'%s' is not recorded: %s", feature, why);
}

void tp_probe_off_quietly(const char *feature, const char *why)
{
	if (add_pair("off.", feature, why))
		tp_info("'%s' is not recorded: %s", feature, why);
}
