/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_rules.c - the table of rules
 *
 * A slot belongs to one address for the table's life; its rule is one word, so whoever sees the
 * address sees a whole rule of it, or none yet. A table that is half full is copied into a
 * bigger one; at the cap a new one begins empty. The old one is given back to the kernel but
 * stays mapped: a thread that still reads it finds zeros, one that still writes loses what it
 * learnt.
 */
#include "runtime/probe/stack/stack_rules.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/probe/stack/stack_tables.h"
#include "runtime/probe/stack/stack_thread.h"
#include "runtime/probe/stack/stack_unwind.h"

enum {
	FIRST_SLOTS = 1 << 12,	/* 64 KiB */
	MOST_SLOTS = 1 << 18,	/* 4 MiB */
	DROP_EVERY = 32,	/* rules: the tables of the library at hand, mostly the one with most */
};

struct tp_stack_rules tp_stack_rules;

static size_t bytes_of(uint64_t slots)
{
	return sizeof(struct tp_stack_rule_table) + slots * sizeof(struct tp_stack_rule_slot);
}

static struct tp_stack_rule_table *make_table(uint64_t slots)
{
	struct tp_stack_rule_table *table = tp_stack_map(bytes_of(slots));

	if (table)
		table->mask = slots - 1;
	return table;
}

int tp_stack_rules_open(void)
{
	struct tp_stack_rule_table *table = make_table(FIRST_SLOTS);

	if (!table)
		return -ENOMEM;
	__atomic_store_n(&tp_stack_rules.table, table, __ATOMIC_RELEASE);
	return 0;
}

/* NULL: the table is full. */
static struct tp_stack_rule_slot *take_slot(struct tp_stack_rule_table *table, uint64_t code)
{
	uint64_t at = tp_stack_rule_slot(code, table->mask);

	for (uint64_t i = 0; i <= table->mask; i++, at = (at + 1) & table->mask) {
		struct tp_stack_rule_slot *slot = &table->slot[at];
		uint64_t found = __atomic_load_n(&slot->code, __ATOMIC_RELAXED);

		if (!found && __atomic_compare_exchange_n(&slot->code, &found, code, false,
							  __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			__atomic_fetch_add(&table->n_used, 1, __ATOMIC_RELAXED);
			return slot;
		}
		if (found == code)
			return slot;
	}
	return NULL;
}

static void copy_rules(struct tp_stack_rule_table *to, const struct tp_stack_rule_table *from)
{
	for (uint64_t i = 0; i <= from->mask; i++) {
		uint64_t code = __atomic_load_n(&from->slot[i].code, __ATOMIC_RELAXED);
		uint64_t rule = __atomic_load_n(&from->slot[i].rule, __ATOMIC_RELAXED);

		if (code && rule)
			take_slot(to, code)->rule = rule;
	}
}

/* With room in any case, but for a lack of memory: then the old one goes on. */
static void renew(struct tp_stack_rule_table *old, uint64_t slots, bool with_rules)
{
	struct tp_stack_rule_table *table;
	int kept_errno = errno;
	size_t first_page = 4096;

	if (__atomic_exchange_n(&tp_stack_rules.is_growing, 1, __ATOMIC_ACQUIRE))
		return;
	if (old == __atomic_load_n(&tp_stack_rules.table, __ATOMIC_RELAXED) &&
	    (table = make_table(slots))) {
		if (with_rules)
			copy_rules(table, old);
		__atomic_store_n(&tp_stack_rules.table, table, __ATOMIC_RELEASE);
		/* But for the page with the mask. */
		syscall(SYS_madvise, (char *)old + first_page,
			(bytes_of(old->mask + 1) + first_page - 1) / first_page * first_page -
				first_page, MADV_DONTNEED);
	}
	__atomic_store_n(&tp_stack_rules.is_growing, 0, __ATOMIC_RELEASE);
	errno = kept_errno;
}

void tp_stack_rules_forget(void)
{
	uint64_t epoch = __atomic_add_fetch(&tp_stack_rules.epoch, 1, __ATOMIC_RELEASE);
	struct tp_stack_rule_table *table = __atomic_load_n(&tp_stack_rules.table, __ATOMIC_ACQUIRE);

	/* The bits of it that are in a rule begin anew: none may be left from the last time. */
	if (table && !TP_RULE_EPOCH(epoch))
		renew(table, FIRST_SLOTS, false);
}

static bool is_crowded(const struct tp_stack_rule_table *table)
{
	return __atomic_load_n(&table->n_used, __ATOMIC_RELAXED) > table->mask / 2;
}

uint64_t tp_stack_rule_learn(uint64_t pc, bool is_exact)
{
	/* Before it is learnt: what is unmapped meanwhile makes it old. */
	uint64_t epoch = TP_RULE_EPOCH(__atomic_load_n(&tp_stack_rules.epoch, __ATOMIC_ACQUIRE));
	uint64_t rule = tp_stack_unwind_learn(pc, is_exact);
	struct tp_stack_rule_table *table;
	struct tp_stack_rule_slot *slot;
	struct tp_stack_object object;

	if (!rule)
		return 0;
	rule |= epoch;
	if (__atomic_add_fetch(&tp_stack_rules.n_learnt, 1, __ATOMIC_RELAXED) % DROP_EVERY == 0 &&
	    tp_stack_object_find(pc, &object))
		tp_stack_tables_drop(&object);
	table = __atomic_load_n(&tp_stack_rules.table, __ATOMIC_ACQUIRE);
	if (is_crowded(table)) {
		bool is_small = table->mask + 1 < MOST_SLOTS;

		renew(table, is_small ? (table->mask + 1) * 4 : FIRST_SLOTS, is_small);
		table = __atomic_load_n(&tp_stack_rules.table, __ATOMIC_ACQUIRE);
	}
	/* A table without a free slot would be searched for ever. */
	if (__atomic_load_n(&table->n_used, __ATOMIC_RELAXED) < table->mask - table->mask / 8) {
		slot = take_slot(table, TP_RULE_CODE(pc, is_exact));
		if (slot)
			__atomic_store_n(&slot->rule, rule, __ATOMIC_RELAXED);
	}
	return rule;
}
