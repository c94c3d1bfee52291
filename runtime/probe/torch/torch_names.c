/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_names.c - the name of an operator or range, interned once and then found by key
 *
 * An operator's key is the address of its schema, unique per overload and stable while it is
 * registered; that of a range is a hash of its characters, whose buffer dies with the range.
 * The tables are read without a lock; entries are claimed by compare-and-swap and never
 * removed while the process records. A full one only costs time. That of operators is small: each
 * of them looks there, and in a large one each name would be on a page of its own.
 */
#include <string.h>

#include "runtime/base/hash.h"
#include "runtime/base/readable.h"
#include "runtime/base/sync.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/probe.h"
#include "runtime/probe/torch/torch_state.h"

enum {
	OPERATORS_BITS = 11,	/* a training shows some hundreds */
	TEXTS_BITS = 14,
	PROBES_MAX = 32,
	OVERLOAD_MAX = 256,
	OVERLOAD_AT = 32,	/* FunctionSchema: std::string name, std::string overload name */
	OLD_OVERLOAD_AT = 8,	/* the same of old strings */
};

/* Seeds: a text and an operator of the same characters are two strings. */
enum { SEED_OPERATOR = 1, SEED_TEXT = 2 };

struct name {
	uint64_t key;		/* atomic; 0: free */
	uint32_t id;		/* atomic; 0: not known yet */
};
static struct name operators[1 << OPERATORS_BITS] __attribute__((aligned(TP_CACHE_LINE)));
static struct name texts[1 << TEXTS_BITS];

static inline uint32_t find(const struct name *table, uint32_t bits, uint64_t key)
{
	uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15ull >> (64 - bits));

	for (uint32_t i = 0; i < PROBES_MAX; i++, at = (at + 1) % (1u << bits)) {
		uint64_t found = __atomic_load_n(&table[at].key, __ATOMIC_ACQUIRE);

		if (tp_likely(found == key))
			return __atomic_load_n(&table[at].id, __ATOMIC_ACQUIRE);
		if (!found)
			break;
	}
	return 0;
}

static void remember(struct name *table, uint32_t bits, uint64_t key, uint32_t id)
{
	uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15ull >> (64 - bits));

	for (uint32_t i = 0; i < PROBES_MAX; i++, at = (at + 1) % (1u << bits)) {
		uint64_t found = 0;

		if (__atomic_compare_exchange_n(&table[at].key, &found, key, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
		    found == key) {
			__atomic_store_n(&table[at].id, id, __ATOMIC_RELEASE);
			return;
		}
	}
}

void tp_torch_names_reset(void)
{
	memset(operators, 0, sizeof(operators));
	memset(texts, 0, sizeof(texts));
}

void tp_torch_names_warm(void)
{
	tp_torch_populate(operators, sizeof(operators));
	tp_torch_populate(texts, sizeof(texts));
}

static uint32_t intern_operator(const char *name, size_t n_name, const char *overload,
				size_t n_overload)
{
	char both[TP_INTERN_TEXT];

	if (n_overload > OVERLOAD_MAX)
		n_overload = OVERLOAD_MAX;
	if (n_name > sizeof(both) - 1 - n_overload)
		n_name = sizeof(both) - 1 - n_overload;
	memcpy(both, name, n_name);
	both[n_name] = '\0';
	memcpy(both + n_name + 1, overload, n_overload);
	return tp_intern(TP_STRING_OP, both, (uint32_t)(n_name + 1 + n_overload));
}

/* The overload's name where torch exports no function for it: the schema's second string. */
static const char *read_overload(const char *schema)
{
	const bool is_old = !tp_torch.layout.record.text_length;
	const char *at = schema + (is_old ? OLD_OVERLOAD_AT : OVERLOAD_AT), *length, *text;
	uint64_t n;

	if (!tp_is_readable(at) || !tp_is_readable(at + 8))
		return "";
	text = tp_torch_ptr(at, 0);
	length = is_old ? text - TP_TORCH_OLD_LENGTH : at + 8;
	if (!tp_is_readable(length))
		return "";
	n = tp_torch_u64(length, 0);
	if (n >= OVERLOAD_MAX || !tp_is_readable(text) ||
	    !tp_is_readable(text + n) || strnlen(text, OVERLOAD_MAX) != n)
		return "";
	return text;
}

/* First sight of a schema. That it is one shows in its name, which torch must report too. */
static TP_COLD uint32_t name_schema(const void *rf, const char *schema)
{
	const char *name = tp_torch.abi.name(rf);
	const char *overload;
	uint32_t id;

	if (((uintptr_t)schema & 7) || !tp_is_readable(schema) ||
	    tp_torch_ptr(schema, 0) != name) {
		tp_torch.layout.record.text = 0;
		tp_probe_off("torch.fast-names", "a schema is not where it was expected");
		return tp_torch_name(rf, false);
	}
	overload = tp_torch.abi.overload ? tp_torch.abi.overload(rf) : read_overload(schema);
	id = intern_operator(name, strlen(name), overload, strlen(overload));
	if (id)
		remember(operators, OPERATORS_BITS, (uintptr_t)schema, id);
	return id;
}

const char *tp_torch_text(const void *rf, uint32_t *n_bytes)
{
	const struct tp_torch_record_layout *record = &tp_torch.layout.record;
	const char *text;

	if (tp_likely(record->text && tp_torch_u8(rf, record->text_is_schema) == 0)) {
		uint64_t n;

		text = tp_torch_ptr(rf, record->text);
		n = record->text_length ? tp_torch_u64(rf, record->text_length) :
					  tp_torch_u64(text - TP_TORCH_OLD_LENGTH, 0);
		*n_bytes = n < TP_INTERN_MAX ? (uint32_t)n : TP_INTERN_MAX;
		return text;
	}
	text = tp_torch.abi.name(rf);
	if (!text)
		text = "";
	*n_bytes = (uint32_t)strnlen(text, TP_INTERN_MAX);
	return text;
}

TP_HOT uint32_t tp_torch_name(const void *rf, bool is_user)
{
	const struct tp_torch_record_layout *record = &tp_torch.layout.record;
	uint32_t id, n;
	const char *text, *overload = "";
	uint64_t key;

	if (tp_likely(record->text && tp_torch_u8(rf, record->text_is_schema) == 1)) {
		const char *schema = tp_torch_ptr(rf, record->text);

		id = find(operators, OPERATORS_BITS, (uintptr_t)schema);
		return tp_likely(id != 0) ? id : name_schema(rf, schema);
	}
	text = tp_torch_text(rf, &n);
	if (!is_user && !record->text && tp_torch.abi.overload)
		overload = tp_torch.abi.overload(rf);
	key = tp_hash_bytes(text, n, is_user ? SEED_TEXT : SEED_OPERATOR);
	if (overload[0])
		key ^= tp_hash_bytes(overload, strlen(overload), SEED_OPERATOR);
	id = find(texts, TEXTS_BITS, key);
	if (tp_likely(id != 0))
		return id;
	if (is_user)
		id = tp_intern(TP_STRING_TEXT, text, n);
	else
		id = intern_operator(text, n, overload, strlen(overload));
	if (id)
		remember(texts, TEXTS_BITS, key, id);
	return id;
}
