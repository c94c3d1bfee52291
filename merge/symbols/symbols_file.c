/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols_file.c - the file of code as it was when it ran, or a debug file of it
 *
 * What is at the path now is read only after its build id was compared. Where it is gone or
 * another, a file of debug information with the recorded build id serves as well: its symbols
 * and lines are of the same code.
 *
 * A trace and a file of code may name any path: only a regular file is ever opened, not a device
 * that does something when it is, nor a pipe. So libdwfl gets descriptors; by itself it looks
 * below /usr/lib/debug, and opens .dwo files after we looked what lies there.
 *
 * libdwfl asks a debuginfod server only where DEBUGINFOD_URLS names one. A server that lets us
 * wait is not asked for ever.
 */
#include "merge/symbols/symbols_in.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include <elfutils/libdwelf.h>

#include "runtime/base/clock.h"

enum {
	SLOW_NS_BITS = 32,	/* 4.3 s: an answer of "no" that took longer */
	SLOW_MOST = 2,		/* so many, then servers are not asked any more */
};

static uint32_t n_slow; /* atomic */

/* What is at `path`, if it is a file with something in it; -1 and errno. Nothing else is opened:
 * what O_PATH found is what is opened then. */
static int open_regular(const char *path)
{
	int at = open(path, O_PATH | O_CLOEXEC), fd = -1, err = 0;
	char again[40];
	struct stat st;
	struct statfs fs;

	if (at < 0)
		return -1;
	if (fstat(at, &st) || fstatfs(at, &fs))
		err = errno;
	else if (!S_ISREG(st.st_mode) || !st.st_size || fs.f_type == PROC_SUPER_MAGIC)
		err = EINVAL;
	if (!err) {
		snprintf(again, sizeof(again), "/proc/self/fd/%d", at);
		fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		err = errno;
	}
	close(at);
	errno = err;
	return fd;
}

static bool has_build_id(int fd, const uint8_t *bits, int n_bits)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	const void *id = NULL;
	bool is_it = n_bits > 0 && dwelf_elf_gnu_build_id(elf, &id) == n_bits &&
		     !memcmp(id, bits, (size_t)n_bits);

	elf_end(elf);
	return is_it;
}

/* The debug file that `link` names, where the file of code is or in .debug there. */
static int open_beside(Dwfl_Module *mod, const char *file_name, const char *link, char **found)
{
	static const char *const folder[] = {"", ".debug/"};
	const char *slash = strrchr(file_name, '/');
	const unsigned char *bits;
	GElf_Addr at;
	int n_bits = dwfl_module_build_id(mod, &bits, &at);

	for (int i = 0; i < 2; i++) {
		char *path;
		int fd;

		if (asprintf(&path, "%.*s%s%s", slash ? (int)(slash + 1 - file_name) : 0, file_name,
			     folder[i], link) < 0)
			return -1;
		fd = open_regular(path);
		if (fd >= 0 && has_build_id(fd, bits, n_bits)) {
			*found = path;
			return fd;
		}
		if (fd >= 0)
			close(fd);
		free(path);
	}
	return -1;
}

static int find_debuginfo(Dwfl_Module *mod, void **userdata, const char *modname, Dwarf_Addr base,
			  const char *file_name, const char *link, GElf_Word crc, char **found)
{
	struct tp_symbols_file *file = *userdata;
	/* DWARF that several files share has a name, but no checksum. */
	bool is_shared = link && !crc;
	uint64_t begin_ns = tp_clock_mono_ns();
	char *real;
	int fd = -1;

	link = link && strrchr(link, '/') ? strrchr(link, '/') + 1 : link;
	if (link && !is_shared && file_name)
		fd = open_beside(mod, file_name, link, found);
	/* By build id on this machine, without servers: they do not answer, or have not got it
	 * (libdwfl looks once for DWARF and once for symbols). */
	if (fd < 0 && (file->is_missing || __atomic_load_n(&n_slow, __ATOMIC_RELAXED) >= SLOW_MOST)) {
		fd = dwfl_build_id_find_debuginfo(mod, userdata, modname, base, file_name, link, crc,
						  found);
	} else if (fd < 0) {
		/* Without "..": it becomes a part of names below /usr/lib/debug. */
		real = file_name ? realpath(file_name, NULL) : NULL;
		fd = dwfl_standard_find_debuginfo(mod, userdata, modname, base, real, link, crc,
						  found);
		free(real);
		file->is_missing |= fd < 0;
		if (fd < 0 && (tp_clock_mono_ns() - begin_ns) >> SLOW_NS_BITS)
			__atomic_fetch_add(&n_slow, 1, __ATOMIC_RELAXED);
	}
	file->has_shared |= is_shared && fd >= 0;
	return fd;
}

