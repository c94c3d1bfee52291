/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory_host.c - tests of the view of host memory: figures that can be counted by hand
 */
#include <criterion/criterion.h>

#include "merge/facts/origin/hostmem_frames.h"
#include "tests/unit/fake_run.h"

static struct tp_view_options options;
static struct fake fake;
static struct tp_proc *proc;
static struct tp_event events[128];
static uint32_t n_events;

enum { MIB = 1 << 20 };

static void set_up(void)
{
	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	fake_window(&fake, proc, 0, 0, 1000000)->meta = "";
	options = (struct tp_view_options){.top = 20};
	n_events = 0;
}

TestSuite(view_memory_host, .init = set_up);

static struct tp_event *add(int64_t time, uint8_t kind, uint64_t address, uint64_t bytes,
			    uint32_t stack)
{
	struct tp_event *event = &events[n_events++];

	*event = fake_span(&fake, proc, 0, kind, NULL, time, time);
	event->arg = address;
	event->len = bytes;
	event->link = stack;
	return event;
}

static void python(uint32_t number, uint32_t outer, const char *function, const char *file,
		   uint32_t line)
{
	struct tp_event *event = add(0, TP_REC_FRAME, line, outer, number);

	event->flags = TP_FRAME_PYTHON | (outer ? 0 : TP_FRAME_ENTRY);
	event->name = fake_pyframe(&fake, function, file);
}

static void step(uint32_t number, int64_t begin, int64_t end)
{
	events[n_events++] = fake_step(&fake, proc, number, begin, end);
}

static void counter(int64_t time, const char *name, int64_t value)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "%s%cB%cmemory", name, 0, 0);

	events[n_events] = fake_span(&fake, proc, 0, TP_REC_COUNTER,
				     fake_string(&fake, TP_STRING_COUNTER, text, (uint32_t)n), time,
				     time);
	events[n_events++].arg = (uint64_t)value;
}

/* Main calls torch's relu and its own load: relu's memory is main's, line 10. */
static void add_stacks(void)
{
	python(1, 0, "main", "/home/me/train.py", 10);
	python(2, 1, "relu", "/v/lib/python3.11/site-packages/torch/nn/functional.py", 99);
	python(3, 0, "main", "/home/me/train.py", 20);
	python(4, 3, "load", "/home/me/data.py", 5);
}

static char *print(void)
{
	return fake_print(&fake, &tp_view_memory, &options, events, n_events, 120, false);
}

/* Runs of blanks and line ends count as one blank. */
static char *squeeze(const char *text)
{
	char *squeezed = fake_alloc(strlen(text) + 1), *to = squeezed;

	for (const char *at = text; *at; at++)
		if ((*at != ' ' && *at != '\n') || (to > squeezed && to[-1] != ' '))
			*to++ = *at == '\n' ? ' ' : *at;
	return squeezed;
}

static void expect_has(const char *text, const char *wanted)
{
	cr_expect(strstr(squeeze(text), wanted), "no '%s' in:\n%s", wanted, text);
}

static void expect_lacks(const char *text, const char *unwanted)
{
	cr_expect_not(strstr(squeeze(text), unwanted), "'%s' in:\n%s", unwanted, text);
}

Test(view_memory_host, says_how_to_record_it)
{
	expect_has(print(), "no blocks of host memory were recorded: TRAINPROF_RECORD=heap records them");
	set_up();
	fake.run.window[0].meta = "off.heap=malloc is linked into the program\n";
	expect_has(print(), "no blocks of host memory were recorded: malloc is linked into");
	set_up();
	fake.run.window[0].totals = "heap.peak=3145728\nheap.live=1048576\nheap.allocs=1234\n"
				    "heap.peak_error=1024\n";
	expect_has(print(), "since its start peak 3.00 MiB (accurate to 1.00 KiB), 1.00 MiB at "
			    "the end of the last window, 1,234 allocations");
}

