/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory.c - tests of the view of device memory: figures that can be counted by hand
 */
#include <criterion/criterion.h>

#include "merge/facts/tensor/gpumem.h"
#include "tests/unit/fake_run.h"

static const struct tp_view_options options = {.top = 20};
static struct fake fake;
static struct tp_proc *proc;
static struct tp_event events[64];
static uint32_t n_events;

enum { MIB = 1 << 20 };

static void set_up(void)
{
	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	fake_window(&fake, proc, 0, 0, 1000)->meta = "";
	n_events = 0;
}

TestSuite(view_memory, .init = set_up);

static struct tp_event *add(struct tp_event event)
{
	events[n_events] = event;
	return &events[n_events++];
}

static void step(uint32_t number, int64_t begin, int64_t end)
{
	add(fake_step(&fake, proc, number, begin, end));
}

static void counter(int64_t time, const char *name, const char *group, uint32_t device,
		    int64_t value)
{
	char text[128];
	int n = snprintf(text, sizeof(text), "%s%cB%c%s", name, 0, 0, group);
	struct tp_event event = fake_span(&fake, proc, 0, TP_REC_COUNTER,
					  fake_string(&fake, TP_STRING_COUNTER, text, (uint32_t)n),
					  time, time);

	event.link = device;
	event.arg = (uint64_t)value;
	add(event);
}

static void change(int64_t time, bool is_alloc, uint32_t device, uint8_t kind, const char *owner,
		   uint64_t bytes)
{
	struct tp_devmem_what what = {.device = device, .kind = kind};
	struct tp_event event = fake_span(&fake, proc, 0,
					  is_alloc ? TP_REC_DEVALLOC : TP_REC_DEVFREE, NULL, time,
					  time);
	char text[200];

	memcpy(text, &what, sizeof(what));
	strcpy(text + sizeof(what), owner);
	event.detail = fake_string(&fake, TP_STRING_DEVMEM, text,
				   (uint32_t)(sizeof(what) + strlen(owner)));
	event.len = bytes;
	add(event);
}

static void totals(int64_t time, uint32_t device, uint64_t allocated, uint64_t reserved)
{
	struct tp_event event = fake_span(&fake, proc, 0, TP_REC_TOTALS, NULL, time, time);

	event.link = TP_DEVICE(1, device);
	event.len = allocated;
	event.arg = reserved;
	add(event);
}

static char *print(void)
{
	return fake_print(&fake, &tp_view_memory, &options, events, n_events, 120, false);
}

/* Runs of blanks count as one. */
static void expect_has(const char *text, const char *wanted)
{
	char *squeezed = fake_alloc(strlen(text) + 1), *to = squeezed;

	for (const char *at = text; *at; at++)
		if (*at != ' ' || at[1] != ' ')
			*to++ = *at;
	cr_expect(strstr(squeezed, wanted), "no '%s' in:\n%s", wanted, text);
}

Test(view_memory, says_so_when_nothing_was_recorded)
{
	expect_has(print(), "no device memory was recorded: the program allocated none");
	set_up();
	fake.run.window[0].meta = "off.cupti=CUPTI is in use by nsys\n";
	expect_has(print(), "no device memory was recorded: CUPTI is in use by nsys");
}

Test(view_memory, the_peak_its_step_and_who_filled_it)
{
	char *text;

	step(7, 0, 100);
	counter(5, "pool libtorch.so", "device memory", 0, 100 * MIB);
	counter(5, "GPU memory known", "device", 0, 100 * MIB);
	change(10, true, 0, TP_DEVMEM_DEVICE, "/x/lib/libnccl.so.2", 50 * MIB);
	change(20, false, 0, TP_DEVMEM_DEVICE, "/x/lib/libnccl.so.2", 50 * MIB);
	step(8, 100, 200);
	change(110, true, 0, TP_DEVMEM_POOL, "/y/libtorch.so", 80 * MIB);
	change(120, true, 0, TP_DEVMEM_PINNED, "/y/libtorch.so", 900 * MIB);
	change(130, false, 0, TP_DEVMEM_POOL, "/y/libtorch.so", 30 * MIB);
	text = print();
	expect_has(text, "most at a time 180 MiB in step 8, 110 ns after recording began");
	expect_has(text, "at the end 150 MiB known");
	expect_has(text, "in windows 3 allocations, 2 frees");
	expect_has(text, "GPU 0 pool libtorch.so 180 MiB 150 MiB");
	expect_has(text, "GPU 0 pinned libtorch.so 0 B 900 MiB");
	expect_has(text, "GPU 0 device libnccl.so.2 0 B 0 B 1 1 50.0 MiB");
	/* Steps: most, allocations and frees of each. */
	expect_has(text, "GPU 0 7 150 MiB 1 50.0 MiB 1 50.0 MiB");
	expect_has(text, "GPU 0 8 180 MiB 2 980 MiB 1 30.0 MiB");
}

