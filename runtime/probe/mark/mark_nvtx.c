/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_nvtx.c - NVTX as its tools see it: each module that uses it calls these functions
 *
 * They return what a program gets when no tool is there, wherever that is possible: push and
 * pop tell no depth, so nothing a program could do with it is different with us.
 */
#include <stdbool.h>
#include <string.h>

#include "runtime/engine/intern.h"
#include "runtime/probe/mark/mark.h"
#include "runtime/probe/mark/mark_nvtx_abi.h"

enum { WIDE_MAX = 512 };	/* bytes of a text that came in wide characters */

/* One word of this process; modules keep all else. */
static bool is_allowed;

/* UTF-32, as wchar_t is here, to UTF-8. What is no character becomes U+FFFD. */
static uint32_t narrow(char *out, const wchar_t *text)
{
	uint32_t n = 0;

	for (; text && *text && n + 4 <= WIDE_MAX; text++) {
		uint32_t c = (uint32_t)*text;

		if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
			c = 0xfffd;
		if (c < 0x80) {
			out[n++] = (char)c;
		} else if (c < 0x800) {
			out[n++] = (char)(0xc0 | c >> 6);
			out[n++] = (char)(0x80 | (c & 0x3f));
		} else if (c < 0x10000) {
			out[n++] = (char)(0xe0 | c >> 12);
			out[n++] = (char)(0x80 | (c >> 6 & 0x3f));
			out[n++] = (char)(0x80 | (c & 0x3f));
		} else {
			out[n++] = (char)(0xf0 | c >> 18);
			out[n++] = (char)(0x80 | (c >> 12 & 0x3f));
			out[n++] = (char)(0x80 | (c >> 6 & 0x3f));
			out[n++] = (char)(0x80 | (c & 0x3f));
		}
	}
	return n;
}

static uint32_t length(const char *text)
{
	return text ? (uint32_t)strnlen(text, TP_INTERN_MAX) : 0;
}

#define HAS_FIELD(a, field)                                                                \
	((a)->size >= offsetof(struct tp_nvtx_attributes, field) + sizeof((a)->field))

/* wide: WIDE_MAX bytes that live as long as the name. */
static struct tp_mark_name read_name(const void *domain, const struct tp_nvtx_attributes *a,
				     char *wide)
{
	struct tp_mark_name name = {.domain = tp_mark_find_domain(domain)};

	if (!a || !HAS_FIELD(a, message))
		return name;
	tp_mark_find_category(&name, a->category);
	switch (a->message_type) {
	case TP_NVTX_MESSAGE_ASCII:
		name.text = a->message.ascii;
		name.n_text = length(name.text);
		break;
	case TP_NVTX_MESSAGE_UNICODE:
		name.text = wide;
		name.n_text = narrow(wide, a->message.unicode);
		break;
	case TP_NVTX_MESSAGE_REGISTERED:
		tp_mark_find_string(&name, a->message.registered);
		break;
	}
	return name;
}

static struct tp_mark_name name_narrow(const char *text)
{
	return (struct tp_mark_name){.text = text, .n_text = length(text)};
}

static struct tp_mark_name name_wide(const wchar_t *text, char *wide)
{
	return (struct tp_mark_name){.text = wide, .n_text = narrow(wide, text)};
}

