/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_unwind.c - rules learnt by letting libunwind step in a stack that is made up
 *
 * A rule is found by what it does. libunwind gets a frame with the address in question, and
 * registers that point into memory that is nowhere: rsp and rbp each into a region of its own,
 * words near them into a third one by which they can be told apart, all other registers
 * elsewhere. After one step the CFA lies in the region of what it was computed from, as far from
 * its beginning as the rule says. A CFA that lies elsewhere is a rule of another kind.
 *
 * Its walks, for comparing, begin in here with the registers as they are.
 */
#include "runtime/probe/stack/stack_unwind.h"

#include "runtime/probe/stack/stack_inside.h"
#include "runtime/probe/stack/stack_libunwind.h"
#include "runtime/probe/stack/stack_memory.h"
#include "runtime/probe/stack/stack_objects.h"
#include "runtime/probe/stack/stack_rules.h"
#include "runtime/probe/stack/stack_walk.h"

bool tp_stack_unwind_has_object(uint64_t pc)
{
	struct tp_stack_object object;

	return tp_stack_object_find(pc, &object);
}

#if defined(__x86_64__)

enum {
	REACH = 16 << 20,	/* of CFAs from rsp, and to both sides of rbp */
	NEAR_SP = 256,		/* words from rsp on that can be told apart */
	BELOW_BP = 512,		/* words around rbp that can be */
	AROUND_BP = 640,
	WORD_REACH = 4096,	/* what is added to such a word */
	WORDS = (NEAR_SP + AROUND_BP) * WORD_REACH,
	OTHERS = 1 << 20,
	OTHER_REACH = 32768,	/* of another register */
};
#define RETURN_ADDRESS 0x10101010ull	/* of nobody; not 0, which would end a stack */

/* No address of any process: regions of what rsp and rbp point to, of the words near there, of what
 * other registers are. */
#define MADE_UP 0x0123000000000000ull
static const uint64_t made_up_sp = MADE_UP, made_up_bp = MADE_UP + 2ull * REACH,
		      made_up_words = MADE_UP + 3ull * REACH,
		      made_up_others = MADE_UP + 3ull * REACH + WORDS,
		      made_up_end = MADE_UP + 3ull * REACH + WORDS + OTHERS;

const char *tp_stack_unwind_open(void)
{
	const char *why = tp_stack_libunwind_open();

	if (!why && !tp_stack_inside_open())
		why = "fork cannot be waited for";
	return why;
}

void tp_stack_unwind_forget(void)
{
	tp_stack_libunwind.flush_cache(tp_stack_libunwind.quick, 0, 0);
}

/* Where a signal's handler returns to: mov $__NR_rt_sigreturn, %rax; syscall. (What libunwind
 * says of such frames differs between its versions.) */
static bool is_signal_return(uint64_t pc)
{
	static const uint8_t code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	size_t i = 0;

	/* It must be code to be read; and no further than it is equal. */
	if (!tp_stack_unwind_has_object(pc))
		return false;
	while (i < sizeof(code) && ((const uint8_t *)pc)[i] == code[i])
		i++;
	return i == sizeof(code);
}

/* ---- learning ---- */

struct lesson {
	uint64_t pc;
	bool is_exact;
	uint64_t rule;
};

static bool is_within(uint64_t address, uint64_t begin, uint64_t bytes)
{
	return address - begin < bytes;
}

static bool read_made_up(void *ctx, uint64_t at, uint64_t *word)
{
	uint64_t near_bp = made_up_bp - BELOW_BP * 8;

	if (!is_within(at, MADE_UP, made_up_end - MADE_UP))
		return false;
	if (at % 8 == 0 && is_within(at, made_up_sp, NEAR_SP * 8))
		*word = made_up_words + (at - made_up_sp) / 8 * WORD_REACH;
	else if (at % 8 == 0 && is_within(at, near_bp, AROUND_BP * 8))
		*word = made_up_words + (NEAR_SP + (at - near_bp) / 8) * WORD_REACH;
	else
		*word = RETURN_ADDRESS;
	return true;
}

/* A register's place after the step; 0: in none, NULL of the stack. */
static uint64_t place_of(unw_cursor_t *cursor, int reg)
{
	unw_save_loc_t place;

	if (tp_stack_libunwind.get_save_loc(cursor, reg, &place) < 0 ||
	    place.type != UNW_SLT_MEMORY)
		return 0;
	return place.u.addr;
}