Test(view_memory, what_a_pool_has_after_several_windows_is_not_known)
{
	static const char note[] = "Pools (cudaMallocAsync) are followed in windows only";
	char *text;

	change(10, true, 0, TP_DEVMEM_POOL, "/y/libtorch.so", 80 * MIB);
	text = print();
	expect_has(text, "GPU 0 pool libtorch.so 80.0 MiB 80.0 MiB 1 0");
	cr_expect_not(strstr(text, note), "%s", text);
	set_up();
	fake_window(&fake, proc, 1, 100, 200);
	change(10, true, 0, TP_DEVMEM_POOL, "/y/libtorch.so", 80 * MIB);
	change(20, true, 0, TP_DEVMEM_DEVICE, "/y/libtorch.so", 20 * MIB);
	text = print();
	expect_has(text, "GPU 0 pool libtorch.so 80.0 MiB ? 1 0");
	expect_has(text, "GPU 0 device libtorch.so 20.0 MiB 20.0 MiB 1 0");
	expect_has(text, note);
}

Test(view_memory, changes_before_the_first_counter_are_lifted_by_it)
{
	char *text;

	step(3, 0, 100);
	change(1, true, 0, TP_DEVMEM_DEVICE, "a.so", 60 * MIB);
	change(2, false, 0, TP_DEVMEM_DEVICE, "a.so", 60 * MIB);
	counter(5, "device a.so", "device memory", 0, 40 * MIB);
	counter(5, "GPU memory known", "device", 0, 40 * MIB);
	text = print();
	expect_has(text, "most at a time 100 MiB in step 3");
	expect_has(text, "GPU 0 3 100 MiB 1");
}

Test(view_memory, without_a_counter_only_the_changes_are_known)
{
	char *text;

	step(3, 0, 100);
	change(1, true, 0, TP_DEVMEM_DEVICE, "a.so", 60 * MIB);
	text = print();
	expect_has(text, "60.0 MiB more than when the window started");
	expect_has(text, "+60.0 MiB");
}

Test(view_memory, what_pytorch_does_not_know)
{
	char *text;

	counter(5, "GPU memory used", "device", 1, 1000 * MIB);
	counter(5, "GPU memory total", "device", 1, 4000ll * MIB);
	counter(5, "GPU memory used by this process", "device", 1, 700 * MIB);
	counter(5, "GPU memory known", "device", 1, 450 * MIB);
	counter(5, "GPU memory unattributed", "device", 1, 250 * MIB);
	totals(6, 1, 300 * MIB, 400 * MIB);
	text = print();
	expect_has(text, "in use 700 MiB by this process, 300 MiB by others");
	expect_has(text, "PyTorch 400 MiB reserved, 300 MiB of it in tensors");
	expect_has(text, "not PyTorch's 300 MiB of this process; 250 MiB whose request was not recorded");
	expect_has(text, "not attributed 250 MiB");
	expect_has(text, "450 MiB of 3.91 GiB");
}

