/* SPDX-License-Identifier: Apache-2.0 */
/*
 * criterion_leak.h - what the address sanitizer is told of the test framework, in the programs of
 * which it finds such a leak
 */
#ifndef TP_TESTS_CRITERION_LEAK_H
#define TP_TESTS_CRITERION_LEAK_H

/* Criterion forgets a block of its own where a test's child ended by a signal. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libcriterion";
}

#endif
