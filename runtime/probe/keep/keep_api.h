/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep_api.h - more of the interpreter's public functions: those that tell what an object holds
 *
 * None of them runs code of the program's: sizes are asked of the interpreter's own types only, instance
 * dictionaries are taken as they are, and what else an object refers to says gc.get_referents. With the
 * interpreter's lock held. All results but those said to be borrowed are to be dropped.
 */
#ifndef TP_PROBE_KEEP_API_H
#define TP_PROBE_KEEP_API_H

#include <stdbool.h>
#include <stddef.h>

/* Ways to hold other objects. */
enum tp_keep_kind {
	TP_KEEP_OTHER,		/* an instance, perhaps */
	TP_KEEP_LEAF,		/* holds nothing that grows: numbers, text, tensors, arrays, code, modules */
	TP_KEEP_LIST, TP_KEEP_DICT, TP_KEEP_SET, TP_KEEP_DEQUE, TP_KEEP_TUPLE,
	TP_KEEP_CACHE,		/* functools.lru_cache around a function */
	TP_KEEP_FUNCTION, TP_KEEP_CLASS,
};

/* Once, with the lock; false: this interpreter lacks what is needed. */
bool tp_keep_api_find(void);

enum tp_keep_kind tp_keep_kind_of(void *object);
/* Of a list, dict, set, deque or tuple, of a subclass of dict too. */
ptrdiff_t tp_keep_size(void *object, enum tp_keep_kind kind);
/* Borrowed; of a list or tuple. */
void *tp_keep_item(void *object, enum tp_keep_kind kind, ptrdiff_t at);
/* NULL: it has none. */
void *tp_keep_instance_dict(void *object);
/* Borrowed: the object's class; NULL: to ask it for what it has could run the program's code. */
void *tp_keep_class_of(void *object);
/* A copy of a class's dictionary. */
void *tp_keep_class_dict(void *class);
/* A list of what the object refers to; NULL: not known. */
void *tp_keep_referents(void *object);
/* Borrowed; NULL: it is no plain module. */
void *tp_keep_module_dict(void *module);

/* Bytes, about, of one of a container's items: what a further one takes. 0: not known. *has_tensor: tensors
 * are in it, whose memory is not counted here. */
size_t tp_keep_item_bytes(void *object, enum tp_keep_kind kind, bool *has_tensor);

/* Around all calls of the others. Garbage is not collected between these, so that nothing of the program's
 * runs. */
void tp_keep_begin(void);
void tp_keep_end(void);

#endif
