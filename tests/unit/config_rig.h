/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_rig.h - variables as a program would read them, for the tests of the configuration
 */
#ifndef TP_TESTS_CONFIG_RIG_H
#define TP_TESTS_CONFIG_RIG_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/options.h"
#include "runtime/base/text.h"
#include "runtime/engine/config/config.h"

struct pair {
	const char *name, *value;
};

/* ctx: pairs, the last with a NULL name. */
static inline const char *look_up(void *ctx, const char *name)
{
	for (const struct pair *pair = ctx; pair && pair->name; pair++) {
		if (!strcmp(pair->name, name))
			return pair->value;
	}
	return NULL;
}

static inline void read_one(struct tp_config *config, const char *name, const char *value)
{
	struct pair pairs[] = {{name, value}, {NULL, NULL}};

	tp_config_read(config, look_up, pairs);
}

static inline const char *describe(const struct tp_config *config)
{
	static char buf[4096];
	struct tp_text text;

	tp_text_init(&text, buf, sizeof(buf));
	tp_config_describe(config, &text);
	return buf;
}

static const char defaults[] =
	"SCHEDULE=skip_first=0,wait=5,warmup=1,active=4,repeat=1,per=epoch\n"
	"TRIGGER=control,steps=4,ahead=0\n"
	"HANG=5m\nRECORDER=off\n"
	"STEP=auto\n"
	"RECORD=ops,tensors,cuda,devmem,host,marks,comm,pystacks,samples\n"
	"STACKS=none\n"
	"HEAP=all\n"
	"HEAP_SAMPLE=512K\n"
	"DIR=trainprof-run\n"
	"RUN_NAME=run\n"
	"TRACE_NAME=rank{rank}.{window}.tpt\n"
	"KEEP=-1\n"
	"OVERWRITE=new\n"
	"BUFFER=32M\n"
	"BUFFER_DIR=\n"
	"CUPTI_LIB=\n"
	"CUPTI_BUFFER=32M\n"
	"CUDA_GRAPHS=node\n"
	"HOST_PERIOD=100\n"
	"SAMPLE_HZ=0\n"
	"OUTSIDE_HZ=0\n"
	"PROGRAM=\n"
	"PEAK=\n"
	"MEMORY_AT=\n"
	"CLOCK=auto\n"
	"CLOCK_SYNC=off\n"
	"LOG=warn\n"
	"CONFIG=\n";

#endif