/* The DWARF that a file shares with others: libdw would look for it wherever the file says. False:
 * it is not there, and the file's own says little without it. */
static bool join_shared(struct tp_symbols_file *file)
{
	const char *name, *main_file = NULL, *debug_file = NULL, *slash;
	const void *id;
	ssize_t n_id = file->dwarf ? dwelf_dwarf_gnu_debugaltlink(file->dwarf, &name, &id) : 0;
	char *path;

	if (n_id <= 0 || file->has_shared)
		return true;
	dwfl_module_info(file->mod, NULL, NULL, NULL, NULL, NULL, &main_file, &debug_file);
	main_file = debug_file ? debug_file : main_file ? main_file : "";
	slash = strrchr(main_file, '/');
	if (asprintf(&path, "%.*s%s", *name != '/' && slash ? (int)(slash + 1 - main_file) : 0,
		     main_file, name) < 0)
		return false;
	file->shared_fd = open_regular(path);
	free(path);
	if (file->shared_fd >= 0 && has_build_id(file->shared_fd, id, (int)n_id))
		file->shared = dwarf_begin(file->shared_fd, DWARF_C_READ);
	if (file->shared)
		dwarf_setalt(file->dwarf, file->shared);
	return file->shared != NULL;
}

/* Something lies at folder/name, and it is not a file. folder: so many bytes of it. */
static bool is_irregular(const char *folder, size_t n_folder, const char *within, const char *name)
{
	struct stat st;
	char *path;
	bool is_it;

	if (!*name)
		return false;
	if (asprintf(&path, "%.*s%s%s%s", *within == '/' || *name == '/' ? 0 : (int)n_folder, folder,
		     *name == '/' ? "" : within, *name == '/' || !*within ? "" : "/", name) < 0)
		return true;
	is_it = !stat(path, &st) && !S_ISREG(st.st_mode);
	free(path);
	return is_it;
}

bool tp_symbols_may_split(const struct tp_symbols_file *file, const char *name, const char *within)
{
	const char *beside[3] = {""};

	dwfl_module_info(file->mod, NULL, NULL, NULL, NULL, NULL, &beside[1], &beside[2]);
	for (uint32_t i = 0; i < 3; i++) {
		const char *slash = beside[i] ? strrchr(beside[i], '/') : NULL;
		const size_t n = slash ? (size_t)(slash + 1 - beside[i]) : 0;

		if (is_irregular(beside[i], n, "", name) || is_irregular(beside[i], n, within, name))
			return false;
		/* Those of all units in one; libdw looks for it since 0.191. */
		if (slash) {
			char *all;
			bool is_bad;

			if (asprintf(&all, "%s.dwp", beside[i]) < 0)
				return false;
			is_bad = is_irregular("", 0, "", all);
			free(all);
			if (is_bad)
				return false;
		}
	}
	return true;
}

/* What is at `path`, open, if it is code of this build id; else -1 and why. */
static int open_code(const char *path, const struct tp_symbols_module *module, char *trouble,
		     size_t trouble_bytes)
{
	int fd = open_regular(path);
	const char *why = NULL;
	const void *id = NULL;
	GElf_Ehdr head;
	ssize_t n_id;
	Elf *elf;

	if (fd < 0) {
		int err = errno;

		if (err == ENOENT || err == ENOTDIR)
			snprintf(trouble, trouble_bytes, "it is not there any more");
		else if (err == EINVAL)
			snprintf(trouble, trouble_bytes, "what is there now is no file of code");
		else
			snprintf(trouble, trouble_bytes, "cannot open it: %s", strerror(err));
		return -1;
	}
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &head) ||
	    (head.e_type != ET_EXEC && head.e_type != ET_DYN)) {
		why = "what is there now is no file of code";
	} else {
		n_id = dwelf_elf_gnu_build_id(elf, &id);
		if ((n_id < 0 ? 0 : n_id) != (ssize_t)module->build_id_bytes ||
		    (n_id > 0 && memcmp(id, module->build_id, (size_t)n_id)))
			why = "changed since the run: its build id is another";
	}
	elf_end(elf);
	if (why) {
		snprintf(trouble, trouble_bytes, "%s", why);
		close(fd);
		return -1;
	}
	return fd;
}

