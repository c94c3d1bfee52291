/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_layout.c - measures torch's object layouts on objects of our own
 *
 * Runs once, on one guest thread, before anything is recorded. Other threads may run
 * operators meanwhile: the callback registered here looks only at objects that this thread
 * made, told apart by address or by thread.
 */
#include "runtime/probe/torch/torch_layout.h"

#include <pthread.h>

#include "runtime/base/readable.h"

enum {
	N_OWN = 3,
	OWN_BYTES = 1024,	/* a RecordFunction has 344 bytes in torch 2.13 */
	SEARCH_BYTES = 512,
};

/* Longer than any string that std::string keeps in line, all of different lengths. */
static const char *const own_name[N_OWN] = {
	"trainprof::layout_of_a_user_range",
	"trainprof::layout_of_a_backward_node",
	"trainprof::layout_of_a_function",
};
static const uint64_t own_sequence[N_OWN] = { 0x5eed5eed1234, 0x5eed5eed2345, 0x5eed5eed3456 };
static const uint8_t own_scope[N_OWN] = { TP_SCOPE_USER, TP_SCOPE_BACKWARD, TP_SCOPE_FUNCTION };

static const int64_t short_sizes[4] = { 3, 5, 0, 11 };
static const int64_t long_sizes[7] = { 2, 3, 0, 5, 7, 9, 13 };
enum { DTYPE_DOUBLE = 7, DTYPE_BFLOAT16 = 15 };

/* Stands in for an ObserverContext: torch calls the second entry to delete it. */
struct observer {
	void *const *vtable;
};

static struct {
	pthread_t thread;
	const char *own;	/* the objects of ours, N_OWN x OWN_BYTES */
	uint32_t n_started, n_ended, n_deleted;
	bool wants_inputs;
	uint16_t from;		/* where to search for the inputs */
	const void *tensor;	/* the only input of the operator that is being called */
	uint16_t inputs;	/* found */
	uint32_t n_inputs_found, tag_tensor;
	/* The inputs of the call of `empty` that follows. */
	bool has_list;
	uint32_t tag_list, tag_int, tag_element;
	uint16_t list;
} trial;

static void keep_observer(void *object)
{
}

static void delete_observer(void *object)
{
	trial.n_deleted++;
}

static void *const observer_vtable[2] = { (void *)keep_observer, (void *)delete_observer };
static const struct observer trial_observer = { observer_vtable };

static bool is_aligned_pointer(const void *p)
{
	return ((uintptr_t)p & 7) == 0 && (uintptr_t)p >= 4096 && (uintptr_t)p >> 56 == 0;
}

/* The one input {tensor} of the operator being called: an array of one IValue. */
static void search_inputs(const void *rf)
{
	for (uint32_t at = trial.from; at + 16 <= SEARCH_BYTES; at += 8) {
		const char *values = tp_torch_ptr(rf, at);

		if (tp_torch_u64(rf, at + 8) != 1 || !is_aligned_pointer(values) ||
		    !tp_is_readable(values) || !tp_is_readable(values + 8) ||
		    tp_torch_ptr(values, 0) != trial.tensor)
			continue;
		trial.inputs = (uint16_t)at;
		trial.tag_tensor = tp_torch_u32(values, 8);
		trial.n_inputs_found++;
	}
}

/* The inputs of empty(short_sizes, dtype=double): a list of four integers, an integer, ... */
static void search_list(const void *rf)
{
	const char *values = tp_torch_ptr(rf, trial.inputs);
	const char *list;

	if (tp_torch_u64(rf, trial.inputs + 8) != 6 || !tp_is_readable(values) ||
	    !tp_is_readable(values + 6 * TP_TORCH_IVALUE_BYTES - 8) ||
	    tp_torch_u64(values, TP_TORCH_IVALUE_BYTES) != DTYPE_DOUBLE)
		return;
	trial.tag_list = tp_torch_u32(values, 8);
	trial.tag_int = tp_torch_u32(values, TP_TORCH_IVALUE_BYTES + 8);
	list = tp_torch_ptr(values, 0);
	for (uint32_t at = 8; at <= 40; at += 8) {
		const char *begin, *end;

		if (!is_aligned_pointer(list) || !tp_is_readable(list + at) ||
		    !tp_is_readable(list + at + 8))
			return;
		begin = tp_torch_ptr(list, at);
		end = tp_torch_ptr(list, at + 8);
		if (!is_aligned_pointer(begin) || end - begin != 4 * TP_TORCH_IVALUE_BYTES ||
		    !tp_is_readable(begin) || !tp_is_readable(end - 8))
			continue;
		for (uint32_t i = 0; i < 4; i++) {
			if ((int64_t)tp_torch_u64(begin, i * TP_TORCH_IVALUE_BYTES) !=
			    short_sizes[i])
				return;
		}
		trial.tag_element = tp_torch_u32(begin, 8);
		trial.list = (uint16_t)at;
		trial.has_list = true;
		return;
	}
}

