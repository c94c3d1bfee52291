/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_lib.c - finds CUPTI, opens it, looks its functions up
 *
 * Two copies of CUPTI in one process disturb each other, so one that is mapped wins; torch's
 * wheels bring theirs in a folder beside CUDA's other libraries, and load it early.
 */
#include "runtime/probe/gpu/cupti_lib.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/loader.h"
#include "runtime/base/text.h"

enum {
	OLDEST = 18,		/* CUPTI_API_VERSION of CUDA 11.8 */
	PATH_CAP = 512,
	N_FOLDERS = 8,
};

struct tp_cupti_lib tp_cupti;

/* What the loader's list has: a CUPTI, or the folders in which CUDA's libraries are. */
struct mapped {
	char cupti[PATH_CAP];
	char folder[N_FOLDERS][PATH_CAP];
	uint32_t n_folders;
};

/* Newest first. Until 11.x the minor version was part of the name. */
static const struct {
	uint32_t major;
	const char *name;
} names[] = {
	{13, "libcupti.so.13"}, {12, "libcupti.so.12"}, {11, "libcupti.so.11.8"},
};

/* From the folder of a CUDA library: the same one; NVIDIA's wheels for CUDA 11 and 12, and torch's
 * own folder beside these; a toolkit's. */
static const char *const beside[] = {
	"", "../../cuda_cupti/lib/", "../../nvidia/cu13/lib/", "../../nvidia/cuda_cupti/lib/",
	"../extras/CUPTI/lib64/", "../../../extras/CUPTI/lib64/",
};

static bool begins_with(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static int note_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	static const char *const stems[] = {
		"libcudart.so", "libcublas.so", "libnvrtc.so", "libcudnn.so", "libtorch_cuda.so",
	};
	struct mapped *mapped = arg;
	const char *slash = strrchr(info->dlpi_name, '/');
	size_t n = slash ? (size_t)(slash + 1 - info->dlpi_name) : 0;

	if (!slash || strlen(info->dlpi_name) >= PATH_CAP)
		return 0;
	if (begins_with(slash + 1, "libcupti.so")) {
		strcpy(mapped->cupti, info->dlpi_name);
		return 1;
	}
	for (size_t i = 0; i < sizeof(stems) / sizeof(stems[0]); i++) {
		if (mapped->n_folders < N_FOLDERS && begins_with(slash + 1, stems[i])) {
			char *folder = mapped->folder[mapped->n_folders++];

			memcpy(folder, info->dlpi_name, n);
			folder[n] = '\0';
			break;
		}
	}
	return 0;
}

void *tp_cupti_driver(const char *function)
{
	static void *cuda;	/* atomic */
	void *found = __atomic_load_n(&cuda, __ATOMIC_ACQUIRE);
	char path[PATH_CAP];

	/* The list is asked first: RTLD_NOLOAD waits for a dlopen in progress. */
	if (!found && tp_loader_find("libcuda.so", path)) {
		found = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
		__atomic_store_n(&cuda, found, __ATOMIC_RELEASE);
	}
	found = found ? dlsym(found, function) : NULL;
	if (!found)
		dlerror();
	return found;
}

/* 12 for a driver of CUDA 12.4; UINT32_MAX: nobody knows. */
static uint32_t driver_major(void)
{
	int (*get)(int *version) = NULL;
	int version = 0;

	*(void **)&get = tp_cupti_driver("cuDriverGetVersion");
	return get && get(&version) == 0 && version > 0 ? (uint32_t)version / 1000 : UINT32_MAX;
}

/* A path with a slash, or a name that the loader looks for. */
static void *open_path(const char *path)
{
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *open_in(const char *folder, const char *below, uint32_t newest)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[2 * PATH_CAP];
		struct tp_text text;
		void *found;

		if (names[i].major > newest)
			continue;
		tp_text_init(&text, path, sizeof(path));
		tp_text_fmt(&text, "%s%s%s", folder, below, names[i].name);
		found = text.is_cut ? NULL : open_path(path);
		if (found)
			return found;
	}
	return NULL;
}

static void *search(const struct mapped *mapped)
{
	uint32_t newest = driver_major();
	const char *home = getenv("CUDA_HOME");
	void *found = NULL;

	for (uint32_t f = 0; f < mapped->n_folders && !found; f++) {
		for (size_t b = 0; b < sizeof(beside) / sizeof(beside[0]) && !found; b++)
			found = open_in(mapped->folder[f], beside[b], newest);
	}
	if (!found && home && *home)
		found = open_in(home, "/extras/CUPTI/lib64/", newest);
	if (!found && home && *home)
		found = open_in(home, "/lib64/", newest);
	return found ? found : open_in("", "", newest);
}

