/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_layout.c - layouts are found wherever a (stand-in for) torch puts its fields, and
 * what is not found without doubt is refused, alone
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/probe/torch/torch_layout.h"

/* A torch of our own: ranges with their fields at any place. */
struct fake {
	const char *name;
	struct tp_torch_record_layout at;
	bool is_old_string, is_silent, keeps_observer;
	uint16_t copy_of_sequence, copy_of_scope, handle_step;
	/* What is expected to be refused. */
	bool off_all, off_names, off_sequence, off_forward, off_async;
};

static const struct fake *fake;
static struct tp_torch_callback registered;
static uint64_t n_handles;

static uint64_t add(struct tp_torch_callback callback)
{
	registered = callback;
	return 1;
}

static void remove_callback(uint64_t handle)
{
	memset(&registered, 0, sizeof(registered));
}

static void put(void *object, uint16_t at, const void *bytes, size_t n)
{
	if (at)
		memcpy((char *)object + at, bytes, n);
}

static void construct(void *rf, uint8_t scope)
{
	const uint64_t thread = 1;

	memset((char *)rf + 8, 0, 400);
	/* What a real object is full of. */
	for (uint16_t at = 16; at < 80; at += 8)
		put(rf, at, &(uint64_t){ 0x7fff12345000 + at }, 8);
	put(rf, fake->at.scope, &scope, 1);
	put(rf, fake->copy_of_scope, &scope, 1);
	put(rf, fake->at.thread, &thread, 8);
}

static void *observer_of(void *rf, bool take)
{
	static void *kept[8];
	void **entry = &kept[((uintptr_t)rf >> 6) % 8 ^ ((uintptr_t)rf >> 10) % 8];
	void *observer = *entry;

	if (take)
		*entry = NULL;
	else
		*entry = ((struct tp_torch_object (*)(const void *))registered.start)(rf).impl;
	return observer;
}

static void before_text(void *rf, const char *name, int64_t sequence)
{
	size_t n = strlen(name);
	char *text = calloc(1, n + 32);
	uint64_t handle = n_handles += fake->handle_step;

	memcpy(text, &n, sizeof(n));
	memcpy(text + 24, name, n);
	text += 24;
	put(rf, fake->at.text, &text, 8);
	if (!fake->is_old_string)
		put(rf, fake->at.text_length, &n, 8);
	put(rf, fake->at.sequence, &sequence, 8);
	put(rf, fake->copy_of_sequence, &sequence, 8);
	if (fake->at.is_async)
		put(rf, fake->at.is_async - 8, &handle, 8);
	if (registered.start && !fake->is_silent)
		observer_of(rf, false);
}

static const char *name_of(const void *rf)
{
	return fake->at.text ? tp_torch_ptr(rf, fake->at.text) : "somewhere else";
}

static void set_async(void *rf)
{
	put(rf, fake->at.is_async, &(uint8_t){ 1 }, 1);
}

static void destruct(void *rf)
{
	void *observer = observer_of(rf, true);

	if (!observer)
		return;
	((void (*)(const void *, void *))registered.end)(rf, observer);
	if (!fake->keeps_observer)
		((void (**)(void *))*(void **)observer)[1](observer);
}

static uint64_t thread_id(void)
{
	return 1;
}

