/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rare_habits.c - what few programs do to the process that they are
 *
 * usage: rare_habits HABIT
 *
 * vfork		Four threads start programs by vfork, every third one that is not there, while two
 *		others allocate.
 * spawn		posix_spawn with files opened, moved and closed for the child.
 * limits	Allows itself no descriptor, no byte in a file, no more memory, while it runs.
 * strict	A child may only read, write and leave (SECCOMP_MODE_STRICT), and uses its heap.
 * filter	A child is killed when it makes another system call than its heap needs.
 * sandbox	So is the program itself, in all of its threads.
 * atfork	Handlers of fork allocate, on each side.
 * traced	A child lets itself be traced, then traces its parent.
 * hidden	May not be looked at (PR_SET_DUMPABLE).
 * chroot	Goes into an empty folder, which it then removes, and has nothing else.
 * other-user	Becomes another user while its threads run.
 * no-stdio	Closes 0, 1 and 2; opens files of its own there.
 * daemon	Goes on without its parent.
 * fork-in-handler	A timer's handler forks while the program allocates.
 * exits	Two threads leave at once, and handlers of exit allocate, fork and start threads.
 * locked	Keeps all of its memory, also what comes (mlockall).
 * early-locale	Asks for its first memory inside newlocale(), which holds a lock of the C library.
 *
 * Recorded, it begins when its first trace is there. What it prints is the same wherever nothing was wrong.
 * Status 77: not allowed here.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "first_trace.h"

extern char **environ;
enum { ROUNDS = 200 };
static atomic_bool is_over;

static void use_heap(int times)
{
	for (int i = 0; i < times; i++) {
		char *volatile block = malloc((size_t)(i % 50) * 20 + 1);

		block[0] = 1;
		free(block);
	}
}

static void *allocate_on(void *unused)
{
	while (!is_over)
		use_heap(10);
	return NULL;
}

/* Long enough that whoever looks on looks. */
static void work(int ms)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		use_heap(100);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

static int said(const char *what, int is_right)
{
	printf("%s: %s\n", what, is_right ? "right" : "wrong");
	fflush(stdout);
	return is_right ? 0 : 1;
}