static void *find(const char *wanted, struct tp_text *why)
{
	struct mapped mapped = {.n_folders = 0};
	void *found;

	if (*wanted) {
		found = open_path(wanted);
		if (!found) {
			const char *reason = dlerror();

			tp_text_fmt(why, "cannot open '%s' (TRAINPROF_CUPTI_LIB): %s", wanted,
				    reason ? reason : "no reason given");
		}
		return found;
	}
	/* Nothing is opened while the loader's list is locked. */
	dl_iterate_phdr(note_library, &mapped);
	found = *mapped.cupti ? dlopen(mapped.cupti, RTLD_NOW | RTLD_NOLOAD | RTLD_LOCAL) : NULL;
	if (!found)
		found = search(&mapped);
	dlerror();	/* what was not found is not the program's business */
	if (!found)
		tp_text_str(why, "no libcupti.so of CUDA 11.8 to 13 that this driver can use is found; "
				 "TRAINPROF_CUPTI_LIB may name one");
	return found;
}

uint32_t tp_cupti_release(uint32_t version)
{
	/* 25 was never given out. */
	static const uint32_t release[] = {
		110800, 120000, 120200, 120300, 120400, 120500, 120600, 120600, 120800, 120900,
		120901,
	};

	if (version < OLDEST)
		return 0;
	if (version - OLDEST < sizeof(release) / sizeof(release[0]))
		return release[version - OLDEST];
	return version >= 100000 ? version : 120901;
}

/* Every function, or the first that is missing though all have it. */
static const char *look_up(void *library, struct tp_cupti_lib *lib)
{
	static const struct {
		const char *name;
		size_t at;
		uint32_t since;
	} function[] = {
#define _(name, since) {#name, offsetof(struct tp_cupti_lib, name), since},
#include "runtime/probe/gpu/cupti_calls.def"
#undef _
	};

	for (size_t i = 0; i < sizeof(function) / sizeof(function[0]); i++) {
		void *found = dlsym(library, function[i].name);

		if (!found && !function[i].since)
			return function[i].name;
		memcpy((char *)lib + function[i].at, &found, sizeof(found));
	}
	return NULL;
}

static int check(void *library, struct tp_cupti_lib *lib, struct tp_text *why)
{
	struct link_map *map;
	const char *missing;
	CUptiResult result;

	if (dlinfo(library, RTLD_DI_LINKMAP, &map) || !map->l_name ||
	    strlen(map->l_name) >= sizeof(lib->path)) {
		tp_text_str(why, "the loader does not say where its libcupti.so is");
		return -ENOENT;
	}
	strcpy(lib->path, map->l_name);
	missing = look_up(library, lib);
	if (missing) {
		tp_text_fmt(why, "'%s' has no %s: it is no CUPTI, or older than CUDA 11.8's",
			    lib->path, missing);
		return -ENOSYS;
	}
	result = lib->cuptiGetVersion(&lib->version);
	if (result != CUPTI_SUCCESS) {
		tp_text_fmt(why, "'%s' does not tell its version (error %d)", lib->path, (int)result);
		return -EIO;
	}
	lib->release = tp_cupti_release(lib->version);
	if (!lib->release) {
		tp_text_fmt(why, "'%s' is older than CUDA 11.8's (CUPTI_API_VERSION %u)", lib->path,
			    lib->version);
		return -ENOTSUP;
	}
	return 0;
}

int tp_cupti_lib_open(const char *wanted, char *why, size_t cap)
{
	struct tp_cupti_lib lib = {.version = 0};
	struct tp_text text;
	int kept = errno, err = 0;
	void *library;

	if (tp_cupti.version)
		return 0;
	tp_text_init(&text, why, cap);
	library = find(wanted, &text);
	err = library ? check(library, &lib, &text) : -ENOENT;
	if (!err)
		tp_cupti = lib;
	errno = kept;
	return err;
}

const char *tp_cupti_error(CUptiResult result)
{
	const char *text = NULL;

	if (tp_cupti.cuptiGetResultString &&
	    tp_cupti.cuptiGetResultString(result, &text) == CUPTI_SUCCESS && text)
		return text;
	return "an error without a name";
}
