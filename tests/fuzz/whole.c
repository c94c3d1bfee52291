/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whole.c - trainprof-merge, command line and all, on a folder of damaged files
 *
 * An input (bundle.h) is the files of a run and the options with which they are merged; the
 * program itself runs, main() and all, on a folder in memory. Built with libFuzzer it makes
 * inputs by whole_mutate.c. Built plainly (-DTP_FUZZ_MAIN):
 *
 *	whole FILE...			replays inputs, each in all formats
 *	whole --one FILE...		the same, each with its own options only
 *	whole --pack OUT FILE...	makes an input of files
 */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <zlib.h>

#include "tests/fuzz/bundle.h"

/* The program, to be called again and again. */
#define main merge_main
#include "merge/main.c"
#undef main

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARGS = 40, PATH = 128 };

static char folder[64];

/* ---- files ---- */

static void empty_folder(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	char inner[PATH + 300];

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
		if (unlink(inner)) {
			empty_folder(inner);
			rmdir(inner);
		}
	}
	closedir(dir);
}

static void remove_folder(void)
{
	empty_folder(folder);
	rmdir(folder);
}

static void must(bool is_true, const char *what)
{
	if (is_true)
		return;
	perror(what);
	abort();
}

static void make_folder(void)
{
	cpu_set_t one;

	snprintf(folder, sizeof(folder), "/dev/shm/trainprof-whole.%d", (int)getpid());
	must(!mkdir(folder, 0700), folder);
	atexit(remove_folder);
	setenv("TMPDIR", folder, 1);
	/* Rows and views are of no interest; the same order of events each time. */
	must(freopen("/dev/null", "w", stdout) != NULL, "/dev/null");
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void write_ring(int fd, const struct bundle_member *member)
{
	uint64_t n_bytes = 0;
	size_t at = sizeof(n_bytes);

	if (member->n < at)
		return;
	memcpy(&n_bytes, member->bytes, at);
	/* It may claim much, and be sparse. */
	if (ftruncate(fd, (off_t)(n_bytes & ((1ull << 42) - 1))))
		return;
	while (member->n - at > 6) {
		uint32_t where;
		uint16_t n;

		memcpy(&where, member->bytes + at, 4);
		memcpy(&n, member->bytes + at + 4, 2);
		at += 6;
		if (n > member->n - at)
			n = (uint16_t)(member->n - at);
		must(pwrite(fd, member->bytes + at, n, where % BUNDLE_RING_MAX) == n, "ring");
		at += n;
	}
}

static void write_member(const char *in, uint32_t i, const struct bundle_member *member)
{
	static const char *const suffix[BUNDLE_KINDS] = {
		"tpt", "tpt.part", "steps", "ring", "tpn", "pt.trace.json", "pt.trace.json.gz", "hang", "oom"};
	char path[PATH];
	int fd;

	snprintf(path, sizeof(path), "%s/rank%u.%s", in, i, suffix[member->kind]);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	must(fd >= 0, path);
	if (member->kind == BUNDLE_RING) {
		write_ring(fd, member);
	} else if (member->kind == BUNDLE_KINETO_GZ) {
		gzFile gz = gzdopen(dup(fd), "wb1");

		must(gz && gzwrite(gz, member->bytes, (unsigned)member->n) == (int)member->n &&
			     gzclose(gz) == Z_OK, path);
	} else {
		must(write(fd, member->bytes, member->n) == (ssize_t)member->n, path);
	}
	close(fd);
}

/* ---- the command line ---- */

static void add_words(char *list, size_t cap, const char *word)
{
	size_t n = strlen(list);

	snprintf(list + n, cap - n, "%s%s", n ? "," : "", word);
}

/* option[0]: rows, switches; [1], [2]: which formats; [3]: what is chosen. */
static void make_args(char *argv[ARGS], const uint8_t *option, char *in, char *out)
{
	static char formats[256], views[256];
	static char *const flags[] = {"--by-shape", "--by-stack", "--by-grid", "--by-operator",
				      "--strict"};
	static char *const choices[] = {"--steps=1-2", "--ranks=0", "--windows=0",
					NULL, "--compare-steps=1", "--recover", "--sort=memory",
					"--top=0"};
	uint32_t sinks = option[1] | (uint32_t)option[2] << 8, n_sinks = 0, n = 0;

	formats[0] = views[0] = '\0';
	argv[n++] = "trainprof-merge";
	argv[n++] = in;
	for (uint32_t i = 0; tp_sinks[i]; i++) {
		/* Whole files only: not with --steps. */
		if (!(sinks >> i & 1) || (tp_sinks[i]->write && option[3] & 1))
			continue;
		add_words(formats, sizeof(formats), tp_sinks[i]->name);
		n_sinks++;
	}
	if (option[0] & 3)
		add_words(formats, sizeof(formats), option[0] & 1 ? "csv" : "jsonl");
	for (uint32_t i = 0; tp_views[i]; i++) {
		if (tp_views[i] != &tp_view_diff && (option[0] & 4 || !i))
			add_words(views, sizeof(views), tp_views[i]->name);
	}
	argv[n++] = "-v";
	argv[n++] = views;
	if (formats[0]) {
		argv[n++] = "-f";
		argv[n++] = formats;
	}
	if (n_sinks) {
		argv[n++] = "-o";
		argv[n++] = out;
	}
	for (uint32_t i = 0; i < 5; i++) {
		/* --by-...: with its view only, else the command line is wrong. */
		if (option[0] >> (i + 3) & 1 && (option[0] & 4 || i == 4))
			argv[n++] = flags[i];
	}
	for (uint32_t i = 0; i < 8; i++) {
		/* --sort: where the views that have the key are shown. */
		if (option[3] >> i & 1 && choices[i] && (option[0] & 4 || i != 6))
			argv[n++] = choices[i];
	}
	/* Else only the files of the newest of the jobs that mutations make are read. */
	if (option[2] & 128)
		argv[n++] = "--job=all";
	if (option[3] & 8) {
		argv[n++] = "--compare";
		argv[n++] = in;
	}
	argv[n] = NULL;
}

static void run_merge(const uint8_t *option)
{
	char in[PATH], out[PATH], *argv[ARGS];

	snprintf(in, sizeof(in), "%s/in", folder);
	snprintf(out, sizeof(out), "%s/out", folder);
	must(!mkdir(out, 0700), out);
	make_args(argv, option, in, out);
	merge_main(0, argv);
	empty_folder(out);
	must(!rmdir(out), out);
}

static void run_bundle(const struct bundle *bundle, const uint8_t *option)
{
	char in[PATH];

	if (!folder[0])
		make_folder();
	empty_folder(folder);
	snprintf(in, sizeof(in), "%s/in", folder);
	must(!mkdir(in, 0700), in);
	for (uint32_t i = 0; i < bundle->n; i++)
		write_member(in, i, &bundle->member[i]);
	run_merge(option);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bundle bundle;

	bundle_read(&bundle, data, size);
	run_bundle(&bundle, bundle.option);
	bundle_free(&bundle);
	return 0;
}

#ifdef TP_FUZZ_MAIN

static uint8_t *load(const char *path, size_t *n)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes;

	must(file && !fseek(file, 0, SEEK_END), path);
	*n = (size_t)ftell(file);
	rewind(file);
	bytes = malloc(*n + 1);
	must(bytes && fread(bytes, 1, *n, file) == *n, path);
	fclose(file);
	return bytes;
}