Test(view_memory_host, the_peak_and_who_held_it)
{
	char *text;

	add_stacks();
	step(7, 100, 1000);
	add(110, TP_REC_HEAPALLOC, 0x10, 6 * MIB, 2);
	add(120, TP_REC_HEAPALLOC, 0x20, 2 * MIB, 4);
	add(130, TP_REC_HEAPFREE, 0x10, 0, 0);
	add(140, TP_REC_HEAPALLOC, 0x30, MIB, 4)->flags = TP_F_MOVED;
	add(150, TP_REC_HEAPFREE, 0x99, 0, 0);
	text = print();
	expect_has(text, "most at a time 8.00 MiB in 2 blocks, in step 7, 120 ns after");
	expect_has(text, "at the end 3.00 MiB in 2 blocks");
	expect_has(text, "in windows 3 allocations (1 by realloc) of 9.00 MiB, 1 frees");
	expect_has(text, "1 frees were of blocks from before the window");
	/* The user's own code, not the library's that it called. */
	expect_has(text, "6.00 MiB 75.0 % 1 0 B 1 me/train.py:10 main");
	expect_has(text, "2.00 MiB 25.0 % 1 3.00 MiB 2 me/data.py:5 load");
	expect_has(text, "Most host memory at the peak is held by me/train.py:10 main: 6.00 MiB of 8.00 MiB (75.0 %).");
	/* The whole stack of what held most. */
	expect_has(text, "6.00 MiB at the peak of 8.00 MiB, from one stack (1 allocations): "
			 "torch/nn/functional.py:99 relu /home/me/train.py:10 main");
	/* Alive at the end: bytes, blocks, of so many allocations. */
	expect_has(text, "3.00 MiB 2 2 me/data.py:5 load");
	/* By line, whoever's it is. */
	expect_has(text, "6.00 MiB 0 B 1 6.00 MiB 0 nn/functional.py:99 relu");
	/* Steps: allocations, a second, allocated, frees, freed, at its start, most, growth. */
	expect_has(text, "7 3 3,333,333 9.00 MiB 1 6.00 MiB 0 B 8.00 MiB 3.00 MiB");
	expect_has(text, "1.00 MiB to 2.00 MiB 1 33.3 % 1.00 MiB 11.1 %");
	expect_lacks(text, "stayed");
	expect_lacks(text, "temporary: ");
}

Test(view_memory_host, lines_of_one_function_are_two_rows)
{
	char *text;

	python(1, 0, "main", "/home/me/train.py", 10);
	python(2, 0, "main", "/home/me/train.py", 11);
	events[1].name = events[0].name;
	add(1, TP_REC_HEAPALLOC, 0x10, 3 * MIB, 1);
	add(2, TP_REC_HEAPALLOC, 0x20, 5 * MIB, 2);
	text = print();
	expect_has(text, "3.00 MiB 37.5 % 1 3.00 MiB 1 me/train.py:10 main");
	expect_has(text, "5.00 MiB 62.5 % 1 5.00 MiB 1 me/train.py:11 main");
}

Test(view_memory_host, what_stays_and_what_does_not)
{
	char *text;

	add_stacks();
	for (uint32_t i = 0; i < 5; i++) {
		step(i, 1000 * i, 1000 * i + 500);
		add(1000 * i + 10, TP_REC_HEAPALLOC, 0x100 * (i + 1), 1000, 2);
		add(1000 * i + 20, TP_REC_HEAPALLOC, 0x10, 50, 4);
		add(1000 * i + 30, TP_REC_HEAPFREE, 0x10, 0, 0);
	}
	text = print();
	expect_has(text, "stayed 2.93 KiB in 3 blocks that a step allocated");
	expect_has(text, "2.93 KiB 3 3 me/train.py:10 main");
	expect_has(text, "50.0 % were temporary");
	expect_has(text, "5 100.0 % 250 B me/data.py:5 load");
}

Test(view_memory_host, the_resident_memory_beside_it)
{
	char *text;

	counter(1, "RSS", 100ll * MIB);
	counter(1, "shared", 30ll * MIB);
	counter(1, "heap live", 40ll * MIB);
	add(5, TP_REC_HEAPALLOC, 0x10, 2 * MIB, 0);
	counter(6, "RSS", 102ll * MIB);
	text = print();
	expect_has(text, "100 MiB at that peak = 30.0 MiB of files and shared + 40.0 MiB of "
			 "blocks + 30.0 MiB: the allocator's own");
	expect_has(text, "102 MiB at most, 102 MiB at the end");
	expect_has(text, "Who requested it was not recorded: TRAINPROF_STACKS=heap.");
	counter(7, "PSS", 80ll * MIB);
	counter(7, "private", 70ll * MIB);
	expect_has(print(), "80.0 MiB PSS (its share of pages that others have, too), 70.0 MiB "
			    "private, 30.0 MiB shared");
}

