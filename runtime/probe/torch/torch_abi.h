/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_abi.h - the exported C++ functions of PyTorch that we call from C, and how
 *
 * Only functions that torch exports, with arguments that C can pass the same way: pointers,
 * numbers, and trivially copyable structures by value. What returns an object that C++ hands
 * back through a hidden pointer is declared to return a structure larger than 16 bytes, which
 * both the x86-64 and the aarch64 ABI return the same way; only its first word is read.
 */
#ifndef TP_PROBE_TORCH_ABI_H
#define TP_PROBE_TORCH_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/trace/trainprof_trace.h"

enum {
	TP_TORCH_SCOPES = 10,	/* at::RecordScope::NUM_SCOPES; those we know: enum tp_scope */
};

/* at::RecordFunctionCallback. Larger than 16 bytes: passed in memory, as a C structure is. */
struct tp_torch_callback {
	void *start, *end;
	double probability;
	uint8_t scopes[TP_TORCH_SCOPES];
	uint8_t needs_inputs, needs_outputs, needs_ids;
};

/* std::variant<std::string_view, std::reference_wrapper<FunctionSchema const>> */
struct tp_torch_descriptor {
	size_t n_bytes;		/* libstdc++ keeps the length first */
	const char *text;
	uint64_t index;		/* 0: the text */
};

/* Whatever C++ returns through a hidden pointer; at::Tensor is one word, the TensorImpl. */
struct tp_torch_object {
	void *impl;
	void *unused[2];
};

struct tp_torch_abi {
	void *cpu, *c10;	/* dlopen handles */
	uint64_t (*add)(struct tp_torch_callback);
	uint64_t (*add_own)(struct tp_torch_callback);	/* for this thread; NULL: this torch has none */
	void (*remove)(uint64_t);
	const char *(*name)(const void *rf);
	const char *(*overload)(const void *rf);	/* NULL: this torch has none */
	uint64_t (*thread_id)(void);
	void (*construct)(void *rf, uint8_t scope);
	void (*destruct)(void *rf);
	void (*set_async)(void *rf);
	void (*before_text)(void *rf, const char *name, int64_t sequence);
	void (*before)(void *rf, struct tp_torch_descriptor name, int64_t sequence);
	struct tp_torch_object (*empty)(const int64_t *sizes, size_t n_sizes, uint16_t dtype,
					uint16_t layout, uint32_t device, uint16_t pin,
					uint16_t memory_format);
	struct tp_torch_object (*alias)(void *const *tensor);
	/* Of a c10d::ProcessGroup: a std::string, of the old kind where only _old is there. */
	const void *(*group_name)(const void *group);
	const void *(*group_name_old)(const void *group);
	const void *(*group_desc)(const void *group);	/* NULL: this torch has none */
	bool (*is_profiled)(void);	/* a profiler of torch's is on; NULL: this torch does not tell */
	bool (*has_gradients)(void);	/* of what this thread computes; NULL: this torch does not tell */
	const void *undefined;	/* the TensorImpl of all undefined tensors */
};

/*
 * False: torch is not mapped. Else fills *abi; *missing is the first symbol that user ranges
 * and operators need and this torch does not export, or NULL.
 */
bool tp_torch_abi_find(struct tp_torch_abi *abi, const char **missing);

/* Handle of a mapped library whose file name begins with `stem` ("libc10.so"), or NULL. Never
 * maps anything. */
void *tp_torch_library(const char *stem);

/*
 * start callbacks return a unique_ptr<ObserverContext>: through a hidden pointer, which is
 * the first argument on x86-64 but register x8 on aarch64, where C has no way to get at it.
 * TP_TORCH_START(fn) is what to register for `static void *fn(void **ret, const void *rf)`.
 */
#if defined(__aarch64__)
#define TP_TORCH_START(fn) ((void *)fn##_entry)
#define TP_TORCH_DEFINE_START(fn)                                                          \
	extern void fn##_entry(void) __attribute__((visibility("hidden")));                \
	__asm__(".text\n.balign 4\n.global " #fn "_entry\n.hidden " #fn "_entry\n"         \
		".type " #fn "_entry, %function\n" #fn "_entry:\n"                         \
		"\thint #34\n\tmov x1, x0\n\tmov x0, x8\n\tb " #fn "\n"                    \
		".size " #fn "_entry, . - " #fn "_entry\n")
#else
#define TP_TORCH_START(fn) ((void *)(fn))
#define TP_TORCH_DEFINE_START(fn) _Static_assert(sizeof(void *) == 8, "64-bit ABI")
#endif
#define TP_TORCH_CALLED_BY_TORCH __attribute__((used))

/* A string of the old kind is a pointer to its characters; its length is so many bytes before them. */
enum { TP_TORCH_OLD_LENGTH = 24 };

static inline uint64_t tp_torch_u64(const void *object, uint32_t at)
{
	uint64_t v;

	memcpy(&v, (const char *)object + at, sizeof(v));
	return v;
}

static inline uint32_t tp_torch_u32(const void *object, uint32_t at)
{
	uint32_t v;

	memcpy(&v, (const char *)object + at, sizeof(v));
	return v;
}

static inline uint16_t tp_torch_u16(const void *object, uint32_t at)
{
	uint16_t v;

	memcpy(&v, (const char *)object + at, sizeof(v));
	return v;
}

static inline uint8_t tp_torch_u8(const void *object, uint32_t at)
{
	return ((const uint8_t *)object)[at];
}

static inline const char *tp_torch_ptr(const void *object, uint32_t at)
{
	return (const char *)(uintptr_t)tp_torch_u64(object, at);
}

#endif