static TP_TORCH_CALLED_BY_TORCH void *start_trial(void **ret, const void *rf)
{
	const char *object = rf;

	*ret = NULL;
	if (!pthread_equal(trial.thread, pthread_self()))
		return ret;
	if (object >= trial.own && object < trial.own + N_OWN * OWN_BYTES) {
		*ret = (void *)&trial_observer;
		trial.n_started++;
	} else if (trial.wants_inputs && !trial.inputs) {
		search_inputs(rf);
	} else if (trial.wants_inputs && !trial.has_list) {
		search_list(rf);
	}
	return ret;
}
TP_TORCH_DEFINE_START(start_trial);

static void end_trial(const void *rf, void *observer)
{
	if (observer == (void *)&trial_observer)
		trial.n_ended++;
}

uint16_t tp_torch_find_u64(const void *const *objects, const uint64_t *values, uint32_t n,
			   uint32_t from, uint32_t to)
{
	uint16_t found = 0;

	for (uint32_t at = from; at + 8 <= to; at += 8) {
		uint32_t i = 0;

		while (i < n && tp_torch_u64(objects[i], at) == values[i])
			i++;
		if (i < n)
			continue;
		if (found)
			return 0;
		found = (uint16_t)at;
	}
	return found;
}

uint16_t tp_torch_find_u8(const void *const *objects, const uint8_t *values, uint32_t n,
			  uint32_t from, uint32_t to)
{
	uint16_t found = 0;

	for (uint32_t at = from; at < to; at++) {
		uint32_t i = 0;

		while (i < n && tp_torch_u8(objects[i], at) == values[i])
			i++;
		if (i < n)
			continue;
		if (found)
			return 0;
		found = (uint16_t)at;
	}
	return found;
}

static void find_text(struct tp_torch_layout *layout, const struct tp_torch_abi *abi,
		      const void *const *own)
{
	struct tp_torch_record_layout *record = &layout->record;
	uint64_t text[N_OWN];
	bool is_new = true, is_old = true;

	for (uint32_t i = 0; i < N_OWN; i++) {
		text[i] = (uintptr_t)abi->name(own[i]);
		if (!text[i] || strcmp((const char *)(uintptr_t)text[i], own_name[i]) != 0) {
			layout->off_names = "names of ranges do not come back as they were given";
			return;
		}
	}
	record->text = tp_torch_find_u64(own, text, N_OWN, 8, SEARCH_BYTES);
	if (!record->text) {
		layout->off_names = "the name was not found in a range";
		return;
	}
	for (uint32_t i = 0; i < N_OWN; i++) {
		const char *old_length = (const char *)(uintptr_t)text[i] - TP_TORCH_OLD_LENGTH;
		uint64_t n = strlen(own_name[i]);

		is_new = is_new && tp_torch_u64(own[i], record->text + 8) == n;
		/* Of a new string this is before a block of the heap, where an allocator may have nothing. */
		is_old = !is_new && is_old && tp_is_readable(old_length) && tp_torch_u64(old_length, 0) == n;
	}
	if (is_new) {
		record->text_length = record->text + 8;
		record->text_is_schema = record->text + 32;
	} else if (is_old) {
		record->text_is_schema = record->text + 8;
	} else {
		layout->off_names = "a string of an unknown kind";
		record->text = 0;
		return;
	}
	/* The variant's index; that 1 means a schema is checked on the first operators. */
	for (uint32_t i = 0; i < N_OWN; i++) {
		if (tp_torch_u8(own[i], record->text_is_schema) != 0) {
			layout->off_names = "the kind of a name was not found";
			record->text = 0;
			return;
		}
	}
}