Test(view_memory_host, mappings_by_kind)
{
	static const struct tp_mapping anon = {.kind = TP_MAPPING_ANON};
	static const struct tp_mapping shm = {.kind = TP_MAPPING_SHM};
	char *text;

	add(1, TP_REC_MAP, 0x100000, 4 * MIB, 0)->name =
		fake_string(&fake, TP_STRING_MAPPING, (const char *)&anon, sizeof(anon));
	add(2, TP_REC_UNMAP, 0x100000 + MIB, MIB, 0);
	add(3, TP_REC_MAP, 0x80000000, 8 * MIB, 0)->name =
		fake_string(&fake, TP_STRING_MAPPING, (const char *)&shm, sizeof(shm));
	add(4, TP_REC_UNMAP, 0x90000000, 2 * MIB, 0);
	text = print();
	expect_has(text, "private 1 4.00 MiB 0 B 3.00 MiB");
	expect_has(text, "shared memory (tmpfs, memfd) 1 8.00 MiB 0 B 8.00 MiB");
	expect_has(text, "2.00 MiB were unmapped that had been mapped before the windows.");
}

Test(view_memory_host, processes_stand_apart)
{
	char *text;

	add_stacks();
	add(1, TP_REC_HEAPALLOC, 0x10, 2 * MIB, 2);
	proc = fake_proc(&fake, 1);
	fake_window(&fake, proc, 0, 0, 1000)->meta = "";
	add_stacks();
	add(1, TP_REC_HEAPALLOC, 0x10, 4 * MIB, 2);
	text = print();
	expect_has(text, "How much host memory is used: rank 0 most at a time 2.00 MiB");
	expect_has(text, "How much host memory is used: rank 1 most at a time 4.00 MiB");
	expect_has(text, "rank 1 4.00 MiB 100.0 % 1 4.00 MiB 1 me/train.py:10 main");
	expect_has(text, "4.00 MiB at the peak of rank 1, from one stack");
}

Test(view_memory_host, estimates_are_called_so)
{
	char *text;

	fake.run.window[0].meta = "heap.sample_bytes=524288\n";
	add(1, TP_REC_HEAPALLOC, 0x10, 1024, 0)->flags = TP_F_SAMPLED;
	text = print();
	expect_has(text, "sampled every 512 KiB: allocated bytes are accurate to 99.9 %");
	expect_has(text, "most at a time 512 KiB in 513 blocks");
}

Test(view_memory_host, losses_are_told)
{
	char *text;

	fake.run.window[0].dropped = 1234;
	add(1, TP_REC_HEAPALLOC, 0x10, 1024, 77);
	add(2, TP_REC_HEAPALLOC, 0x10, 2048, 0);
	text = print();
	expect_has(text, "LOST 1,234 records, for want of space: blocks and frees are missing");
	expect_has(text, "not observed 1 blocks were freed without a record: their addresses were used again");
	set_up();
	add_stacks();
	python(5, 66, "f", "/a.py", 1);
	add(1, TP_REC_HEAPALLOC, 0x10, 1024, 77);
	add(2, TP_REC_HEAPALLOC, 0x20, 1024, 4);
	text = print();
	expect_has(text, "The stacks of 1 events are not in the trace");
	expect_has(text, "1 frames name an outer one that is not in the trace");
}

Test(view_memory_host, rows_for_programs)
{
	char *text = NULL;
	size_t n_bytes = 0;
	struct tp_rows_to to = {.n_fields = 0};
	struct tp_out out = {.width = 80, .rows = TP_ROWS_JSONL, .rows_to = &to};

	add_stacks();
	step(7, 1, 1000);
	add(10, TP_REC_HEAPALLOC, 0x10, 6 * MIB, 2);
	out.file = open_memstream(&text, &n_bytes);
	fake_view(&fake, &tp_view_memory, &options, events, n_events, &out);
	fclose(out.file);
	cr_expect(strstr(text, "\"table\":\"host_memory\",\"process\":\"rank 0\",\"pid\":1000,"
			       "\"peak_bytes\":6291456,\"peak_blocks\":1,\"peak_ns\":10,"
			       "\"peak_step\":7"), "%s", text);
	cr_expect(strstr(text, "\"table\":\"host_peak\",\"process\":\"rank 0\","
			       "\"peak_bytes\":6291456,\"percent\":100,\"peak_blocks\":1,"
			       "\"end_bytes\":6291456,\"allocations\":1,"
			       "\"code\":\"/home/me/train.py:10 main\""), "%s", text);
	cr_expect(strstr(text, "\"table\":\"host_steps\",\"process\":\"rank 0\",\"step\":7"), "%s",
		  text);
	cr_expect(strstr(text, "\"table\":\"host_sizes\",\"least_bytes\":4194304"), "%s", text);
	free(text);
}

