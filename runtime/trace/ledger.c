/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger.c - lines of the step ledger
 *
 * A row is one line of blank-separated fields, each a letter and a number; a field whose
 * value is the usual one is left out. That keeps it near 60 bytes, lets awk and people read
 * it, and lets later versions add letters: a reader skips those that it does not know.
 */
#include "runtime/trace/ledger.h"

#include <string.h>

#include "runtime/base/text.h"
#include "runtime/trace/ring_layout.h"

/* One field of a row. The order here is the order in the line. */
struct field {
	char letter;
	uint8_t bytes; /* of the member */
	uint8_t usual; /* value when the field is left out */
	uint16_t offset;
};

#define FIELD(c, member, usual)                                                            \
	{                                                                                  \
		c, sizeof(((struct tp_ledger_row *)0)->member), usual,                     \
		    offsetof(struct tp_ledger_row, member)                                 \
	}

static const struct field row_field[] = {
    FIELD('s', index, 0),
    FIELD('e', epoch, 0),
    FIELD('i', in_epoch, 0),
    FIELD('b', batches, 1),
    FIELD('p', phase, TP_PHASE_WAIT),
    FIELD('c', source, TP_STEP_OPTIMIZER),
    FIELD('f', flags, 0),
    FIELD('t', begin_ns, 0),
    FIELD('d', dur_ns, 0),
    FIELD('w', data_wait_ns, 0),
    FIELD('o', optimizer_ns, 0),
    FIELD('l', live_bytes, 0),
    FIELD('m', peak_bytes, 0),
    FIELD('v', device_live, 0),
    FIELD('g', device_peak, 0),
    FIELD('x', dropped, 0),
    FIELD('h', heap_bytes, 0),
    FIELD('r', resident, 0),
    FIELD('a', virtual, 0),
};
enum { N_ROW_FIELDS = sizeof(row_field) / sizeof(row_field[0]) };

static uint64_t load_field(const void *base, const struct field *field)
{
	uint64_t v = 0;

	/* Little-endian hosts only, as the trace itself. */
	memcpy(&v, (const char *)base + field->offset, field->bytes);
	return v;
}

static bool store_field(void *base, const struct field *field, uint64_t v)
{
	if (field->bytes < 8 && v >> (8 * field->bytes))
		return false;
	memcpy((char *)base + field->offset, &v, field->bytes);
	return true;
}

size_t tp_ledger_format_row(char *out, size_t cap, const struct tp_ledger_row *row)
{
	struct tp_text text;

	tp_text_init(&text, out, cap);
	for (int i = 0; i < N_ROW_FIELDS; i++) {
		uint64_t v = load_field(row, &row_field[i]);

		/* The step's number is always there: it makes the line a row. */
		if (v == row_field[i].usual && i)
			continue;
		if (i)
			tp_text_char(&text, ' ');
		tp_text_char(&text, row_field[i].letter);
		tp_text_u64(&text, v);
	}
	tp_text_char(&text, '\n');
	return text.len;
}

/* Decimal digits at *p, up to `end`. False: none, or more than 64 bits. */
static bool parse_number(const char **p, const char *end, uint64_t *value)
{
	const char *start = *p;
	uint64_t v = 0;

	for (; *p < end && **p >= '0' && **p <= '9'; (*p)++) {
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(**p - '0'), &v))
			return false;
	}
	*value = v;
	return *p > start;
}

bool tp_ledger_parse_row(const char *line, size_t n, struct tp_ledger_row *row)
{
	const char *p = line, *end = line + n;

	memset(row, 0, sizeof(*row));
	for (int i = 0; i < N_ROW_FIELDS; i++)
		store_field(row, &row_field[i], row_field[i].usual);
	if (!n || *p != row_field[0].letter)
		return false;
	while (p < end) {
		char letter = *p++;
		uint64_t v;

		if (letter < 'a' || letter > 'z' || !parse_number(&p, end, &v))
			return false;
		for (int i = 0; i < N_ROW_FIELDS; i++) {
			if (row_field[i].letter == letter &&
			    !store_field(row, &row_field[i], v))
				return false;
		}
		if (p == end)
			return true;
		if (*p++ != ' ')
			return false;
	}
	return false;
}

enum { LEDGER_VERSION = 1 };
static const char head_word[] = "#trainprof-ledger";

size_t tp_ledger_format_head(char *out, size_t cap, const struct tp_ledger_head *head)
{
	struct tp_text text;

	tp_text_init(&text, out, cap);
	tp_text_fmt(&text, "%s %d run=%016lx boot=%016lx%016lx mono=%lu real=%lu",
		    head_word, LEDGER_VERSION, head->run_id, head->boot_id[0],
		    head->boot_id[1], head->mono_ns, head->real_ns);
	tp_text_fmt(
	    &text, " rank=%d local=%d world=%d node=%d pid=%u restart=%u", head->rank,
	    head->local_rank, head->world_size, head->node_rank, head->pid, head->restart);
	if (head->pid_ns)
		tp_text_fmt(&text, " pidns=%u", head->pid_ns);
	if (head->parent_pid)
		tp_text_fmt(&text, " ppid=%u", head->parent_pid);
	if (head->fork_ns)
		tp_text_fmt(&text, " forked=%lu", head->fork_ns);
	/* A name with a blank in it would end the field early. */
	if (head->job[0]) {
		tp_text_str(&text, " job=");
		tp_text_word(&text, head->job, sizeof(head->job) - 1, '?');
	}
	tp_text_str(&text, " host=");
	tp_text_word(&text, head->host, sizeof(head->host) - 1, '?');
	tp_text_str(&text,
		    "\n#s step, e epoch, i step in epoch, b batches (1), p phase (2), c "
		    "source (1), "
		    "f flags, t begin ns, d ns, w data wait ns, o optimizer ns, "
		    "l live bytes, m peak, v device live, g device peak, x dropped, h heap bytes, "
		    "r RSS, a VMS where it has changed\n");
	return text.len;
}

