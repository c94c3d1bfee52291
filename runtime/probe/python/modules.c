/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.c - the code in this process, from /proc/self/maps
 *
 * Not from the loader's list: dl_iterate_phdr takes the loader's lock, which a child of fork
 * would inherit as it was, held for ever if we held it just then. The kernel's list has no lock
 * that a program could see, has the real path of everything (of the program itself, too), and
 * has code that did not come by the loader. Headers and build ids are read from memory through
 * the kernel, because a library may be unmapped while we look at it.
 *
 * The whole list is read at each look, since nothing cheap tells that it has changed; of what is
 * known already nothing else is read. Code that came and went between two looks is not known.
 */
#include "runtime/probe/python/modules.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/hash.h"
#include "runtime/base/loader.h"
#include "runtime/base/own_fd.h"
#include "runtime/base/peek.h"
#include "runtime/base/text.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/probe/python/maps.h"

enum {
	/* A look takes half a millisecond in a small training, many in a large one: it gets a
	 * thousandth of a processor, within limits. */
	PERIOD_LEAST_MS = 500,
	PERIOD_MOST_MS = 10000,
	MODULES_MAX = 4096,
	TEXT_BYTES = 64 << 10,	/* of the list at a time */
	PHDRS_MAX = 64,
	NOTE_BYTES = 1024,
	BUILD_ID_MAX = 64,
};

/* One that was seen. */
struct module {
	uint64_t begin, key;	/* key: hash of its file and path */
	uint32_t id;		/* its string, 0: no room */
	uint32_t look;		/* the last one that saw it */
};

/* Lines of the list that may be one file of code, as they come. */
struct group {
	uint64_t begin, end;
	uint64_t offset, last_offset;	/* in the file, of its first line and its last one */
	uint64_t key;
	char path[TP_INTERN_TEXT];
	bool has_code;
};

static struct {
	bool is_on;
	uint32_t period_ms;
	uint32_t generation;	/* of the ring that the strings were interned in */
	struct tp_own_fd maps;
	uint32_t look;		/* number of the last one */
	uint64_t look_time;
	uint32_t n, next;	/* next: where the next one is looked for first */
	struct module module[MODULES_MAX];
	uint32_t n_unloaded, n_lost;
	struct group group;
	char text[TEXT_BYTES + 1];
} modules = { .maps = { .fd = -1 } };

/* ---- memory of the process ---- */

/* All n bytes, or false: it is not there, not all of it. */
static bool read_memory(uint64_t address, void *to, size_t n)
{
	struct tp_own_fd memory;
	bool is_read;

	if (tp_peek((const void *)(uintptr_t)address, to, n) == n)
		return true;
	/* Some containers forbid that call. */
	if ((errno != EPERM && errno != ENOSYS) ||
	    tp_own_fd_open(&memory, "/proc/self/mem", O_RDONLY, 0))
		return false;
	is_read = tp_own_fd_read(&memory, to, n, address) == (ssize_t)n;
	tp_own_fd_close(&memory);
	return is_read;
}

/* The build id in a segment of notes; 0: none. */
static uint32_t find_build_id(uint64_t address, uint64_t n_bytes, uint8_t id[BUILD_ID_MAX])
{
	uint8_t notes[NOTE_BYTES];
	size_t at = 0, n = n_bytes < sizeof(notes) ? n_bytes : sizeof(notes);

	if (!read_memory(address, notes, n))
		return 0;
	while (at + sizeof(ElfW(Nhdr)) <= n) {
		ElfW(Nhdr) note;
		size_t name, desc;

		memcpy(&note, notes + at, sizeof(note));
		name = at + sizeof(note);
		desc = name + (((size_t)note.n_namesz + 3) & ~(size_t)3);
		if (note.n_namesz > n || note.n_descsz > n || desc + note.n_descsz > n)
			return 0;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(notes + name, "GNU", 4) && note.n_descsz <= BUILD_ID_MAX) {
			memcpy(id, notes + desc, note.n_descsz);
			return note.n_descsz;
		}
		at = desc + (((size_t)note.n_descsz + 3) & ~(size_t)3);
	}
	return 0;
}

