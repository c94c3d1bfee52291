/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto.c - any bytes as a trace of torch.profiler
 *
 * With an odd first byte the rest is one event and the outer object's values, read from memory
 * of exactly its size; with an even one a file, read through its window into a trace. Built
 * plainly (-DTP_FUZZ_MAIN) it replays files: kineto FILE...
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "merge/kineto/kineto_event.h"
#include "merge/kineto/kineto_in.h"
#include "merge/kineto/kineto_strings.h"
#include "merge/kineto/kineto_words.h"
#include "merge/model/device.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_event(const char *bytes, size_t n)
{
	struct tp_json_in in = {.at = bytes, .end = bytes + n};
	struct tp_kineto_strings strings;
	struct tp_kineto_event event;
	struct tp_transfer transfer = {.value = 0};
	char lines[1024];
	uint32_t step;

	if (tp_kineto_strings_init(&strings))
		return;
	if (tp_kineto_event(&in, &event)) {
		tp_kineto_name(&strings, 2, &event.name);
		tp_kineto_shapes_id(&strings, &event.dims, &event.types);
		tp_device_transfer_of(&transfer, event.name.bytes, event.name.n);
		tp_kineto_step(&event.name, &step);
		tp_device_sync_of(event.name.bytes, event.name.n);
		tp_kineto_category(&event.category);
	}
	in = (struct tp_json_in){.at = bytes, .end = bytes + n};
	tp_kineto_device(&in, lines, sizeof(lines));
	in = (struct tp_json_in){.at = bytes, .end = bytes + n};
	tp_json_in_skip(&in, NULL);
	tp_kineto_strings_free(&strings);
}

static void read_file(const uint8_t *data, size_t size)
{
	struct tp_kineto_report report;
	char from[64], to[64], steps[80];
	int fd = memfd_create("in", 0);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	snprintf(to, sizeof(to), "/dev/shm/trainprof-fuzz.%d", (int)getpid());
	tp_kineto_is_one(from);
	tp_kineto_convert(from, from, to, &report);
	close(fd);
	unlink(to);
	snprintf(steps, sizeof(steps), "%s.steps", to);
	unlink(steps);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy;

	if (!size)
		return 0;
	if (!(data[0] & 1)) {
		read_file(data + 1, size - 1);
		return 0;
	}
	copy = malloc(size);
	memcpy(copy, data + 1, size - 1);
	copy = realloc(copy, size - 1 ? size - 1 : 1);
	read_event(copy, size - 1);
	free(copy);
	return 0;
}

#ifdef TP_FUZZ_MAIN
int main(int argc, char **argv)
{
	static uint8_t bytes[1 << 20];

	for (int i = 1; i < argc; i++) {
		FILE *file = fopen(argv[i], "rb");
		size_t n = file ? fread(bytes, 1, sizeof(bytes), file) : 0;

		if (!file) {
			perror(argv[i]);
			return 1;
		}
		fclose(file);
		LLVMFuzzerTestOneInput(bytes, n);
	}
	return 0;
}
#endif
