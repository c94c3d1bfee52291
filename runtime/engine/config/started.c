/* SPDX-License-Identifier: Apache-2.0 */
/*
 * started.c - how the process was started and how it ended, for its ledger
 *
 * A value longer than a line goes on in the next one ("#fact KEY+=VALUE").
 */
#include "runtime/engine/config/started.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "runtime/base/process.h"

enum {
	PIECE_BYTES = 400,	/* of a value in one line: readers have 640 for a line */
	COMMAND_BYTES = 8192,	/* of /proc/self/cmdline that is read */
	SHOWN_BYTES = 6000,	/* of it that is kept */
	VALUE_BYTES = 1000,	/* of another value */
};

static const char *const variable[] = {
	"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "GROUP_RANK",
	"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT",
	"TORCHELASTIC_MAX_RESTARTS", "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_PROCID",
	"SLURM_NTASKS", "SLURM_NNODES", "SLURM_JOB_NODELIST", "SLURM_CPUS_PER_TASK",
	"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE", "PALS_APID",
	"LSB_JOBID", "PBS_JOBID", "RAY_JOB_ID", "OMP_NUM_THREADS", "MKL_NUM_THREADS",
	"OPENBLAS_NUM_THREADS", "KMP_AFFINITY", "GOMP_CPU_AFFINITY", "MALLOC_ARENA_MAX",
	"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_LAUNCH_BLOCKING",
	"CUBLAS_WORKSPACE_CONFIG", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF",
	"TORCH_DISTRIBUTED_DEBUG", "TORCH_NCCL_BLOCKING_WAIT", "TORCH_NCCL_ASYNC_ERROR_HANDLING",
	"NCCL_DEBUG", "NCCL_ALGO", "NCCL_PROTO", "NCCL_SOCKET_IFNAME", "NCCL_IB_DISABLE",
	"NCCL_IB_HCA", "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "GLOO_SOCKET_IFNAME",
	"PYTHONHASHSEED", "PYTHONUNBUFFERED", "PYTHONMALLOC",
};
static const char *const secret[] = {"token", "secret", "passw", "pwd", "credential", "apikey", "accesskey",
				     "_key", "-key"};

static struct {
	char bytes[TP_STARTED_BYTES];
	struct tp_text text;	/* buf NULL: nothing was taken */
	const char *end;	/* atomic; NULL: not over */
	uint64_t end_ns;	/* when that was said, by CLOCK_MONOTONIC */
} started;

static void put_value(struct tp_text *out, const char *prefix, const char *key, const char *value)
{
	size_t n = strlen(value), from = 0;

	do {
		size_t piece = n - from < PIECE_BYTES ? n - from : PIECE_BYTES;

		/* Whole lines only. */
		if (out->cap - out->len < piece + 80)
			return;
		tp_text_fmt(out, "#fact %s%s%s", prefix, key, from ? "+=" : "=");
		for (size_t i = from; i < from + piece; i++)
			tp_text_char(out, (unsigned char)value[i] < ' ' ? ' ' : value[i]);
		tp_text_char(out, '\n');
		from += piece;
	} while (from < n);
}

static bool is_plain(const char *arg)
{
	for (const char *c = arg; *c; c++)
		if (!strchr("-_./=:,@%+", *c) && (*c < '0' || *c > '9') &&
		    ((*c | 32) < 'a' || (*c | 32) > 'z'))
			return false;
	return *arg != '\0';
}

/* As it would be typed in a shell. */
static void put_argument(struct tp_text *out, const char *arg)
{
	if (is_plain(arg)) {
		tp_text_str(out, arg);
		return;
	}
	tp_text_char(out, '\'');
	for (; *arg; arg++) {
		if (*arg == '\'')
			tp_text_str(out, "'\\''");
		else
			tp_text_char(out, *arg);
	}
	tp_text_char(out, '\'');
}

static bool is_secret(const char *arg, size_t n)
{
	for (size_t i = 0; i < sizeof(secret) / sizeof(secret[0]); i++)
		for (size_t at = 0, n_word = strlen(secret[i]); at + n_word <= n; at++)
			if (!strncasecmp(arg + at, secret[i], n_word))
				return true;
	return false;
}

