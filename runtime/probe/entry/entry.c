/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry.c - the audit hook, what runs here, and the moment a process proves to train
 *
 * The hook runs for every audited event of the interpreter, with its lock held, until torch
 * was found: then it is taken out. Nothing here allocates, prints or changes errno, and no file
 * or thread exists before proved() is called.
 */
#include "runtime/probe/entry/entry.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/log.h"
#include "runtime/base/sandbox.h"
#include "runtime/base/sync.h"
#include "runtime/base/text.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/probe.h"
#include "runtime/engine/proof.h"
#include "runtime/engine/session.h"
#include "runtime/engine/trigger/trigger.h"
#include "runtime/engine/worker.h"
#include "runtime/probe/hang/joining.h"
#include "runtime/probe/python/audit_hook.h"
#include "runtime/probe/python/pyframe.h"
#include "runtime/probe/python/pystack.h"
#include "runtime/probe/sample/pysample.h"
#include "runtime/probe/torch/torch.h"
#include "runtime/probe/torch/torch_abi.h"

enum state {
	STATE_LOOKING,		/* torch is not there yet */
	STATE_TRYING,		/* one thread is at it */
	STATE_WATCHING,		/* user ranges are watched; nothing proved yet */
	STATE_PROVING,		/* one thread calls proved() */
	STATE_PROVED,
	STATE_HELPER,		/* a launcher or a compile worker: stays out of it */
};

static struct {
	void (*proved)(const char *program);
	const struct tp_config *config;
	uint32_t state;			/* atomic, enum state */
	bool has_hook;			/* the interpreter tells us about imports */
	bool has_seen_torch;		/* a module of torch is being imported */
	bool has_looked_for_stacks;	/* of Python */
	bool has_looked_for_samples;
	unsigned long long n_loaded;	/* libraries mapped so far when last looked */
	char program[1024];
	pid_t pid;			/* that it was installed in; its children are others */

	void *(*tuple_item)(void *tuple, ptrdiff_t i);
	const char *(*as_utf8)(void *text);
	void (*clear_error)(void);
} entry;

static enum state get_state(void)
{
	return __atomic_load_n(&entry.state, __ATOMIC_ACQUIRE);
}

