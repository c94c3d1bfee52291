/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_unwind.c - rules learnt by letting libunwind step in a stack that is made up
 *
 * A rule is found by what it does. libunwind gets a frame with the address in question, and
 * registers that point into memory of ours: rsp and rbp each into a region of its own, words
 * near them into a third one by which they can be told apart, all other registers elsewhere.
 * After one step the CFA lies in the region of what it was computed from, as far from its
 * beginning as the rule says. A CFA that lies elsewhere is a rule of another kind.
 *
 * That memory is the same for all threads and never changes, but that a return address is put
 * where a step has looked for one.
 */
#include "runtime/probe/stack/stack_unwind.h"

#if defined(__x86_64__)
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/probe/stack/stack_objects.h"
#include "runtime/probe/stack/stack_rules.h"
#include "runtime/probe/stack/stack_thread.h"

__thread uint32_t tp_stack_unwind_inside
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Of which addresses the objects are asked for while this thread is inside. */
static __thread struct {
	uint64_t pc[3];
	const struct tp_stack_walk *walk;
} asked __attribute__((tls_model("initial-exec")));

static uint32_t n_uses;	/* atomic */

uint32_t tp_stack_unwind_uses(void)
{
	return __atomic_load_n(&n_uses, __ATOMIC_RELAXED);
}

/* ---- which libraries there are ---- */

static int tell_object(uint64_t pc, const void **last,
		       int (*each)(struct dl_phdr_info *, size_t, void *), void *ctx)
{
	struct tp_stack_object object;
	struct dl_phdr_info info;

	if (!pc || !tp_stack_object_find(pc, &object) || object.headers == *last)
		return 0;
	*last = object.headers;
	memset(&info, 0, sizeof(info));
	info.dlpi_addr = object.base;
	info.dlpi_name = "";
	info.dlpi_phdr = object.headers;
	info.dlpi_phnum = object.n_headers;
	return each(&info, sizeof(info), ctx);
}

int tp_stack_unwind_objects(int (*each)(struct dl_phdr_info *, size_t, void *), void *ctx)
{
	const struct tp_stack_walk *walk = asked.walk;
	const void *last = NULL;
	int result = 0;

	for (int i = 0; i < 3 && !result; i++)
		result = tell_object(asked.pc[i], &last, each, ctx);
	for (uint32_t i = 0; walk && i < walk->n_fresh && !result; i++)
		result = tell_object(walk->fresh[i].pc, &last, each, ctx);
	for (uint32_t i = walk ? walk->n_reused : 0; i > 0 && !result; i--)
		result = tell_object(walk->kept[i - 1].pc, &last, each, ctx);
	return result;
}

bool tp_stack_unwind_has_object(uint64_t pc)
{
	struct tp_stack_object object;

	return tp_stack_object_find(pc, &object);
}

#if defined(__x86_64__)

#define TEXT_OF(name) #name
#define NAME_OF(macro) TEXT_OF(macro)

static struct {
	__typeof__(&unw_init_local) init_local;
	__typeof__(&unw_init_local2) init_local2;	/* NULL: an old one */
	__typeof__(&unw_step) step;
	__typeof__(&unw_get_reg) get_reg;
	__typeof__(&unw_get_save_loc) get_save_loc;
	__typeof__(&unw_get_proc_info_by_ip) get_proc_info_by_ip;
	__typeof__(&unw_backtrace) backtrace;
	__typeof__(&unw_flush_cache) flush_cache;
	int (*getcontext)(unw_context_t *);
	unw_addr_space_t *local;
} lib;

static struct {
	uint32_t n_inside;	/* atomic: threads */
	uint32_t is_forking;	/* atomic: nobody else may go inside */
	uint32_t is_torn;	/* atomic: a thread stays inside during the fork */
	uint32_t is_flush_due;	/* atomic: before the next one does anything */
} gate;
enum { ENTER_TRIES = 20, FORK_TRIES = 1000 };	/* of 0.1 ms each */

/*
 * False: another thread forks, and it takes long; this once, do without. It may not be waited for
 * without end: this thread may have a lock of the loader (dlopen allocates) that one of those
 * inside waits for, and so the fork.
 */
