/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pyapi.h - the interpreter's public functions, found at run time
 *
 * Nothing here needs Python's headers. Objects are void pointers; "borrowed" results need not
 * be given back.
 */
#ifndef TP_PROBE_PYAPI_H
#define TP_PROBE_PYAPI_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/sync.h"

struct tp_pyapi {
	void *(*thread_state)(void);	/* PyGILState_GetThisThreadState: any thread, lock held or not */
	int (*ensure)(void);
	void (*release)(int);
	int (*is_initialized)(void);
	void *(*frame)(void);		/* borrowed */
	int (*line_at)(void *code, int byte);	/* PyCode_Addr2Line */
	void *(*get_attr)(void *, const char *);
	void *(*get_named)(void *, void *name);	/* PyObject_GetAttr */
	void *(*intern)(const char *);		/* PyUnicode_InternFromString */
	void *(*get_item)(void *, void *);
	void *(*get_key)(void *, const char *);
	void *(*modules)(void);		/* borrowed */
	void *(*tuple_item)(void *, ptrdiff_t);	/* borrowed */
	int (*holds_lock)(void);	/* PyGILState_Check */
	long (*as_long)(void *);
	const char *(*as_utf8)(void *);
	void *(*from_utf8)(const char *, ptrdiff_t);
	void *(*error)(void);		/* borrowed; not NULL: an exception is set */
	void (*clear)(void);
	void *(*call)(void *, void *arguments);	/* PyObject_CallObject; NULL: none */
	void *(*type)(void *);
	int (*is_instance)(void *, void *type);
	ptrdiff_t (*size)(void *);
	int (*contains)(void *, void *item);
	void *(*iterator)(void *);
	void *(*next)(void *);
	int (*dict_next)(void *, ptrdiff_t *at, void **key, void **value);	/* borrowed */
	void *(*dict_get)(void *, const char *);	/* borrowed, sets no exception */
	void (*take)(void *);
	void (*drop)(void *);
	const char *(*version)(void);
	void *tuple_type, *code_type, *dict_type, *cell_type;
	void *(*compile)(const char *text, const char *name, int start);
	void *(*run)(void *code, void *globals, void *locals);
	void *(*new_code)(const char *file, const char *name, int line);
	void *(*new_dict)(void);
	int (*set_key)(void *dict, const char *key, void *value);
	void *(*builtins)(void);	/* borrowed */
	void *(*new_function)(void *method, void *self, void *module);
	void *none;
	unsigned minor;			/* of Python 3 */
	/* Under which the interpreter keeps a thread's state; in its own memory, where it says another
	 * one when it begins anew. NULL: not found. */
	const pthread_key_t *state_key;
	/* The word that is_initialized gives. NULL: not found. */
	const int *initialized;
};
extern struct tp_pyapi tp_py __attribute__((visibility("hidden")));

/* Functions and objects that the interpreter exports, and the pointers that they go to. */
struct tp_pysymbol {
	void *at;
	const char *name;
};
/* False: one of them is not there. Those before it are set. */
bool tp_pyapi_load(const struct tp_pysymbol *symbol, size_t n);

/* Fills tp_py; again: nothing more. NULL, or why this interpreter cannot be used. */
const char *tp_pyapi_find(void);

/* Python is not there yet or on its way out (the same word says both, 3.9 to 3.14, before the states
 * of other threads are freed): states of threads may be gone. */
static inline bool tp_pyapi_is_ending(void)
{
	if (tp_likely(tp_py.initialized != NULL))
		return !__atomic_load_n(tp_py.initialized, __ATOMIC_RELAXED);
	return !tp_py.is_initialized();
}

/*
 * This thread's state, with the interpreter's lock or without; NULL: it has none, or Python is
 * ending. Where the key is known, by two calls less into code that has left the caches.
 */
static inline const char *tp_pyapi_state(void)
{
	if (tp_unlikely(tp_pyapi_is_ending()))
		return NULL;
	return tp_likely(tp_py.state_key != NULL) ? pthread_getspecific(*tp_py.state_key) :
						    tp_py.thread_state();
}

/* The interpreter's own state of everything, and how many bytes of it can be read. NULL, 0: it is
 * not exported, or its size is not known. */
const char *tp_pyapi_runtime(size_t *n_bytes);

/* NULL: there is nothing to be given back. Lock held. */
static inline void tp_pyapi_drop(void *object)
{
	if (object)
		tp_py.drop(object);
}

/* The attribute, the caller's to drop; NULL, and no exception, where there is none. Lock held. */
void *tp_pyapi_get(void *object, const char *name);
/* An attribute of a loaded module; as tp_pyapi_get. Lock held. */
void *tp_pyapi_of_module(const char *module, const char *name);
/* It is a function of C: no Python that was put in its place. Lock held. */
bool tp_pyapi_is_builtin(void *function);
/* A text object's UTF-8, until the object goes; NULL, and no exception: it is no text. Lock held. */
const char *tp_pyapi_text(void *object);
/* The attribute as a number, or `otherwise`. Lock held. */
long tp_pyapi_number(void *object, const char *name, long otherwise);

#endif
