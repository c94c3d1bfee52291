/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oom.c - notes an allocation that failed, then reports it
 *
 * One note at a time: FREE, FILLING by the thread that asked, READY for the drain thread.
 */
#include "runtime/probe/hang/oom.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/own_table.h"
#include "runtime/base/process.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/session.h"
#include "runtime/engine/window_records.h"
#include "runtime/probe/hang/group.h"
#include "runtime/probe/hang/held.h"
#include "runtime/probe/hang/report_file.h"
#include "runtime/probe/heap/heap_count.h"
#include "runtime/probe/hang/pynow.h"
#include "runtime/probe/python/pystack.h"
#include "runtime/probe/python/pystack_names.h"
#include "runtime/trace/oom.h"

enum { FREE, FILLING, READY };
#define ADDRESS_SPACE (1ull << 47)
enum {
	FRAMES = 48,			/* innermost ones that are kept */
	BETWEEN_MS = 1000,
	TEXT = 32 << 10,
	GROWTH_STEPS = 16,		/* over which growth is told */
};

static struct {
	bool is_on;
	uint32_t state;			/* atomic */
	uint32_t n_reports;		/* atomic */
	uint64_t last_ns;		/* atomic; CLOCK_MONOTONIC of the last note */
	struct tp_oom oom;
	struct tp_pystack_name frame[FRAMES];
	uint32_t n_frames;
	bool is_begun;			/* the first line was said */
	bool is_near_told;
	bool has_tensors;		/* are recorded in windows */
	uint32_t device;		/* as records have it */
	uint64_t time;			/* ticks, of the failure */
	uint32_t window;		/* that was being recorded, or would be of the flight recorder */
	bool is_window;
	bool is_known;			/* no window has ended that is not written: what it says is old */
	char text[TEXT], holders[TEXT / 2];
} note;

/* ---- the thread that asked ---- */

static void walk(void)
{
	note.n_frames = 0;
	if (!tp_pystack_is_on() || !tp_pystack_take(0))
		return;
	note.n_frames = tp_pystack_names_now(note.frame, FRAMES);
}

static void find_place(struct tp_oom *oom)
{
	struct tp_pynow_place place;
	struct tp_text where, within;

	tp_text_init(&where, oom->where, sizeof(oom->where));
	tp_text_init(&within, oom->within, sizeof(oom->within));
	for (uint32_t i = 0; i < note.n_frames && !where.len; i++) {
		if (!tp_pynow_string(note.frame[i].string, note.frame[i].line, &place))
			continue;
		if (!tp_pynow_is_library(&place))
			tp_pynow_put(&where, &place, true);
		else if (!within.len)
			tp_pynow_put(&within, &place, true);
	}
}

