/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_state.h - what kineto_records.c (events) and kineto_file.c (the file around them) share
 */
#ifndef TP_MERGE_KINETO_STATE_H
#define TP_MERGE_KINETO_STATE_H

#include "merge/kineto/kineto_comm.h"
#include "merge/kineto/kineto_records.h"
#include "merge/kineto/kineto_stacks.h"
#include "merge/kineto/kineto_steps.h"
#include "merge/kineto/kineto_strings.h"
#include "runtime/trace/writer.h"

enum {
	TP_KINETO_DEVICES = 64,
	TP_KINETO_NO_SLOT = 0xffff,
};

struct tp_kineto_thread {
	int64_t tid;
	char name[16];
	/* Its last record_param_comms, ns; what a range in it has for SHAPES. */
	uint64_t comm_begin, comm_end;
	uint32_t comm_shapes;
};

struct tp_kineto_records {
	struct tp_kineto_report *report;
	struct tp_kineto_strings strings;
	struct tp_arena arena;
	struct tp_writer writer;
	struct tp_file_head head;
	struct tp_kineto_thread *thread;	/* by slot */
	uint32_t n_threads, cap_threads, last_thread;
	uint32_t device_string[TP_KINETO_DEVICES], n_devices;
	int64_t base_ns;		/* of all times */
	uint64_t late_ns;		/* so much more: it was behind them */
	uint64_t first, last;		/* ns: of the whole file */
	struct tp_kineto_steps steps;
	struct tp_kineto_stacks stacks;
	struct tp_kineto_group group;
	uint64_t first_step;
	uint64_t memory_time;		/* of the last memory event */
	char host[65];
	bool has_pid;
	char to[512];
	uint32_t step_name;
};

/* Into the file; what it spans grows with it. */
void tp_kineto_put(struct tp_kineto_records *records, const struct tp_rec *rec, uint16_t slot);

#endif