/* _setAsync changes one byte. Before it lie the range's handle and the forward thread. */
static void find_async(struct tp_torch_layout *layout, const struct tp_torch_abi *abi,
		       char own[N_OWN][OWN_BYTES], uint16_t from)
{
	struct tp_torch_record_layout *record = &layout->record;
	char before[OWN_BYTES];
	uint64_t handle[N_OWN];
	uint32_t n = 0;

	layout->off_async = "the flag was not found in a range";
	layout->off_forward = "the forward thread was not found in a range";
	if (!abi->set_async)
		return;
	memcpy(before, own[0], sizeof(before));
	abi->set_async(own[0]);
	for (uint32_t at = from; at < SEARCH_BYTES; at++) {
		if (before[at] == own[0][at])
			continue;
		n++;
		record->is_async = (uint16_t)at;
	}
	if (n != 1 || before[record->is_async] != 0 || own[0][record->is_async] != 1 ||
	    record->is_async % 8 || record->is_async < from + 16) {
		record->is_async = 0;
		return;
	}
	layout->off_async = NULL;
	for (uint32_t i = 0; i < N_OWN; i++)
		handle[i] = tp_torch_u64(own[i], record->is_async - 8);
	/* Handles are given out in order; nobody set a forward thread. */
	if (!handle[0] || handle[1] <= handle[0] || handle[2] <= handle[1])
		return;
	for (uint32_t i = 0; i < N_OWN; i++) {
		if (tp_torch_u64(own[i], record->is_async - 16) != 0)
			return;
	}
	record->forward_thread = record->is_async - 16;
	layout->off_forward = NULL;
}

static void measure_record(struct tp_torch_layout *layout, const struct tp_torch_abi *abi)
{
	static char own[N_OWN][OWN_BYTES] __attribute__((aligned(64)));
	struct tp_torch_record_layout *record = &layout->record;
	struct tp_torch_callback callback = { .start = TP_TORCH_START(start_trial),
					      .end = (void *)end_trial,
					      .probability = 1.0,
					      .needs_ids = 1 };
	const void *objects[N_OWN];
	uint64_t handle;

	for (uint32_t i = 0; i < N_OWN; i++) {
		callback.scopes[own_scope[i]] = 1;
		objects[i] = own[i];
	}
	trial.own = own[0];
	handle = abi->add(callback);
	for (uint32_t i = 0; i < N_OWN; i++) {
		abi->construct(own[i], own_scope[i]);
		if (abi->before)
			abi->before(own[i],
				    (struct tp_torch_descriptor){ strlen(own_name[i]),
								  own_name[i], 0 },
				    (int64_t)own_sequence[i]);
		else
			abi->before_text(own[i], own_name[i], (int64_t)own_sequence[i]);
	}
	if (trial.n_started == N_OWN) {
		find_text(layout, abi, objects);
		record->sequence =
			tp_torch_find_u64(objects, own_sequence, N_OWN, 8, SEARCH_BYTES);
		if (!record->sequence)
			layout->off_sequence = "the number was not found in a range";
		record->scope = tp_torch_find_u8(objects, own_scope, N_OWN, 8,
						 record->text ? record->text : 256);
		if (record->scope >= 16) {
			const uint64_t id = abi->thread_id();
			const uint64_t ids[N_OWN] = { id, id, id };

			/* Beside the scope; searched alone a small number is found too often. */
			record->thread = tp_torch_find_u64(objects, ids, N_OWN,
							   record->scope - 8, record->scope);
		}
		if (!record->thread)
			layout->off_threads = "the thread's number was not found in a range";
		find_async(layout, abi, own, record->sequence ? record->sequence : 8);
	}
	for (uint32_t i = N_OWN; i > 0; i--)
		abi->destruct(own[i - 1]);
	abi->remove(handle);

	if (trial.n_started != N_OWN || trial.n_ended != N_OWN || trial.n_deleted != N_OWN)
		layout->off_all = "callbacks do not arrive as expected";
	else if (!record->scope)
		layout->off_all = "the scope was not found in a range";
}

/* Engaged std::optional of an enumeration in one byte. */
static uint16_t some(uint8_t value)
{
	return (uint16_t)(1u << 8 | value);
}

