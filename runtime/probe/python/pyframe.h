/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pyframe.h - which Python object a range of torch belongs to, from the thread's own frames
 *
 * torch names its ranges by class ("Optimizer.step#Adam.step"), so two optimizers of a class
 * look alike. The object is the first argument of a function a few frames above the range:
 * read straight from the interpreter's frames, which only their own thread changes, so that
 * no lock and no Python code is needed. Offsets are those of CPython 3.11 to 3.14, used only
 * after they gave the same answers as the public API in this very process. Elsewhere the
 * public API is asked, under the interpreter's lock.
 */
#ifndef TP_PROBE_PYFRAME_H
#define TP_PROBE_PYFRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tp_pyframe_function {
	TP_PYFRAME_STEP,	/* the wrapper around Optimizer.step: its *args */
	TP_PYFRAME_ZERO_GRAD,	/* Optimizer.zero_grad: self */
	TP_PYFRAME_NEXT,	/* _BaseDataLoaderIter.__next__: self */
	TP_PYFRAME_WORKER,	/* _worker_loop, all that a data loader's worker does */
	TP_PYFRAME_N,
};

struct tp_pyframe_layout;

/*
 * Once, with the interpreter's lock held and a Python frame on the stack (an audit hook).
 * NULL: frames can be read; else why they cannot, and the slower way is used.
 */
const char *tp_pyframe_init(void);

/* The object, as a number: 0 when it is not found. Valid at least until the frame returns. */
uint64_t tp_pyframe_object(enum tp_pyframe_function function);

/*
 * For the iterator of a data loader (TP_PYFRAME_NEXT): what stays the same over all passes
 * of its loader, 0 when not known, and how many batches this pass gave out so far, -1 when
 * not known. Takes the interpreter's lock: twice a batch.
 */
uint64_t tp_pyframe_loader(int32_t *n_yielded);

/* What that iterator's samples come from, as tp_pyloader_describe has it. Takes the lock. */
bool tp_pyframe_dataset(char *text, size_t cap);

/* The interpreter's lock, where it can be had: true, and tp_py.release(*held) gives it back. */
bool tp_pyframe_enter(int *held);

/* Alive until the call returns. */
struct tp_pyframe_local {
	void *code, *name;	/* name: a text object; NULL: not known */
	void *object;
};
/*
 * With the lock held: local variables of the functions that this thread runs, the innermost first.
 * Where frames are not read there are none.
 */
void tp_pyframe_each_local(void (*each)(void *ctx, const struct tp_pyframe_local *local), void *ctx);

/* How this interpreter's frames are read, variables included; NULL: they are not (not yet). */
const struct tp_pyframe_layout *tp_pyframe_checked(void);

/* A text attribute of a loaded module ("torch.version", "__version__"). Takes the lock. */
bool tp_pyframe_module_text(const char *module, const char *name, char *text, size_t cap);

#endif