/* How a child ended: its status, or 1000 and its signal. */
static int end_of(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* ---- children ---- */

static void *vfork_on(void *number)
{
	static char *const argv[] = { (char *)"true", NULL };
	long n_right = 0;

	for (int i = 0; i < ROUNDS; i++) {
		pid_t pid = vfork();

		if (!pid) {
			execve(i % 3 ? "/bin/true" : "/nowhere/true", argv, environ);
			_exit(9);
		}
		n_right += end_of(pid) == (i % 3 ? 0 : 9);
	}
	return (void *)n_right;
}

static int vfork_in_threads(void)
{
	enum { FORKERS = 4, OTHERS = 2 };
	pthread_t forker[FORKERS], other[OTHERS];
	long n_right = 0;

	for (int i = 0; i < OTHERS; i++)
		pthread_create(&other[i], NULL, allocate_on, NULL);
	for (int i = 0; i < FORKERS; i++)
		pthread_create(&forker[i], NULL, vfork_on, NULL);
	for (int i = 0; i < FORKERS; i++) {
		void *result;

		pthread_join(forker[i], &result);
		n_right += (long)result;
	}
	is_over = true;
	for (int i = 0; i < OTHERS; i++)
		pthread_join(other[i], NULL);
	return said("programs by vfork", n_right == FORKERS * ROUNDS);
}

static int spawn_with_actions(void)
{
	static const char script[] = "cat <&7; ls /proc/self/fd | wc -l; pwd";
	static const char *const argv[] = { "sh", "-c", script, NULL };
	posix_spawn_file_actions_t actions;
	char name[] = "spawned.XXXXXX", got[64] = "";
	int n_right = 0, file = mkstemp(name);

	unlink(name);
	if (write(file, "text\n", 5) != 5)
		return 1;
	for (int i = 0; i < 50; i++) {
		int out[2];
		pid_t pid;
		ssize_t n = 0, more;

		work(2);
		lseek(file, 0, SEEK_SET);
		if (pipe(out))
			return 1;
		posix_spawn_file_actions_init(&actions);
		posix_spawn_file_actions_adddup2(&actions, file, 7);
		posix_spawn_file_actions_adddup2(&actions, out[1], 1);
		posix_spawn_file_actions_addclose(&actions, out[0]);
		posix_spawn_file_actions_addclose(&actions, out[1]);
		posix_spawn_file_actions_addclose(&actions, file);
		posix_spawn_file_actions_addchdir_np(&actions, "/");
		if (posix_spawn(&pid, "/bin/sh", &actions, NULL, (char *const *)argv, environ))
			return 1;
		posix_spawn_file_actions_destroy(&actions);
		close(out[1]);
		while (n < 63 && (more = read(out[0], got + n, 63 - (size_t)n)) > 0)
			n += more;
		close(out[0]);
		n_right += end_of(pid) == 0;
	}
	/* How many descriptors it had is the caller's, too. */
	fputs(got, stdout);
	return said("spawned", n_right == 50);
}

/* ---- limits ---- */

static void limit(int which, rlim_t most)
{
	struct rlimit is;

	getrlimit(which, &is);
	is.rlim_cur = most;
	setrlimit(which, &is);
}

static int limit_itself(void)
{
	int wrong, is_full, file = open(".", O_TMPFILE | O_RDWR, 0600);
	pid_t pid;

	work(50);
	limit(RLIMIT_NOFILE, 3);
	work(100);
	wrong = said("no descriptor", open("/dev/null", O_RDONLY) < 0 && errno == EMFILE);
	limit(RLIMIT_FSIZE, 0);
	work(100);
	signal(SIGXFSZ, SIG_IGN);
	is_full = write(file, "x", 1) < 0 && errno == EFBIG;
	signal(SIGXFSZ, SIG_DFL);
	work(100);
	/* What is said may go to a file. */
	limit(RLIMIT_FSIZE, 1 << 20);
	wrong += said("no byte", is_full);
	limit(RLIMIT_STACK, 64 << 10);
	limit(RLIMIT_MEMLOCK, 0);
	limit(RLIMIT_NPROC, 1);
	limit(RLIMIT_AS, 1 << 20);
	work(100);
	wrong += said("no memory", !malloc(64 << 20));
	pid = fork();
	if (!pid) {
		use_heap(1000);
		_exit(5);
	}
	/* Root has as many processes as it likes. */
	wrong += said("a child", pid < 0 || end_of(pid) == 5);
	return wrong;
}

/* ---- system calls that kill ---- */

static struct sock_filter do_with(int what, unsigned k)
{
	return (struct sock_filter){ .code = (unsigned short)what, .k = k };
}

static int filter_calls(void)
{
	static const int allowed[] = {
		SYS_read, SYS_write, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_brk, SYS_futex, SYS_madvise,
		SYS_mremap, SYS_exit, SYS_exit_group, SYS_rt_sigreturn, SYS_rt_sigprocmask,
		SYS_clock_gettime, SYS_fstat, SYS_newfstatat,
	};
	enum { N = sizeof(allowed) / sizeof(allowed[0]) };
	struct sock_filter code[2 * N + 3];
	struct sock_fprog program = { .filter = code };
	unsigned short at = 0;

	code[at++] = do_with(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (int i = 0; i < N; i++) {
		code[at] = do_with(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i]);
		code[at++].jf = 1;
		code[at++] = do_with(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	code[at++] = do_with(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	program.len = at;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}

static int be_strict(void)
{
	int n_right = 0;

	for (int i = 0; i < 20; i++) {
		pid_t pid;

		work(5);
		pid = fork();
		if (!pid) {
			prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
			use_heap(100);
			syscall(SYS_exit, 7);
		}
		n_right += end_of(pid) == 7;
	}
	return said("only read, write and leave", n_right == 20);
}

static int filter_child(void)
{
	int n_right = 0;

	for (int i = 0; i < 20; i++) {
		pid_t pid;

		work(5);
		pid = fork();
		if (!pid) {
			if (filter_calls())
				_exit(77);
			work(20);
			_exit(7);
		}
		n_right += end_of(pid) == 7;
	}
	return said("children in a sandbox", n_right == 20);
}

static int filter_itself(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, allocate_on, NULL);
	work(200);
	if (filter_calls())
		return 77;
	work(300);
	is_over = true;
	pthread_join(thread, NULL);
	return said("in a sandbox", 1);
}

/* ---- fork ---- */

static atomic_int n_before, n_parent, n_child;

static void before(void)
{
	n_before++;
	use_heap(50);
}

static void in_parent(void)
{
	n_parent++;
	use_heap(50);
}

static void in_child(void)
{
	n_child++;
	use_heap(50);
}

static int fork_with_handlers(void)
{
	int n_right = 0;
	pthread_t thread;

	pthread_atfork(before, in_parent, in_child);
	pthread_create(&thread, NULL, allocate_on, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		pid_t pid;

		use_heap(20);
		pid = fork();
		if (!pid) {
			use_heap(20);
			_exit(n_child == 1 && n_before == i + 1 && n_parent == i ? 7 : 8);
		}
		n_right += end_of(pid) == 7;
	}
	is_over = true;
	pthread_join(thread, NULL);
	return said("handlers of fork", n_right == ROUNDS && n_parent == ROUNDS && !n_child);
}

static atomic_int n_handled, n_ended;

static void fork_now(int number)
{
	int kept_errno = errno;
	pid_t pid = fork();

	if (!pid)
		_exit(7);
	n_ended += end_of(pid) == 7;
	n_handled++;
	errno = kept_errno;
}

static int fork_in_handler(void)
{
	struct sigaction action = { .sa_handler = fork_now, .sa_flags = SA_RESTART };
	struct itimerval period = { { 0, 2000 }, { 0, 2000 } };
	static const struct itimerval none;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &period, NULL);
	while (n_handled < ROUNDS)
		use_heap(100);
	setitimer(ITIMER_REAL, &none, NULL);
	return said("forks in a handler", n_ended == n_handled);
}

/* ---- who looks at whom ---- */

static int trace(void)
{
	int status = 0, right, told;
	pid_t parent = getpid(), pid = fork();

	if (!pid) {
		use_heap(100);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		use_heap(1000);
		_exit(7);
	}
	waitpid(pid, &status, 0);
	right = WIFSTOPPED(status) && !ptrace(PTRACE_CONT, pid, NULL, NULL) && end_of(pid) == 7;
	told = said("a child that is traced", right);
	pid = fork();
	if (!pid) {
		if (ptrace(PTRACE_ATTACH, parent, NULL, NULL))
			_exit(77);
		waitpid(parent, &status, 0);
		usleep(100000);
		_exit(ptrace(PTRACE_DETACH, parent, NULL, NULL) ? 8 : 7);
	}
	work(200);
	status = end_of(pid);
	return told + said("its child traces it", status == 7 || status == 77);
}

static int hide(void)
{
	prctl(PR_SET_DUMPABLE, 0);
	work(200);
	return said("hidden", prctl(PR_GET_DUMPABLE) == 0);
}

static int leave_root(void)
{
	work(50);
	if (mkdir("empty", 0700) || chroot("empty"))
		return 77;
	if (chdir("/") || access("/proc", F_OK) == 0)
		return 1;
	work(200);
	return said("in an empty folder", open("here", O_CREAT | O_WRONLY | O_CLOEXEC, 0600) >= 0);
}

static int become_other(void)
{
	pthread_t thread;

	if (getuid())
		return 77;
	pthread_create(&thread, NULL, allocate_on, NULL);
	work(100);
	if (setresgid(54321, 54321, 54321) || setresuid(54321, 54321, 54321))
		return 1;
	work(300);
	is_over = true;
	pthread_join(thread, NULL);
	return said("another user", getuid() == 54321 && setuid(0) < 0);
}

/* ---- ways to go on, and out ---- */

static int close_stdio(void)
{
	char got[16] = "";
	int out = dup(1), wrong;

	fcntl(out, F_SETFD, FD_CLOEXEC);
	work(50);
	for (int i = 0; i < 3; i++)
		close(i);
	work(100);
	for (int i = 0; i < 3; i++)
		if (open(".", O_TMPFILE | O_RDWR, 0600) != i)
			return 1;
	work(100);
	for (int i = 0; i < 3; i++)
		if (write(i, "mine\n", 5) != 5)
			return 1;
	work(200);
	wrong = 0;
	for (int i = 0; i < 3; i++)
		wrong += pread(i, got, 16, 0) != 5 || memcmp(got, "mine\n", 5) != 0;
	dup2(out, 1);
	return said("files at 0, 1 and 2", !wrong);
}

static int be_daemon(void)
{
	int out = open("daemon.out", O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);

	work(100);
	puts("begins");
	fflush(stdout);
	if (daemon(1, 0))
		return 1;
	work(300);
	return write(out, "went on\n", 8) != 8;
}

static void *do_nothing(void *unused)
{
	use_heap(10);
	return NULL;
}

static void at_exit(void)
{
	pthread_t thread;
	pid_t pid;

	use_heap(100);
	pid = fork();
	if (!pid)
		_exit(7);
	pthread_create(&thread, NULL, do_nothing, NULL);
	pthread_join(thread, NULL);
	said("at exit", end_of(pid) == 7);
}

static void *leave(void *unused)
{
	exit(5);
}

static int leave_twice(void)
{
	pthread_t thread, other;

	atexit(at_exit);
	pthread_create(&other, NULL, allocate_on, NULL);
	work(100);
	pthread_create(&thread, NULL, leave, NULL);
	pthread_join(thread, NULL);
	return 6;
}

static int keep_memory(void)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		return 77;
	work(200);
	return said("kept", 1);
}

/* Before any constructor; gdb has a library that does so in one. */
static void begin_early(int argc, char **argv, char **env)
{
	if (argc > 1 && !strcmp(argv[1], "early-locale"))
		newlocale(LC_ALL_MASK, "POSIX", NULL);
}
__attribute__((section(".preinit_array"), used)) static void (*early)(int, char **, char **) = begin_early;

static int use_locale(void)
{
	work(50);
	return said("locale", setlocale(LC_ALL, "") != NULL);
}

static const struct {
	const char *name;
	int (*run)(void);
} habit[] = {
	{ "vfork", vfork_in_threads }, { "spawn", spawn_with_actions }, { "limits", limit_itself },
	{ "strict", be_strict }, { "filter", filter_child }, { "sandbox", filter_itself },
	{ "atfork", fork_with_handlers }, { "fork-in-handler", fork_in_handler },
	{ "traced", trace }, { "hidden", hide }, { "chroot", leave_root },
	{ "other-user", become_other }, { "no-stdio", close_stdio }, { "daemon", be_daemon },
	{ "exits", leave_twice }, { "locked", keep_memory },
	{ "early-locale", use_locale },
};

int main(int argc, char **argv)
{
	await_first_trace();
	for (size_t i = 0; argc > 1 && i < sizeof(habit) / sizeof(habit[0]); i++)
		if (!strcmp(argv[1], habit[i].name))
			return habit[i].run();
	return 2;
}
