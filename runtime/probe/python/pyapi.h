/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pyapi.h - the interpreter's public functions, found at run time
 *
 * Nothing here needs Python's headers. Objects are void pointers; "borrowed" results need not
 * be given back.
 */
#ifndef TP_PROBE_PYAPI_H
#define TP_PROBE_PYAPI_H

#include <stdbool.h>
#include <stddef.h>

struct tp_pyapi {
	void *(*thread_state)(void);	/* PyGILState_GetThisThreadState: any thread, lock held or not */
	int (*ensure)(void);
	void (*release)(int);
	int (*is_initialized)(void);
	int (*is_finalizing)(void);	/* may be missing */
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
	void *(*new_dict)(void);
	int (*set_key)(void *dict, const char *key, void *value);
	void *(*builtins)(void);	/* borrowed */
	void *(*new_function)(void *method, void *self, void *module);
	void *none;
	unsigned minor;			/* of Python 3 */
};
extern struct tp_pyapi tp_py __attribute__((visibility("hidden")));

/* Fills tp_py; again: nothing more. NULL, or why this interpreter cannot be used. */
const char *tp_pyapi_find(void);

/* Python is not there yet or on its way out: states of threads may be gone. */
static inline bool tp_pyapi_is_ending(void)
{
	return !tp_py.is_initialized() || (tp_py.is_finalizing && tp_py.is_finalizing());
}

/* The attribute, the caller's to drop; NULL, and no exception, where there is none. Lock held. */
void *tp_pyapi_get(void *object, const char *name);
/* The attribute as a number, or `otherwise`. Lock held. */
long tp_pyapi_number(void *object, const char *name, long otherwise);

#endif
