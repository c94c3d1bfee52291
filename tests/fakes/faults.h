/* SPDX-License-Identifier: Apache-2.0 */
/*
 * faults.h - calls that fail because a test says so: "call:nth:code,call@argument:nth:code,..."
 */
#ifndef FAKE_FAULTS_H
#define FAKE_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

enum { FAKE_FAULTS_MAX = 32 };

struct fake_fault {
	char call[64];
	int64_t argument;	/* -1: any */
	uint32_t nth;		/* 0: each */
	int code;
	uint32_t seen;		/* atomic */
};
struct fake_faults {
	struct fake_fault fault[FAKE_FAULTS_MAX];
	uint32_t n;
};

/* Reads `variable`; what cannot be read ends the program with a line. */
void fake_faults_read(struct fake_faults *faults, const char *variable);
/* The code that this call is to return, or 0. */
int fake_faults_take(struct fake_faults *faults, const char *call, int64_t argument);

#endif