static uint64_t read_payload(const struct tp_nvtx_attributes *a, bool *is_double)
{
	double value = 0;
	uint64_t bits;

	*is_double = false;
	if (!a || !HAS_FIELD(a, payload))
		return 0;
	switch (a->payload_type) {
	case TP_NVTX_PAYLOAD_U64:
	case TP_NVTX_PAYLOAD_I64:
		return a->payload.u64;
	case TP_NVTX_PAYLOAD_U32:
		return a->payload.u32;
	case TP_NVTX_PAYLOAD_I32:
		return (uint64_t)(int64_t)a->payload.i32;
	case TP_NVTX_PAYLOAD_DOUBLE:
		value = a->payload.f64;
		break;
	case TP_NVTX_PAYLOAD_FLOAT:
		value = (double)a->payload.f32;
		break;
	default:
		return 0;
	}
	*is_double = true;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* ---- ranges of a thread ---- */

static int push_domain(const void *domain, const struct tp_nvtx_attributes *a)
{
	if (tp_mark_is_nesting()) {
		char wide[WIDE_MAX];
		struct tp_mark_name name = read_name(domain, a, wide);

		tp_mark_push(&name);
	}
	return TP_NVTX_NOT_TRACKED;
}

static int push(const struct tp_nvtx_attributes *a)
{
	return push_domain(NULL, a);
}

static int push_narrow(const char *text)
{
	if (tp_mark_is_nesting()) {
		struct tp_mark_name name = name_narrow(text);

		tp_mark_push(&name);
	}
	return TP_NVTX_NOT_TRACKED;
}

static int push_wide(const wchar_t *text)
{
	if (tp_mark_is_nesting()) {
		char wide[WIDE_MAX];
		struct tp_mark_name name = name_wide(text, wide);

		tp_mark_push(&name);
	}
	return TP_NVTX_NOT_TRACKED;
}

static int pop_domain(const void *domain)
{
	if (tp_unlikely(tp_mark_depth != 0))
		tp_mark_pop(tp_mark_find_domain(domain));
	return TP_NVTX_NOT_TRACKED;
}

static int pop(void)
{
	if (tp_unlikely(tp_mark_depth != 0))
		tp_mark_pop(NULL);
	return TP_NVTX_NOT_TRACKED;
}

/* ---- ranges that may end on another thread ---- */

static uint64_t start_domain(const void *domain, const struct tp_nvtx_attributes *a)
{
	char wide[WIDE_MAX];
	struct tp_mark_name name;

	if (!tp_mark_is_on())
		return TP_MARK_NOTHING;
	name = read_name(domain, a, wide);
	return tp_mark_start(&name);
}

static uint64_t start(const struct tp_nvtx_attributes *a)
{
	return start_domain(NULL, a);
}

static uint64_t start_narrow(const char *text)
{
	struct tp_mark_name name;

	if (!tp_mark_is_on())
		return TP_MARK_NOTHING;
	name = name_narrow(text);
	return tp_mark_start(&name);
}

static uint64_t start_wide(const wchar_t *text)
{
	char wide[WIDE_MAX];
	struct tp_mark_name name;

	if (!tp_mark_is_on())
		return TP_MARK_NOTHING;
	name = name_wide(text, wide);
	return tp_mark_start(&name);
}

static void stop_domain(const void *domain, uint64_t id)
{
	if (tp_unlikely(id != TP_MARK_NOTHING))
		tp_mark_stop(id);
}

static void stop(uint64_t id)
{
	stop_domain(NULL, id);
}

/* ---- marks ---- */

static void mark_domain(const void *domain, const struct tp_nvtx_attributes *a)
{
	char wide[WIDE_MAX];
	struct tp_mark_name name;
	uint64_t value;
	bool is_double;

	if (!tp_mark_is_on())
		return;
	name = read_name(domain, a, wide);
	value = read_payload(a, &is_double);
	tp_mark_instant(&name, value, is_double);
}

static void mark(const struct tp_nvtx_attributes *a)
{
	mark_domain(NULL, a);
}

static void mark_narrow(const char *text)
{
	struct tp_mark_name name;

	if (!tp_mark_is_on())
		return;
	name = name_narrow(text);
	tp_mark_instant(&name, 0, false);
}

static void mark_wide(const wchar_t *text)
{
	char wide[WIDE_MAX];
	struct tp_mark_name name;

	if (!tp_mark_is_on())
		return;
	name = name_wide(text, wide);
	tp_mark_instant(&name, 0, false);
}

/* ---- what is registered ---- */

static void name_category_domain(const void *domain, uint32_t number, const char *text)
{
	if (text)
		tp_mark_category(tp_mark_find_domain(domain), number, text, length(text));
}

static void name_category_domain_wide(const void *domain, uint32_t number, const wchar_t *text)
{
	char wide[WIDE_MAX];

	tp_mark_category(tp_mark_find_domain(domain), number, wide, narrow(wide, text));
}

static void name_category(uint32_t number, const char *text)
{
	name_category_domain(NULL, number, text);
}

static void name_category_wide(uint32_t number, const wchar_t *text)
{
	name_category_domain_wide(NULL, number, text);
}

/* A string belongs to a domain, which each use of it names again. */
static void *register_string(const void *domain, const char *text)
{
	return tp_mark_string(text ? text : "", length(text));
}

static void *register_string_wide(const void *domain, const wchar_t *text)
{
	char wide[WIDE_MAX];

	return tp_mark_string(wide, narrow(wide, text));
}

static void *create_domain(const char *text)
{
	return tp_mark_domain(text ? text : "", length(text));
}

static void *create_domain_wide(const wchar_t *text)
{
	char wide[WIDE_MAX];

	return tp_mark_domain(wide, narrow(wide, text));
}

/* ---- attaching ---- */

static const struct {
	uint8_t module, slot;
	tp_nvtx_function function;
} functions[] = {
#define _(module, slot, function) {module, slot, (tp_nvtx_function)(void *)function},
	_(TP_NVTX_CORE, TP_NVTX_MARK_EX, mark)
	_(TP_NVTX_CORE, TP_NVTX_MARK_A, mark_narrow)
	_(TP_NVTX_CORE, TP_NVTX_MARK_W, mark_wide)
	_(TP_NVTX_CORE, TP_NVTX_RANGE_START_EX, start)
	_(TP_NVTX_CORE, TP_NVTX_RANGE_START_A, start_narrow)
	_(TP_NVTX_CORE, TP_NVTX_RANGE_START_W, start_wide)
	_(TP_NVTX_CORE, TP_NVTX_RANGE_END, stop)
	_(TP_NVTX_CORE, TP_NVTX_RANGE_PUSH_EX, push)
	_(TP_NVTX_CORE, TP_NVTX_RANGE_PUSH_A, push_narrow)
	_(TP_NVTX_CORE, TP_NVTX_RANGE_PUSH_W, push_wide)
	_(TP_NVTX_CORE, TP_NVTX_RANGE_POP, pop)
	_(TP_NVTX_CORE, TP_NVTX_NAME_CATEGORY_A, name_category)
	_(TP_NVTX_CORE, TP_NVTX_NAME_CATEGORY_W, name_category_wide)
	_(TP_NVTX_CORE2, TP_NVTX_DOMAIN_MARK_EX, mark_domain)
	_(TP_NVTX_CORE2, TP_NVTX_DOMAIN_RANGE_START_EX, start_domain)
	_(TP_NVTX_CORE2, TP_NVTX_DOMAIN_RANGE_END, stop_domain)
	_(TP_NVTX_CORE2, TP_NVTX_DOMAIN_RANGE_PUSH_EX, push_domain)
	_(TP_NVTX_CORE2, TP_NVTX_DOMAIN_RANGE_POP, pop_domain)
	_(TP_NVTX_CORE2, TP_NVTX_DOMAIN_NAME_CATEGORY_A, name_category_domain)
	_(TP_NVTX_CORE2, TP_NVTX_DOMAIN_NAME_CATEGORY_W, name_category_domain_wide)
	_(TP_NVTX_CORE2, TP_NVTX_DOMAIN_REGISTER_STRING_A, register_string)
	_(TP_NVTX_CORE2, TP_NVTX_DOMAIN_REGISTER_STRING_W, register_string_wide)
	_(TP_NVTX_CORE2, TP_NVTX_DOMAIN_CREATE_A, create_domain)
	_(TP_NVTX_CORE2, TP_NVTX_DOMAIN_CREATE_W, create_domain_wide)
#undef _
};

static bool fill(const struct tp_nvtx_callbacks *callbacks, uint8_t module)
{
	tp_nvtx_function **table = NULL;
	unsigned int n = 0;

	if (!callbacks->get_table(module, &table, &n) || !table)
		return false;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		/* An older module has fewer. */
		if (functions[i].module == module && functions[i].slot < n &&
		    table[functions[i].slot])
			*table[functions[i].slot] = functions[i].function;
	}
	return true;
}

void tp_mark_nvtx_allow(void)
{
	is_allowed = true;
}

int tp_mark_nvtx_attach(const void *(*get_table)(uint32_t id))
{
	const struct tp_nvtx_callbacks *callbacks;

	if (!is_allowed || !get_table)
		return 0;
	callbacks = get_table(TP_NVTX_TABLE_CALLBACKS);
	if (!callbacks || callbacks->struct_size < sizeof(*callbacks))
		return 0;
	if (!fill(callbacks, TP_NVTX_CORE))
		return 0;
	fill(callbacks, TP_NVTX_CORE2);
	return 1;
}