/* The pieces between long runs of zeros. */
static void pack_ring(struct bundle_member *member, uint8_t *bytes, size_t n)
{
	uint8_t *packed = malloc(2 * n + 64);
	uint64_t n_bytes = n;
	size_t to = 8, last = n < BUNDLE_RING_MAX ? n : BUNDLE_RING_MAX;

	memcpy(packed, &n_bytes, 8);
	for (size_t at = 0; at < last;) {
		size_t end = at;
		uint32_t where = (uint32_t)at;
		uint16_t length;

		if (!bytes[at]) {
			at++;
			continue;
		}
		for (size_t k = at; k < last && k < end + 8 && k - at < UINT16_MAX; k++)
			end = bytes[k] ? k + 1 : end;
		length = (uint16_t)(end - at);
		memcpy(packed + to, &where, 4);
		memcpy(packed + to + 4, &length, 2);
		memcpy(packed + to + 6, bytes + at, length);
		to += 6u + length;
		at = end;
	}
	free(bytes);
	member->bytes = packed;
	member->n = to;
}

static enum bundle_kind kind_of(const char *path)
{
	static const char *const suffix[] = {".tpt", ".part", ".steps", ".ring", ".tpn", ".json",
					     ".gz", ".hang", ".oom"};
	const char *dot = strrchr(path, '.');

	for (uint32_t i = 0; i < BUNDLE_KINDS; i++) {
		if (dot && !strcmp(dot, suffix[i]))
			return i;
	}
	return BUNDLE_TRACE;
}

static void pack(char **argv)
{
	struct bundle bundle = {.option = {0xfc, 0xff, 3, 0}};
	FILE *out = fopen(argv[0], "wb");
	uint8_t *data;
	size_t n;

	for (uint32_t i = 1; argv[i] && bundle.n < BUNDLE_MEMBERS; i++) {
		struct bundle_member *member = &bundle.member[bundle.n++];

		member->kind = (uint8_t)kind_of(argv[i]);
		member->bytes = load(argv[i], &member->n);
		if (member->kind == BUNDLE_RING)
			pack_ring(member, member->bytes, member->n);
	}
	data = malloc(16 << 20);
	n = bundle_write(&bundle, data, 16 << 20);
	must(out && fwrite(data, 1, n, out) == n && !fclose(out), argv[0]);
	free(data);
	bundle_free(&bundle);
}

int main(int argc, char **argv)
{
	static const uint8_t all[][BUNDLE_OPTIONS] = {
		{0x7c, 0xff, 0xff, 0}, {0x05, 0, 0, 8}, {0x06, 0, 0, 0x91}};
	bool is_one = argc > 1 && !strcmp(argv[1], "--one");

	if (argc > 2 && !strcmp(argv[1], "--pack")) {
		pack(argv + 2);
		return 0;
	}
	for (int i = 1 + is_one; i < argc; i++) {
		struct bundle bundle;
		size_t n;
		uint8_t *data = load(argv[i], &n);

		bundle_read(&bundle, data, n);
		run_bundle(&bundle, bundle.option);
		for (uint32_t k = 0; k < 3 && !is_one; k++)
			run_bundle(&bundle, all[k]);
		bundle_free(&bundle);
		free(data);
	}
	fprintf(stderr, "%d inputs\n", argc - 1 - is_one);
	return 0;
}

#endif
