/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show_paths.c - absolute paths in a text, as short as they can be told from the working directory
 *
 * A path begins at the text's start or behind a blank, a quotation mark or a bracket, and ends at one of
 * these or at a colon. Names of folders only are compared, no file is asked for: traces come from
 * other machines.
 */
#include "merge/kit/show.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#define AROUND " \t'\"`()[]<>,;"

/* "/home/me/./x/../train.py" is "/home/me/train.py": n bytes in place. Returns how many are left. */
static size_t normalise(char *path, size_t n)
{
	char *to = path;

	for (size_t at = 0; at < n;) {
		const char *name = path + ++at;
		const char *end = memchr(name, '/', n - at);
		size_t len = end ? (size_t)(end - name) : n - at;

		if (len == 2 && !memcmp(name, "..", 2)) {
			while (to > path && *--to != '/')
				;
		} else if (len && !(len == 1 && *name == '.')) {
			*to++ = '/';
			memmove(to, name, len);
			to += len;
		}
		at += len;
	}
	if (to == path)
		*to++ = '/';
	return (size_t)(to - path);
}

/* Bytes of `folder` and its slash, if the text begins with them and goes on; 0: it does not. */
static size_t lies_below(const char *text, const char *folder, size_t n)
{
	return n > 1 && !strncmp(text, folder, n) && text[n] == '/' && text[n + 1] &&
	       !strchr(AROUND, text[n + 1]) ? n + 1 : 0;
}

/* The folder above is told only where it is far from the root: "../users/train.py" tells less than
 * "/home/users/train.py". */
static size_t parent_of(const char *here)
{
	const char *slash = strrchr(here, '/');
	size_t n = slash ? (size_t)(slash - here) : 0;

	return n && memchr(here + 1, '/', n - 1) ? n : 0;
}

/* A path at the begin of `text`; what follows it moves up. Returns the bytes that it has now. */
static size_t shorten(char *text, const char *here)
{
	size_t n = 1 + strcspn(text + 1, AROUND ":"), left = normalise(text, n), below;

	memmove(text + left, text + n, strlen(text + n) + 1);
	below = lies_below(text, here, strlen(here));
	if (below) {
		memmove(text, text + below, strlen(text + below) + 1);
		return left > below ? left - below : 0;
	}
	below = lies_below(text, here, parent_of(here));
	if (!below)
		return left;
	memcpy(text, "../", 3);
	memmove(text + 3, text + below, strlen(text + below) + 1);
	return left > below ? left - below + 3 : 3;
}

const char *tp_show_file(const char *path)
{
	char here[PATH_MAX];
	const char *name = tp_show_base(path), *file = name;
	size_t below = getcwd(here, sizeof(here)) ? lies_below(path, here, strlen(here)) : 0;

	if (path + below == name)
		return name;
	if (file > path)
		file--;
	while (file > path && file[-1] != '/')
		file--;
	return file;
}

char *tp_show_paths(char *text)
{
	char here[PATH_MAX] = "";

	for (size_t at = 0; text[at]; at++) {
		/* "a / b" and "//" are no paths. */
		if (text[at] != '/' || (at && !strchr(AROUND, text[at - 1])) ||
		    !text[at + 1] || text[at + 1] == '/' || strchr(AROUND ":", text[at + 1]))
			continue;
		if (!here[0] && !getcwd(here, sizeof(here)))
			strcpy(here, "/");
		at += shorten(text + at, here);
		if (!text[at])
			break;
	}
	return text;
}
