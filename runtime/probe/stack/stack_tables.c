/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_tables.c - which pages hold a library's unwind tables and nothing else
 *
 * Giving back a page is harmless where it is as it is in the file: so only of segments that are
 * not written, of libraries without relocations in such segments, and only whole pages between
 * the first and the last description that the index (.eh_frame_hdr) names.
 */
#include "runtime/probe/stack/stack_tables.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096 };

static const ElfW(Phdr) *find_header(const struct tp_stack_object *object, uint32_t type)
{
	for (uint16_t i = 0; i < object->n_headers; i++) {
		if (object->headers[i].p_type == type)
			return &object->headers[i];
	}
	return NULL;
}

static bool has_text_relocations(const struct tp_stack_object *object)
{
	const ElfW(Phdr) *header = find_header(object, PT_DYNAMIC);
	const ElfW(Dyn) *entry = header ? (const void *)(object->base + header->p_vaddr) : NULL;

	for (; entry && entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_TEXTREL ||
		    (entry->d_tag == DT_FLAGS && entry->d_un.d_val & DF_TEXTREL))
			return true;
	}
	return false;
}

/* Is [begin, end) in one segment that is mapped from the file and never written? */
static bool is_untouched(const struct tp_stack_object *object, uint64_t begin, uint64_t end)
{
	for (uint16_t i = 0; i < object->n_headers; i++) {
		const ElfW(Phdr) *part = &object->headers[i];
		uint64_t at = object->base + part->p_vaddr;

		if (part->p_type == PT_LOAD && begin >= at && end <= at + part->p_filesz)
			return !(part->p_flags & PF_W);
	}
	return false;
}

static void drop(const struct tp_stack_object *object, uint64_t begin, uint64_t end)
{
	int kept_errno = errno;

	begin = (begin + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	end &= ~(uint64_t)(PAGE - 1);
	if (begin < end && is_untouched(object, begin, end))
		syscall(SYS_madvise, begin, end - begin, MADV_DONTNEED);
	errno = kept_errno;
}

const struct tp_stack_tables_index *tp_stack_tables_index(const struct tp_stack_object *object)
{
	const ElfW(Phdr) *header = find_header(object, PT_GNU_EH_FRAME);
	const struct tp_stack_tables_index *index;

	if (!header || header->p_memsz < sizeof(*index))
		return NULL;
	index = (const void *)(object->base + header->p_vaddr);
	if (index->version != 1 || index->frames_form != 0x1b || index->count_form != 0x03 ||
	    index->entry_form != 0x3b || !index->n ||
	    index->n > (header->p_memsz - sizeof(*index)) / sizeof(index->entry[0]))
		return NULL;
	return index;
}

void tp_stack_tables_drop(const struct tp_stack_object *object)
{
	const struct tp_stack_tables_index *index = tp_stack_tables_index(object);
	uint64_t at = (uint64_t)index, first, last;

	if (!index || has_text_relocations(object))
		return;
	first = (uint64_t)&index->frames + (uint64_t)(int64_t)index->frames;
	last = at + (uint64_t)(int64_t)index->entry[index->n - 1].frame;
	drop(object, first, last);
	drop(object, at, (uint64_t)&index->entry[index->n]);
}

static int drop_tables(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
	struct tp_stack_object object = {
		.base = info->dlpi_addr, .headers = info->dlpi_phdr, .n_headers = info->dlpi_phnum,
	};

	tp_stack_tables_drop(&object);
	return 0;
}

void tp_stack_tables_drop_all(void)
{
	dl_iterate_phdr(drop_tables, NULL);
}
