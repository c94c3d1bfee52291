/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols_file.c - the file of code as it was when it ran, or a debug file of it
 *
 * What is at the path now is read only after its build id was compared. Where it is gone or
 * another, a file of debug information with the recorded build id serves as well: its symbols
 * and lines are of the same code.
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
#include <unistd.h>

#include <elfutils/libdwelf.h>

#include "runtime/base/clock.h"

enum {
	SLOW_NS_BITS = 32,	/* 4.3 s: an answer of "no" that took longer */
	SLOW_MOST = 2,		/* so many, then servers are not asked any more */
};

static uint32_t n_slow; /* atomic */

static int find_debuginfo(Dwfl_Module *mod, void **userdata, const char *modname, Dwarf_Addr base,
			  const char *file_name, const char *link, GElf_Word crc, char **found)
{
	uint64_t begin_ns = tp_clock_mono_ns();
	int fd;

	/* By build id on this machine, without servers: they do not answer, or have not got it
	 * (libdwfl looks once for DWARF and once for symbols). */
	if (*userdata || __atomic_load_n(&n_slow, __ATOMIC_RELAXED) >= SLOW_MOST)
		return dwfl_build_id_find_debuginfo(mod, userdata, modname, base, file_name, link,
						    crc, found);
	fd = dwfl_standard_find_debuginfo(mod, userdata, modname, base, file_name, link, crc,
					  found);
	if (fd < 0)
		*userdata = &n_slow;
	if (fd < 0 && (tp_clock_mono_ns() - begin_ns) >> SLOW_NS_BITS)
		__atomic_fetch_add(&n_slow, 1, __ATOMIC_RELAXED);
	return fd;
}

/* What is at `path`, open, if it is code of this build id; else -1 and why. */
static int open_code(const char *path, const struct tp_symbols_module *module, char *trouble,
		     size_t trouble_bytes)
{
	/* A pipe may be there now: not waited for. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const char *why = NULL;
	const void *id = NULL;
	GElf_Ehdr head;
	ssize_t n_id;
	Elf *elf;

	if (fd < 0) {
		int err = errno;

		if (err == ENOENT || err == ENOTDIR)
			snprintf(trouble, trouble_bytes, "it is not there any more");
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

bool tp_symbols_file_open(struct tp_symbols_file *file, const struct tp_symbols_module *module,
			  const char *root, char *trouble, size_t trouble_bytes)
{
	const char *why = why_no_file(module->path);
	char path[4352];
	int fd;

	memset(file, 0, sizeof(*file));
	if (why) {
		snprintf(trouble, trouble_bytes, "%s", why);
		return false;
	}
	if ((size_t)snprintf(path, sizeof(path), "%s%s", root, module->path) >= sizeof(path)) {
		snprintf(trouble, trouble_bytes, "its name is too long");
		return false;
	}
	if (*root && asprintf(&file->debug_path, ":.debug:%s/usr/lib/debug", root) < 0)
		file->debug_path = NULL;
	file->callbacks.find_elf = dwfl_build_id_find_elf;
	file->callbacks.find_debuginfo = find_debuginfo;
	file->callbacks.debuginfo_path = &file->debug_path;
	file->dwfl = dwfl_begin(&file->callbacks);
	if (!file->dwfl)
		goto cannot_read;
	fd = open_code(path, module, trouble, trouble_bytes);
	if (fd < 0)
		fd = open_debug(module, root, path, sizeof(path));
	dwfl_report_begin(file->dwfl);
	if (fd >= 0) {
		/* Addresses are then those of its headers. libdwfl takes fd if it succeeds. */
		file->mod = dwfl_report_elf(file->dwfl, path, path, fd, 0, true);
		if (!file->mod)
			close(fd);
	} else {
		file->mod = ask_servers(file, module);
		if (!file->mod)
			goto close;
	}
	dwfl_report_end(file->dwfl, NULL, NULL);
	if (!file->mod || !dwfl_module_getelf(file->mod, &file->bias)) {
		if (fd < 0)
			goto close;
		goto cannot_read;
	}
	file->dwarf = dwfl_module_getdwarf(file->mod, &file->dwarf_bias);
	file->dwarf_bias = file->bias - file->dwarf_bias;
	return true;
cannot_read:
	snprintf(trouble, trouble_bytes, "cannot read it: %s", dwfl_errmsg(-1));
close:
	tp_symbols_file_close(file);
	return false;
}

void tp_symbols_file_close(struct tp_symbols_file *file)
{
	if (file->dwfl)
		dwfl_end(file->dwfl);
	free(file->debug_path);
	memset(file, 0, sizeof(*file));
}
