/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fd_thief.c - closes all descriptors again and again, and has files of its own there
 *
 * usage: fd_thief ROUNDS FILE
 *
 * In each round FILE is empty, has all numbers that a guest library may have had, and gets a
 * text. A little later it must be open under each of them and hold that text, and nothing else.
 * Meanwhile threads allocate, so that there is something to record. In the last rounds its
 * descriptor 2 is FILE, too. Prints how many rounds were bad.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HIGH = 300, N_HIGH = 12, N_LOW = 12, N_ALLOCATORS = 2 };

static const char text[] = "this file is the program's\n";
static atomic_bool is_over;

static void *allocate(void *arg)
{
	while (!is_over) {
		void *volatile block[50];

		for (int i = 0; i < 50; i++)
			block[i] = malloc((size_t)(i + 1) * 10);
		for (int i = 0; i < 50; i++)
			free(block[i]);
		usleep(200);
	}
	return NULL;
}

/* Every number at which it lies is still it, and its content is the text. */
static int is_good(int fd, const int *number, int n)
{
	char found[2 * sizeof(text)];
	struct stat first, st;
	int good = pread(fd, found, sizeof(found), 0) == sizeof(text) &&
		   !memcmp(found, text, sizeof(text)) && !fstat(fd, &first);

	for (int i = 0; i < n && good; i++)
		good = !fstat(number[i], &st) && st.st_ino == first.st_ino;
	return good;
}

static int play_round(const char *path, int has_stderr)
{
	int number[N_HIGH + N_LOW + 1], n = 0, fd, good;

	for (int k = 3; k < HIGH + 100; k++)
		close(k);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		return 0;
	for (int i = 0; i < N_LOW; i++)
		number[n++] = dup2(fd, 4 + i);
	for (int i = 0; i < N_HIGH; i++)
		number[n++] = dup2(fd, HIGH + i);
	if (has_stderr)
		number[n++] = dup2(fd, STDERR_FILENO);
	if (write(fd, text, sizeof(text)) != sizeof(text))
		return 0;
	for (int i = 0; i < 20; i++)
		syscall(SYS_getppid);
	good = is_good(fd, number, n);
	for (int i = 0; i < n && !has_stderr; i++)
		good &= !close(number[i]);
	return good && !close(fd);
}

int main(int argc, char **argv)
{
	int n_rounds = argc > 2 ? atoi(argv[1]) : 0, n_bad = 0;
	pthread_t thread[N_ALLOCATORS];

	for (int i = 0; i < N_ALLOCATORS; i++)
		pthread_create(&thread[i], NULL, allocate, NULL);
	for (int i = 0; i < n_rounds; i++)
		n_bad += !play_round(argv[2], i > n_rounds * 3 / 4);
	is_over = true;
	for (int i = 0; i < N_ALLOCATORS; i++)
		pthread_join(thread[i], NULL);
	printf("%d rounds, %d bad\n", n_rounds, n_bad);
	return 0;
}
