/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_twice.c - a program in which the interpreter trains, ends, and begins again
 *
 * usage: python_twice TRAINING.py ROUNDS
 */
#include <Python.h>

static const char again[] =
	"import threading, time\n"
	"def second_life(ms):\n"
	"    end = time.monotonic() + ms / 1000\n"
	"    n = 0\n"
	"    while time.monotonic() < end:\n"
	"        n += 1\n"
	"    return n\n"
	"threads = [threading.Thread(target=second_life, args=(100,)) for _ in range(3)]\n"
	"for thread in threads: thread.start()\n"
	"second_life(100)\n"
	"for thread in threads: thread.join()\n";

int main(int argc, char **argv)
{
	FILE *file = argc > 2 ? fopen(argv[1], "r") : NULL;
	int rounds = argc > 2 ? atoi(argv[2]) : 0, n_wrong = 0;

	if (!file)
		return 2;
	Py_Initialize();
	n_wrong += PyRun_SimpleFile(file, argv[1]) != 0;
	fclose(file);
	Py_FinalizeEx();
	for (int i = 0; i < rounds; i++) {
		Py_Initialize();
		n_wrong += PyRun_SimpleString(again) != 0;
		Py_FinalizeEx();
	}
	printf("%d wrong\n", n_wrong);
	return n_wrong;
}
