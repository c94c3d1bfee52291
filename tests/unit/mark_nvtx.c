/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_nvtx.c - a module that uses NVTX, as our functions see it; and our declarations against
 * NVIDIA's own, where these were fetched
 */
#include <criterion/criterion.h>
#include <pthread.h>

#include "runtime/probe/mark/mark.h"
#include "runtime/probe/mark/mark_nvtx_abi.h"
#include "tests/unit/session_rig.h"

#if __has_include("build/nvtx/nvtx3/nvToolsExt.h")
#include "build/nvtx/nvtx3/nvToolsExt.h"

#define SAME_FIELD(ours, theirs)                                                           \
	_Static_assert(offsetof(struct tp_nvtx_attributes, ours) ==                        \
				       offsetof(nvtxEventAttributes_t, theirs) &&          \
			       sizeof(((struct tp_nvtx_attributes *)0)->ours) ==           \
				       sizeof(((nvtxEventAttributes_t *)0)->theirs),       \
		       "nvtxEventAttributes_t." #theirs)
SAME_FIELD(version, version);
SAME_FIELD(size, size);
SAME_FIELD(category, category);
SAME_FIELD(color_type, colorType);
SAME_FIELD(color, color);
SAME_FIELD(payload_type, payloadType);
SAME_FIELD(payload, payload);
SAME_FIELD(message_type, messageType);
SAME_FIELD(message, message);
#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
SAME(sizeof(struct tp_nvtx_attributes), sizeof(nvtxEventAttributes_t));
SAME(sizeof(struct tp_nvtx_callbacks), sizeof(NvtxExportTableCallbacks));
SAME(offsetof(struct tp_nvtx_callbacks, get_table),
     offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
SAME(TP_NVTX_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME(TP_NVTX_NOT_TRACKED, NVTX_NO_PUSH_POP_TRACKING);
SAME(TP_NVTX_CORE, NVTX_CB_MODULE_CORE);
SAME(TP_NVTX_CORE2, NVTX_CB_MODULE_CORE2);
SAME(TP_NVTX_MARK_EX, NVTX_CBID_CORE_MarkEx);
SAME(TP_NVTX_MARK_A, NVTX_CBID_CORE_MarkA);
SAME(TP_NVTX_MARK_W, NVTX_CBID_CORE_MarkW);
SAME(TP_NVTX_RANGE_START_EX, NVTX_CBID_CORE_RangeStartEx);
SAME(TP_NVTX_RANGE_START_A, NVTX_CBID_CORE_RangeStartA);
SAME(TP_NVTX_RANGE_START_W, NVTX_CBID_CORE_RangeStartW);
SAME(TP_NVTX_RANGE_END, NVTX_CBID_CORE_RangeEnd);
SAME(TP_NVTX_RANGE_PUSH_EX, NVTX_CBID_CORE_RangePushEx);
SAME(TP_NVTX_RANGE_PUSH_A, NVTX_CBID_CORE_RangePushA);
SAME(TP_NVTX_RANGE_PUSH_W, NVTX_CBID_CORE_RangePushW);
SAME(TP_NVTX_RANGE_POP, NVTX_CBID_CORE_RangePop);
SAME(TP_NVTX_NAME_CATEGORY_A, NVTX_CBID_CORE_NameCategoryA);
SAME(TP_NVTX_NAME_CATEGORY_W, NVTX_CBID_CORE_NameCategoryW);
SAME(TP_NVTX_DOMAIN_MARK_EX, NVTX_CBID_CORE2_DomainMarkEx);
SAME(TP_NVTX_DOMAIN_RANGE_START_EX, NVTX_CBID_CORE2_DomainRangeStartEx);
SAME(TP_NVTX_DOMAIN_RANGE_END, NVTX_CBID_CORE2_DomainRangeEnd);
SAME(TP_NVTX_DOMAIN_RANGE_PUSH_EX, NVTX_CBID_CORE2_DomainRangePushEx);
SAME(TP_NVTX_DOMAIN_RANGE_POP, NVTX_CBID_CORE2_DomainRangePop);
SAME(TP_NVTX_DOMAIN_NAME_CATEGORY_A, NVTX_CBID_CORE2_DomainNameCategoryA);
SAME(TP_NVTX_DOMAIN_NAME_CATEGORY_W, NVTX_CBID_CORE2_DomainNameCategoryW);
SAME(TP_NVTX_DOMAIN_REGISTER_STRING_A, NVTX_CBID_CORE2_DomainRegisterStringA);
SAME(TP_NVTX_DOMAIN_REGISTER_STRING_W, NVTX_CBID_CORE2_DomainRegisterStringW);
SAME(TP_NVTX_DOMAIN_CREATE_A, NVTX_CBID_CORE2_DomainCreateA);
SAME(TP_NVTX_DOMAIN_CREATE_W, NVTX_CBID_CORE2_DomainCreateW);
SAME(TP_NVTX_MESSAGE_ASCII, NVTX_MESSAGE_TYPE_ASCII);
SAME(TP_NVTX_MESSAGE_UNICODE, NVTX_MESSAGE_TYPE_UNICODE);
SAME(TP_NVTX_MESSAGE_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
SAME(TP_NVTX_PAYLOAD_U64, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
SAME(TP_NVTX_PAYLOAD_I64, NVTX_PAYLOAD_TYPE_INT64);
SAME(TP_NVTX_PAYLOAD_DOUBLE, NVTX_PAYLOAD_TYPE_DOUBLE);
SAME(TP_NVTX_PAYLOAD_U32, NVTX_PAYLOAD_TYPE_UNSIGNED_INT32);
SAME(TP_NVTX_PAYLOAD_I32, NVTX_PAYLOAD_TYPE_INT32);
SAME(TP_NVTX_PAYLOAD_FLOAT, NVTX_PAYLOAD_TYPE_FLOAT);
#define HAS_HEADERS 1
#else
#define HAS_HEADERS 0
#endif

enum { N_SLOTS = 16 };

/* A module: where its functions are, and how many slots it tells us of. */
struct module {
	tp_nvtx_function function[6][N_SLOTS];
	tp_nvtx_function *slot[6][N_SLOTS];
};
static struct module modules[2];
static __thread struct module *attaching = &modules[0];
static __thread unsigned int n_slots = N_SLOTS;

static int get_module_table(int module, tp_nvtx_function ***table, unsigned int *n)
{
	if (module >= 6)
		return 0;
	for (int i = 0; i < N_SLOTS; i++)
		attaching->slot[module][i] = &attaching->function[module][i];
	*table = attaching->slot[module];
	*n = n_slots;
	return 1;
}

static const struct tp_nvtx_callbacks callbacks = {sizeof(callbacks), get_module_table};
static const struct tp_nvtx_callbacks short_callbacks = {8, get_module_table};

static const void *get_table(uint32_t id)
{
	return id == TP_NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

static const void *get_no_table(uint32_t id)
{
	return NULL;
}

static const void *get_short_table(uint32_t id)
{
	return &short_callbacks;
}

#define CALL(module, slot, type) ((type)(void *)modules[0].function[module][slot])
typedef int (*push_fn)(const void *domain, const void *attributes);

Test(mark_nvtx, our_declarations_are_those_of_nvtx)
{
	if (!HAS_HEADERS)
		cr_skip("no NVTX headers here (make setup)");
}

Test(mark_nvtx, a_process_that_cannot_train_is_not_attached_to)
{
	cr_expect_eq(tp_mark_nvtx_attach(get_table), 0);
	cr_expect_null(modules[0].function[TP_NVTX_CORE][TP_NVTX_RANGE_POP]);
}

Test(mark_nvtx, a_module_without_what_is_needed_is_left_alone)
{
	tp_mark_nvtx_allow();
	cr_expect_eq(tp_mark_nvtx_attach(NULL), 0);
	cr_expect_eq(tp_mark_nvtx_attach(get_no_table), 0);
	cr_expect_eq(tp_mark_nvtx_attach(get_short_table), 0);
}

Test(mark_nvtx, slots_that_an_older_module_does_not_have_are_not_written)
{
	tp_mark_nvtx_allow();
	n_slots = TP_NVTX_RANGE_PUSH_A;
	cr_expect_eq(tp_mark_nvtx_attach(get_table), 1);
	cr_expect_not_null(modules[0].function[TP_NVTX_CORE][TP_NVTX_RANGE_PUSH_EX]);
	for (int i = TP_NVTX_RANGE_PUSH_A; i < N_SLOTS; i++)
		cr_expect_null(modules[0].function[TP_NVTX_CORE][i]);
	cr_expect_null(modules[0].function[TP_NVTX_CORE][0]);
	cr_expect_null(modules[0].function[TP_NVTX_CORE2][0]);
}

static void *attach(void *module)
{
	attaching = module;
	return (void *)(uintptr_t)tp_mark_nvtx_attach(get_table);
}

Test(mark_nvtx, two_modules_attach_at_the_same_time)
{
	pthread_t thread[2];
	void *result;

	tp_mark_nvtx_allow();
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, attach, &modules[i]);
	for (int i = 0; i < 2; i++) {
		pthread_join(thread[i], &result);
		cr_expect_eq(result, (void *)1);
	}
	cr_expect_arr_eq(modules[0].function, modules[1].function, sizeof(modules[0].function));
}

Test(mark_nvtx, only_what_the_attributes_have_is_read)
{
	static const struct tp_probe *const with_marks[] = {&tp_mark_probe, NULL};
	static const wchar_t wide[] = {0x41, 0xe9, 0x20ac, 0x1f600, 0xd800, 0};
	struct tp_nvtx_attributes a = {.version = 3, .size = 32};
	struct rig_trace *trace;
	push_fn push;
	char bad[64];

	tp_mark_nvtx_allow();
	rig_set_up();
	cr_assert_eq(tp_sched_parse(&rig_config.schedule, "always", bad, sizeof(bad)), 0);
	cr_assert_eq(tp_session_open(&rig_config, with_marks, "file:/x/train.py"), 0);
	cr_assert_eq(tp_mark_nvtx_attach(get_table), 1);
	push = CALL(TP_NVTX_CORE2, TP_NVTX_DOMAIN_RANGE_PUSH_EX, push_fn);
	a.message_type = TP_NVTX_MESSAGE_ASCII;
	a.message.ascii = (const char *)16;
	cr_expect_eq(push(NULL, &a), TP_NVTX_NOT_TRACKED, "too short for a message");
	a.size = sizeof(a);
	a.message_type = 99;
	push(NULL, &a);
	a.message_type = TP_NVTX_MESSAGE_REGISTERED;
	push(NULL, &a);
	a.message_type = TP_NVTX_MESSAGE_ASCII;
	a.message.ascii = NULL;
	push((void *)48, &a);
	push(NULL, NULL);
	a.message_type = TP_NVTX_MESSAGE_UNICODE;
	a.message.unicode = wide;
	push(NULL, &a);
	for (int i = 0; i < 6; i++)
		CALL(TP_NVTX_CORE, TP_NVTX_RANGE_POP, int (*)(void))();
	cr_expect_eq(tp_mark_depth, 0);
	tp_session_close("exit");
	trace = rig_window(0);
	cr_expect_eq(rig_count(trace, NULL, TP_REC_RANGE, 0), 6);
	cr_expect_eq(rig_count(trace, "A\u00e9\u20ac\U0001f600\ufffd", TP_REC_RANGE, 0), 1);
	cr_expect_eq(rig_count(trace, "", TP_REC_RANGE, 0), 5);
	rig_tear_down();
}