static bool change_state(enum state from, enum state to)
{
	uint32_t expected = from;

	return __atomic_compare_exchange_n(&entry.state, &expected, to, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Programs that map torch, start others and never train themselves. */
static bool is_helper(const char *program)
{
	static const char *const modules[] = {
		"module:torch.distributed.run",
		"module:torch.distributed.launch",
		"module:accelerate.commands.launch",
		"module:deepspeed.launcher.runner",
		"module:deepspeed.launcher.launch",
		"module:composer.cli.launcher",
		"module:horovod.runner.launch",
		"module:lightning.fabric.cli",
	};
	static const char *const file_ends[] = {
		"/bin/torchrun",
		"/torch/distributed/run.py",
		"/torch/distributed/launch.py",
		"/torch/_inductor/compile_worker/__main__.py",
		"/bin/accelerate",
		"/bin/deepspeed",
		"/bin/composer",
		"/bin/horovodrun",
		"/bin/fabric",
	};
	size_t n = strlen(program);

	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
		if (strcmp(program, modules[i]) == 0)
			return true;
	}
	for (size_t i = 0; i < sizeof(file_ends) / sizeof(file_ends[0]); i++) {
		size_t n_end = strlen(file_ends[i]);

		if (n > n_end && strcmp(program + n - n_end, file_ends[i]) == 0)
			return true;
	}
	return strcmp(program, "resource_tracker") == 0;
}

/* Text argument i of an audit event, or NULL. */
static const char *get_argument(void *args, ptrdiff_t i)
{
	void *object = args ? entry.tuple_item(args, i) : NULL;
	const char *text = object ? entry.as_utf8(object) : NULL;

	if (!text)
		entry.clear_error();
	return text;
}

/* multiprocessing's own processes are started with `-c` and one of these texts. */
static const char *name_command(const char *text)
{
	static const struct {
		const char *words, *name;
	} known[] = {
		{ "from multiprocessing.spawn import spawn_main", "spawn" },
		{ "from multiprocessing.forkserver import main", "forkserver" },
		{ "from multiprocessing.resource_tracker import main", "resource_tracker" },
	};

	for (size_t i = 0; text && i < sizeof(known) / sizeof(known[0]); i++) {
		if (strstr(text, known[i].words))
			return known[i].name;
	}
	return "command";
}

/* Of multiprocessing's children some train, more load data: they have to show it. */
static bool is_spawned(void)
{
	return strcmp(entry.program, "spawn") == 0 || strcmp(entry.program, "forkserver") == 0;
}

/*
 * Who wants to know all of the memory of a program and names it does not want to wait until torch
 * is there: half of it has been allocated by then.
 */
static bool is_from_start(void)
{
	const struct tp_config *config = entry.config;

	return config && config->schedule.always && config->program[0] &&
	       (config->record & TP_RECORD_HEAP) && config->heap >= TP_HEAP_SAMPLE && !is_spawned();
}

/* cpython.run_command, run_file, run_module, run_stdin, run_interactivehook, run_startup */
static void note_run(const char *what, void *args)
{
	struct tp_text text;
	const char *argument;

	if (entry.program[0])
		return;
	tp_text_init(&text, entry.program, sizeof(entry.program));
	if (strcmp(what, "file") == 0) {
		argument = get_argument(args, 0);
		tp_text_str(&text, "file:");
		if (argument && argument[0] != '/') {
			char here[512];

			if (getcwd(here, sizeof(here))) {
				tp_text_str(&text, here);
				tp_text_char(&text, '/');
			}
		}
		tp_text_str(&text, argument ? argument : "?");
	} else if (strcmp(what, "module") == 0) {
		argument = get_argument(args, 0);
		tp_text_str(&text, "module:");
		tp_text_str(&text, argument ? argument : "?");
	} else if (strcmp(what, "command") == 0) {
		tp_text_str(&text, name_command(get_argument(args, 0)));
	} else if (strcmp(what, "stdin") == 0) {
		tp_text_str(&text, "stdin");
	}
	/* A signal to all processes of a job must not end it. */
	if (is_helper(entry.program) || is_spawned())
		tp_trigger_shield(entry.config);
	if (is_helper(entry.program))
		change_state(STATE_LOOKING, STATE_HELPER);
	else if (is_from_start())
		entry.proved(entry.program);
}

/* In state PROVING. */
static void open_proved(void)
{
	if (!entry.program[0])
		memcpy(entry.program, entry.has_hook ? "python" : "native",
		       sizeof("native"));
	if (tp_session_is_open())
		tp_torch_found();
	else
		entry.proved(entry.program);
	if (!tp_session_is_open())
		tp_torch_unwatch();
	__atomic_store_n(&entry.state, STATE_PROVED, __ATOMIC_RELEASE);
}

static void prove(void)
{
	if (change_state(STATE_WATCHING, STATE_PROVING))
		open_proved();
}

/* Steps that no training event ends cannot wait for one. */
static bool is_early(void)
{
	const struct tp_config *config = entry.config;

	if (!config || config->is_off)
		return false;
	if (is_spawned())
		return false;
	return config->schedule.always || config->step.source == TP_STEP_CLOCK ||
	       config->step.source == TP_STEP_RANGE || config->step.source == TP_STEP_MARK;
}

static void find_python_samples(void)
{
	const char *why;

	if (!entry.config || entry.has_looked_for_samples ||
	    (!(entry.config->record & TP_RECORD_SAMPLES) && !entry.config->hang_s))
		return;
	entry.has_looked_for_samples = true;
	why = tp_pysample_init();
	/* A report without them says so itself. */
	if (why && entry.config->record & TP_RECORD_SAMPLES)
		tp_probe_off("samples", why);
}

static void find_python_stacks(void)
{
	const char *why;

	if (!entry.config || entry.has_looked_for_stacks ||
	    (!(entry.config->stacks & TP_STACKS_PYTHON) &&
	     !(entry.config->record & (TP_RECORD_PYSTACKS | TP_RECORD_MODULES))))
		return;
	entry.has_looked_for_stacks = true;
	why = tp_pystack_init();
	if (why)
		tp_probe_off("pystacks", why);
}

static void try_torch(bool is_python)
{
	bool want_shapes = is_python && entry.config &&
			   (entry.config->record &
			    (TP_RECORD_OPS | TP_RECORD_SHAPES));
	int rc;

	if (!change_state(STATE_LOOKING, STATE_TRYING))
		return;
	rc = tp_torch_watch(want_shapes);
	if (rc == 0) {
		change_state(STATE_TRYING, STATE_LOOKING);
		return;
	}
	if (is_python) {
		tp_pyframe_init();
		find_python_stacks();
		find_python_samples();
		/* What is asked when the session opens: the process may be large by then. */
		(void)tp_sandbox_allows(TP_SANDBOX_ADJTIME);
		(void)tp_sandbox_allows(TP_SANDBOX_READV);
	}
	if (is_spawned())
		tp_worker_spawned();
	change_state(STATE_TRYING, STATE_WATCHING);
	/* A torch that cannot be watched will never prove anything: the rest is recorded. */
	if (rc < 0 || is_early())
		prove();
}

static int count_libraries(struct dl_phdr_info *info, size_t size, void *arg)
{
	*(unsigned long long *)arg = info->dlpi_adds;
	return 1;
}

static void note_import(void *args)
{
	unsigned long long n_loaded = 0;

	/* The program's own first import: there are frames to check by. */
	if (entry.program[0] && tp_session_is_open())
		find_python_stacks();
	if (!entry.has_seen_torch) {
		const char *module = get_argument(args, 0);

		if (!module || strncmp(module, "torch", 5) != 0)
			return;
		entry.has_seen_torch = true;
	}
	/* Looking costs a microsecond, knowing that nothing was mapped since 30 ns. */
	dl_iterate_phdr(count_libraries, &n_loaded);
	if (n_loaded == entry.n_loaded)
		return;
	entry.n_loaded = n_loaded;
	/* Python maps libtorch_python last, and torch's static initialisers have run by the
	 * time that one imports anything. */
	if (tp_torch_library("libtorch_python.so"))
		try_torch(true);
}

static int on_audit(const char *event, void *args, void *unused)
{
	static const char run[] = "cpython.run_";
	int saved;

	if (tp_likely(__atomic_load_n(&entry.state, __ATOMIC_RELAXED) != STATE_LOOKING))
		return 0;
	saved = errno;
	if (event[0] == 'i' && strcmp(event, "import") == 0)
		note_import(args);
	else if (event[0] == 'c' && strncmp(event, run, sizeof(run) - 1) == 0)
		note_run(event + sizeof(run) - 1, args);
	if (get_state() > STATE_TRYING)
		tp_audit_hook_remove();
	errno = saved;
	return 0;
}

void tp_entry_config(const struct tp_config *config)
{
	entry.config = config;
}

static bool may_find_torch(void)
{
	return get_state() <= STATE_TRYING;
}

static bool note_training(void)
{
	if (tp_unlikely(get_state() == STATE_WATCHING))
		prove();
	return get_state() == STATE_PROVED && tp_session_is_open();
}

static void forget_proof(void)
{
	enum state state = get_state();

	if (state == STATE_PROVED || state == STATE_PROVING)
		__atomic_store_n(&entry.state, STATE_WATCHING, __ATOMIC_RELEASE);
}

void tp_entry_install(void (*proved)(const char *program))
{
	static const struct tp_proof proof = {
		.training_seen = note_training,
		.may_find_torch = may_find_torch,
		.forked = forget_proof,
	};

	entry.proved = proved;
	entry.pid = getpid();
	tp_proof_by(&proof);
	tp_torch_spans_init();
	*(void **)&entry.tuple_item = dlsym(RTLD_DEFAULT, "PyTuple_GetItem");
	*(void **)&entry.as_utf8 = dlsym(RTLD_DEFAULT, "PyUnicode_AsUTF8");
	*(void **)&entry.clear_error = dlsym(RTLD_DEFAULT, "PyErr_Clear");
	if (entry.tuple_item && entry.as_utf8 && entry.clear_error)
		entry.has_hook = tp_audit_hook_add(on_audit);
	if (!entry.has_hook && is_from_start())
		entry.proved("native");
}

/* This process may work for a rank: is it time to open its session? */
static void try_worker(void)
{
	if (get_state() != STATE_WATCHING ||
	    !tp_worker_look(strcmp(entry.program, "forkserver") == 0) ||
	    !change_state(STATE_WATCHING, STATE_PROVING))
		return;
	tp_worker_join();
	open_proved();
}

void tp_entry_threads_set(void)
{
	if (!tp_worker_is_candidate() || get_state() != STATE_WATCHING)
		return;
	/* torch itself does so in every child of fork. */
	if (!tp_pyframe_object(TP_PYFRAME_WORKER))
		return;
	tp_worker_is_loader();
	try_worker();
}

void tp_entry_allocation(void)
{
	if (tp_unlikely(tp_worker_is_candidate()))
		try_worker();
	/* With the hook there is a better moment: allocations may come from static
	 * initialisers of libraries that are not whole yet. */
	if (tp_likely(get_state() != STATE_LOOKING) || entry.has_hook || !entry.proved)
		return;
	try_torch(false);
}

/* ---- before anything proves it ---- */

static bool is_decided(void)
{
	return get_state() > STATE_PROVING;
}

static void open_if(bool (*is_due)(void))
{
	if (!change_state(STATE_WATCHING, STATE_PROVING))
		return;
	if (is_due())
		open_proved();
	else
		__atomic_store_n(&entry.state, STATE_WATCHING, __ATOMIC_RELEASE);
}

void tp_entry_joins(void)
{
	static const struct tp_joining_ops ops = {is_decided, open_if};

	if (entry.config && get_state() >= STATE_WATCHING && get_state() != STATE_HELPER)
		tp_joining_begin(entry.config, get_state() == STATE_WATCHING ? &ops : NULL);
}

void tp_entry_end(void)
{
	const enum state state = get_state();
	const bool has_torch = state == STATE_WATCHING;

	/* Of programs without torch those that somebody wrote: not every "python -c" of a tool. */
	if (!entry.config || entry.config->log < TP_LOG_INFO || entry.pid != getpid() ||
	    (!has_torch && (state != STATE_LOOKING || strncmp(entry.program, "file:", 5) != 0)) ||
	    is_spawned() || tp_worker_is_candidate())
		return;
	tp_log_set_level(entry.config->log);
	if (has_torch)
		tp_info("nothing is recorded: PyTorch was loaded, but no step of an optimizer, batch of a data "
			"loader or backward pass was seen; TRAINPROF_STEP=clock:100 records an inference "
			"loop in steps of 100 ms");
	else
		tp_info("nothing is recorded: '%s' did not load PyTorch", entry.program + 5);
}
