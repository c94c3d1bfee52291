/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader.c - the loader's list, and whether our thread may be inside it
 */
#include "runtime/base/loader.h"

#include <link.h>
#include <string.h>

struct tp_spin tp_loader_lock = {.rank = TP_LOCK_LOADER};
__thread bool tp_loader_is_ours __attribute__((tls_model("initial-exec")));

struct search {
	const char *stem;
	size_t n_stem;
	char *path;
};

static int match_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *search = arg;
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *base = slash ? slash + 1 : info->dlpi_name;
	size_t n = strlen(info->dlpi_name);

	if (strncmp(base, search->stem, search->n_stem) != 0 || n >= 512)
		return 0;
	memcpy(search->path, info->dlpi_name, n + 1);
	return 1;
}

bool tp_loader_find(const char *stem, char path[512])
{
	struct search search = {.stem = stem, .n_stem = strlen(stem), .path = path};

	return dl_iterate_phdr(match_library, &search) != 0;
}