static const struct fake fakes[] = {
	{ .name = "torch 2.13",
	  .at = { 96, 88, 160, 168, 192, 200, 304, 320, 0 }, .handle_step = 1 },
	{ .name = "torch 2.4, old strings", .is_old_string = true,
	  .at = { 96, 88, 160, 0, 168, 176, 280, 296, 0 }, .handle_step = 1 },
	{ .name = "everything elsewhere",
	  .at = { 120, 112, 208, 216, 240, 264, 328, 344, 0 }, .handle_step = 3 },
	{ .name = "two fields with the sequence number", .copy_of_sequence = 264,
	  .at = { 96, 88, 160, 168, 192, 200, 304, 320, 0 }, .handle_step = 1,
	  .off_sequence = true },
	{ .name = "two fields with the scope", .copy_of_scope = 97,
	  .at = { 96, 88, 160, 168, 192, 200, 304, 320, 0 }, .handle_step = 1, .off_all = true },
	{ .name = "no asynchronous ranges",
	  .at = { 96, 88, 160, 168, 192, 200, 0, 0, 0 }, .handle_step = 1, .off_forward = true,
	  .off_async = true },
	{ .name = "no handles before the flag",
	  .at = { 96, 88, 160, 168, 192, 200, 304, 320, 0 }, .off_forward = true },
	{ .name = "names come from somewhere else",
	  .at = { 96, 88, 0, 0, 0, 200, 304, 320, 0 }, .handle_step = 1, .off_names = true },
	{ .name = "callbacks never come", .is_silent = true,
	  .at = { 96, 88, 160, 168, 192, 200, 304, 320, 0 }, .handle_step = 1, .off_all = true,
	  .off_forward = true },
	{ .name = "observers are kept", .keeps_observer = true,
	  .at = { 96, 88, 160, 168, 192, 200, 304, 320, 0 }, .handle_step = 1, .off_all = true },
};

ParameterizedTestParameters(torch_layout, finds_or_refuses_each_field)
{
	return cr_make_param_array(const struct fake, (void *)fakes,
				   sizeof(fakes) / sizeof(fakes[0]));
}

ParameterizedTest(const struct fake *param, torch_layout, finds_or_refuses_each_field)
{
	const struct tp_torch_abi abi = {
		.add = add, .remove = remove_callback, .name = name_of, .thread_id = thread_id,
		.construct = construct, .destruct = destruct, .set_async = set_async,
		.before_text = before_text,
	};
	struct tp_torch_layout layout;
	const struct tp_torch_record_layout *found = &layout.record;

	fake = param;
	tp_torch_layout_measure(&layout, &abi, false);
	cr_assert_eq(layout.off_all != NULL, fake->off_all, "%s: %s", fake->name, layout.off_all);
	cr_assert_null(registered.start, "the callback is gone");
	if (fake->off_all)
		return;
	cr_expect_eq(found->scope, fake->at.scope, "%s", fake->name);
	cr_expect_eq(found->thread, fake->at.thread, "%s", fake->name);
	cr_expect_eq(layout.off_names != NULL, fake->off_names, "%s", fake->name);
	cr_expect_eq(found->text, fake->at.text, "%s", fake->name);
	cr_expect_eq(found->text_length, fake->at.text_length, "%s", fake->name);
	cr_expect_eq(found->text_is_schema, fake->at.text_is_schema, "%s", fake->name);
	cr_expect_eq(layout.off_sequence != NULL, fake->off_sequence, "%s", fake->name);
	cr_expect_eq(found->sequence, fake->off_sequence ? 0 : fake->at.sequence, "%s",
		     fake->name);
	cr_expect_eq(layout.off_async != NULL, fake->off_async, "%s", fake->name);
	cr_expect_eq(found->is_async, fake->at.is_async, "%s", fake->name);
	cr_expect_eq(layout.off_forward != NULL, fake->off_forward, "%s", fake->name);
	cr_expect_eq(found->forward_thread, fake->off_forward ? 0 : fake->at.forward_thread,
		     "%s", fake->name);
}

Test(torch_layout, finds_a_value_only_once)
{
	const uint64_t one[4] = { 7, 8, 9, 7 }, other[4] = { 1, 2, 3, 1 };
	const void *const objects[2] = { one, other };

	cr_expect_eq(tp_torch_find_u64(objects, (const uint64_t[]){ 8, 2 }, 2, 0, 32), 8);
	cr_expect_eq(tp_torch_find_u64(objects, (const uint64_t[]){ 7, 1 }, 2, 0, 32), 24);
	cr_expect_eq(tp_torch_find_u64(objects, (const uint64_t[]){ 7, 1 }, 2, 8, 32), 24);
	cr_expect_eq(tp_torch_find_u64(objects, (const uint64_t[]){ 9, 2 }, 2, 0, 32), 0);
	cr_expect_eq(tp_torch_find_u8(objects, (const uint8_t[]){ 9, 3 }, 2, 0, 32), 16);
}