static bool is_still_in(unw_cursor_t *cursor, int reg)
{
	unw_save_loc_t place;

	return tp_stack_libunwind.get_save_loc(cursor, reg, &place) >= 0 &&
	       place.type == UNW_SLT_REG && place.u.regnum == reg;
}

/* Words from `from` to `to`; false: no whole number of them, or too far. */
static bool words_between(uint64_t from, uint64_t to, int64_t most, int64_t *n)
{
	int64_t bytes = (int64_t)(to - from);

	*n = bytes / 8;
	return bytes % 8 == 0 && *n < most && *n >= -most;
}

static uint64_t rule_of_cfa(uint64_t cfa)
{
	uint64_t at, add;
	int64_t n;

	if (is_within(cfa, made_up_sp, REACH) && words_between(made_up_sp, cfa, 1 << 23, &n))
		return tp_rule_make(TP_RULE_SP, n);
	if (is_within(cfa, made_up_bp - REACH, 2ull * REACH) &&
	    words_between(made_up_bp, cfa, 1 << 23, &n))
		return tp_rule_make(TP_RULE_BP, n);
	if (!is_within(cfa, made_up_words, WORDS))
		return tp_rule_make(TP_RULE_OTHER, 0);
	at = (cfa - made_up_words) / WORD_REACH;
	add = (cfa - made_up_words) % WORD_REACH;
	if (add % 8)
		return tp_rule_make(TP_RULE_OTHER, 0);
	add = add / 8 << 12;
	if (at < NEAR_SP)
		return tp_rule_make(TP_RULE_SP_MEMORY, (int64_t)(at | add));
	n = (int64_t)at - NEAR_SP - BELOW_BP;
	return tp_rule_make(TP_RULE_BP_MEMORY, (int64_t)(((uint64_t)n & 0xfff) | add));
}

/* Adds to the rule where the next rbp is. */
static uint64_t add_bp(uint64_t rule, uint64_t cfa, unw_cursor_t *cursor)
{
	uint64_t place = place_of(cursor, UNW_X86_64_RBP);
	int64_t n;

	if (is_still_in(cursor, UNW_X86_64_RBP))
		return rule;
	if (words_between(cfa, place, 1 << 15, &n))
		return tp_rule_with_bp(rule, TP_BP_AT_CFA, n);
	if (words_between(made_up_bp, place, 1 << 15, &n))
		return tp_rule_with_bp(rule, TP_BP_AT_BP, n);
	if (words_between(made_up_sp, place, 1 << 15, &n))
		return tp_rule_with_bp(rule, TP_BP_AT_SP, n);
	return tp_rule_make(TP_RULE_OTHER, 0);
}

/* The address's own description is what counts: without one a step would make do by guessing. */
static uint64_t rule_of_step(unw_cursor_t *cursor, int result, int found, uint64_t pc)
{
	unw_word_t cfa = 0;

	if (found == -UNW_ENOMEM || result == -UNW_ENOMEM)
		return 0;
	if (found < 0)
		return tp_rule_make(TP_RULE_UNKNOWN, tp_stack_unwind_has_object(pc));
	if (is_signal_return(pc))
		return tp_rule_make(TP_RULE_SIGNAL, 0);
	if (result == 0)
		return tp_rule_make(TP_RULE_END, 0);
	if (result < 0)
		return tp_rule_make(TP_RULE_UNKNOWN, tp_stack_unwind_has_object(pc));
	tp_stack_libunwind.get_reg(cursor, UNW_REG_SP, &cfa);
	if (place_of(cursor, UNW_REG_IP) != cfa - 8)
		return tp_rule_make(TP_RULE_OTHER, 0);
	return add_bp(rule_of_cfa(cfa), cfa, cursor);
}

static void learn(void *ctx)
{
	struct tp_stack_source source = { .read = read_made_up };
	struct lesson *lesson = ctx;
	unw_cursor_t cursor;
	int result;

	/* None of them is looked at by most rules; the ones that do are told by it. */
	for (uint64_t i = 0; i < UNW_X86_64_RIP; i++)
		source.reg[i] = made_up_others + i * OTHER_REACH;
	source.reg[UNW_X86_64_RSP] = made_up_sp;
	source.reg[UNW_X86_64_RBP] = made_up_bp;
	/* A cursor begins with the next instruction. The call that returns to `pc` ends before it, and
	 * is what is looked up. (Only descriptions of .plt ask which instruction it is, and no call
	 * returns into it.) */
	source.reg[UNW_X86_64_RIP] = lesson->is_exact ? lesson->pc : lesson->pc - 1;
	if (tp_stack_libunwind.init_remote(&cursor, tp_stack_libunwind.fresh, &source) < 0)
		return;
	result = tp_stack_libunwind.step(&cursor);
	lesson->rule = rule_of_step(&cursor, result, source.found, lesson->pc);
}