static void measure_sizes(struct tp_torch_layout *layout, const void *small, const void *large)
{
	struct tp_torch_tensor_layout *tensor = &layout->tensor;
	uint32_t n = 0;

	for (uint32_t at = 8; at + 40 <= 160; at += 8) {
		const char *sizes;

		if (tp_torch_u64(small, at) != 4 ||
		    memcmp((const char *)small + at + 8, short_sizes, sizeof(short_sizes)) != 0)
			continue;
		sizes = tp_torch_ptr(large, at + 8);
		if (tp_torch_u64(large, at) != 7 || !is_aligned_pointer(sizes) ||
		    !tp_is_readable(sizes) || !tp_is_readable(sizes + 48) ||
		    memcmp(sizes, long_sizes, sizeof(long_sizes)) != 0)
			continue;
		tensor->sizes = (uint16_t)at;
		n++;
	}
	if (n != 1) {
		layout->off_shapes = "the sizes were not found in a tensor";
		return;
	}
	n = 0;
	/* After sizes and strides; the objects have 176 bytes and more. */
	for (uint32_t at = tensor->sizes + 88u; at + 2 <= tensor->sizes + 120u; at += 2) {
		if (tp_torch_u16(small, at) != DTYPE_DOUBLE ||
		    tp_torch_u16(large, at) != DTYPE_BFLOAT16)
			continue;
		tensor->dtype = (uint16_t)at;
		n++;
	}
	if (n != 1)
		layout->off_shapes = "the type was not found in a tensor";
}

/* The tensors are kept for ever: to give them back would need more of torch than we know. */
static void measure_tensor(struct tp_torch_layout *layout, const struct tp_torch_abi *abi)
{
	struct tp_torch_tensor_layout *tensor = &layout->tensor;
	struct tp_torch_callback callback = { .start = TP_TORCH_START(start_trial),
					      .end = (void *)end_trial,
					      .probability = 1.0,
					      .needs_inputs = 1 };
	struct tp_torch_object small, large;
	uint64_t handle;

	small = abi->empty(short_sizes, 4, some(DTYPE_DOUBLE), 0, 0, 0, 0);
	large = abi->empty(long_sizes, 7, some(DTYPE_BFLOAT16), 0, 0, 0, 0);
	if (!is_aligned_pointer(small.impl) || !is_aligned_pointer(large.impl) ||
	    small.impl == large.impl) {
		layout->off_shapes = "tensors of our own could not be made";
		return;
	}
	measure_sizes(layout, small.impl, large.impl);
	if (layout->off_shapes)
		return;

	callback.scopes[TP_SCOPE_FUNCTION] = 1;
	trial.wants_inputs = true;
	trial.from = layout->record.sequence ? layout->record.sequence : 8;
	trial.tensor = small.impl;
	handle = abi->add(callback);
	abi->alias(&small.impl);
	if (trial.n_inputs_found == 1)
		abi->empty(short_sizes, 4, some(DTYPE_DOUBLE), 0, 0, 0, 0);
	abi->remove(handle);
	trial.wants_inputs = false;

	if (trial.n_inputs_found != 1) {
		layout->off_shapes = "the inputs were not found in an operator";
		return;
	}
	layout->record.inputs = trial.inputs;
	tensor->tag_tensor = (uint8_t)trial.tag_tensor;
	/*
	 * IValue's tags, in all versions: None, Tensor, Storage, Double, ComplexDouble, Int,
	 * more numbers, Bool, Tuple, String, Blob, list. So what lies four before the list is
	 * the last of the numbers.
	 */
	if (!trial.has_list || trial.tag_tensor != 1 || trial.tag_int != 5 ||
	    trial.tag_element != trial.tag_int || trial.tag_list < 12 || trial.tag_list > 16) {
		layout->off_shapes = "the kinds of inputs are not the known ones";
		layout->record.inputs = 0;
		return;
	}
	tensor->list = trial.list;
	tensor->tag_int = (uint8_t)trial.tag_int;
	tensor->tag_list = (uint8_t)trial.tag_list;
	tensor->tag_scalar_first = 3;
	tensor->tag_scalar_last = (uint8_t)(trial.tag_list - 4);
}

void tp_torch_layout_measure(struct tp_torch_layout *layout, const struct tp_torch_abi *abi,
			     bool want_shapes)
{
	memset(layout, 0, sizeof(*layout));
	memset(&trial, 0, sizeof(trial));
	trial.thread = pthread_self();
	layout->undefined = abi->undefined;
	measure_record(layout, abi);
	if (layout->off_all || !want_shapes)
		return;
	if (abi->empty && abi->alias)
		measure_tensor(layout, abi);
	else
		layout->off_shapes = "this torch does not export the operators that measure tensors";
}
