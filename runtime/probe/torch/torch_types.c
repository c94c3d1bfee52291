/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_types.c - in which types of numbers operators compute: those of a step now and then are looked at
 *
 * A callback of its own, which is given the inputs. The first input that has floating-point numbers
 * counts, with its elements. The callback is there from where a window begins (its warm-up, if it has
 * one) to the end of the next step, and again each TP_TORCH_TYPES_REST steps: to hand inputs to a
 * callback costs as much as all else that an operator costs. One operator in so many, torch's own way to
 * look now and then, costs more: whoever has such a callback pays for the dice wherever a thread takes
 * over the state of another one, which each node of a backward pass does. Runs on guest threads.
 */
#include "runtime/probe/torch/torch_state.h"

#include <pthread.h>

#include "runtime/engine/session.h"

enum {
	INPUTS = 4,		/* of an operator, that are looked at */
	ELEMENTS_MOST = 1 << 30,	/* of a tensor: a larger one counts as this */
	LOOKS_MOST = 1 << 16,	/* operators that a look takes, where no step ends */
};

/* By c10::ScalarType. */
static const struct {
	uint8_t dtype;
	const char *name;
} type[] = {{5, "half"}, {6, "float"}, {7, "double"}, {15, "bfloat16"}};
enum { TYPES = sizeof(type) / sizeof(type[0]) };

static struct {
	pthread_mutex_t lock;		/* held for a us, at the edges of windows and looks */
	uint64_t handle;		/* 0: not registered */
	bool is_window;
	uint64_t due;			/* atomic: steps ended when the look ends or the next begins */
	int64_t left;			/* atomic: operators until the look ends */
	uint64_t n, elements[TYPES];	/* atomic: operators that were looked at; of their inputs */
} types = {.lock = PTHREAD_MUTEX_INITIALIZER, .due = UINT64_MAX};

/* At most ELEMENTS_MOST; 0: none, not floating-point, or of a shape that is not told. */
static uint64_t count_elements(const char *tensor, uint32_t *which)
{
	const struct tp_torch_tensor_layout *at = &tp_torch.layout.tensor;
	uint64_t n_dims = tp_torch_u64(tensor, at->sizes), n = 1;
	const uint16_t dtype = tp_torch_u16(tensor, at->dtype);

	for (*which = 0; *which < TYPES && type[*which].dtype != dtype; ++*which)
		;
	if (*which == TYPES || n_dims > TP_TORCH_INLINE_SIZES)
		return 0;
	for (uint32_t i = 0; i < n_dims; i++) {
		const int64_t size = (int64_t)tp_torch_u64(tensor, at->sizes + 8 + 8 * i);

		if (size <= 0)
			return 0;
		n = (uint64_t)size < ELEMENTS_MOST / n ? n * (uint64_t)size : ELEMENTS_MOST;
	}
	return n;
}

static TP_TORCH_CALLED_BY_TORCH void *start_types(void **ret, const void *rf)
{
	const struct tp_torch_layout *layout = &tp_torch.layout;
	const char *inputs, *value;
	uint64_t n_inputs, n = 0;
	uint32_t which = 0;

	*ret = NULL;
	if (!tp_session_is_armed() || __atomic_load_n(&tp_torch.phase, __ATOMIC_RELAXED) != TP_TORCH_OPEN)
		return ret;
	inputs = tp_torch_ptr(rf, layout->record.inputs);
	n_inputs = tp_torch_u64(rf, layout->record.inputs + 8u);
	for (uint32_t i = 0; inputs && i < n_inputs && i < INPUTS && !n; i++) {
		value = inputs + i * TP_TORCH_IVALUE_BYTES;
		if (tp_torch_u32(value, 8) != layout->tensor.tag_tensor)
			continue;
		value = tp_torch_ptr(value, 0);
		if (value && value != layout->undefined)
			n = count_elements(value, &which);
	}
	if (!n)
		return ret;
	__atomic_fetch_add(&types.n, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&types.elements[which], n, __ATOMIC_RELAXED);
	return ret;
}
TP_TORCH_DEFINE_START(start_types);

static void stop_looking(void)
{
	if (types.handle)
		tp_torch.abi.remove(types.handle);
	types.handle = 0;
	__atomic_store_n(&types.due, types.is_window ? tp_session_steps() + TP_TORCH_TYPES_REST : UINT64_MAX,
			 __ATOMIC_RELAXED);
}

static void end_types(const void *rf, void *observer)
{
	if (tp_likely(__atomic_sub_fetch(&types.left, 1, __ATOMIC_RELAXED) > 0) ||
	    pthread_mutex_trylock(&types.lock))
		return;
	if (types.handle)
		stop_looking();
	pthread_mutex_unlock(&types.lock);
}

static void look(void)
{
	struct tp_torch_callback callback = {
		.start = TP_TORCH_START(start_types),
		.end = (void *)end_types,
		.probability = 1.0,
		.needs_inputs = 1,
	};

	callback.scopes[TP_SCOPE_FUNCTION] = 1;
	__atomic_store_n(&types.left, LOOKS_MOST, __ATOMIC_RELAXED);
	__atomic_store_n(&types.due, tp_session_steps() + 1, __ATOMIC_RELAXED);
	types.handle = tp_torch.abi.add(callback);
}

void tp_torch_types_arm(void)
{
	pthread_mutex_lock(&types.lock);
	types.is_window = tp_torch.layout.record.inputs != 0;
	if (types.is_window && !types.handle)
		look();
	pthread_mutex_unlock(&types.lock);
}

void tp_torch_types_disarm(void)
{
	pthread_mutex_lock(&types.lock);
	types.is_window = false;
	stop_looking();
	pthread_mutex_unlock(&types.lock);
}

void tp_torch_types_range_ended(void)
{
	if (tp_likely(tp_session_steps() < __atomic_load_n(&types.due, __ATOMIC_RELAXED)) ||
	    pthread_mutex_trylock(&types.lock))
		return;
	if (tp_session_steps() >= __atomic_load_n(&types.due, __ATOMIC_RELAXED)) {
		if (types.handle)
			stop_looking();
		else
			look();
	}
	pthread_mutex_unlock(&types.lock);
}

void tp_torch_types_report(struct tp_text *totals)
{
	const uint64_t n = __atomic_load_n(&types.n, __ATOMIC_RELAXED);

	if (!n)
		return;
	tp_text_fmt(totals, "torch.types=%lu\n", (unsigned long)n);
	for (uint32_t i = 0; i < TYPES; i++)
		tp_text_fmt(totals, "torch.elements.%s=%lu\n", type[i].name,
			    (unsigned long)__atomic_load_n(&types.elements[i], __ATOMIC_RELAXED));
}

/* The callback stays registered, see forget_torch(). */
void tp_torch_types_forked(void)
{
	pthread_mutex_init(&types.lock, NULL);
	types.is_window = false;
	types.due = UINT64_MAX;
	types.n = 0;
	for (uint32_t i = 0; i < TYPES; i++)
		types.elements[i] = 0;
}
