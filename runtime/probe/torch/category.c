/* SPDX-License-Identifier: Apache-2.0 */
/*
 * category.c - one look at an optimizer and its model: which block is what
 *
 * Objects are read by the interpreter's public functions only, instance dictionaries rather than
 * attributes, so that no property or method of the program runs. Of a tensor that is neither a
 * plain one nor a parameter only a distributed one's local part is read; others are counted.
 */
#include "runtime/probe/torch/category.h"

#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/base/hash.h"
#include "runtime/base/sync.h"
#include "runtime/base/text.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/session.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pyframe.h"

enum {
	OPTIMIZERS = 32,	/* that are remembered of a window */
	MODULES_BITS = 14,	/* of models that are walked, at most three quarters of it */
	MODULES_MAX = 3 << (MODULES_BITS - 2),
	DEPTH_MAX = 64,		/* of modules in modules */
	NAME_MAX_BYTES = 512,
	CUDA = 1,		/* torch's DeviceType */
};

static struct {
	bool is_wanted;
	uint32_t window;		/* atomic: number of windows begun when `seen` was emptied */
	uint64_t seen[OPTIMIZERS];	/* atomic */
	uint32_t n_seen;		/* atomic */

	/* Under the interpreter's lock. */
	void *tensor, *parameter, *module;	/* types, kept for ever */
	uint64_t n_tensors, n_unread, n_scans, ns;
	uint64_t visited[1 << MODULES_BITS];
	uint32_t n_visited;
	char name[NAME_MAX_BYTES];
} category;

/* Attributes of each tensor: by strings that types remember, a lookup takes a tenth of the time. */
static struct attribute {
	const char *text;
	void *name;		/* kept for ever */
} storage_of = { "untyped_storage", NULL }, data_ptr = { "data_ptr", NULL },
  nbytes = { "nbytes", NULL }, is_cpu = { "is_cpu", NULL }, grad = { "grad", NULL };

/* One look. */
struct scan {
	uint32_t n_records, n_unread;
};

/* ---- records ---- */

static void put(struct scan *scan, enum tp_tensor_category what, uint64_t address,
		uint64_t n_bytes, uint32_t device, uint32_t name)
{
	struct tp_rec *rec = tp_ring_reserve();

	if (!rec)
		return;
	rec->time = tp_clock_now();
	tp_rec_set_len(rec, n_bytes);
	rec->kind = TP_REC_CATEGORY;
	rec->flags = (uint8_t)what;
	rec->name = name;
	rec->link = device;
	rec->arg = address;
	tp_ring_commit();
	scan->n_records++;
}

static void put_scan(const struct scan *scan, uint64_t begin, uint32_t name)
{
	const uint64_t now = tp_clock_now();
	struct tp_rec *rec = tp_ring_reserve();

	if (!rec)
		return;
	rec->time = begin;
	tp_rec_set_len(rec, now - begin);
	rec->kind = TP_REC_SCAN;
	rec->flags = 0;
	rec->name = name;
	rec->link = scan->n_records;
	rec->arg = scan->n_unread;
	tp_ring_commit();
}

/* ---- objects; the interpreter's lock is held in all that follows ---- */

/* NULL, and no exception, where there is none. */
static void *get(void *object, struct attribute *attribute)
{
	void *value;

	if (!attribute->name)
		attribute->name = tp_py.intern(attribute->text);
	value = attribute->name ? tp_py.get_named(object, attribute->name) : NULL;
	if (!value)
		tp_py.clear();
	return value;
}

static void *call(void *object, struct attribute *method)
{
	void *bound = get(object, method);
	void *result = bound ? tp_py.call(bound, NULL) : NULL;

	tp_pyapi_drop(bound);
	if (!result)
		tp_py.clear();
	return result;
}

/* A number is dropped; there is none, or it is none: 0. */
static uint64_t as_number(void *object)
{
	long number;

	if (!object)
		return 0;
	number = tp_py.as_long(object);
	tp_py.drop(object);
	if (number == -1 && tp_py.error()) {
		tp_py.clear();
		return 0;
	}
	return (uint64_t)number;
}

static bool is_exactly(void *object, void *type)
{
	void *its = tp_py.type(object);

	tp_pyapi_drop(its);
	return its && its == type;
}

static bool is_plain_tensor(void *object)
{
	return is_exactly(object, category.tensor) || is_exactly(object, category.parameter);
}

static bool is_instance(void *object, void *type)
{
	int is_it = tp_py.is_instance(object, type);

	if (is_it < 0)
		tp_py.clear();
	return is_it > 0;
}

/* The device of a tensor in the form of records. */
static uint32_t get_device(void *tensor)
{
	static struct attribute get_index = { "get_device", NULL };
	long index;

	if (as_number(get(tensor, &is_cpu)))
		return TP_DEVICE_CPU;
	index = (long)as_number(call(tensor, &get_index));
	return tp_pyapi_number(tensor, "is_cuda", 0) ? TP_DEVICE(CUDA, index) : TP_NO_DEVICE;
}

