/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memviz.c - lives of tensor blocks as a memory snapshot of PyTorch
 *
 * A dictionary: device_traces, a list of events for each device, and segments, the stretches of
 * memory that an allocator has, with their blocks. Devices are numbered: the GPUs by index, then
 * the host, as torch's own profile_plot does. The host's heap has no segments, and those of a GPU's
 * allocator are not told block by block, so blocks that lie closely together make one.
 *
 * What the page (MemoryViz.js) demands beside its format: each block that ever lived lies in a
 * segment; a trace in which any event has a category has one of category "unknown"; blocks have
 * their categories only where they are allocated, so older ones are allocated when the window
 * begins; the blocks of a segment leave no gap.
 */
#include "merge/sink/memviz.h"

#include <errno.h>
#include <stdlib.h>

#include "merge/facts/origin/hostmem_frames.h"
#include "merge/kit/pickle.h"
#include "merge/kit/sum.h"
#include "merge/model/table.h"

enum {
	CLOSE_BYTES = 1 << 20,	/* gap between blocks of one segment */
	DEVICES_MAX = 256,
	TEXT_MAX = 400,
};

/* One end of a life. */
struct edge {
	int64_t ns;
	uint32_t life;
	uint8_t order;		/* at one time: frees, then what is allocated, then what dies at once */
	bool is_free;
};

static int compare_edges(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	if (x->order != y->order)
		return (int)x->order - (int)y->order;
	return (x->life > y->life) - (x->life < y->life);
}

