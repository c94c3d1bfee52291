/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_maps.c - mappings of every sort, made, cut, moved and mapped over; says each on standard
 * output as the trace should have it
 *
 *	map	address	bytes	kind shared writable executable	what of the path
 *	unmap	address	bytes
 *
 * Calls that fail, and those of the C library itself, leave no line.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, ANON = 1, SHARED = 2, SHM = 3, FILE_KIND = 4, RESERVED = 5 };

static char said[65536];
static size_t n_said;
static void *begin_thread(void *unused)
{
	return unused;
}

static size_t whole(size_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

static void say_map(const void *address, size_t bytes, const char *what)
{
	n_said += (size_t)snprintf(said + n_said, sizeof(said) - n_said, "map\t%lx\t%zu\t%s\n",
				   (unsigned long)(uintptr_t)address, whole(bytes), what);
}

static void say_unmap(const void *address, size_t bytes)
{
	n_said += (size_t)snprintf(said + n_said, sizeof(said) - n_said, "unmap\t%lx\t%zu\n",
				   (unsigned long)(uintptr_t)address, whole(bytes));
}

static char *map(void *address, size_t bytes, int protection, int flags, int fd, int kind,
		 const char *path)
{
	char *got = mmap(address, bytes, protection, flags, fd, 0), what[64];

	if (got == MAP_FAILED)
		exit(3);
	snprintf(what, sizeof(what), "%d %d %d %d\t%s", kind, (flags & MAP_SHARED) != 0,
		 (protection & PROT_WRITE) != 0, (protection & PROT_EXEC) != 0, path);
	if (flags & MAP_FIXED)
		say_unmap(address, bytes);
	say_map(got, bytes, what);
	return got;
}

static void unmap(char *address, size_t bytes)
{
	if (munmap(address, bytes))
		exit(3);
	say_unmap(address, bytes);
}

static char *remap(char *old, size_t old_bytes, size_t bytes, int flags, void *to)
{
	char *got = to ? mremap(old, old_bytes, bytes, flags | MREMAP_FIXED, to)
		       : mremap(old, old_bytes, bytes, flags);

	if (got == MAP_FAILED)
		exit(3);
	if (to)
		say_unmap(to, bytes);
	say_unmap(old, old_bytes);
	say_map(got, bytes, "-\t");
	return got;
}

int main(int argc, char **argv)
{
	const int rw = PROT_READ | PROT_WRITE, anon = MAP_PRIVATE | MAP_ANONYMOUS;
	int memory = memfd_create("heap_maps", 0), file = open(argv[0], O_RDONLY);
	char *a, *b;
	pthread_t thread;

	if (memory < 0 || file < 0 || ftruncate(memory, 10 * PAGE))
		return 2;
	a = map(NULL, 10 * PAGE - 5, rw, anon, -1, ANON, "");
	unmap(a + 4 * PAGE, PAGE);
	map(a + 4 * PAGE, PAGE, PROT_READ | PROT_EXEC, anon | MAP_FIXED, -1, ANON, "");
	unmap(a, 2 * PAGE + 1);
	a = remap(a + 5 * PAGE, 5 * PAGE, 300 * PAGE, MREMAP_MAYMOVE, NULL);
	b = map(NULL, 40 * PAGE, PROT_NONE, anon | MAP_NORESERVE, -1, RESERVED, "");
	a = remap(a, 300 * PAGE, 20 * PAGE, MREMAP_MAYMOVE, b + 10 * PAGE);
	a[20 * PAGE - 1] = 1;
	a = map(NULL, 8 * PAGE, rw, MAP_SHARED | MAP_ANONYMOUS, -1, SHARED, "");
	a = map(NULL, 10 * PAGE, rw, MAP_SHARED, memory, SHM, "memfd:heap_maps");
	map(NULL, PAGE, PROT_READ, MAP_PRIVATE, file, FILE_KIND, "heap_maps");
	/* All fail. */
	if (mmap(NULL, 0, rw, anon, -1, 0) != MAP_FAILED || !munmap((char *)1, PAGE) ||
	    mremap((void *)PAGE, PAGE, 2 * PAGE, 0) != MAP_FAILED ||
	    mmap(a, PAGE, rw, anon | MAP_FIXED_NOREPLACE, -1, 0) != MAP_FAILED)
		return 4;
	errno = 0;
	if (munmap((char *)1, PAGE) != -1 || errno != EINVAL)
		return 5;
	/* A stack for a thread, a heap of its own for its blocks, one block beyond both. */
	if (pthread_create(&thread, NULL, begin_thread, NULL) || pthread_join(thread, NULL))
		return 2;
	free(malloc(50 << 20));
	a = mmap64(NULL, 3 * PAGE, rw, anon, -1, 0);
	say_map(a, 3 * PAGE, "1 0 1 0\t");
	fwrite(said, 1, n_said, stdout);
	return 0;
}