/* What the headers in memory say; without them a guess: addresses are offsets in the file. */
static void read_headers(const struct group *group, struct tp_module *module,
			 uint8_t build_id[BUILD_ID_MAX])
{
	ElfW(Phdr) part[PHDRS_MAX];
	ElfW(Ehdr) head;
	uint64_t least = UINT64_MAX, most = 0;

	module->bias = group->begin - group->offset;
	module->begin = group->begin;
	module->end = group->end;
	if (group->offset || !read_memory(group->begin, &head, sizeof(head)) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phentsize != sizeof(part[0]) ||
	    !head.e_phnum || head.e_phnum > PHDRS_MAX ||
	    !read_memory(group->begin + head.e_phoff, part, head.e_phnum * sizeof(part[0])))
		return;
	for (int i = 0; i < head.e_phnum; i++) {
		if (part[i].p_type != PT_LOAD)
			continue;
		if (part[i].p_vaddr - part[i].p_offset < least)
			least = part[i].p_vaddr - part[i].p_offset;
		if (part[i].p_vaddr + part[i].p_memsz > most)
			most = part[i].p_vaddr + part[i].p_memsz;
	}
	if (least > most)
		return;
	/* The header lies at the file's start, and so does the first segment. */
	module->bias = group->begin - least;
	module->end = module->bias + most;
	for (int i = 0; i < head.e_phnum && !module->build_id_bytes; i++)
		if (part[i].p_type == PT_NOTE)
			module->build_id_bytes = find_build_id(module->bias + part[i].p_vaddr,
							       part[i].p_filesz, build_id);
}

/* ---- strings ---- */

static uint32_t intern_module(const struct tp_module *module, const uint8_t *build_id,
			      const char *path)
{
	char bytes[TP_INTERN_TEXT];
	struct tp_text text;

	tp_text_init(&text, bytes, sizeof(bytes));
	tp_text_bytes(&text, (const char *)module, sizeof(*module));
	tp_text_bytes(&text, (const char *)build_id, module->build_id_bytes);
	tp_text_str(&text, path);
	return tp_intern(TP_STRING_MODULE, bytes, (uint32_t)text.len);
}

/* The same again, with its end. */
static void intern_end(uint32_t id, uint64_t to)
{
	char bytes[TP_INTERN_TEXT];
	const char *old;
	uint32_t kind, n;

	if (!tp_intern_get(NULL, id, &kind, &old, &n) || n > sizeof(bytes))
		return;
	memcpy(bytes, old, n);
	memcpy(bytes + offsetof(struct tp_module, to), &to, sizeof(to));
	if (!tp_intern(TP_STRING_MODULE, bytes, n))
		modules.n_lost++;
}

/* ---- the list ---- */

/* They come in the order of the look before, mostly. */
static struct module *find_module(uint64_t begin, uint64_t key)
{
	for (uint32_t i = 0; i < modules.n; i++) {
		uint32_t at = (modules.next + i) % modules.n;

		if (modules.module[at].begin == begin && modules.module[at].key == key) {
			modules.next = at + 1;
			return &modules.module[at];
		}
	}
	return NULL;
}

static void end_group(uint64_t from)
{
	const struct group *group = &modules.group;
	struct module *module;
	uint8_t build_id[BUILD_ID_MAX];
	struct tp_module found = { .from = from };

	if (!group->has_code)
		return;
	module = find_module(group->begin, group->key);
	if (!module) {
		if (modules.n == MODULES_MAX) {
			modules.n_lost++;
			return;
		}
		module = &modules.module[modules.n++];
		read_headers(group, &found, build_id);
		*module = (struct module){ .begin = group->begin, .key = group->key };
		module->id = intern_module(&found, build_id, group->path);
		modules.n_lost += !module->id;
	}
	module->look = modules.look;
}

/* The file's path without what the kernel puts behind that of one that was removed. */
static size_t path_bytes(const char *path)
{
	static const char removed[] = " (deleted)";
	size_t n = strlen(path), n_removed = sizeof(removed) - 1;

	if (n > n_removed && !strcmp(path + n - n_removed, removed))
		n -= n_removed;
	return n < TP_INTERN_TEXT ? n : TP_INTERN_TEXT - 1;
}

