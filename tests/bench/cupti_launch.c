/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_launch.c - what recording a kernel launch costs the program, beside what CUPTI costs
 *
 * usage: cupti_launch LIB FAKES [ROUNDS]	(LIB: libtrainprof.so; FAKES: the stand-ins' folder)
 *
 * Three kinds of run of the same loop take turns, in an order that reverses each round: alone;
 * with an empty client of CUPTI (the same records asked for, buffers given back unread), which
 * is the floor; with the library. CUPTI is the stand-in, so that the floor is no figure of a
 * real GPU; what we add to it is ours: handing out buffers, decoding, names, the ring, the
 * drain, compression and writing. "cpu" is CPU time of all threads of the process from its
 * start to its end, less that of a run without launches, by the number of launches. A launch
 * by the driver's API makes two records, call and kernel; one by the runtime's makes three, as
 * the runtime calls the driver (the stand-in reports both calls; whether real CUPTI does is for
 * tests/gpu to see).
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	N_LAUNCHES = 400000,
	BURST = 256,		/* so many, then a pause: 300 to 400 thousand launches a second */
	PAUSE_NS = 400000,
	WARM_NS = 300000000,	/* the window opens on another thread */
	N_KERNELS = 16,		/* kernels with names of their own, as in a layer */
	ROUNDS = 7,
	MOST_ROUNDS = 64,
	BUFFER_BYTES = 1 << 20,
};

/* ---- the program that is measured ---- */

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *most)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*most = 0;
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
				 size_t valid)
{
	free(buffer);
}

static const CUpti_ActivityKind kinds[] = {
	CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER,
	CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
	CUPTI_ACTIVITY_KIND_MEMCPY,  CUPTI_ACTIVITY_KIND_MEMSET,
	CUPTI_ACTIVITY_KIND_OVERHEAD,
};

static void *sym(void *lib, const char *name)
{
	void *found = dlsym(lib, name);

	if (found)
		return found;
	fprintf(stderr, "cupti_launch: no %s in the stand-ins\n", name);
	exit(1);
}

static void be_client(void)
{
	void *lib = dlopen("libcupti.so.13", RTLD_NOW);

	if (!lib) {
		fprintf(stderr, "cupti_launch: %s\n", dlerror());
		exit(1);
	}
	((__typeof__(&cuptiActivityRegisterCallbacks))sym(lib, "cuptiActivityRegisterCallbacks"))(
		give_buffer, take_buffer);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		((__typeof__(&cuptiActivityEnable))sym(lib, "cuptiActivityEnable"))(kinds[i]);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, uint32_t n)
{
	qsort(values, n, sizeof(values[0]), compare);
	return values[n / 2];
}

static __typeof__(&cudaLaunchKernel) runtime_launch;
static __typeof__(&cuLaunchKernel) driver_launch;
static CUfunction kernel[N_KERNELS];

static void launch_by_runtime(uint32_t i)
{
	static const char kernels[N_KERNELS];

	runtime_launch(&kernels[i % N_KERNELS], (dim3){64, 1, 1}, (dim3){256, 1, 1}, NULL, 0, NULL);
}

static void launch_by_driver(uint32_t i)
{
	driver_launch(kernel[i % N_KERNELS], 64, 1, 1, 256, 1, 1, 0, NULL, NULL, NULL);
}

static void open_driver(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	CUmodule module;
	char name[32];

	driver_launch = sym(lib, "cuLaunchKernel");
	((__typeof__(&cuModuleLoadData))sym(lib, "cuModuleLoadData"))(&module, "");
	for (uint32_t i = 0; i < N_KERNELS; i++) {
		snprintf(name, sizeof(name), "kernel_%u", i);
		((__typeof__(&cuModuleGetFunction))sym(lib, "cuModuleGetFunction"))(&kernel[i],
										    module, name);
	}
}

/* Prints the median ns of a launch. */
static int guest(const char *kind, uint32_t n_launches)
{
	static double bursts[N_LAUNCHES / BURST + 1];
	void (*launch)(uint32_t) = getenv("LAUNCH_BY_DRIVER") ? launch_by_driver : launch_by_runtime;
	const struct timespec pause = {.tv_nsec = PAUSE_NS}, warm = {.tv_nsec = WARM_NS};
	void *lib = dlopen("libcudart.so.13", RTLD_NOW);
	uint32_t n_bursts = n_launches / BURST;

	if (!lib) {
		fprintf(stderr, "cupti_launch: %s\n", dlerror());
		return 1;
	}
	runtime_launch = sym(lib, "cudaLaunchKernel");
	if (!strcmp(kind, "client"))
		be_client();
	((__typeof__(&cudaFree))sym(lib, "cudaFree"))(NULL);
	open_driver();
	nanosleep(&warm, NULL);
	for (uint32_t b = 0; b < n_bursts; b++) {
		uint64_t begin = now_ns();

		for (uint32_t i = 0; i < BURST; i++)
			launch(i);
		bursts[b] = (double)(now_ns() - begin) / BURST;
		nanosleep(&pause, NULL);
	}
	printf("%.2f\n", n_bursts ? median(bursts, n_bursts) : 0);
	return 0;
}