/* ---- frames for people ---- */

Test(view_memory_host, functions_of_cpp_are_shortened)
{
	static const struct {
		const char *name, *wanted;
	} cases[] = {
		{"malloc", "malloc (libx)"},
		{"at::empty(c10::ArrayRef<long>, int)", "at::empty (libx)"},
		{"void at::(anonymous namespace)::f<float>(int) const", "at::(anon)::f<> (libx)"},
		{"std::vector<int> a::g<int>(int)", "a::g<> (libx)"},
		{"operator new(unsigned long)", "operator new (libx)"},
		{"A::operator()(int)", "A::operator() (libx)"},
		{"bool operator< <int>(A<int>, B)", "operator<<> (libx)"},
		{"a::b(int)::{lambda(int)#1}::operator()(int) const",
		 "a::b()::{lambda()#1}::operator() (libx)"},
		{"<alloc::vec::Vec<T> as core::ops::Drop>::drop", "<>::drop (libx)"},
		{"f(", "f (libx)"},
		{"a<b<", "a<> (libx)"},
		{"", "+0x10 (libx)"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tp_frame frame = {.function = cases[i].name, .file = "",
					 .module = "/y/libx.so.1", .offset = 16};
		char buf[200];

		cr_expect_str_eq(tp_hostmem_show_frame(buf, sizeof(buf), &frame, TP_HOSTMEM_SHORT),
				 cases[i].wanted, "%s: %s", cases[i].name, buf);
	}
}

Test(view_memory_host, files_of_python_and_its_packages_are_named_from_their_folder)
{
	static const struct {
		const char *file, *wanted;
	} cases[] = {
		{"/v/lib/python3.11/site-packages/torch/nn/functional.py", "torch/nn/functional.py:7 f"},
		{"/usr/lib/python3/dist-packages/PIL/Image.py", "PIL/Image.py:7 f"},
		{"/opt/p/lib/python3.14t/concurrent/futures/thread.py", "concurrent/futures/thread.py:7 f"},
		{"/me/lib/python3.py", "/me/lib/python3.py:7 f"},
		{"/lib/python3.11/", "/lib/python3.11/:7 f"},
		{"/me/train.py", "/me/train.py:7 f"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tp_frame frame = {.function = "f", .file = cases[i].file, .module = "", .line = 7,
					 .is_python = true};
		char buf[200], whole[200];

		cr_expect_str_eq(tp_hostmem_show_frame(buf, sizeof(buf), &frame, TP_HOSTMEM_LONG),
				 cases[i].wanted, "%s", buf);
		snprintf(whole, sizeof(whole), "%s:7 f", cases[i].file);
		cr_expect_str_eq(tp_hostmem_show_frame(buf, sizeof(buf), &frame, TP_HOSTMEM_WHOLE), whole);
	}
}

Test(view_memory_host, the_telling_frame)
{
	struct tp_frame frame[] = {
		{.function = "malloc", .file = "", .module = "/lib/libc.so.6"},
		{.function = "c10::alloc_cpu(unsigned long)", .file = "", .module = "/t/libc10.so"},
		{.function = "at::native::relu()", .file = "", .module = "/t/libtorch_cpu.so"},
		{.function = "relu", .file = "/v/site-packages/f.py", .module = "",
		 .is_python = true},
		{.function = "main", .file = "/me/train.py", .module = "", .is_python = true},
	};

	cr_expect_eq(tp_hostmem_telling_frame(frame, 5), 4);
	cr_expect_eq(tp_hostmem_telling_frame(frame, 4), 3);
	cr_expect_eq(tp_hostmem_telling_frame(frame, 3), 2);
	cr_expect_eq(tp_hostmem_native_frame(frame, 5), 2);
	cr_expect_eq(tp_hostmem_native_frame(frame, 1), 0, "better than nothing");
	cr_expect_eq(tp_hostmem_native_frame(frame, 0), 0);
}
