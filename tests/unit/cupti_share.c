/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_share.c - tests: a full buffer goes back to who gave it, and the records in it to whom they belong
 */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/probe/gpu/cupti_buffers.h"
#include "runtime/probe/gpu/cupti_lib.h"
#include "runtime/probe/gpu/cupti_share.h"

enum { API_13_0 = 130000, SIZE = 40, HIS = 64 << 10 };

/* His buffers, and what came back to him. */
static struct {
	uint8_t memory[4][HIS];
	size_t size, most;
	uint32_t n_given, n_back, n_kept;	/* kept: how many he may still give */
	size_t valid;				/* of all that came back */
	CUpti_Activity first, last;
	bool has_foreign;
} his;

static void CUPTIAPI give(uint8_t **buffer, size_t *size, size_t *most)
{
	*buffer = NULL;
	*size = 0;
	if (!his.n_kept)
		return;
	his.n_kept--;
	*buffer = his.memory[his.n_given++];
	*size = his.size;
	*most = his.most;
}

static void CUPTIAPI take(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	if (!his.n_back++)
		memcpy(&his.first, buffer, sizeof(his.first));
	memcpy(&his.last, buffer + valid - SIZE, sizeof(his.last));
	his.has_foreign |= tp_cupti_buffer_is_own(buffer);
	his.valid += valid;
}

static CUptiResult CUPTIAPI next_record(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
	uint8_t *next = *record ? (uint8_t *)*record + SIZE : buffer;

	if (next + SIZE > buffer + valid)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)(void *)next;
	return CUPTI_SUCCESS;
}

static void set_up(void)
{
	memset(&his, 0, sizeof(his));
	his.size = HIS;
	his.n_kept = 4;
	tp_cupti.cuptiActivityGetNextRecord = next_record;
}

TestSuite(cupti_share, .init = set_up);

/* A buffer of ours with these records; returns its bytes. */
static size_t ask(uint8_t **memory, const CUpti_ActivityKind *kinds, uint32_t n)
{
	size_t size = 0, most = 0;

	tp_cupti_buffer_requested(memory, &size, &most);
	cr_assert_not_null(*memory);
	for (uint32_t i = 0; i < n; i++) {
		CUpti_Activity record = {.kind = kinds[i]};

		memset(*memory + i * SIZE, 0x5a, SIZE);
		memcpy(*memory + i * SIZE, &record, sizeof(record));
	}
	return n * SIZE;
}

static const CUpti_ActivityKind mixed[] = {
	CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
	CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_DRIVER,
};
enum { N_MIXED = sizeof(mixed) / sizeof(mixed[0]) };