static int compare_addresses(const void *a, const void *b)
{
	const struct tp_life *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* ---- events ---- */

static void put_frame(struct tp_pickle *p, const char *name, const char *file, int64_t line)
{
	tp_pickle_dict(p);
	tp_pickle_key_text(p, "name", name);
	tp_pickle_key_text(p, "filename", file);
	tp_pickle_key_int(p, "line", line);
	tp_pickle_close(p);
}

static void put_module(struct tp_pickle *p, const struct tp_memcat *cat, uint32_t path)
{
	const struct tp_module_paths *paths = tp_origins_paths(tp_memcat_origins(cat));
	char title[TEXT_MAX], class[TEXT_MAX];
	uint32_t n;
	const char *name;

	if (!path)
		return;
	name = tp_module_class(tp_module_paths_at(paths, path), &n);
	tp_show_text(class, sizeof(class), name, n);
	put_frame(p, tp_module_title(paths, path, false, title, sizeof(title)), class, 0);
}

/* Innermost first: the operator, its module, its line. */
static void put_frames(struct tp_pickle *p, const struct tp_memcat *cat, uint32_t name,
		       enum tp_tensor_category category, const struct tp_string *label,
		       struct tp_origin origin)
{
	struct tp_frame line;

	tp_pickle_key(p, "frames");
	tp_pickle_list(p);
	if (name != TP_NO_NAME || label)
		put_frame(p, label ? label->bytes : tp_names_at(tp_memcat_names(cat), name)->bytes,
			  tp_tensor_category_title(category), 0);
	put_module(p, cat, origin.path);
	if (tp_hostmem_find_line(tp_origins_stacks(tp_memcat_origins(cat)), origin.stack, &line))
		put_frame(p, line.function, line.file, line.line);
	tp_pickle_close(p);
}

static void put_life_frames(struct tp_pickle *p, const struct tp_memcat *cat,
			    const struct tp_life *life)
{
	put_frames(p, cat, life->name, life->category, life->label, life->origin);
}

static void put_event(struct tp_pickle *p, const char *action, uint64_t address, int64_t bytes,
		      int64_t ns)
{
	tp_pickle_dict(p);
	tp_pickle_key_text(p, "action", action);
	tp_pickle_key_int(p, "addr", (int64_t)address);
	tp_pickle_key_int(p, "size", bytes);
	tp_pickle_key_int(p, "stream", 0);
	tp_pickle_key_int(p, "time_us", ns / 1000);
}

static void put_edge(struct tp_pickle *p, const struct tp_memcat *cat,
		     const struct tp_life *life, bool is_free)
{
	static const char *const freed[] = {"free_requested", "free_completed"};

	if (!is_free) {
		put_event(p, "alloc", life->address, life->bytes, life->begin_ns);
		tp_pickle_key_text(p, "category", tp_memcat_word(life->category));
		if (life->label)
			tp_pickle_key_text(p, "user_metadata", life->label->bytes);
		put_life_frames(p, cat, life);
		tp_pickle_close(p);
		return;
	}
	for (uint32_t i = 0; i < 2; i++) {
		put_event(p, freed[i], life->address, life->bytes, life->end_ns);
		put_life_frames(p, cat, life);
		tp_pickle_close(p);
	}
}

static void put_ooms(struct tp_pickle *p, const struct tp_memcat *cat,
		     const struct tp_memviz_oom *oom, uint32_t n_ooms, uint32_t device,
		     uint32_t *next, int64_t until_ns)
{
	for (; *next < n_ooms && oom[*next].ns <= until_ns; ++*next) {
		if (oom[*next].device != device)
			continue;
		put_event(p, "oom", 0, oom[*next].bytes, oom[*next].ns);
		tp_pickle_key_int(p, "device_free", 0);
		put_frames(p, cat, oom[*next].name, TP_TENSOR_UNKNOWN, NULL, oom[*next].origin);
		tp_pickle_close(p);
	}
}

/* False: out of memory. */
static bool put_trace(struct tp_pickle *p, const struct tp_memcat *cat,
		      const struct tp_memviz_device *device, const struct tp_memviz_oom *oom,
		      uint32_t n_ooms)
{
	struct edge *edge = malloc(((size_t)device->n * 2 + 1) * sizeof(*edge));
	uint32_t n = 0, next_oom = 0;

	tp_pickle_list(p);
	if (!edge) {
		tp_pickle_close(p);
		return false;
	}
	for (uint32_t i = 0; i < device->n; i++) {
		const struct tp_life *life = &device->life[i];
		const bool is_brief = life->begin_ns >= life->end_ns;

		edge[n++] = (struct edge){life->begin_ns, i, 1, false};
		if (!life->is_alive)
			edge[n++] = (struct edge){life->end_ns, i, is_brief ? 2 : 0, true};
	}
	qsort(edge, n, sizeof(*edge), compare_edges);
	put_event(p, "snapshot", 0, 0, n ? edge[0].ns : 0);
	tp_pickle_key_text(p, "category", tp_memcat_word(TP_TENSOR_UNKNOWN));
	tp_pickle_close(p);
	for (uint32_t i = 0; i < n; i++) {
		put_ooms(p, cat, oom, n_ooms, device->device, &next_oom, edge[i].ns);
		put_edge(p, cat, &device->life[edge[i].life], edge[i].is_free);
	}
	put_ooms(p, cat, oom, n_ooms, device->device, &next_oom, INT64_MAX);
	tp_pickle_close(p);
	free(edge);
	return true;
}

/* ---- segments ---- */

static void put_inactive(struct tp_pickle *p, uint64_t address, int64_t bytes)
{
	if (bytes <= 0)
		return;
	tp_pickle_dict(p);
	tp_pickle_key_int(p, "address", (int64_t)address);
	tp_pickle_key_int(p, "size", bytes);
	tp_pickle_key_int(p, "requested_size", 0);
	tp_pickle_key_text(p, "state", "inactive");
	tp_pickle_key(p, "frames");
	tp_pickle_list(p);
	tp_pickle_close(p);
	tp_pickle_close(p);
}

/* Blocks that are there at the end; of two that overlap the first is right. */
static int64_t put_blocks(struct tp_pickle *p, const struct tp_memcat *cat,
			  const struct tp_life *life, uint32_t n, uint64_t begin, uint64_t end)
{
	uint64_t at = begin;
	int64_t active = 0;

	tp_pickle_key(p, "blocks");
	tp_pickle_list(p);
	for (uint32_t i = 0; i < n; i++) {
		if (!life[i].is_alive || life[i].address < at)
			continue;
		put_inactive(p, at, (int64_t)(life[i].address - at));
		tp_pickle_dict(p);
		tp_pickle_key_int(p, "address", (int64_t)life[i].address);
		tp_pickle_key_int(p, "size", life[i].bytes);
		tp_pickle_key_int(p, "requested_size", life[i].bytes);
		tp_pickle_key_text(p, "state", "active_allocated");
		tp_pickle_key_text(p, "user_metadata", tp_memcat_word(life[i].category));
		put_life_frames(p, cat, &life[i]);
		tp_pickle_close(p);
		at = life[i].address + (uint64_t)life[i].bytes;
		active = tp_add(active, life[i].bytes);
	}
	put_inactive(p, at, (int64_t)(end - at));
	tp_pickle_close(p);
	return active;
}

static void put_segments(struct tp_pickle *p, const struct tp_memcat *cat,
			 const struct tp_memviz_device *device, uint32_t number)
{
	const struct tp_life *life = device->life;

	for (uint32_t i = 0, n; i < device->n; i += n) {
		const uint64_t begin = life[i].address;
		uint64_t end = begin + (uint64_t)life[i].bytes;
		int64_t active;

		for (n = 1; i + n < device->n && life[i + n].address <= end + CLOSE_BYTES; n++)
			if (life[i + n].address + (uint64_t)life[i + n].bytes > end)
				end = life[i + n].address + (uint64_t)life[i + n].bytes;
		tp_pickle_dict(p);
		tp_pickle_key_int(p, "device", number);
		tp_pickle_key_int(p, "address", (int64_t)begin);
		tp_pickle_key_int(p, "total_size", (int64_t)(end - begin));
		active = put_blocks(p, cat, life + i, n, begin, end);
		tp_pickle_key_int(p, "allocated_size", active);
		tp_pickle_key_int(p, "active_size", active);
		tp_pickle_key_int(p, "requested_size", active);
		tp_pickle_key_int(p, "stream", 0);
		tp_pickle_key_text(p, "segment_type", "large");
		tp_pickle_key(p, "is_expandable");
		tp_pickle_true(p, false);
		tp_pickle_key(p, "frames");
		tp_pickle_list(p);
		tp_pickle_close(p);
		tp_pickle_close(p);
	}
}

/* ---- the whole ---- */

/* A GPU's number is its index; others come behind. */
static uint32_t number_devices(const struct tp_memviz_device *device, uint32_t n,
			       uint32_t *number)
{
	uint32_t n_numbers = 0;

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t index = device[i].device & 0xff;

		number[i] = UINT32_MAX;
		if (device[i].device >> 8 == 1 && index < DEVICES_MAX) {
			number[i] = index;
			n_numbers = index >= n_numbers ? index + 1 : n_numbers;
		}
	}
	for (uint32_t i = 0; i < n; i++)
		if (number[i] == UINT32_MAX)
			number[i] = n_numbers++;
	return n_numbers;
}

