/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_rules.h - for each address of code, how the frame outside it is found
 *
 * One table for the process, read and filled by all threads without a lock. A rule is one word,
 * learnt from libunwind (stack_unwind.h) when its address is met first, and good until a
 * library is unmapped: then every rule is learnt again when it is met again.
 *
 *	bits 0-3	enum tp_stack_rule_kind
 *	bits 4-5	enum tp_stack_bp: where the frame outside has its rbp
 *	bits 6-29	words (8 bytes) from the register to the CFA; of the kinds with memory:
 *			low 12 bits words to the memory, high 12 bits words to add to what it holds
 *	bits 30-45	words to the saved rbp
 *	bits 46-63	the epoch in which it was learnt
 */
#ifndef TP_PROBE_STACK_RULES_H
#define TP_PROBE_STACK_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/sync.h"

enum tp_stack_rule_kind {
	TP_RULE_NONE = 0,
	TP_RULE_SP,		/* CFA = rsp + n */
	TP_RULE_BP,		/* CFA = rbp + n */
	TP_RULE_SP_MEMORY,	/* CFA = *(rsp + n) + m */
	TP_RULE_BP_MEMORY,	/* CFA = *(rbp + n) + m: functions that align their stack */
	TP_RULE_SIGNAL,		/* returns into the kernel: all registers lie at rsp */
	TP_RULE_END,		/* outermost */
	TP_RULE_UNKNOWN,	/* code without unwind information, in a library or not (n) */
	TP_RULE_OTHER,		/* only libunwind can do it */
};

enum tp_stack_bp {
	TP_BP_SAME = 0,
	TP_BP_AT_CFA,		/* saved at CFA + n */
	TP_BP_AT_BP,		/* at the present rbp + n */
	TP_BP_AT_SP,
};

static inline uint64_t tp_rule_make(enum tp_stack_rule_kind kind, int64_t n)
{
	return (uint64_t)kind | ((uint64_t)n & 0xffffff) << 6;
}

static inline uint64_t tp_rule_with_bp(uint64_t rule, enum tp_stack_bp from, int64_t n)
{
	return rule | (uint64_t)from << 4 | ((uint64_t)n & 0xffff) << 30;
}

static inline enum tp_stack_rule_kind tp_rule_kind(uint64_t rule)
{
	return (enum tp_stack_rule_kind)(rule & 15);
}

static inline enum tp_stack_bp tp_rule_bp(uint64_t rule)
{
	return (enum tp_stack_bp)(rule >> 4 & 3);
}

static inline int64_t tp_rule_n(uint64_t rule)
{
	return (int64_t)(rule << 34) >> 40;
}

static inline int64_t tp_rule_bp_n(uint64_t rule)
{
	return (int64_t)(rule << 18) >> 48;
}

/* Of the kinds with memory. */
static inline int64_t tp_rule_memory_n(uint64_t rule)
{
	return (int64_t)(rule << 46) >> 52;
}

static inline int64_t tp_rule_add_n(uint64_t rule)
{
	return (int64_t)(rule << 34) >> 52;
}

struct tp_stack_rule_slot {
	uint64_t code;		/* atomic; 0: free. Never changes again */
	uint64_t rule;		/* atomic; 0: being learnt */
};

struct tp_stack_rule_table {
	uint64_t mask;		/* slots - 1 */
	uint64_t n_used;	/* atomic */
	struct tp_stack_rule_slot slot[];
};

struct tp_stack_rules {
	struct tp_stack_rule_table *table;	/* atomic; NULL: none */
	uint64_t epoch;				/* atomic: 18 bits of it are in each rule */
	uint64_t n_learnt;			/* atomic */
	uint32_t is_growing;			/* atomic */
};
extern struct tp_stack_rules tp_stack_rules __attribute__((visibility("hidden")));

/* 0 or -ENOMEM. */
int tp_stack_rules_open(void);
/* All rules are learnt again. Any thread. */
void tp_stack_rules_forget(void);

#define TP_RULE_EPOCH(epoch) ((epoch) << 46)
#define TP_RULE_CODE(pc, is_exact) ((pc) | (uint64_t)(is_exact) << 63)

static inline uint64_t tp_stack_rule_slot(uint64_t code, uint64_t mask)
{
	return (code * 0x9e3779b97f4a7c15ull >> 40) & mask;
}

/* Cold side of the next: learns. 0: not now (no memory, what is known of libraries is too old). */
uint64_t tp_stack_rule_learn(uint64_t pc, bool is_exact);

/*
 * The rule of the frame that goes on at `pc`: a return address, or (is_exact) the instruction at
 * which a signal came. 0: it cannot be told now.
 */
static inline uint64_t tp_stack_rule(uint64_t pc, bool is_exact)
{
	const struct tp_stack_rule_table *table =
		__atomic_load_n(&tp_stack_rules.table, __ATOMIC_ACQUIRE);
	uint64_t code = TP_RULE_CODE(pc, is_exact);
	uint64_t epoch = TP_RULE_EPOCH(__atomic_load_n(&tp_stack_rules.epoch, __ATOMIC_RELAXED));

	for (uint64_t at = tp_stack_rule_slot(code, table->mask);; at = (at + 1) & table->mask) {
		const struct tp_stack_rule_slot *slot = &table->slot[at];
		uint64_t found = __atomic_load_n(&slot->code, __ATOMIC_RELAXED);
		uint64_t rule;

		if (tp_likely(found == code)) {
			rule = __atomic_load_n(&slot->rule, __ATOMIC_RELAXED);
			if (tp_likely((rule & 15) && (rule ^ epoch) >> 46 == 0))
				return rule;
			break;
		}
		if (!found)
			break;
	}
	return tp_stack_rule_learn(pc, is_exact);
}

#endif
