/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits.c - what of PyTorch made a call of CUDA wait for the device, by the spans around it
 *
 * The outermost operator that is in the table tells: aten::is_nonzero calls aten::item, and
 * c10d::barrier records record_param_comms.
 */
#include "merge/facts/program/waits.h"

#include <stddef.h>
#include <string.h>

#include "runtime/base/begins.h"

static const struct known {
	const char *name;	/* of an operator; with a colon at its end: how it begins */
	enum tp_wait wait;
} known[] = {
	{"aten::is_nonzero", TP_WAIT_CONDITION},
	{"aten::equal", TP_WAIT_CONDITION},
	{"aten::item", TP_WAIT_VALUE},
	{"aten::_local_scalar_dense", TP_WAIT_VALUE},
	{"aten::nonzero", TP_WAIT_SHAPE},
	{"aten::masked_select", TP_WAIT_SHAPE},
	{"aten::_unique2", TP_WAIT_SHAPE},
	{"aten::unique_dim", TP_WAIT_SHAPE},
	{"aten::unique_consecutive", TP_WAIT_SHAPE},
	{"aten::repeat_interleave", TP_WAIT_SHAPE},
	{"aten::index", TP_WAIT_SHAPE},
	{"aten::to", TP_WAIT_COPY},
	{"aten::_to_copy", TP_WAIT_COPY},
	{"aten::copy_", TP_WAIT_COPY},
	{"c10d::barrier", TP_WAIT_BARRIER},
	{"nccl:barrier", TP_WAIT_BARRIER},
	{"c10d::", TP_WAIT_COLLECTIVE},
	{"nccl:", TP_WAIT_COLLECTIVE},
	{"record_param_comms", TP_WAIT_COLLECTIVE},
};

static enum tp_wait find_known(const struct tp_name *name)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t n = strlen(known[i].name);

		if (tp_begins(name->bytes, name->n_bytes, known[i].name) &&
		    (name->n_bytes == n || known[i].name[n - 1] == ':'))
			return known[i].wait;
	}
	return TP_WAIT_CALLED;
}

enum tp_wait tp_wait_of(const struct tp_names *names, const struct tp_nest_span *call)
{
	for (const struct tp_nest_span *span = call - call->depth; span < call; span++) {
		enum tp_wait wait = find_known(tp_names_at(names, span->name));

		if (wait != TP_WAIT_CALLED)
			return wait;
	}
	return TP_WAIT_CALLED;
}
