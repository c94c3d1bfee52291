/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_libunwind.c - finding libunwind, and what it reads
 *
 * Libraries are read where their program headers say that they can be, as long as they are mapped:
 * whoever asks has code of them on its stack, or takes a guess for it that is looked up first.
 */
#include "runtime/probe/stack/stack_libunwind.h"

__thread bool tp_stack_no_pipe
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

#if defined(__x86_64__)

#include <dlfcn.h>
#include <string.h>

#include "runtime/base/sync.h"
#include "runtime/probe/stack/stack_memory.h"
#include "runtime/probe/stack/stack_objects.h"
#include "runtime/probe/stack/stack_tables.h"

struct tp_stack_libunwind tp_stack_libunwind;

/* ---- memory ---- */

/* The part of a library that `at` is in; NULL: none that can be read. */
static const ElfW(Phdr) *find_part(const struct tp_stack_object *object, uint64_t at)
{
	for (uint16_t i = 0; i < object->n_headers; i++) {
		const ElfW(Phdr) *part = &object->headers[i];

		if (part->p_type == PT_LOAD && part->p_flags & PF_R &&
		    at - (object->base + part->p_vaddr) < part->p_memsz)
			return part;
	}
	return NULL;
}

/* Words are read whole: its first and last ones may have bytes that are in the page only. */
static bool find_library(struct tp_stack_source *source, uint64_t at)
{
	struct tp_stack_object object;
	const ElfW(Phdr) *part = NULL;

	/* A word may begin before the part does. */
	if (tp_stack_object_find(at, &object) || tp_stack_object_find(at + 7, &object))
		part = find_part(&object, at) ?: find_part(&object, at + 7);
	if (!part)
		return false;
	source->low = (object.base + part->p_vaddr) & ~7ull;
	source->end = (object.base + part->p_vaddr + part->p_memsz + 7) & ~7ull;
	return at >= source->low && at + 8 <= source->end;
}

static int access_mem(unw_addr_space_t space, unw_word_t at, unw_word_t *word, int is_write,
		      void *ctx)
{
	struct tp_stack_source *source = ctx;

	if (is_write)
		return -UNW_EINVAL;
	if (tp_likely(at >= source->low && at < source->end - 7 && source->end) ||
	    find_library(source, at)) {
		*word = tp_stack_word(at);
		return 0;
	}
	return source->read(source->ctx, at, word) ? 0 : -UNW_EINVAL;
}

static int access_reg(unw_addr_space_t space, unw_regnum_t reg, unw_word_t *value, int is_write,
		      void *ctx)
{
	const struct tp_stack_source *source = ctx;

	if (is_write || reg < 0 || reg > UNW_X86_64_RIP)
		return -UNW_EBADREG;
	*value = source->reg[reg];
	return 0;
}

static int access_fpreg(unw_addr_space_t space, unw_regnum_t reg, unw_fpreg_t *value, int is_write,
			void *ctx)
{
	return -UNW_EBADREG;
}

/* ---- tables ---- */

/* Of a library without an index nothing is known: libunwind would open its file. */
static int find_table(uint64_t pc, unw_dyn_info_t *table)
{
	const struct tp_stack_tables_index *index;
	struct tp_stack_object object;
	const ElfW(Phdr) *part;

	if (!tp_stack_object_find(pc, &object) || !(part = find_part(&object, pc)) ||
	    !(index = tp_stack_tables_index(&object)))
		return -UNW_ENOINFO;
	memset(table, 0, sizeof(*table));
	table->format = UNW_INFO_FORMAT_REMOTE_TABLE;
	table->start_ip = object.base + part->p_vaddr;
	table->end_ip = table->start_ip + part->p_memsz;
	table->u.rti.segbase = (uint64_t)index;
	table->u.rti.table_data = (uint64_t)index->entry;
	table->u.rti.table_len = index->n * sizeof(index->entry[0]) / sizeof(unw_word_t);
	return 0;
}

static int find_proc_info(unw_addr_space_t space, unw_word_t pc, unw_proc_info_t *info,
			  int is_whole, void *ctx)
{
	struct tp_stack_source *source = ctx;
	unw_dyn_info_t table;

	source->found = find_table(pc, &table);
	if (source->found >= 0)
		source->found = tp_stack_libunwind.search(space, pc, &table, info, is_whole, ctx);
	return source->found;
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *ctx)
{
}

static int find_registered(unw_addr_space_t space, unw_word_t *list, void *ctx)
{
	return -UNW_ENOINFO;
}

/* ---- the library ---- */

#define TEXT_OF(name) #name
#define NAME_OF(macro) TEXT_OF(macro)

static bool find(void *library, void *function, const char *name)
{
	*(void **)function = dlsym(library, name);
	return *(void **)function || (dlerror(), false);
}

/* It makes itself ready once, with a pipe that we have no use for. */
static bool make_ready(struct tp_stack_libunwind *lib)
{
	struct tp_stack_source source = { .reg[UNW_X86_64_RSP] = 8 };
	unw_cursor_t cursor;
	int result;

	tp_stack_no_pipe = true;
	result = lib->init_remote(&cursor, lib->fresh, &source);
	lib->set_caching_policy(lib->quick, UNW_CACHE_GLOBAL);
	tp_stack_no_pipe = false;
	return result >= 0;
}

const char *tp_stack_libunwind_open(void)
{
	struct tp_stack_libunwind *lib = &tp_stack_libunwind;
	void *library = dlopen("libunwind-x86_64.so.8", RTLD_NOW | RTLD_LOCAL);
	/* Versions after the header's have more of them at the end, which may be NULL. */
	union {
		unw_accessors_t of;
		char room[512];
	} accessors;

	if (!library) {
		dlerror();
		return "libunwind-x86_64.so.8 is not there";
	}
#define FIND(fn) find(library, &lib->fn, NAME_OF(unw_##fn))
	if (!FIND(create_addr_space) || !FIND(init_remote) || !FIND(step) || !FIND(get_reg) ||
	    !FIND(get_save_loc) || !FIND(set_caching_policy) || !FIND(flush_cache) ||
	    !find(library, &lib->search, NAME_OF(UNW_OBJ(dwarf_search_unwind_table))))
		return "libunwind-x86_64.so.8 is another one";
	memset(&accessors, 0, sizeof(accessors));
	accessors.of.find_proc_info = find_proc_info;
	accessors.of.put_unwind_info = put_unwind_info;
	accessors.of.get_dyn_info_list_addr = find_registered;
	accessors.of.access_mem = access_mem;
	accessors.of.access_reg = access_reg;
	accessors.of.access_fpreg = access_fpreg;
	lib->fresh = lib->create_addr_space(&accessors.of, 0);
	lib->quick = lib->create_addr_space(&accessors.of, 0);
	if (!lib->fresh || !lib->quick || !make_ready(lib))
		return "no memory for libunwind";
	return NULL;
}

#endif