/* Of "scheme://user:password@host" what is before the @, which may have been cut off. */
static void hide_logins(char *text, bool is_cut)
{
	for (char *at = text; (at = strstr(at, "://"));) {
		size_t n = strcspn(at += 3, "@/ '");

		if ((at[n] == '@' || (is_cut && !at[n])) && memchr(at, ':', n))
			memset(at, '*', n);
	}
}

void tp_started_word(struct tp_text *out, const char *arg, bool *hides_next)
{
	const char *equals = strchr(arg, '=');
	bool is_hidden = is_secret(arg, equals ? (size_t)(equals - arg) : strlen(arg));
	size_t from = out->len;

	if (*hides_next) {
		tp_text_str(out, "***");
	} else if (is_hidden && equals) {
		tp_text_bytes(out, arg, (size_t)(equals + 1 - arg));
		tp_text_str(out, "***");
	} else {
		put_argument(out, arg);
	}
	hide_logins(out->buf + from, out->is_cut);
	*hides_next = !*hides_next && is_hidden && !equals && arg[0] == '-';
}

static void put_command(struct tp_text *out, const char *args, size_t n)
{
	bool hides_next = false;

	for (size_t at = 0; at < n; at += strlen(args + at) + 1) {
		if (at)
			tp_text_char(out, ' ');
		tp_started_word(out, args + at, &hides_next);
	}
}

static void take_command(void)
{
	static char args[COMMAND_BYTES], shown[SHOWN_BYTES];
	ssize_t n = tp_file_read("/proc/self/cmdline", args, sizeof(args) - 1);
	struct tp_text out;

	if (n <= 0)
		return;
	args[n] = '\0';
	tp_text_init(&out, shown, sizeof(shown));
	put_command(&out, args, (size_t)n);
	put_value(&started.text, "", "command", shown);
	if (out.is_cut || (size_t)n == sizeof(args) - 1)
		put_value(&started.text, "", "command_is_cut", "1");
}

static void put_ns(struct tp_text *out, const char *key, uint64_t from, uint64_t to)
{
	struct tp_text text;
	char ns[24];

	if (from >= to)
		return;
	tp_text_init(&text, ns, sizeof(ns));
	tp_text_fmt(&text, "%lu", to - from);
	put_value(out, "", key, ns);
}

/* How long the process has run. */
static void take_age(void)
{
	const uint64_t start = tp_process_own_start(), now = tp_clock_real_ns();

	put_ns(&started.text, "age", start ? tp_process_start_real_ns(start) : now, now);
}

void tp_started_take(void)
{
	char value[VALUE_BYTES];

	tp_text_init(&started.text, started.bytes, sizeof(started.bytes));
	__atomic_store_n(&started.end, NULL, __ATOMIC_RELAXED);
	take_command();
	take_age();
	if (getcwd(value, sizeof(value)))
		put_value(&started.text, "", "cwd", value);
	for (size_t i = 0; i < sizeof(variable) / sizeof(variable[0]); i++) {
		const char *set = getenv(variable[i]);
		struct tp_text out;

		if (!set)
			continue;
		tp_text_init(&out, value, sizeof(value));
		tp_text_str(&out, set);
		put_value(&started.text, "env.", variable[i], value);
	}
}

void tp_started_forget(void)
{
	started.text = (struct tp_text){0};
	__atomic_store_n(&started.end, NULL, __ATOMIC_RELAXED);
}

void tp_started_end(const char *how)
{
	__atomic_store_n(&started.end_ns, tp_clock_mono_ns(), __ATOMIC_RELAXED);
	__atomic_store_n(&started.end, how, __ATOMIC_RELEASE);
}

void tp_started_put(struct tp_text *out)
{
	tp_text_bytes(out, started.bytes, started.text.buf ? started.text.len : 0);
}

void tp_started_put_end(struct tp_text *out, uint64_t last_step_ns)
{
	const char *end = __atomic_load_n(&started.end, __ATOMIC_ACQUIRE);

	if (end && last_step_ns)
		put_ns(out, "after", last_step_ns, __atomic_load_n(&started.end_ns, __ATOMIC_RELAXED));
	if (end)
		put_value(out, "", "end", end);
}
