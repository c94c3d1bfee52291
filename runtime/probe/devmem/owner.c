/* SPDX-License-Identifier: Apache-2.0 */
/*
 * owner.c - which library asked CUDA for memory: an estimate, from the words on the stack
 *
 * Judgements on return addresses are kept, with the number of the snapshot that they hold for:
 * an allocation from a place that allocated before reads no code.
 */
#include "runtime/probe/devmem/owner.h"

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/readable.h"
#include "runtime/probe/devmem/owner_call.h"
#include "runtime/probe/devmem/owner_objects.h"

enum {
	JUDGED = 512,
	FUNCTION_BYTES = 512,	/* less than a page: PyTorch's takes 228 */
	PAGE = 4096,		/* the smallest there is: larger ones are asked about more often */
};

enum judgement { NO, PERHAPS, YES };

/* return address << 16 | snapshot's low 14 bits << 2 | enum judgement; atomic */
static uint64_t judged[JUDGED];

/* A library may be gone since the snapshot, and a stack may end: the kernel knows. */
static bool is_readable(uintptr_t address)
{
	return tp_is_readable((const void *)(address & ~(uintptr_t)7));
}

static bool are_readable(uintptr_t address, uint32_t n)
{
	return is_readable(address) && is_readable(address + n - 1);
}

/* Leads the slot, which lies in the caller's object, into a library that is passed over? */
static enum judgement judge_slot(uint32_t number, bool is_old, const struct tp_owner_range *caller,
				 uintptr_t slot)
{
	struct tp_owner_range to;

	if (slot < caller->object_begin || slot + sizeof(uintptr_t) > caller->object_end ||
	    slot % sizeof(uintptr_t) || !is_readable(slot) ||
	    !tp_owner_find(number, is_old, *(const uintptr_t *)slot, &to))
		return PERHAPS;
	return to.role == TP_OWNER_PASSED_OVER ? YES : NO;
}

/* The function that was called may have left its place on the stack to what it calls last, as PyTorch's
 * allocator does with cudaMalloc: is there such a jump into CUDA? */
static enum judgement judge_function(uint32_t number, bool is_old, const struct tp_owner_range *of,
				     uintptr_t code)
{
	uintptr_t end = of->end - code < FUNCTION_BYTES ? of->end : code + FUNCTION_BYTES;

	if (!are_readable(code, (uint32_t)(end - code)))
		return NO;
	for (; code + 8 <= end; code += TP_CALL_STEP) {
		uintptr_t slot = 0, to;
		enum tp_call_form form = tp_call_jump((const uint8_t *)code, &to);

		if (form == TP_CALL_SLOT)
			slot = to;
		else if (form == TP_CALL_DIRECT && to >= of->begin && to < of->end - 16 &&
			 are_readable(to, 16))
			slot = tp_call_stub_slot((const uint8_t *)to);
		if (slot && judge_slot(number, is_old, of, slot) == YES)
			return YES;
	}
	return NO;
}

static enum judgement judge_code(uint32_t number, bool is_old, const struct tp_owner_range *caller,
				 uintptr_t back)
{
	struct tp_owner_range to;
	uintptr_t target, slot;

	if (back < caller->begin + 8 || !are_readable(back - 8, 8))
		return NO;
	switch (tp_call_before((const uint8_t *)back, &target)) {
	case TP_CALL_POINTER:
		return PERHAPS;
	case TP_CALL_SLOT:
		return judge_slot(number, is_old, caller, target);
	case TP_CALL_DIRECT:
		if (!tp_owner_find(number, is_old, target, &to))
			return NO;
		if (to.role == TP_OWNER_PASSED_OVER)
			return YES;
		if (to.object_begin != caller->object_begin || target + 16 > to.end ||
		    !are_readable(target, 16))
			return NO;
		slot = tp_call_stub_slot((const uint8_t *)target);
		return slot ? judge_slot(number, is_old, caller, slot) :
			      judge_function(number, is_old, &to, target);
	default:
		return NO;
	}
}

static enum judgement judge(uint32_t number, bool is_old, uintptr_t back)
{
	uint64_t *place = &judged[(back >> 1 ^ back >> 12) % JUDGED];
	uint64_t tag = (uint64_t)back << 16 | (number & 0x3fff) << 2;
	uint64_t known = __atomic_load_n(place, __ATOMIC_RELAXED);
	enum judgement judgement = NO;
	struct tp_owner_range range;

	if ((known & ~3ull) == tag)
		return (enum judgement)(known & 3);
	if (tp_owner_find(number, is_old, back, &range) && range.role == TP_OWNER_MAY_ASK)
		judgement = judge_code(number, is_old, &range, back);
	/* What is nothing now may be code of what comes later. */
	if (!is_old)
		__atomic_store_n(place, tag | judgement, __ATOMIC_RELAXED);
	return judgement;
}

static __attribute__((no_sanitize("address"), no_sanitize("thread")))
const void *caller_in(uint32_t number, const void *stack, uint32_t n_bytes)
{
	uintptr_t at = ((uintptr_t)stack + 7) & ~(uintptr_t)7, end = (uintptr_t)stack + n_bytes;
	uintptr_t least, most, perhaps = 0;
	bool is_old;

	if (!tp_owner_bounds(number, &least, &most))
		return NULL;
	is_old = tp_owner_is_out_of_date();
	if (is_old) {
		least = PAGE;
		most = UINTPTR_MAX >> 16;
	}
	for (; at + sizeof(uintptr_t) <= end; at += sizeof(uintptr_t)) {
		uintptr_t value;

		if (at % PAGE == 0 && !is_readable(at))
			break;
		value = *(const uintptr_t *)at;
#ifdef __aarch64__
		value &= 0xffffffffffffull;	/* signed return addresses */
#endif
		if (value < least || value >= most)
			continue;
		switch (judge(number, is_old, value)) {
		case YES:
			return (const void *)value;
		case PERHAPS:
			perhaps = perhaps ? perhaps : value;
			break;
		default:
			break;
		}
	}
	return (const void *)perhaps;
}

const void *tp_owner_caller_in(const void *stack, uint32_t n_bytes)
{
	uint32_t number = tp_owner_snapshot(), n_tries = 0;
	const void *caller;

	do
		caller = caller_in(number, stack, n_bytes);
	while (!tp_owner_is_still(&number) && ++n_tries < TP_OWNER_TRIES);
	return caller;
}

const void *tp_owner_caller(void)
{
	return tp_owner_caller_in(__builtin_frame_address(0), TP_OWNER_SCAN_BYTES);
}