static void take_plain(struct scan *scan, void *tensor, enum tp_tensor_category what,
		       uint32_t name)
{
	void *storage = call(tensor, &storage_of);
	uint64_t address, n_bytes;

	if (!storage) {
		scan->n_unread++;
		return;
	}
	address = as_number(call(storage, &data_ptr));
	n_bytes = as_number(call(storage, &nbytes));
	tp_py.drop(storage);
	/* Empty, or freed by its owner until it is needed again. */
	if (address && n_bytes)
		put(scan, what, address, n_bytes, get_device(tensor), name);
}

static enum tp_tensor_category as_sharded(enum tp_tensor_category what)
{
	return what == TP_TENSOR_PARAMETER  ? TP_TENSOR_SHARDED_PARAMETER
	       : what == TP_TENSOR_GRADIENT ? TP_TENSOR_SHARDED_GRADIENT
					    : what;
}

static void take_tensor(struct scan *scan, void *tensor, enum tp_tensor_category what,
			uint32_t name)
{
	void *local;

	if (is_plain_tensor(tensor)) {
		take_plain(scan, tensor, what, name);
		return;
	}
	local = tp_pyapi_get(tensor, "_local_tensor");
	if (local && is_plain_tensor(local))
		take_plain(scan, local, as_sharded(what), name);
	else
		scan->n_unread++;
	tp_pyapi_drop(local);
}

/* ---- the optimizer ---- */

static void take_parameter(struct scan *scan, void *parameter)
{
	void *gradient;

	take_tensor(scan, parameter, TP_TENSOR_PARAMETER, 0);
	gradient = get(parameter, &grad);
	if (!gradient)
		return;
	if (is_instance(gradient, category.tensor))
		take_tensor(scan, gradient, TP_TENSOR_GRADIENT, 0);
	tp_py.drop(gradient);
}

static void take_each(struct scan *scan, void *list, void (*take)(struct scan *, void *))
{
	void *iterator = list ? tp_py.iterator(list) : NULL;
	void *item;

	while (iterator && (item = tp_py.next(iterator))) {
		take(scan, item);
		tp_py.drop(item);
	}
	tp_pyapi_drop(iterator);
	if (tp_py.error())
		tp_py.clear();
}

static void take_group(struct scan *scan, void *group)
{
	void *params = tp_py.dict_get(group, "params");

	if (params)
		take_each(scan, params, take_parameter);
}

/* What an optimizer keeps of a parameter: tensors by name, or whatever it likes. */
static void take_state(struct scan *scan, void *state)
{
	void *key, *value;
	ptrdiff_t at = 0;

	while (tp_py.dict_next(state, &at, &key, &value))
		if (is_instance(value, category.tensor))
			take_tensor(scan, value, TP_TENSOR_OPTIMIZER, 0);
}

static void take_optimizer(struct scan *scan, void *optimizer)
{
	void *dict = tp_pyapi_get(optimizer, "__dict__"), *groups, *state, *key, *value;
	ptrdiff_t at = 0;

	if (!dict)
		return;
	groups = tp_py.dict_get(dict, "param_groups");
	state = tp_py.dict_get(dict, "state");
	if (groups)
		take_each(scan, groups, take_group);
	while (state && tp_py.dict_next(state, &at, &key, &value))
		take_state(scan, value);
	tp_py.drop(dict);
}

/* ---- modules ---- */

/* True: it was not seen before in this look. */
static bool visit(void *module)
{
	const uint32_t mask = (1u << MODULES_BITS) - 1;
	uint64_t key = (uintptr_t)module;
	uint32_t place = (uint32_t)(tp_hash_bytes(&key, sizeof(key), 0)) & mask;

	while (category.visited[place] && category.visited[place] != key)
		place = (place + 1) & mask;
	if (category.visited[place] || category.n_visited == MODULES_MAX)
		return false;
	category.visited[place] = key;
	category.n_visited++;
	return true;
}

/* Appends ".key" to the name of `n` bytes that stands there. Its new length. */
static uint32_t append_name(uint32_t n, void *key)
{
	const char *text = tp_pyapi_text(key);
	size_t n_text;

	if (!text)
		return n;
	n_text = strlen(text);
	if (n + n_text + 1 >= NAME_MAX_BYTES)
		return n;
	if (n)
		category.name[n++] = '.';
	memcpy(category.name + n, text, n_text);
	return n + (uint32_t)n_text;
}

static void take_members(struct scan *scan, void *members, enum tp_tensor_category what,
			 uint32_t n_name)
{
	void *key, *value;
	ptrdiff_t at = 0;

	while (members && tp_py.dict_next(members, &at, &key, &value)) {
		uint32_t n;

		if (!is_instance(value, category.tensor))
			continue;
		n = append_name(n_name, key);
		take_tensor(scan, value, what, tp_intern(TP_STRING_TEXT, category.name, n));
	}
}