static bool enter(void)
{
	const struct timespec pause = { .tv_nsec = 100000 };
	int kept_errno = errno;

	for (uint32_t i = 0;; i++) {
		__atomic_fetch_add(&gate.n_inside, 1, __ATOMIC_SEQ_CST);
		if (tp_likely(!__atomic_load_n(&gate.is_forking, __ATOMIC_SEQ_CST)))
			break;
		__atomic_fetch_sub(&gate.n_inside, 1, __ATOMIC_SEQ_CST);
		if (i == ENTER_TRIES || __atomic_load_n(&gate.is_torn, __ATOMIC_RELAXED))
			return false;
		nanosleep(&pause, NULL);
		errno = kept_errno;
	}
	__atomic_fetch_add(&n_uses, 1, __ATOMIC_RELAXED);
	tp_stack_unwind_inside++;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (tp_unlikely(__atomic_load_n(&gate.is_flush_due, __ATOMIC_RELAXED)) &&
	    __atomic_exchange_n(&gate.is_flush_due, 0, __ATOMIC_ACQ_REL))
		lib.flush_cache(*lib.local, 0, 0);
	return true;
}

static void leave(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	tp_stack_unwind_inside--;
	memset(&asked, 0, sizeof(asked));
	__atomic_fetch_sub(&gate.n_inside, 1, __ATOMIC_RELEASE);
}

/* Not for ever: who is inside may wait for a lock of the loader that the forking thread itself has
 * (a library's constructor forks). */
static void before_fork(void)
{
	uint32_t mine = tp_stack_unwind_inside;	/* in a signal's handler, that is */
	const struct timespec pause = { .tv_nsec = 100000 };
	int kept_errno = errno;

	__atomic_store_n(&gate.is_forking, 1, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; __atomic_load_n(&gate.n_inside, __ATOMIC_SEQ_CST) > mine; i++) {
		if (i == FORK_TRIES) {
			__atomic_store_n(&gate.is_torn, 1, __ATOMIC_RELAXED);
			break;
		}
		nanosleep(&pause, NULL);
	}
	errno = kept_errno;
}

static void after_fork(void)
{
	__atomic_store_n(&gate.is_torn, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&gate.is_forking, 0, __ATOMIC_SEQ_CST);
}

/* A lock of libunwind that a thread of the parent held is held here for ever: nobody goes in. */
static void after_fork_in_child(void)
{
	if (!__atomic_load_n(&gate.is_torn, __ATOMIC_RELAXED))
		after_fork();
}

static bool find(void *library, void *function, const char *name)
{
	*(void **)function = dlsym(library, name);
	return *(void **)function || (dlerror(), false);
}

enum {
	REACH = 16 << 20,	/* of CFAs from rsp, and to both sides of rbp */
	NEAR_SP = 256,		/* words from rsp on that can be told apart */
	BELOW_BP = 512,		/* words around rbp that can be */
	AROUND_BP = 640,
	WORD_REACH = 4096,	/* what is added to such a word */
};
#define RETURN_ADDRESS 0x10101010ull	/* of nobody; not 0, which would end a stack */

/* Regions in one mapping; those of rbp and rsp are of REACH bytes each. */
static struct {
	char *sp, *bp, *words, *others;
	uint64_t *near_bp;
	size_t bytes;
} made_up;

static bool make_up_stack(void)
{
	size_t words = (NEAR_SP + AROUND_BP) * WORD_REACH, others = 1 << 20;
	char *memory;

	made_up.bytes = (size_t)REACH * 3 + words + others;
	memory = (char *)syscall(SYS_mmap, NULL, made_up.bytes, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	made_up.sp = memory;
	made_up.bp = memory + 2 * (size_t)REACH;
	made_up.words = memory + 3 * (size_t)REACH;
	made_up.others = made_up.words + words;
	for (int i = 0; i < NEAR_SP; i++)
		((uint64_t *)made_up.sp)[i] = (uint64_t)made_up.words + (uint64_t)i * WORD_REACH;
	made_up.near_bp = (uint64_t *)made_up.bp - BELOW_BP;
	for (int i = 0; i < AROUND_BP; i++)
		made_up.near_bp[i] = (uint64_t)made_up.words + (uint64_t)(NEAR_SP + i) * WORD_REACH;
	return true;
}

const char *tp_stack_unwind_open(void)
{
	void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		dlerror();
		return "libunwind.so.8 is not there";
	}
	find(library, &lib.init_local2, NAME_OF(UNW_OBJ(init_local2)));
	if (!find(library, &lib.init_local, NAME_OF(UNW_OBJ(init_local))) ||
	    !find(library, &lib.step, NAME_OF(UNW_OBJ(step))) ||
	    !find(library, &lib.get_reg, NAME_OF(UNW_OBJ(get_reg))) ||
	    !find(library, &lib.get_save_loc, NAME_OF(UNW_OBJ(get_save_loc))) ||
	    !find(library, &lib.get_proc_info_by_ip, NAME_OF(UNW_OBJ(get_proc_info_by_ip))) ||
	    !find(library, &lib.flush_cache, NAME_OF(UNW_ARCH_OBJ(flush_cache))) ||
	    !find(library, &lib.getcontext, NAME_OF(UNW_ARCH_OBJ(getcontext))) ||
	    !find(library, &lib.local, NAME_OF(UNW_OBJ(local_addr_space))) ||
	    !find(library, &lib.backtrace, "unw_backtrace"))
		return "libunwind.so.8 is another one";
	if (!make_up_stack() || pthread_atfork(before_fork, after_fork, after_fork_in_child))
		return "no memory to learn unwind rules in";
	return NULL;
}