uint64_t tp_stack_unwind_learn(uint64_t pc, bool is_exact)
{
	struct lesson lesson = { .pc = pc, .is_exact = is_exact };

	tp_stack_inside_run(learn, &lesson);
	return lesson.rule;
}

/* ---- its own walks ---- */

struct tour {
	struct tp_stack_source source;
	unw_addr_space_t space;
	const void *frame;
	struct tp_stack_frame *out;
	uint32_t most, n;
};

static bool read_stack(void *ctx, uint64_t at, uint64_t *word)
{
	if (!tp_stack_can_read(ctx, at))
		return false;
	*word = tp_stack_word(at);
	return true;
}

static void tour(void *ctx)
{
	struct tp_stack_libunwind *lib = &tp_stack_libunwind;
	bool is_exact = false, is_there = false;
	unw_word_t pc = 0, sp = 0;
	struct tour *tour = ctx;
	unw_cursor_t cursor;

	if (lib->init_remote(&cursor, tour->space, &tour->source) < 0)
		return;
	do {
		lib->get_reg(&cursor, UNW_REG_IP, &pc);
		lib->get_reg(&cursor, UNW_REG_SP, &sp);
		is_there |= sp == (uint64_t)tour->frame + 16;
		if (is_there && pc)
			tour->out[tour->n++] = (struct tp_stack_frame){
				.cfa = sp, .pc = pc, .flags = is_exact ? TP_STACK_EXACT : 0,
			};
		is_exact = is_signal_return(pc);
	} while (pc && tour->n < tour->most && lib->step(&cursor) > 0);
}

/* What a function has to keep for its caller is all that a frame further out can be found by. */
#define CAPTURE(reg)                                                                       \
	__asm__ volatile("movq %%rbx, 24(%0)\n\t"                                          \
			 "movq %%rbp, 48(%0)\n\t"                                          \
			 "movq %%rsp, 56(%0)\n\t"                                          \
			 "movq %%r12, 96(%0)\n\t"                                          \
			 "movq %%r13, 104(%0)\n\t"                                         \
			 "movq %%r14, 112(%0)\n\t"                                         \
			 "movq %%r15, 120(%0)\n\t"                                         \
			 "leaq 0(%%rip), %%rax\n\t"                                        \
			 "movq %%rax, 128(%0)"                                             \
			 :                                                                 \
			 : "r"(reg)                                                        \
			 : "rax", "memory")

static __attribute__((noinline)) uint32_t walk_in(unw_addr_space_t space,
						  struct tp_stack_walk *walk, const void *frame,
						  struct tp_stack_frame *out, uint32_t most)
{
	struct tour to_go = {
		.source = { .read = read_stack, .ctx = walk }, .space = space, .frame = frame,
		.out = out, .most = most,
	};

	CAPTURE(to_go.source.reg);
	tp_stack_inside_run(tour, &to_go);
	return to_go.n;
}

uint32_t tp_stack_unwind_walk(struct tp_stack_walk *walk, const void *frame,
			      struct tp_stack_frame *out, uint32_t most)
{
	return walk_in(tp_stack_libunwind.fresh, walk, frame, out, most);
}

uint32_t tp_stack_unwind_quick(struct tp_stack_walk *walk, const void *frame,
			       struct tp_stack_frame *out, uint32_t most)
{
	return walk_in(tp_stack_libunwind.quick, walk, frame, out, most);
}

#else	/* not x86-64: the rules are of its registers */

const char *tp_stack_unwind_open(void)
{
	return "not on this kind of processor";
}

void tp_stack_unwind_forget(void)
{
}

uint64_t tp_stack_unwind_learn(uint64_t pc, bool is_exact)
{
	return 0;
}

uint32_t tp_stack_unwind_walk(struct tp_stack_walk *walk, const void *frame,
			      struct tp_stack_frame *out, uint32_t most)
{
	return 0;
}

uint32_t tp_stack_unwind_quick(struct tp_stack_walk *walk, const void *frame,
			       struct tp_stack_frame *out, uint32_t most)
{
	return 0;
}

#endif