/* ---- runs of it, in turn ---- */

struct cost {
	double wall_ns, cpu_ns;
};

static struct cost run(char *self, const char *lib, const char *kind, const char *n_launches)
{
	struct cost cost = {0};
	struct rusage used;
	int out[2], status = 0;
	char said[64] = "";
	ssize_t n;
	pid_t child;

	if (pipe(out))
		exit(1);
	child = fork();
	if (!child) {
		char *argv[] = {self, (char *)"--guest", (char *)kind, (char *)n_launches, NULL};

		dup2(out[1], 1);
		close(out[0]);
		if (!strcmp(kind, "ours"))
			setenv("LD_PRELOAD", lib, 1);
		execv("/proc/self/exe", argv);
		_exit(127);
	}
	close(out[1]);
	n = read(out[0], said, sizeof(said) - 1);
	close(out[0]);
	if (wait4(child, &status, 0, &used) != child || status || n <= 0) {
		fprintf(stderr, "cupti_launch: the run '%s' ended with status %d\n", kind, status);
		exit(1);
	}
	cost.wall_ns = atof(said);
	cost.cpu_ns = ((double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec) * 1e9 +
		      ((double)used.ru_utime.tv_usec + (double)used.ru_stime.tv_usec) * 1e3;
	return cost;
}

static void say(const char *what, double *values, uint32_t n, const char *unit)
{
	double middle = median(values, n);

	printf("%-44s %7.1f %s   (%.1f to %.1f)\n", what, middle, unit, values[0], values[n - 1]);
}

static void measure(char *self, const char *lib, uint32_t n_rounds)
{
	static const char *const names[] = {"alone", "client", "ours"};
	static double wall[3][MOST_ROUNDS], cpu[3][MOST_ROUNDS], share[2][MOST_ROUNDS],
		ratio[MOST_ROUNDS];
	char n_launches[16];
	uint32_t n_missed;

	snprintf(n_launches, sizeof(n_launches), "%d", N_LAUNCHES);
	for (uint32_t r = 0; r < n_rounds; r++) {
		for (uint32_t i = 0; i < 3; i++) {
			uint32_t kind = r & 1 ? 2 - i : i;
			struct cost none = run(self, lib, names[kind], "0");
			struct cost cost = run(self, lib, names[kind], n_launches);

			wall[kind][r] = cost.wall_ns;
			cpu[kind][r] = (cost.cpu_ns - none.cpu_ns) / N_LAUNCHES;
		}
		share[0][r] = wall[2][r] - wall[1][r];
		share[1][r] = cpu[2][r] - cpu[1][r];
		ratio[r] = cpu[2][r] / cpu[1][r];
	}
	say("a launch alone", wall[0], n_rounds, "ns");
	say("with an empty client of CUPTI (floor)", wall[1], n_rounds, "ns");
	say("with us", wall[2], n_rounds, "ns");
	say("alone, CPU of all threads", cpu[0], n_rounds, "ns");
	say("empty client, CPU of all threads (floor)", cpu[1], n_rounds, "ns");
	say("with us, CPU of all threads", cpu[2], n_rounds, "ns");
	say("our share of a launch, its thread", share[0], n_rounds, "ns");
	say("our share of a launch, CPU of all threads", share[1], n_rounds, "ns");
	say("CPU with us / with the empty client", ratio, n_rounds, "x ");
	n_missed = (share[0][n_rounds / 2] > 150) + (share[1][n_rounds / 2] > 150);
	printf("goal: our share at most 150 ns%s\n", n_missed ? "   MISSED" : "");
}

static void prepare(const char *fakes)
{
	char folder[512];

	snprintf(folder, sizeof(folder), "%s/cupti_launch", getenv("TMP") ? getenv("TMP") : "/tmp");
	setenv("LD_LIBRARY_PATH", fakes, 1);
	setenv("FAKE_CUPTI_DELIVER", "now", 1);
	setenv("TRAINPROF_DIR", folder, 1);
	setenv("TRAINPROF_OVERWRITE", "1", 1);
	setenv("TRAINPROF_PROGRAM", "cupti_launch", 1);
	setenv("TRAINPROF_SCHEDULE", "always", 1);
	setenv("TRAINPROF_RECORD", "cuda", 1);
}

int main(int argc, char **argv)
{
	uint32_t n_rounds = argc > 3 ? (uint32_t)atoi(argv[3]) : ROUNDS;

	if (argc == 4 && !strcmp(argv[1], "--guest"))
		return guest(argv[2], (uint32_t)atoi(argv[3]));
	if (argc < 3 || !n_rounds || n_rounds > MOST_ROUNDS) {
		fprintf(stderr, "usage: cupti_launch LIB FAKES [ROUNDS]\n");
		return 2;
	}
	prepare(argv[2]);
	setenv("LAUNCH_BY_DRIVER", "1", 1);
	printf("by cuLaunchKernel, two records:\n");
	measure(argv[0], argv[1], n_rounds);
	unsetenv("LAUNCH_BY_DRIVER");
	printf("by cudaLaunchKernel, three records:\n");
	measure(argv[0], argv[1], n_rounds);
	return 0;
}