Test(view_memory, windows_begin_anew_and_ranks_stand_apart)
{
	struct tp_event *later;
	char *text;

	counter(5, "device a.so", "device memory", 0, 40 * MIB);
	counter(5, "GPU memory known", "device", 0, 40 * MIB);
	counter(50, "device a.so", "device memory", 0, 10 * MIB);
	later = &events[n_events - 1];
	later->window = 1;
	change(51, true, 0, TP_DEVMEM_DEVICE, "a.so", MIB);
	events[n_events - 1].window = 1;
	counter(52, "GPU memory known", "device", 0, 11 * MIB);
	events[n_events - 1].window = 1;
	proc = fake_proc(&fake, 1);
	change(60, true, 0, TP_DEVMEM_DEVICE, "b.so", 2 * MIB);
	text = print();
	expect_has(text, "How much device memory is used: rank 0, GPU 0");
	expect_has(text, "How much device memory is used: rank 1, GPU 0");
	expect_has(text, "most at a time 40.0 MiB");
	expect_has(text, "at the end 11.0 MiB known");
}

Test(view_memory, frees_of_the_unknown_are_told)
{
	fake.run.window[0].totals = "devmem.not_kept=12\n";
	change(1, false, UINT32_MAX, TP_DEVMEM_DEVICE, "", 0);
	expect_has(print(), "1 frees were of blocks that had been allocated");
	expect_has(print(), "12 blocks were too many to keep");
}

/* Strings come from files: nothing of them is trusted. */
Test(view_memory, broken_strings_harm_nobody)
{
	struct tp_event event;

	counter(1, "", "device memory", 0, 5);
	counter(1, "nonsense", "device memory", 0, 5);
	counter(1, "device ", "device memory", 0, 5);
	counter(1, "GPU memory known", "device", 0, INT64_MIN);
	counter(1, "GPU memory known", "device", 0, INT64_MAX);
	event = fake_span(&fake, proc, 0, TP_REC_COUNTER,
			  fake_string(&fake, TP_STRING_COUNTER, "device", 6), 1, 1);
	add(event);
	event = fake_span(&fake, proc, 0, TP_REC_DEVALLOC, NULL, 1, 1);
	event.len = UINT64_MAX;
	add(event);
	event.detail = fake_string(&fake, TP_STRING_DEVMEM, "abc", 3);
	add(event);
	change(2, true, 0, 200, "/", 5);
	expect_has(print(), "Which libraries hold device memory");
}

/* A block of tensor memory on GPU 0; then what the allocator says. */
static void tensor(int64_t time, bool is_alloc, uint64_t address, uint64_t bytes,
		   uint64_t allocated, uint64_t reserved)
{
	struct tp_event event = fake_span(&fake, proc, 0, is_alloc ? TP_REC_ALLOC : TP_REC_FREE, NULL,
					  time, time);

	event.link = TP_DEVICE(1, 0);
	event.arg = address;
	event.len = bytes;
	add(event);
	totals(time, 0, allocated, reserved);
}

Test(view_memory, what_the_allocator_keeps_and_others_have)
{
	char *text;

	step(1, 0, 500);
	tensor(10, true, 0x1000, 100 * MIB, 100 * MIB, 200 * MIB);
	counter(15, "GPU memory used", "device", 0, 700 * MIB);
	tensor(20, true, 0x2000, 250 * MIB, 350 * MIB, 400 * MIB);
	tensor(30, false, 0x2000, 250 * MIB, 100 * MIB, 400 * MIB);
	counter(35, "GPU memory used", "device", 0, 600 * MIB);
	tensor(40, false, 0x1000, 100 * MIB, 0, 300 * MIB);
	text = print();
	expect_has(text, "What fills tensor memory: GPU 0");
	expect_has(text, "reserved 400 MiB at most, in step 1");
	expect_has(text, "not in use 50.0 MiB of 400 MiB reserved, 12.5 %, at the peak of tensors");
	expect_has(text, "300 MiB of 400 MiB at most, in step 1");
	expect_has(text, "requested from the driver 1 times, 200 MiB, and returned 1 times, 100 MiB");
	expect_has(text, "used by others 500 MiB at most: other processes, and CUDA");
	/* By the process's own part the others' is exact. */
	counter(45, "GPU memory used by this process", "device", 0, 50 * MIB);
	text = print();
	expect_has(text, "used by others 550 MiB at most: other processes\n");
}

