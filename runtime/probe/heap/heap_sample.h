/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_sample.h - which blocks are recorded when not all are: a Poisson process over the bytes
 *
 * Points lie on the line of all bytes that a thread asks for, at random, one in `mean` bytes on
 * average: the gaps between them have an exponential distribution. A block is chosen when at
 * least one point falls into it, so block i of s bytes with the probability
 *
 *	p = 1 - exp(-max(s, 1) / mean)
 *
 * whatever came before it, and independently of all other blocks. A sum over all blocks of
 * anything y that a block has (1, its bytes, its bytes if it is alive at some moment) is
 * estimated by the sum of y / p over the chosen ones, which is unbiased. Its standard error
 * is estimated, unbiased before the root is taken, by the root of the sum of
 * (1 - p) * y^2 / p^2 over the chosen ones. (D. G. Horvitz and D. J. Thompson: A generalization
 * of sampling without replacement from a finite universe, Journal of the American Statistical
 * Association 47, 1952, 663-685; for choices that are independent of each other, "Poisson
 * sampling": C.-E. Sarndal, B. Swensson, J. Wretman: Model assisted survey sampling, Springer
 * 1992, section 3.5.)
 *
 * A chosen block's free is recorded too: its address is kept in a table until then. A table of
 * fixed size, in which an address has a few places only: when all are taken the block is not
 * chosen after all, and counted (n_no_room); estimates are too low by what those stood for.
 *
 * Inside malloc, guard held: no lock, no allocation, no call but mmap of the table at open.
 */
#ifndef TP_PROBE_HEAP_SAMPLE_H
#define TP_PROBE_HEAP_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/sync.h"
#include "runtime/probe/heap/heap_last.h"

/* Once, or anew in a child of fork. False: no memory for the table. */
bool tp_heap_sample_open(uint64_t mean_bytes);
uint64_t tp_heap_sample_mean(void);	/* 0: not open */
uint64_t tp_heap_sample_no_room(void);
/* A window begins: blocks chosen before are forgotten. */
void tp_heap_sample_begin(void);
void tp_heap_sample_forked(void);

/* Bytes before the next point. `dice` is the thread's state of chance. */
uint64_t tp_heap_sample_gap(uint64_t *dice, uint64_t mean_bytes);

/* Cold side of choose: a point lies in the block. False: there is no room to remember it. */
bool tp_heap_sample_keep(const void *block);

/* Is the block, which was just given out, to be recorded? Then it is remembered. */
static inline bool tp_heap_sample_choose(const void *block, size_t bytes)
{
	/* More than any mean; a sum of two cannot overflow. */
	int64_t step = tp_unlikely(bytes > (size_t)1 << 62) ? (int64_t)1 << 62 : (int64_t)bytes;

	tp_heap_self.until_sample -= step ? step : 1;
	return tp_unlikely(tp_heap_self.until_sample <= 0) && tp_heap_sample_keep(block);
}

/* The block is about to be given back: was it chosen? Then it is forgotten. */
bool tp_heap_sample_drop(const void *block);
/* It was not given back after all. False: its place is taken. */
bool tp_heap_sample_keep_back(const void *block);

#endif