/* The debug file of the recorded build id, of this machine or `root`. */
static int open_debug(const struct tp_symbols_module *module, const char *root, char *path,
		      size_t path_bytes)
{
	int n = snprintf(path, path_bytes, "%s/usr/lib/debug/.build-id/", root);
	char trouble[128];

	if (module->build_id_bytes < 2 || n < 0 ||
	    (size_t)n + (size_t)module->build_id_bytes * 2 + sizeof("/.debug") > path_bytes)
		return -1;
	for (uint32_t i = 0; i < module->build_id_bytes; i++)
		n += sprintf(path + n, i ? "%02x" : "%02x/", module->build_id[i]);
	strcpy(path + n, ".debug");
	return open_code(path, module, trouble, sizeof(trouble));
}

/* Reports what a server of debug information has of the recorded build id. */
static Dwfl_Module *ask_servers(struct tp_symbols_file *file,
				const struct tp_symbols_module *module)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	Dwfl_Module *mod;

	if (!urls || !*urls || module->build_id_bytes < 2 ||
	    __atomic_load_n(&n_slow, __ATOMIC_RELAXED) >= SLOW_MOST)
		return NULL;
	mod = dwfl_report_module(file->dwfl, module->path, 0, UINT64_MAX);
	if (mod && dwfl_module_report_build_id(mod, module->build_id,
					       (size_t)module->build_id_bytes, 0))
		mod = NULL;
	return mod;
}

static const char *why_no_file(const char *path)
{
	if (strstr(path, "vdso"))
		return "it is the kernel's own code, in no file";
	if (*path != '/')
		return "it is in no file: code that was made while the program ran";
	return NULL;
}

static void say_unreadable(char *trouble, size_t trouble_bytes)
{
	snprintf(trouble, trouble_bytes, "cannot read it: %s", dwfl_errmsg(-1));
}

/* Makes file->mod, of the code at `path`, else of its debug file, else of a server's. */
static bool report_module(struct tp_symbols_file *file, const struct tp_symbols_module *module,
			  const char *root, char *path, size_t path_bytes, char *trouble,
			  size_t trouble_bytes)
{
	void **userdata;
	int fd = open_code(path, module, trouble, trouble_bytes);

	if (fd < 0)
		fd = open_debug(module, root, path, path_bytes);
	dwfl_report_begin(file->dwfl);
	if (fd >= 0) {
		/* Addresses are then those of its headers. libdwfl takes fd if it succeeds. */
		file->mod = dwfl_report_elf(file->dwfl, path, path, fd, 0, true);
		if (!file->mod)
			close(fd);
	} else {
		file->mod = ask_servers(file, module);
		if (!file->mod)
			return false;
	}
	dwfl_report_end(file->dwfl, NULL, NULL);
	if (file->mod) {
		dwfl_module_info(file->mod, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
		*userdata = file;
	}
	if (file->mod && dwfl_module_getelf(file->mod, &file->bias))
		return true;
	if (fd >= 0)
		say_unreadable(trouble, trouble_bytes);
	return false;
}

bool tp_symbols_file_open(struct tp_symbols_file *file, const struct tp_symbols_module *module,
			  const char *root, char *trouble, size_t trouble_bytes)
{
	const char *why = why_no_file(module->path);
	char path[4352];

	memset(file, 0, sizeof(*file));
	file->shared_fd = -1;
	if (why) {
		snprintf(trouble, trouble_bytes, "%s", why);
		return false;
	}
	if ((size_t)snprintf(path, sizeof(path), "%s%s", root, module->path) >= sizeof(path)) {
		snprintf(trouble, trouble_bytes, "its name is too long");
		return false;
	}
	/* Never libdwfl's own: that has the folder of the file in it. */
	if (asprintf(&file->debug_path, "%s/usr/lib/debug", root) < 0) {
		file->debug_path = NULL;
		snprintf(trouble, trouble_bytes, "out of memory");
		return false;
	}
	file->callbacks.find_elf = dwfl_build_id_find_elf;
	file->callbacks.find_debuginfo = find_debuginfo;
	file->callbacks.debuginfo_path = &file->debug_path;
	file->dwfl = dwfl_begin(&file->callbacks);
	if (!file->dwfl) {
		say_unreadable(trouble, trouble_bytes);
	} else if (report_module(file, module, root, path, sizeof(path), trouble, trouble_bytes)) {
		file->dwarf = dwfl_module_getdwarf(file->mod, &file->dwarf_bias);
		file->dwarf_bias = file->bias - file->dwarf_bias;
		if (!join_shared(file))
			file->dwarf = NULL;
		return true;
	}
	tp_symbols_file_close(file);
	return false;
}

void tp_symbols_file_close(struct tp_symbols_file *file)
{
	if (file->dwfl)
		dwfl_end(file->dwfl);
	dwarf_end(file->shared);
	if (file->shared_fd >= 0)
		close(file->shared_fd);
	free(file->debug_path);
	memset(file, 0, sizeof(*file));
}
