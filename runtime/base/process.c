/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.c - who a process is, beyond its number: the boot and the moment it was started
 */
#include "runtime/base/process.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "runtime/base/text.h"

static uint64_t read_start(const char *path)
{
	char text[1024];
	ssize_t n = tp_file_read(path, text, sizeof(text) - 1);
	uint64_t start = 0;
	const char *at;

	if (n <= 0)
		return 0;
	text[n] = '\0';
	at = strrchr(text, ')');	/* the name before it may hold anything */
	if (at && at[1] == ' ' && (at[2] == 'Z' || at[2] == 'X'))
		return 0;
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	for (at = at ? at + 1 : ""; *at >= '0' && *at <= '9'; at++)
		start = start * 10 + (uint64_t)(*at - '0');
	return start;
}

uint64_t tp_process_start(uint32_t pid)
{
	char path[32];
	struct tp_text out;

	tp_text_init(&out, path, sizeof(path));
	tp_text_fmt(&out, "/proc/%u/stat", pid);
	return read_start(path);
}

uint64_t tp_process_own_start(void)
{
	return read_start("/proc/self/stat");
}

uint64_t tp_process_start_real_ns(uint64_t start)
{
	const uint64_t ns_per_s = 1000000000;
	long hz = sysconf(_SC_CLK_TCK);
	uint64_t since_boot, started;
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	since_boot = (uint64_t)ts.tv_sec * ns_per_s + (uint64_t)ts.tv_nsec;
	started = start * (ns_per_s / (uint64_t)(hz > 0 ? hz : 100));
	return tp_clock_real_ns() - (since_boot > started ? since_boot - started : 0);
}

bool tp_process_is_there(uint32_t pid, uint64_t start)
{
	uint64_t now = tp_process_start(pid);
	char path[32], byte;
	struct tp_text out;

	if (now)
		return !start || now == start;
	if (kill((pid_t)pid, 0) < 0 && errno == ESRCH)
		return false;
	/* Dead, when it can be read and says so; else /proc hides it. */
	tp_text_init(&out, path, sizeof(path));
	tp_text_fmt(&out, "/proc/%u/stat", pid);
	return tp_file_read(path, &byte, 1) < 1;
}

static uint64_t read_pages(const char **at)
{
	uint64_t pages = 0;

	for (; **at >= '0' && **at <= '9'; (*at)++)
		pages = pages * 10 + (uint64_t)(**at - '0');
	*at += **at == ' ';
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

struct tp_process_memory tp_process_memory(void)
{
	char text[128];
	ssize_t n = tp_file_read("/proc/self/statm", text, sizeof(text) - 1);
	struct tp_process_memory memory = {0};
	const char *at = text;

	if (n <= 0)
		return memory;
	text[n] = '\0';
	memory.virtual = read_pages(&at);
	memory.resident = read_pages(&at);
	return memory;
}

uint32_t tp_process_pid_ns(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) < 0 ? 0 : (uint32_t)st.st_ino;
}

void tp_process_boot_id(uint64_t id[2])
{
	char text[64] = "";
	ssize_t n = tp_file_read("/proc/sys/kernel/random/boot_id", text, sizeof(text) - 1);
	uint32_t digits = 0;

	id[0] = id[1] = 0;
	for (ssize_t i = 0; i < n && digits < 32; i++) {
		const char *hex = "0123456789abcdef", *at = text[i] ? strchr(hex, text[i]) : NULL;

		if (!at)
			continue;
		id[digits / 16] = id[digits / 16] << 4 | (uint64_t)(at - hex);
		digits++;
	}
}