/* from: what is new is there since then. */
static void take_line(void *from, const char *line)
{
	struct group *group = &modules.group;
	uint64_t key = 0;
	struct tp_map map;
	size_t n = 0;

	if (!tp_map_parse(line, &map))
		return;
	if (map.path && (*map.path == '/' || !strcmp(map.path, "[vdso]"))) {
		n = path_bytes(map.path);
		/* Device, inode and path: another file of the same name is another module. */
		key = tp_hash_bytes(map.file, (uint32_t)(map.path - map.file) + (uint32_t)n, 1);
	}
	/* Zeroed memory behind a segment. */
	if (!key)
		return;
	/* Segments lie as they do in the file; its start is the next copy's when this one has its
	 * code already. */
	if (key == group->key && map.offset >= group->last_offset && (map.offset || !group->has_code)) {
		group->end = map.end;
		group->last_offset = map.offset;
		group->has_code |= map.has_code;
		return;
	}
	end_group(*(const uint64_t *)from);
	group->key = key;
	group->has_code = map.has_code;
	group->begin = map.begin;
	group->end = map.end;
	group->offset = group->last_offset = map.offset;
	memcpy(group->path, map.path, n);
	group->path[n] = '\0';
}

/* 0 or -errno: then nothing is known of what is gone. */
static int read_list(uint64_t from)
{
	size_t kept = 0;
	uint64_t at = 0;
	int err;

	if (!tp_own_fd_is_ours(&modules.maps)) {
		err = tp_own_fd_open(&modules.maps, "/proc/self/maps", O_RDONLY, 0);
		if (err)
			return err;
	}
	modules.group.key = 0;
	modules.group.has_code = false;
	for (;;) {
		ssize_t got = tp_own_fd_read(&modules.maps, modules.text + kept, TEXT_BYTES - kept,
					     at);

		if (got < 0)
			return (int)got;
		if (!got)
			break;
		at += (uint64_t)got;
		tp_maps_lines(modules.text, TEXT_BYTES, &kept, (size_t)got, take_line, &from);
	}
	end_group(from);
	return 0;
}

static void drop_unloaded(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < modules.n; i++) {
		const struct module *module = &modules.module[i];

		if (module->look == modules.look) {
			modules.module[n++] = *module;
			continue;
		}
		modules.n_unloaded++;
		if (module->id)
			intern_end(module->id, modules.look_time);
	}
	modules.n = n;
}

static void set_period(uint64_t look_ns)
{
	uint64_t ms = look_ns / 1000;

	modules.period_ms = ms < PERIOD_LEAST_MS  ? PERIOD_LEAST_MS
			    : ms > PERIOD_MOST_MS ? PERIOD_MOST_MS
						  : (uint32_t)ms;
}

static void look(uint64_t now)
{
	uint64_t begin_ns = tp_clock_mono_ns();
	bool is_first;

	if (!tp_ring.head)
		return;
	if (modules.generation != tp_ring.generation) {
		modules.generation = tp_ring.generation;
		modules.n = modules.look = modules.n_unloaded = modules.n_lost = 0;
	}
	is_first = !modules.look++;
	if (!read_list(is_first ? 0 : now))
		drop_unloaded();
	modules.look_time = now;
	set_period(tp_clock_mono_ns() - begin_ns);
}

/* ---- the probe ---- */

static int open_modules(const struct tp_config *config)
{
	modules.is_on = config->record & TP_RECORD_HEAP && config->stacks & TP_STACKS_NATIVE;
	modules.period_ms = PERIOD_LEAST_MS;
	return 0;
}

/* What other probes do with the loader's list on the drain thread must not meet a fork. */
static void warm(void)
{
	tp_loader_is_ours = true;
}

static uint32_t get_period_ms(void)
{
	return modules.is_on ? modules.period_ms : 0;
}

static bool look_last(uint64_t end, bool is_closing)
{
	if (modules.is_on)
		look(tp_clock_now());
	return true;
}

static void report(struct tp_text *totals)
{
	if (modules.is_on)
		tp_text_fmt(totals, "modules=%u\nmodules.unloaded=%u\nmodules.lost=%u\n"
			    "modules.looks=%u\n", modules.n, modules.n_unloaded, modules.n_lost,
			    modules.look);
}

static void forked(void)
{
	/* It is the parent's list. */
	tp_own_fd_close(&modules.maps);
	modules.maps = TP_OWN_FD_NONE;
}

const struct tp_probe tp_modules_probe = {
	.name = "modules",
	.open = open_modules,
	.warm = warm,
	.period_ms = get_period_ms,
	.tick = look,
	.settle = look_last,
	.report = report,
	.forked = forked,
};
