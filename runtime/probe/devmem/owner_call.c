/* SPDX-License-Identifier: Apache-2.0 */
/*
 * owner_call.c - what the instruction before a return address calls, and where a jump leads
 */
#include "runtime/probe/devmem/owner_call.h"

#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)

static uintptr_t relative(const uint8_t *operand, const uint8_t *next)
{
	int32_t distance;

	memcpy(&distance, operand, sizeof(distance));
	return (uintptr_t)next + (uintptr_t)(intptr_t)distance;
}

/* FF /2 with every addressing mode, 2 to 7 bytes long: the second byte is its ModRM. */
static bool is_pointer_call(const uint8_t *back)
{
	return (back[-2] == 0xff && ((back[-1] & 0xf8) == 0xd0 || (back[-1] & 0xf8) == 0x10)) ||
	       (back[-3] == 0xff && ((back[-2] & 0xf8) == 0x50 || back[-2] == 0x14)) ||
	       (back[-4] == 0xff && back[-3] == 0x54) ||
	       (back[-6] == 0xff && (back[-5] & 0xf8) == 0x90) ||
	       (back[-7] == 0xff && (back[-6] == 0x94 || back[-6] == 0x14));
}

enum tp_call_form tp_call_before(const uint8_t *back, uintptr_t *to)
{
	if (back[-6] == 0xff && back[-5] == 0x15) {
		*to = relative(back - 4, back);
		return TP_CALL_SLOT;
	}
	if (back[-5] == 0xe8) {
		*to = relative(back - 4, back);
		return TP_CALL_DIRECT;
	}
	return is_pointer_call(back) ? TP_CALL_POINTER : TP_CALL_NONE;
}

enum tp_call_form tp_call_jump(const uint8_t *at, uintptr_t *to)
{
	if (at[0] == 0xe9) {
		*to = relative(at + 1, at + 5);
		return TP_CALL_DIRECT;
	}
	if (at[0] == 0xff && at[1] == 0x25) {
		*to = relative(at + 2, at + 6);
		return TP_CALL_SLOT;
	}
	return TP_CALL_NONE;
}

uintptr_t tp_call_stub_slot(const uint8_t *stub)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	if (!memcmp(stub, endbr, sizeof(endbr)))
		stub += sizeof(endbr);
	if (*stub == 0xf2)		/* bnd */
		stub++;
	if (stub[0] != 0xff || stub[1] != 0x25)
		return 0;
	return relative(stub + 2, stub + 6);
}

#elif defined(__aarch64__)

static uint32_t word(const uint8_t *at)
{
	uint32_t w;

	memcpy(&w, at, sizeof(w));
	return w;
}

enum tp_call_form tp_call_before(const uint8_t *back, uintptr_t *to)
{
	uint32_t w = word(back - 4);

	if ((w & 0xfc000000) == 0x94000000) {	/* bl */
		int64_t distance = (int64_t)((uint64_t)w << 38) >> 36;

		*to = (uintptr_t)back - 4 + (uintptr_t)distance;
		return TP_CALL_DIRECT;
	}
	/* blr, and its authenticating forms */
	if ((w & 0xfffffc1f) == 0xd63f0000 || (w & 0xfefff800) == 0xd63f0800)
		return TP_CALL_POINTER;
	return TP_CALL_NONE;
}

enum tp_call_form tp_call_jump(const uint8_t *at, uintptr_t *to)
{
	uint32_t w = word(at);

	if ((w & 0xfc000000) != 0x14000000)	/* b */
		return TP_CALL_NONE;
	*to = (uintptr_t)at + (uintptr_t)((int64_t)((uint64_t)w << 38) >> 36);
	return TP_CALL_DIRECT;
}

uintptr_t tp_call_stub_slot(const uint8_t *stub)
{
	uint32_t adrp, load;
	int64_t pages;

	if (word(stub) == 0xd503245f)		/* bti c */
		stub += 4;
	adrp = word(stub);
	load = word(stub + 4);
	/* adrp x16, page; ldr x17, [x16, #offset] */
	if ((adrp & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211)
		return 0;
	pages = (int64_t)((uint64_t)(adrp >> 5 & 0x7ffff) << 45) >> 43 | (adrp >> 29 & 3);
	return (((uintptr_t)stub & ~(uintptr_t)4095) + (uintptr_t)(pages * 4096)) +
	       (load >> 10 & 0xfff) * 8;
}

#else

enum tp_call_form tp_call_before(const uint8_t *back, uintptr_t *to)
{
	return TP_CALL_NONE;
}

enum tp_call_form tp_call_jump(const uint8_t *at, uintptr_t *to)
{
	return TP_CALL_NONE;
}

uintptr_t tp_call_stub_slot(const uint8_t *stub)
{
	return 0;
}

#endif