/* "name=" found in the line: what stands behind it, up to a blank. */
static bool find_value(const char *line, size_t n, const char *name, const char **value,
		       size_t *n_value)
{
	size_t n_name = strlen(name);

	for (size_t i = 0; i + n_name < n; i++) {
		if ((i && line[i - 1] != ' ') || memcmp(line + i, name, n_name) ||
		    line[i + n_name] != '=')
			continue;
		*value = line + i + n_name + 1;
		for (*n_value = 0;
		     *value + *n_value < line + n && (*value)[*n_value] != ' ';)
			++*n_value;
		return true;
	}
	return false;
}

static bool parse_hex(const char *s, size_t n, uint64_t *value)
{
	*value = 0;
	if (n != 16)
		return false;
	for (size_t i = 0; i < n; i++) {
		unsigned digit = (unsigned)(s[i] >= 'a' ? s[i] - 'a' + 10 : s[i] - '0');

		if (s[i] < '0' || (s[i] > '9' && s[i] < 'a') || digit > 15)
			return false;
		*value = *value << 4 | digit;
	}
	return true;
}

static bool parse_decimal(const char *s, size_t n, int64_t min, uint64_t max,
			  uint64_t *value)
{
	const char *p = s, *end = s + n;
	bool is_negative = n && *p == '-';
	uint64_t v;

	p += is_negative;
	if (!parse_number(&p, end, &v) || p != end)
		return false;
	if (is_negative ? v > (uint64_t)-min : v > max)
		return false;
	*value = is_negative ? -v : v;
	return true;
}

/* What later builds added, to know jobs by. False: it is there and wrong. */
static bool parse_job(const char *line, size_t n, struct tp_ledger_head *head)
{
	const char *value;
	size_t n_value;
	uint64_t v;

	if (find_value(line, n, "ppid", &value, &n_value)) {
		if (!parse_decimal(value, n_value, 0, UINT32_MAX, &v))
			return false;
		head->parent_pid = (uint32_t)v;
	}
	if (find_value(line, n, "forked", &value, &n_value) &&
	    !parse_decimal(value, n_value, 0, UINT64_MAX, &head->fork_ns))
		return false;
	if (find_value(line, n, "job", &value, &n_value)) {
		if (n_value >= sizeof(head->job))
			return false;
		memcpy(head->job, value, n_value);
	}
	return true;
}

bool tp_ledger_parse_head(const char *line, size_t n, struct tp_ledger_head *head)
{
	static const struct {
		const char *name;
		uint16_t offset;
		uint8_t bytes;
	} number[] = {
#define NUMBER(word, member)                                                               \
	{word, offsetof(struct tp_ledger_head, member), sizeof(head->member)}
	    NUMBER("mono", mono_ns),	 NUMBER("real", real_ns),
	    NUMBER("rank", rank),	 NUMBER("local", local_rank),
	    NUMBER("world", world_size), NUMBER("node", node_rank),
	    NUMBER("pid", pid),		 NUMBER("restart", restart),
#undef NUMBER
	};
	const size_t n_word = sizeof(head_word) - 1;
	const char *value;
	size_t n_value;
	uint64_t v;

	memset(head, 0, sizeof(*head));
	if (n < n_word + 2 || memcmp(line, head_word, n_word) || line[n_word] != ' ' ||
	    line[n_word + 1] != '0' + LEDGER_VERSION)
		return false;
	if (!find_value(line, n, "run", &value, &n_value) ||
	    !parse_hex(value, n_value, &head->run_id))
		return false;
	if (!find_value(line, n, "boot", &value, &n_value) || n_value != 32 ||
	    !parse_hex(value, 16, &head->boot_id[0]) ||
	    !parse_hex(value + 16, 16, &head->boot_id[1]))
		return false;
	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++) {
		bool is_wide = number[i].bytes == 8;

		if (!find_value(line, n, number[i].name, &value, &n_value) ||
		    !parse_decimal(value, n_value, is_wide ? 0 : INT32_MIN,
				   is_wide ? UINT64_MAX : UINT32_MAX, &v))
			return false;
		memcpy((char *)head + number[i].offset, &v, number[i].bytes);
	}
	/* Ledgers of older builds have none. */
	if (find_value(line, n, "pidns", &value, &n_value)) {
		if (!parse_decimal(value, n_value, 0, UINT32_MAX, &v))
			return false;
		head->pid_ns = (uint32_t)v;
	}
	if (!parse_job(line, n, head))
		return false;
	if (!find_value(line, n, "host", &value, &n_value) || n_value >= sizeof(head->host))
		return false;
	memcpy(head->host, value, n_value);
	return true;
}