/* He registers, and wants calls of the runtime, kernels, copies. */
static CUpti_BuffersCallbackCompleteFunc he_comes(void)
{
	CUpti_BuffersCallbackCompleteFunc registered = tp_cupti_share_with(give, take);

	tp_cupti_share_kind(CUPTI_ACTIVITY_KIND_RUNTIME);
	tp_cupti_share_kind(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	tp_cupti_share_kind(CUPTI_ACTIVITY_KIND_MEMCPY);
	return registered;
}

static void open_ours(void)
{
	cr_assert_eq(tp_cupti_buffers_open(32 << 20, API_13_0), 0);
}

Test(cupti_share, without_buffers_of_ours_he_is_left_alone)
{
	cr_expect_eq(tp_cupti_share_with(give, take), take);
	cr_expect_null(tp_cupti_share_with(give, NULL), "CUPTI is to refuse it");
}

Test(cupti_share, each_gets_his_own_buffers)
{
	CUpti_BuffersCallbackCompleteFunc completed;
	uint8_t *memory;
	size_t valid, n;

	open_ours();
	completed = tp_cupti_share_ours();
	valid = ask(&memory, mixed, N_MIXED);
	completed(NULL, 0, memory, HIS, valid);
	cr_expect_eq(tp_cupti_buffer_take(&n), memory);
	cr_expect_eq(n, valid);
	tp_cupti_buffer_give(memory);
	completed = he_comes();
	cr_expect_null(tp_cupti_share_with(give, NULL));
	cr_expect_eq(tp_cupti_share_with(give, completed), completed, "it is no function of his");
	completed(NULL, 0, his.memory[0], HIS, 2 * SIZE);
	cr_expect_eq(his.n_back, 1);
	cr_expect_eq(his.valid, 2 * SIZE);
	/* Also when CUPTI is ours again: he had given it before. */
	completed = tp_cupti_share_ours();
	completed(NULL, 0, his.memory[1], HIS, SIZE);
	cr_expect_eq(his.n_back, 2);
	cr_expect_null(tp_cupti_buffer_take(&n));
	tp_cupti_share_forget();
	completed(NULL, 0, his.memory[1], HIS, SIZE);
	cr_expect_eq(his.n_back, 2, "he is gone");
}

Test(cupti_share, what_is_his_in_a_buffer_of_ours_he_gets_in_one_of_his)
{
	CUpti_BuffersCallbackCompleteFunc completed;
	uint8_t *memory, *again;
	size_t valid, n;

	open_ours();
	tp_cupti_share_ours();
	valid = ask(&memory, mixed, N_MIXED);
	completed = he_comes();
	completed(NULL, 0, memory, HIS, valid);
	cr_expect_eq(his.n_back, 1);
	cr_expect_not(his.has_foreign);
	cr_expect_eq(his.valid, 3 * SIZE);
	cr_expect_eq(his.first.kind, CUPTI_ACTIVITY_KIND_RUNTIME);
	cr_expect_eq(his.last.kind, CUPTI_ACTIVITY_KIND_MEMCPY2);
	cr_expect_eq(tp_cupti_share_lost(), 2);
	/* Ours is free again, and empty. */
	cr_expect_null(tp_cupti_buffer_take(&n));
	cr_expect_eq(tp_cupti_buffers_held(), 0);
	ask(&again, NULL, 0);
	cr_expect_eq(again, memory);
	for (size_t i = 0; i < valid; i++)
		cr_assert_eq(memory[i], 0);
}

Test(cupti_share, his_buffers_may_be_small_or_none)
{
	CUpti_BuffersCallbackCompleteFunc completed;
	uint8_t *memory;
	size_t valid;

	open_ours();
	completed = he_comes();
	his.size = 2 * SIZE;
	valid = ask(&memory, mixed, N_MIXED);
	completed(NULL, 0, memory, HIS, valid);
	cr_expect_eq(his.n_back, 2);
	cr_expect_eq(his.valid, 3 * SIZE);
	his.size = HIS;
	his.most = 2;
	valid = ask(&memory, mixed, N_MIXED);
	completed(NULL, 0, memory, HIS, valid);
	cr_expect_eq(his.n_back, 4);
	cr_expect_eq(his.valid, 6 * SIZE);
	cr_expect_eq(tp_cupti_share_lost(), 4);
	his.n_kept = 0;
	valid = ask(&memory, mixed, N_MIXED);
	completed(NULL, 0, memory, HIS, valid);
	cr_expect_eq(his.n_back, 4);
	cr_expect_eq(tp_cupti_share_lost(), 9);
	cr_expect_eq(tp_cupti_buffers_held(), 0);
	/* An empty one is nobody's loss. */
	ask(&memory, NULL, 0);
	completed(NULL, 0, memory, HIS, 0);
	cr_expect_eq(tp_cupti_share_lost(), 9);
	cr_expect_eq(tp_cupti_buffers_held(), 0);
}

/* What he wanted of his last profile he does not want of the next. */
Test(cupti_share, kinds_are_those_of_this_time)
{
	CUpti_BuffersCallbackCompleteFunc completed;
	uint8_t *memory;
	size_t valid;

	open_ours();
	he_comes();
	tp_cupti_share_ours();
	completed = tp_cupti_share_with(give, take);
	tp_cupti_share_kind(CUPTI_ACTIVITY_KIND_RUNTIME);
	valid = ask(&memory, mixed, N_MIXED);
	completed(NULL, 0, memory, HIS, valid);
	cr_expect_eq(his.valid, SIZE);
	cr_expect_eq(tp_cupti_share_lost(), 4);
}
