/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit_hook.c - adding an audit hook, and finding where the interpreter keeps it
 *
 * The list's head is a word in _PyRuntime, at another place in each version. It is found by
 * what it leads to: an entry {next, hook, argument} with our hook and an argument that nobody
 * else has. Looked for when the hook was just added, before the interpreter runs: almost all
 * of _PyRuntime is zero then. Nothing is freed: the interpreter may be walking the list.
 */
#include "runtime/probe/python/audit_hook.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/readable.h"

struct entry {
	struct entry *next;
	int (*hook)(const char *, void *, void *);
	void *own;
};

static struct {
	int (*hook)(const char *, void *, void *);
	struct entry **head;	/* the interpreter's; NULL: not found, or taken out */
} added;

/* Whether `p` is the entry that was made for us. Any word of the interpreter's may lead into memory of the
 * address sanitizer's own, of which that knows nothing. */
static __attribute__((no_sanitize("address"))) bool is_ours(const struct entry *p)
{
	return p && ((uintptr_t)p & 7) == 0 && tp_is_readable(p) &&
	       tp_is_readable(&p->own) && p->hook == added.hook && p->own == &added;
}

static struct entry **find_head(void)
{
	char *runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");
	struct entry **found = NULL;
	const ElfW(Sym) *symbol;
	Dl_info info;

	if (!runtime || !dladdr1(runtime, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
		return NULL;
	for (size_t at = 0; at + sizeof(*found) <= symbol->st_size; at += sizeof(*found)) {
		struct entry **word = (struct entry **)(void *)(runtime + at);

		if (!is_ours(*word))
			continue;
		if (found)
			return NULL;
		found = word;
	}
	return found;
}

bool tp_audit_hook_add(int (*hook)(const char *, void *, void *))
{
	int (*add)(int (*)(const char *, void *, void *), void *);

	*(void **)&add = dlsym(RTLD_DEFAULT, "PySys_AddAuditHook");
	if (!add || add(hook, &added) != 0)
		return false;
	added.hook = hook;
	added.head = find_head();
	return true;
}

bool tp_audit_hook_remove(void)
{
	struct entry *ours = added.head ? *added.head : NULL;

	if (!is_ours(ours))
		return false;
	__atomic_store_n(added.head, ours->next, __ATOMIC_RELEASE);
	added.head = NULL;
	return true;
}
