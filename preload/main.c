/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - the constructor: which part this process plays, and the one list of probes
 *
 * Everything that a training job starts loads this library: shells, compilers, git, the
 * launcher. Almost all of them have nothing to do with training and must not notice it, so
 * the constructor only looks: no file is made, no thread started, no message printed. A
 * process that has Python's audit hook, or torch, among its symbols *may* train; it goes on
 * to runtime/probe/entry/entry.c, which waits for the proof. Any other one trains when
 * TRAINPROF_PROGRAM names it; where torch can come, that variable only restricts.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "preload/hook_cuda.h"
#include "preload/hook_heap.h"
#include "preload/hook_inject.h"
#include "preload/hook_map.h"
#include "preload/hook_mark.h"
#include "preload/hook_nccl.h"
#include "preload/hook_proc.h"
#include "preload/real.h"
#include "runtime/base/log.h"
#include "runtime/base/text.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/config/started.h"
#include "runtime/engine/life.h"
#include "runtime/probe/clock/clock_sync.h"
#include "runtime/probe/entry/entry.h"
#include "runtime/probe/gpu/cupti.h"
#include "runtime/probe/devmem/devmem.h"
#include "runtime/probe/host/nvml.h"
#include "runtime/probe/hang/hang.h"
#include "runtime/probe/hang/oom.h"
#include "runtime/probe/heap/heap.h"
#include "runtime/probe/heap/heap_count.h"
#include "runtime/probe/heap/heap_size.h"
#include "runtime/probe/host/host.h"
#include "runtime/probe/keep/keep.h"
#include "runtime/probe/mark/mark.h"
#include "runtime/probe/nccl/nccl.h"
#include "runtime/probe/python/modules.h"
#include "runtime/probe/python/pyhooks.h"
#include "runtime/probe/sample/pysample.h"
#include "runtime/probe/torch/category.h"
#include "runtime/probe/torch/tensor.h"
#include "runtime/probe/torch/torch.h"

/* What records torch; in a program where torch cannot be its absence is nothing to report. */
#define PROBES_OF_TORCH                                                                    \
	&tp_torch_probe, &tp_tensor_probe, &tp_category_probe, &tp_pysample_probe, &tp_keep_probe, \
	&tp_pyhooks_probe
#define PROBES_OF_ALL                                                                      \
	&tp_heap_probe, &tp_host_probe, &tp_clock_sync_probe, &tp_mark_probe,              \
	&tp_devmem_probe, &tp_nvml_probe, &tp_cupti_probe, &tp_nccl_probe, &tp_hang_probe, \
	&tp_oom_probe,                                                                     \
	&tp_modules_probe	/* the last: what the others' records need */

static const struct tp_probe *const torch_probes[] = {PROBES_OF_TORCH, PROBES_OF_ALL, NULL};
static const struct tp_probe *const native_probes[] = {PROBES_OF_ALL, NULL};

static struct tp_config config;
static char command[4096];	/* to be looked into; then what runs, as long as the session */

static const char *look_up(void *ctx, const char *name)
{
	return getenv(name);
}

static bool has_symbol(const char *name)
{
	return dlsym(RTLD_DEFAULT, name) || (dlerror(), false);
}

static void open_session(const struct tp_probe *const *with, const char *program)
{
	int kept_errno = errno;

	if (!tp_session_open(&config, with, program))
		tp_hook_proc_at_exit();
	errno = kept_errno;
}

static void open_torch_session(const char *program)
{
	open_session(torch_probes, program);
}

/* Of the command line what fits, blanks between the words. */
static void join_words(int argc, char **argv)
{
	struct tp_text text;

	tp_text_init(&text, command, sizeof(command));
	for (int i = 0; i < argc && argv[i]; i++) {
		if (i)
			tp_text_char(&text, ' ');
		tp_text_str(&text, argv[i]);
	}
}

/* "exec:" and the command line as a shell takes it, without its secrets: for the trace. */
static void describe_command(int argc, char **argv)
{
	struct tp_text text;
	bool hides_next = false;

	tp_text_init(&text, command, sizeof(command));
	tp_text_str(&text, "exec:");
	for (int i = 0; i < argc && argv[i]; i++) {
		if (i)
			tp_text_char(&text, ' ');
		tp_started_word(&text, argv[i], &hides_next);
	}
}

/*
 * TRAINPROF_PROGRAM: part of the command line where torch can come; elsewhere of the program's
 * own name, because "timeout 1h python train.py" has "train.py" in its command line, too.
 */
static bool is_named(const char *words, const char *name, bool may_get_torch)
{
	if (!config.program[0])
		return may_get_torch;
	return strstr(may_get_torch ? words : name, config.program) != NULL;
}

/* Counting needs our malloc to be the one that the program calls. */
static void check_heap(void)
{
	if (tp_real_has_sanitizer())
		tp_heap_set_off("a sanitizer has a malloc of its own");
	else if (!tp_hook_heap_is_first())
		tp_heap_set_off("another malloc comes before this library's");
	else if (!tp_real_heap_has_sizes())
		tp_heap_set_live_off("malloc and malloc_usable_size are of two libraries");
	tp_heap_size_start(tp_real_heap_is_glibc());
	if (tp_real_heap_has_new())
		tp_heap_set_new_off("the allocator has an operator new of its own: blocks of C++ "
				    "are not seen");
	if (config.heap == TP_HEAP_OFF)
		tp_heap_stop_live();
}

/* False: this process never trains. Reads the configuration where it may. */
static bool may_train(int argc, char **argv, bool *may_get_torch)
{
	/* With more rights than its user: nothing of the user's environment is heard. */
	if (getauxval(AT_SECURE))
		return false;
	/* The job's environment without its preload: somebody took us out. */
	if (!tp_hook_mark_is_preloaded())
		return false;
	/* Python's audit hook tells of torch; a native program has it from the start. */
	*may_get_torch = has_symbol("PySys_AddAuditHook") ||
			 tp_real_next("_ZN3c1022memoryProfilingEnabledEv");
	/* The two by which any other process may become a training process. */
	if (!*may_get_torch && !getenv("TRAINPROF_PROGRAM") && !getenv("TRAINPROF_CONFIG"))
		return false;

	tp_config_read(&config, look_up, NULL);
	if (config.is_off)
		return false;
	join_words(argc, argv);
	return is_named(command, argc ? argv[0] : "", *may_get_torch);
}

static __attribute__((destructor)) void end(void)
{
	tp_entry_end();
}

static __attribute__((constructor)) void start(int argc, char **argv, char **envp)
{
	bool may_get_torch;

	tp_real_heap_find();
	tp_hook_map_init();
	if (!may_train(argc, argv, &may_get_torch)) {
		tp_heap_stop_live();
		tp_heap_forget_owners();
		return;
	}
	tp_log_remember_stderr();
	tp_hook_proc_init();
	tp_hook_mark_init(&config);
	tp_hook_cuda_init(&config);
	tp_hook_inject_init(&config);
	tp_hook_nccl_init(&config);
	check_heap();
	if (may_get_torch) {
		tp_entry_config(&config);
		tp_entry_install(open_torch_session);
	} else {
		describe_command(argc, argv);
		open_session(native_probes, command);
	}
}