/* False: there were enough, or another thread's is not told yet. */
static bool take_turn(void)
{
	uint64_t now_ns = tp_clock_mono_ns();
	uint64_t last_ns = __atomic_load_n(&note.last_ns, __ATOMIC_RELAXED);
	uint32_t state = FREE;

	if ((last_ns && now_ns - last_ns < BETWEEN_MS * 1000000ull) ||
	    __atomic_load_n(&note.n_reports, __ATOMIC_RELAXED) >= TP_OOM_MOST ||
	    !__atomic_compare_exchange_n(&note.state, &state, FILLING, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&note.last_ns, now_ns, __ATOMIC_RELAXED);
	__atomic_fetch_add(&note.n_reports, 1, __ATOMIC_RELAXED);
	return true;
}

static void name_device(int8_t type, int8_t index, struct tp_oom *oom)
{
	struct tp_text text;

	tp_text_init(&text, oom->device, sizeof(oom->device));
	if (type == 0)
		tp_text_str(&text, "host");
	else if (type == 1)
		tp_text_fmt(&text, "cuda:%d", index);
	else
		tp_text_fmt(&text, "device %d:%d", type, index);
}

/* One of the two lines. */
static void say(const struct tp_oom *oom, bool is_first)
{
	char said[1024], *second;
	struct tp_text text;

	tp_text_init(&text, said, sizeof(said));
	tp_oom_say(oom, &text);
	second = said + strcspn(said, "\n");
	if (*second)
		*second++ = '\0';
	second[strcspn(second, "\n")] = '\0';
	tp_warn("%s", is_first ? said : second);
}

/* True: it is this thread's to publish. */
static bool fill(uint64_t asked, int8_t type, int8_t index, bool may_walk)
{
	const struct tp_ring_head *head = tp_ring.head;
	struct tp_oom *oom = &note.oom;

	if (!note.is_on || !tp_session_is_open() || !head || !take_turn())
		return false;
	*oom = (struct tp_oom){
		.run_id = head->run_id, .rank = head->rank, .restart = head->restart, .pid = head->pid,
		.real_ns = tp_clock_real_ns(), .asked = asked,
		.steps = __atomic_load_n(&head->steps_done, __ATOMIC_RELAXED),
	};
	name_device(type, index, oom);
	note.device = type ? TP_DEVICE(type, index) : TP_DEVICE_CPU;
	note.time = tp_clock_now();
	note.window = __atomic_load_n(&head->windows_written, __ATOMIC_RELAXED);
	note.is_window = tp_session_is_armed();
	note.is_known = note.is_window ||
			__atomic_load_n(&head->windows_begun, __ATOMIC_RELAXED) == note.window;
	tp_session_tensor_bytes(&oom->tensors, &oom->tensors_peak);
	note.is_begun = false;
	note.n_frames = 0;
	if (may_walk)
		walk();
	find_place(oom);
	return true;
}

static void publish(void)
{
	__atomic_store_n(&note.state, READY, __ATOMIC_RELEASE);
	tp_ring_ring_bell();
}

void tp_oom_note_device(uint64_t asked, uint64_t allocated, uint64_t reserved, int8_t type, int8_t index,
			bool may_walk)
{
	int saved_errno = errno;

	if (fill(asked, type, index, may_walk)) {
		note.oom.allocated = allocated;
		note.oom.reserved = reserved;
		say(&note.oom, true);
		note.is_begun = true;
		publish();
	}
	errno = saved_errno;
}

void tp_oom_note_host(uint64_t asked, bool may_walk)
{
	int saved_errno = errno;

	if (asked < ADDRESS_SPACE && fill(asked, 0, -1, may_walk))
		publish();
	errno = saved_errno;
}

/* ---- the drain thread ---- */

static int read_process(void *arg)
{
	const struct tp_process_memory memory = tp_process_memory();
	struct tp_oom *oom = arg;

	oom->resident = memory.resident;
	oom->virtual = memory.virtual;
	return 0;
}

/* The ledger's last steps, by what was alive at their ends. */
static void find_growth(struct tp_oom *oom)
{
	uint64_t n = oom->steps < GROWTH_STEPS ? oom->steps : GROWTH_STEPS;
	const struct tp_ring_step *first, *last;
	uint64_t before, after;

	if (n < 2)
		return;
	first = &tp_ring.steps[(oom->steps - n) % TP_RING_STEPS];
	last = &tp_ring.steps[(oom->steps - 1) % TP_RING_STEPS];
	before = first->live_bytes + first->device_live;
	after = last->live_bytes + last->device_live;
	oom->grown = after > before ? after - before : 0;
	oom->grown_steps = n - 1;
}

static void put_stack(struct tp_text *out)
{
	struct tp_pynow_place place;

	for (uint32_t i = 0; i < note.n_frames; i++) {
		if (!tp_pynow_string(note.frame[i].string, note.frame[i].line, &place))
			continue;
		tp_text_str(out, "    ");
		tp_pynow_put(out, &place, false);
		tp_text_char(out, '\n');
	}
	if (!note.n_frames)
		tp_text_str(out, "    no Python stack is known\n");
}

static void put_steps(const struct tp_oom *oom, struct tp_text *out)
{
	uint64_t n = oom->steps < GROWTH_STEPS ? oom->steps : GROWTH_STEPS;

	for (uint64_t i = oom->steps - n; i < oom->steps; i++) {
		const struct tp_ring_step *step = &tp_ring.steps[i % TP_RING_STEPS];

		tp_text_fmt(out, "step %lu: tensors on the host %lu bytes, at most %lu; on devices %lu, at "
			    "most %lu\n", (unsigned long)i, (unsigned long)step->live_bytes,
			    (unsigned long)step->peak_bytes, (unsigned long)step->device_live,
			    (unsigned long)step->device_peak);
	}
}

static void see(uint32_t window, uint32_t slot, const struct tp_rec *rec, uint32_t n)
{
	if (note.is_on && note.has_tensors)
		tp_held_see(window, slot, rec, n);
}

static int show(void *unused)
{
	tp_window_records_show();
	return 0;
}

/* Up to the failure: what is freed on the way out was held. */
static void show_records(void)
{
	/* Of what the flight recorder gave up nobody has told. */
	if (!note.is_window)
		tp_held_forget();
	tp_held_stop_at(note.time);
	tp_own_table_call(show, NULL);
	tp_held_go_on();
}

/* Why no holder is known. */
static const char *why_unknown(void)
{
	if (!note.has_tensors)
		return "recorded without tensors";
	return tp_session_is_recording() ? "none is in the recorded steps"
					 : "no step is recorded, TRAINPROF_RECORDER=steps=8 does";
}

/* By category, operator, module and line, from the records. */
static void put_holders(struct tp_oom *oom, struct tp_text *out)
{
	const struct tp_held_asked asked = {
		.window = note.window, .device = note.device, .time = note.time,
		.step_begin = __atomic_load_n(&tp_ring.head->step_begin, __ATOMIC_RELAXED),
		.total = note.device == TP_DEVICE_CPU ? oom->tensors : oom->allocated,
	};
	struct tp_text said;

	tp_text_fmt(out, "\ntensors on %s%s are held by\n", note.device == TP_DEVICE_CPU ? "the " : "",
		    oom->device);
	tp_text_init(&said, oom->held, sizeof(oom->held));
	if (!note.is_known || !tp_held_put(&asked, out, &said))
		tp_text_fmt(out, "    no holders are known: %s\n", why_unknown());
}

/* The third line. */
static void say_file(const struct tp_oom *oom, const char *path, int err)
{
	if (err)
		tp_warn("cannot write '%s': %s; it was out of memory", path, strerror(-err));
	else if (oom->held[0])
		tp_warn("held by %s; more, the stack and the last steps are in '%s'", oom->held, path);
	else
		tp_warn("no holders are known (%s); the stack and the last steps are in '%s'", why_unknown(),
			path);
}

static void tell(bool is_draining)
{
	struct tp_oom *oom = &note.oom;
	struct tp_heap_totals heap;
	struct tp_group group;
	struct rlimit limit;
	struct tp_text text, holders;
	char path[TP_REPORT_PATH];
	int err;

	tp_session_fire("an allocation failed");
	tp_heap_totals(&heap);
	oom->heap = heap.live > 0 ? (uint64_t)heap.live : 0;
	tp_own_table_call(read_process, oom);
	tp_group_read(&group);
	oom->group = group.used;
	oom->group_limit = group.limit;
	if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY)
		oom->virtual_limit = limit.rlim_cur;
	find_growth(oom);
	if (is_draining && note.has_tensors && note.is_known)
		show_records();
	tp_text_init(&holders, note.holders, sizeof(note.holders));
	put_holders(oom, &holders);
	tp_text_init(&text, note.text, sizeof(note.text));
	if (!note.is_begun)
		say(oom, true);
	say(oom, false);
	tp_oom_put(oom, &text);
	tp_oom_say(oom, &text);
	tp_text_str(&text, "\nasked for at\n");
	put_stack(&text);
	tp_text_char(&text, '\n');
	put_steps(oom, &text);
	tp_text_bytes(&text, holders.buf, holders.len);
	tp_report_file_name(__atomic_load_n(&note.n_reports, __ATOMIC_RELAXED), TP_OOM_SUFFIX, path);
	err = tp_report_file_write(path, &text);
	say_file(oom, path, err);
	__atomic_store_n(&note.state, FREE, __ATOMIC_RELEASE);
}