Test(view_memory, out_of_memory_says_who_asked_and_who_held_it)
{
	struct tp_event event;
	char *text;

	step(3, 0, 500);
	counter(1, "GPU memory total", "device", 0, 500 * MIB);
	add(fake_span(&fake, proc, 0, TP_REC_OP, fake_op(&fake, "aten::linear"), 5, 15));
	tensor(10, true, 0x1000, 100 * MIB, 100 * MIB, 200 * MIB);
	add(fake_span(&fake, proc, 0, TP_REC_OP, fake_op(&fake, "aten::mm"), 20, 40));
	tensor(25, true, 0x2000, 50 * MIB, 150 * MIB, 400 * MIB);
	event = fake_span(&fake, proc, 0, TP_REC_MARK,
			  fake_string(&fake, TP_STRING_TEXT, "out of memory", 13), 30, 30);
	event.link = TP_DEVICE(1, 0);
	event.arg = 200 * MIB;
	add(event);
	tensor(50, true, 0x3000, 5 * MIB, 155 * MIB, 400 * MIB);
	text = print();
	expect_has(text, "Out of memory: GPU 0\n requested 200 MiB, in step 3\n");
	expect_has(text, "by aten::mm\n");
	expect_has(text, "then 150 MiB in tensors, 400 MiB of 500 MiB reserved: 250 MiB not in use");
	expect_has(text, "fragmented the reserved, unused memory would have been enough");
	expect_has(text, "100 MiB 66.7 % 1 temporary aten::linear\n");
	/* What came after it was not there. */
	expect_has(text, "50.0 MiB 33.3 % 1 temporary aten::mm\n");
}

Test(view_memory, without_records_each_part_says_how_to_get_them)
{
	expect_has(print(), "none was recorded: TRAINPROF_RECORD=tensors records it");
	set_up();
	fake.run.window[0].meta = "program=torch.profiler trace.json\n";
	expect_has(print(), "torch.profiler records it with profile_memory=True");
}

/* A step keeps 10 MiB more, in two blocks of different operators: they come first, and add up. */
Test(view_memory, what_is_kept_across_steps_comes_first)
{
	const char *text, *kept, *holders;

	for (uint32_t i = 0; i < 5; i++) {
		const int64_t at = i * 100;
		struct tp_event op = fake_span(&fake, proc, 0, TP_REC_OP, fake_op(&fake, "aten::mul"), at + 5, at + 15);

		step(i + 1, at, at + 100);
		add(op);
		tensor(at + 10, true, 0x1000 * (i + 1), 8 * MIB, (100 + 10 * i + 8) * MIB, 900 * MIB);
		op = fake_span(&fake, proc, 0, TP_REC_OP, fake_op(&fake, "aten::add"), at + 20, at + 30);
		add(op);
		tensor(at + 25, true, 0x9000 + 0x1000 * i, 2 * MIB, (100 + 10 * i + 10) * MIB, 900 * MIB);
	}
	text = print();
	expect_has(text, "Tensor memory peaks at 150 MiB in step 5 and grows by 10.0 MiB per step; 100 MiB is older");
	kept = strstr(text, "What is kept across steps, by who allocated it: 30.0 MiB at the peak\n");
	holders = strstr(text, "What holds it at the peak");
	cr_assert(kept && holders && kept < holders, "%s", text);
	expect_has(kept, " kept across steps aten::mul\n");
	expect_has(kept, " kept across steps aten::add\n");
	expect_has(text, "\nkept across steps 30.0 MiB 20.0 %");
}

/* What is larger is said first: 100 MiB are not the largest holder beside 700 MiB from before. */
Test(view_memory, what_is_older_than_the_window_is_said_before_its_largest_holder)
{
	struct tp_event op = fake_span(&fake, proc, 0, TP_REC_OP, fake_op(&fake, "aten::mm"), 5, 50);

	step(1, 0, 500);
	add(op);
	tensor(10, true, 0x1000, 100 * MIB, 800 * MIB, 900 * MIB);
	expect_has(print(), "Tensor memory peaks at 800 MiB in step 1; 700 MiB is older than the window; "
			    "the largest allocated in it is temporary:");
}