void tp_stack_unwind_forget(void)
{
	__atomic_store_n(&gate.is_flush_due, 1, __ATOMIC_RELEASE);
	if (enter())
		leave();
}

/* ---- learning ---- */

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

static int start_cursor(unw_cursor_t *cursor, unw_context_t *context, uint64_t pc, bool is_exact)
{
	greg_t *reg = context->uc_mcontext.gregs;

	memset(context, 0, sizeof(*context));
	/* None of them is looked at by most rules; the ones that do are told by it. */
	for (int i = 0; i < NGREG; i++)
		reg[i] = (greg_t)(made_up.others + i * 32768);
	reg[REG_RIP] = (greg_t)pc;
	reg[REG_RSP] = (greg_t)made_up.sp;
	reg[REG_RBP] = (greg_t)made_up.bp;
	if (!is_exact)
		return lib.init_local(cursor, context);
	if (lib.init_local2)
		return lib.init_local2(cursor, context, UNW_INIT_SIGNAL_FRAME);
	/* What it looks up is one byte before. */
	reg[REG_RIP] = (greg_t)(pc + 1);
	return lib.init_local(cursor, context);
}

/* A register's place after the step; 0: in none, NULL of the stack. */
static uint64_t place_of(unw_cursor_t *cursor, int reg)
{
	unw_save_loc_t place;

	if (lib.get_save_loc(cursor, reg, &place) < 0 || place.type != UNW_SLT_MEMORY)
		return 0;
	return place.u.addr;
}

static bool is_within(uint64_t address, const char *begin, size_t bytes)
{
	return address - (uint64_t)begin < bytes;
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

	if (is_within(cfa, made_up.sp, REACH) &&
	    words_between((uint64_t)made_up.sp, cfa, 1 << 23, &n))
		return tp_rule_make(TP_RULE_SP, n);
	if (is_within(cfa, made_up.bp - REACH, 2 * (size_t)REACH) &&
	    words_between((uint64_t)made_up.bp, cfa, 1 << 23, &n))
		return tp_rule_make(TP_RULE_BP, n);
	if (!is_within(cfa, made_up.words, (NEAR_SP + AROUND_BP) * WORD_REACH))
		return tp_rule_make(TP_RULE_OTHER, 0);
	at = (cfa - (uint64_t)made_up.words) / WORD_REACH;
	add = (cfa - (uint64_t)made_up.words) % WORD_REACH;
	if (add % 8)
		return tp_rule_make(TP_RULE_OTHER, 0);
	add = add / 8 << 12;
	if (at < NEAR_SP)
		return tp_rule_make(TP_RULE_SP_MEMORY, (int64_t)(at | add));
	n = (int64_t)at - NEAR_SP - BELOW_BP;
	return tp_rule_make(TP_RULE_BP_MEMORY, (int64_t)(((uint64_t)n & 0xfff) | add));
}

/* Adds to the rule where the next rbp is. */
static uint64_t add_bp(uint64_t rule, uint64_t cfa, uint64_t place, const unw_context_t *context)
{
	int64_t n;

	if (place == (uint64_t)&context->uc_mcontext.gregs[REG_RBP])
		return rule;
	if (words_between(cfa, place, 1 << 15, &n))
		return tp_rule_with_bp(rule, TP_BP_AT_CFA, n);
	if (words_between((uint64_t)made_up.bp, place, 1 << 15, &n))
		return tp_rule_with_bp(rule, TP_BP_AT_BP, n);
	if (words_between((uint64_t)made_up.sp, place, 1 << 15, &n))
		return tp_rule_with_bp(rule, TP_BP_AT_SP, n);
	return tp_rule_make(TP_RULE_OTHER, 0);
}