static bool is_ready(void)
{
	return note.is_on && __atomic_load_n(&note.state, __ATOMIC_ACQUIRE) == READY;
}

/* Where the container's memory is full nothing fails: the kernel kills. So it is said before, once. */
static void look_at_group(void)
{
	struct tp_oom oom = {.steps = tp_session_steps()};
	struct tp_group group;
	struct tp_text said;
	char text[512];

	tp_group_read(&group);
	if (!tp_group_is_near(&group))
		return;
	note.is_near_told = true;
	oom.group = group.used;
	oom.group_limit = group.limit;
	tp_session_fire("memory of the container is nearly used up");
	tp_own_table_call(read_process, &oom);
	tp_session_tensor_bytes(&oom.tensors, &oom.tensors_peak);
	tp_text_init(&said, text, sizeof(text));
	tp_oom_say_near(&oom, &said);
	tp_warn("%s", text);
}

static void watch(uint64_t mono_ns)
{
	if (is_ready())
		tell(true);
	if (note.is_on && !note.is_near_told && !tp_session_is_follower())
		look_at_group();
}

/* ---- the probe ---- */

static int open_oom(const struct tp_config *config)
{
	note.has_tensors = config->record & TP_RECORD_TENSORS;
	note.is_on = true;
	return 0;
}

static void forget(void)
{
	note.is_on = false;
	note.state = FREE;
	note.n_reports = 0;
	note.last_ns = 0;
}

static void forked(void)
{
	forget();
	tp_held_forget();
}

/* Who dies of it does so at once. */
static void close_oom(void)
{
	if (is_ready())
		tell(false);
	forget();
}

const struct tp_probe tp_oom_probe = {
	.name = "oom",
	.open = open_oom,
	.see = see,
	.watch = watch,
	.is_urgent = is_ready,
	.forked = forked,
	.close = close_oom,
};
