/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome_head.c - what stands around the events of a file of trace-event JSON
 */
#include "merge/kineto/kineto_in.h"
#include "merge/kit/json.h"
#include "merge/model/device.h"
#include "merge/sink/chrome.h"

enum {
	ROOM = 1024,
	DEVICES_MAX = 64,	/* in deviceProperties; the plugin's own limit */
};

static char *put_device(char *p, uint32_t id, const struct tp_device *device)
{
	static const struct tp_device unknown;

	if (!device)
		device = &unknown;
	p = tp_json_lit(p, "{\"id\": ");
	p = tp_json_u64(p, id);
	p = tp_json_lit(p, ", \"name\": \"");
	p = tp_json_text(p, device->name, strlen(device->name));
	*p++ = '"';
	for (const struct tp_device_fact *fact = tp_device_facts; fact->key; fact++) {
		if (!fact->kineto)
			continue;
		p = tp_json_lit(p, ", \"");
		p = stpcpy(p, fact->kineto);
		p = tp_json_lit(p, "\": ");
		p = tp_json_u64(p, tp_device_fact_value(device, fact));
	}
	*p++ = '}';
	return p;
}

/* Readers take the properties of device n from the n-th place: unknown ones fill the gaps. */
static void put_devices(struct tp_chrome_file *file, const struct tp_proc *proc)
{
	uint32_t n = 0;
	char *p = tp_outfile_room(file->out, ROOM);

	p = tp_json_lit(p, "\"deviceProperties\": [");
	for (uint32_t i = 0; proc && i < proc->n_devices && proc->device[i].id < DEVICES_MAX; i++) {
		for (; n <= proc->device[i].id; n++) {
			file->out->at = p;
			p = tp_outfile_room(file->out, ROOM);
			p = n ? tp_json_lit(p, ",\n  ") : tp_json_lit(p, "\n  ");
			p = put_device(p, n, n == proc->device[i].id ? &proc->device[i] : NULL);
		}
	}
	p = tp_json_lit(p, "],\n");
	file->out->at = p;
}

void tp_chrome_put_head(const struct tp_chrome *c, struct tp_chrome_file *file,
			const struct tp_proc *proc)
{
	char *p = tp_outfile_room(file->out, ROOM);

	/* The object must not begin with "meta" or "libs" (another format's mark). */
	p = tp_json_lit(p, "{\n\"schemaVersion\": 1," TP_KINETO_OURS);
	if (proc && (proc->rank >= 0 || c->dialect->is_torch)) {
		/* One consumer finds the rank by a search for "rank": and a blank, line by line:
		 * before everything else. */
		p = tp_json_lit(p, "\"distributedInfo\": {\"backend\": \"");
		if (c->dialect->is_torch)
			p = stpcpy(p, proc->n_devices ? "nccl" : "gloo");
		p = tp_json_lit(p, "\", \"rank\": ");
		p = tp_json_i64(p, proc->rank < 0 ? 0 : proc->rank);
		p = tp_json_lit(p, ", \"world_size\": ");
		p = tp_json_i64(p, proc->world_size < 1 && proc->rank < 0 ? 1 : proc->world_size);
		p = tp_json_lit(p, "},\n");
	}
	file->out->at = p;
	put_devices(file, proc);
	p = tp_outfile_room(file->out, ROOM);
	p = tp_json_lit(p, "\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": ");
	p = tp_json_u64(p, c->run->zero_real_ns);
	p = tp_json_lit(p, ",\n\"traceEvents\": [");
	file->out->at = p;
}

void tp_chrome_put_tail(struct tp_chrome_file *file)
{
	char *p = tp_outfile_room(file->out, ROOM);

	p = tp_json_lit(p, "\n],\n\"traceName\": \"trainprof\"\n}\n");
	file->out->at = p;
}