int tp_memviz_write(const char *path, const struct tp_memcat *cat,
		    struct tp_memviz_device *device, uint32_t n_devices,
		    const struct tp_memviz_oom *oom, uint32_t n_ooms)
{
	uint32_t number[DEVICES_MAX], n_numbers;
	struct tp_outfile *out;
	struct tp_pickle p;
	bool is_whole = true;
	int err;

	if (n_devices > DEVICES_MAX)
		n_devices = DEVICES_MAX;
	out = tp_outfile_open(path);
	if (!out)
		return -EIO;
	n_numbers = number_devices(device, n_devices, number);
	tp_pickle_begin(&p, out);
	tp_pickle_dict(&p);
	tp_pickle_key(&p, "device_traces");
	tp_pickle_list(&p);
	for (uint32_t k = 0; k < n_numbers; k++) {
		uint32_t i = 0;

		while (i < n_devices && number[i] != k)
			i++;
		if (i < n_devices) {
			is_whole &= put_trace(&p, cat, &device[i], oom, n_ooms);
		} else {
			tp_pickle_list(&p);
			tp_pickle_close(&p);
		}
	}
	tp_pickle_close(&p);
	tp_pickle_key(&p, "segments");
	tp_pickle_list(&p);
	for (uint32_t i = 0; i < n_devices; i++) {
		qsort(device[i].life, device[i].n, sizeof(*device[i].life), compare_addresses);
		put_segments(&p, cat, &device[i], number[i]);
	}
	tp_pickle_close(&p);
	tp_pickle_close(&p);
	tp_pickle_end(&p);
	err = tp_outfile_close(out);
	return err ? err : is_whole ? 0 : -ENOMEM;
}