static void take_module(struct scan *scan, void *module, uint32_t n_name, uint32_t depth)
{
	void *dict, *members, *key, *value;
	ptrdiff_t at = 0;

	if (depth == DEPTH_MAX || !visit(module))
		return;
	dict = tp_pyapi_get(module, "__dict__");
	if (!dict)
		return;
	take_members(scan, tp_py.dict_get(dict, "_parameters"), TP_TENSOR_PARAMETER, n_name);
	take_members(scan, tp_py.dict_get(dict, "_buffers"), TP_TENSOR_BUFFER, n_name);
	members = tp_py.dict_get(dict, "_modules");
	while (members && tp_py.dict_next(members, &at, &key, &value))
		if (is_instance(value, category.module))
			take_module(scan, value, append_name(n_name, key), depth + 1);
	tp_py.drop(dict);
}

static void take_if_module(struct scan *scan, void *object)
{
	if (is_instance(object, category.module))
		take_module(scan, object, 0, 0);
}

static void take_local(void *scan, const struct tp_pyframe_local *local)
{
	take_if_module(scan, local->object);
}

static void take_models(struct scan *scan)
{
	void *main_module = tp_py.dict_get(tp_py.modules(), "__main__");
	void *globals = main_module ? tp_pyapi_get(main_module, "__dict__") : NULL, *key, *value;
	ptrdiff_t at = 0;

	memset(category.visited, 0, sizeof(category.visited));
	category.n_visited = 0;
	tp_pyframe_each_local(take_local, scan);
	while (globals && tp_py.dict_next(globals, &at, &key, &value))
		take_if_module(scan, value);
	tp_pyapi_drop(globals);
}

/* ---- one look ---- */

static bool find_types(void)
{
	if (!category.tensor)
		category.tensor = tp_pyapi_of_module("torch", "Tensor");
	if (!category.parameter)
		category.parameter = tp_pyapi_of_module("torch.nn.parameter", "Parameter");
	if (!category.module)
		category.module = tp_pyapi_of_module("torch.nn.modules.module", "Module");
	return category.tensor && category.parameter && category.module;
}

static uint32_t name_of_class(void *object)
{
	void *type = tp_py.type(object);
	void *name = type ? tp_pyapi_get(type, "__name__") : NULL;
	const char *text = name ? tp_pyapi_text(name) : NULL;
	uint32_t id = text ? tp_intern_text(text) : 0;

	tp_pyapi_drop(name);
	tp_pyapi_drop(type);
	return id;
}

static void look(void *optimizer)
{
	const uint64_t begin = tp_clock_now();
	const uint64_t begin_ns = tp_clock_mono_ns();
	struct scan scan = {0};

	if (!find_types())
		return;
	tp_py.take(optimizer);
	take_optimizer(&scan, optimizer);
	take_models(&scan);
	put_scan(&scan, begin, name_of_class(optimizer));
	tp_py.drop(optimizer);
	category.n_scans++;
	category.n_tensors += scan.n_records;
	category.n_unread += scan.n_unread;
	category.ns += tp_clock_mono_ns() - begin_ns;
}

/* Has it been looked at in this window? Notes that it will have been. */
static bool is_seen(uint64_t who, uint32_t window)
{
	uint32_t n;

	if (__atomic_load_n(&category.window, __ATOMIC_RELAXED) != window) {
		__atomic_store_n(&category.n_seen, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&category.window, window, __ATOMIC_RELAXED);
	}
	n = __atomic_load_n(&category.n_seen, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < n; i++)
		if (__atomic_load_n(&category.seen[i], __ATOMIC_RELAXED) == who)
			return true;
	if (n == OPTIMIZERS)
		return true;
	__atomic_store_n(&category.seen[n], who, __ATOMIC_RELAXED);
	__atomic_store_n(&category.n_seen, n + 1, __ATOMIC_RELAXED);
	return false;
}

void tp_category_step_end(uint64_t who)
{
	uint64_t object;
	int held;

	/* Warm-up does not count: what is recorded in it is not kept. */
	if (!category.is_wanted || !tp_session_is_armed() ||
	    __atomic_load_n(&tp_ring.head->phase, __ATOMIC_ACQUIRE) != TP_PHASE_ACTIVE ||
	    is_seen(who, __atomic_load_n(&tp_ring.head->windows_begun, __ATOMIC_RELAXED)))
		return;
	object = tp_pyframe_object(TP_PYFRAME_STEP);
	if (!object || !tp_pyframe_enter(&held))
		return;
	look((void *)(uintptr_t)object);
	tp_py.release(held);
}

/* ---- the probe ---- */

static int open_category(const struct tp_config *config)
{
	category.is_wanted = config->record & TP_RECORD_CATEGORIES;
	if (!category.is_wanted)
		return 0;
	if (!tp_py.minor || !tp_py.dict_next || !tp_py.is_instance || !tp_py.iterator) {
		category.is_wanted = false;
		tp_probe_off("category", "it needs a Python whose objects can be read");
	}
	return 0;
}

static void report_category(struct tp_text *totals)
{
	if (category.is_wanted)
		tp_text_fmt(totals, "category.scans=%lu\ncategory.tensors=%lu\n"
			    "category.unread=%lu\ncategory.ns=%lu\n",
			    (unsigned long)category.n_scans, (unsigned long)category.n_tensors,
			    (unsigned long)category.n_unread, (unsigned long)category.ns);
}

const struct tp_probe tp_category_probe = {
	.name = "category",
	.open = open_category,
	.report = report_category,
};