/* The step needs a return address where it looks for one: it may refuse a page that nobody has
 * touched. False: it looks elsewhere, or one is there. */
static bool put_return_address(uint64_t at)
{
	if (!is_within(at, made_up.sp, made_up.bytes - 8) || at % 8 ||
	    __atomic_load_n((uint64_t *)at, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n((uint64_t *)at, RETURN_ADDRESS, __ATOMIC_RELAXED);
	return true;
}

static uint64_t learn(uint64_t pc, bool is_exact)
{
	unw_context_t context;
	unw_cursor_t cursor;
	unw_proc_info_t info;
	unw_word_t cfa = 0;
	uint64_t rule;
	int result;

	do {
		if (start_cursor(&cursor, &context, pc, is_exact) < 0)
			return 0;
		/* A step would make do without: by guessing. */
		result = lib.get_proc_info_by_ip(*lib.local, is_exact ? pc : pc - 1, &info, NULL);
		if (result == -UNW_ENOMEM)
			return 0;
		if (result < 0)
			return tp_rule_make(TP_RULE_UNKNOWN, tp_stack_unwind_has_object(pc));
		if (is_signal_return(pc))
			return tp_rule_make(TP_RULE_SIGNAL, 0);
		result = lib.step(&cursor);
		lib.get_reg(&cursor, UNW_REG_SP, &cfa);
	} while (put_return_address(cfa - 8));
	if (result == -UNW_ENOMEM)
		return 0;
	if (result == 0)
		return tp_rule_make(TP_RULE_END, 0);
	if (result < 0)
		return tp_rule_make(TP_RULE_UNKNOWN, tp_stack_unwind_has_object(pc));
	rule = rule_of_cfa(cfa);
	if (place_of(&cursor, UNW_REG_IP) != cfa - 8)
		return tp_rule_make(TP_RULE_OTHER, 0);
	return add_bp(rule, cfa, place_of(&cursor, UNW_X86_64_RBP), &context);
}

uint64_t tp_stack_unwind_learn(uint64_t pc, bool is_exact)
{
	int kept_errno = errno;
	uint64_t rule;

	if (!enter())
		return 0;
	asked.pc[0] = pc;
	rule = learn(pc, is_exact);
	leave();
	errno = kept_errno;
	return rule;
}

/* ---- its own walks ---- */

uint32_t tp_stack_unwind_walk(const void *frame, struct tp_stack_frame *out, uint32_t most)
{
	int kept_errno = errno;
	unw_context_t context;
	unw_cursor_t cursor;
	bool is_exact = false, is_there = false;
	uint32_t n = 0;

	if (!enter())
		return 0;
	lib.getcontext(&context);
	if (lib.init_local(&cursor, &context) >= 0) {
		unw_word_t pc = 0, sp = 0;

		do {
			lib.get_reg(&cursor, UNW_REG_IP, &pc);
			lib.get_reg(&cursor, UNW_REG_SP, &sp);
			is_there |= sp == (uint64_t)frame + 16;
			asked.pc[0] = pc;
			if (is_there && pc)
				out[n++] = (struct tp_stack_frame){
					.cfa = sp, .pc = pc, .flags = is_exact ? TP_STACK_EXACT : 0,
				};
			is_exact = is_signal_return(pc);
		} while (pc && n < most && lib.step(&cursor) > 0);
	}
	leave();
	errno = kept_errno;
	return n;
}

int tp_stack_unwind_quick(const struct tp_stack_walk *walk, void **pc, int most)
{
	int kept_errno = errno, n;

	if (!enter())
		return 0;
	asked.pc[0] = (uint64_t)__builtin_return_address(0);
	asked.pc[1] = (uint64_t)lib.backtrace;
	asked.walk = walk;
	n = lib.backtrace(pc, most);
	leave();
	errno = kept_errno;
	return n;
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

uint32_t tp_stack_unwind_walk(const void *frame, struct tp_stack_frame *out, uint32_t most)
{
	return 0;
}

int tp_stack_unwind_quick(const struct tp_stack_walk *walk, void **pc, int most)
{
	return 0;
}

#endif
