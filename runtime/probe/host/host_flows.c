/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_flows.c - bytes a second through each disk or each network interface
 */
#include "runtime/probe/host/host_flows.h"

#include <string.h>
#include <unistd.h>

#include "runtime/base/text.h"
#include "runtime/probe/host/host_parse.h"

/* Bytes a second; counters of the kernel may be reset, then this sample shows nothing. */
static int64_t rate(uint64_t from, uint64_t to, uint64_t ns)
{
	return to > from && ns ? (int64_t)((double)(to - from) * 1e9 / (double)ns) : 0;
}

/* A partition repeats what its disk says, and so does a device mapped onto disks: whole disks
 * of hardware (or of the hypervisor) are the ones with a "device" below /sys/block. */
static bool is_whole_disk(const char *name)
{
	char path[128];
	struct tp_text text;

	tp_text_init(&text, path, sizeof(path));
	tp_text_fmt(&text, "/sys/block/%s/device", name);
	return !text.is_cut && !access(path, F_OK);
}

static struct tp_host_device *find_device(struct tp_host_flows *flows,
					  const struct tp_host_flow *got, bool are_disks)
{
	struct tp_host_device *device;

	if (got->n_name >= sizeof(device->name))
		return NULL;
	for (uint32_t i = 0; i < flows->n; i++) {
		device = &flows->device[i];
		if (!memcmp(device->name, got->name, got->n_name) && !device->name[got->n_name])
			return device;
	}
	/* Nothing went through it since boot: it does not cost a place. */
	if (flows->n == TP_HOST_MOST_DEVICES || (!got->in && !got->out))
		return NULL;
	device = &flows->device[flows->n++];
	*device = (struct tp_host_device){ .in = got->in, .out = got->out };
	memcpy(device->name, got->name, got->n_name);
	device->is_left_out = are_disks && !is_whole_disk(device->name);
	return device;
}

static void record_device(struct tp_host_device *device, uint32_t at, uint64_t now, uint64_t in,
			  uint64_t out, uint64_t ns, bool is_disk)
{
	const char *group = is_disk ? "disk" : "network";

	device->is_shown |= in != device->in || out != device->out;
	if (!device->is_shown)
		return;
	if (!device->in_counter.name) {
		device->in_counter.name =
			tp_host_counter_name(device->name, is_disk ? "read" : "received", "B/s", group);
		device->out_counter.name =
			tp_host_counter_name(device->name, is_disk ? "write" : "sent", "B/s", group);
	}
	tp_host_counter_record(&device->in_counter, now, at, rate(device->in, in, ns));
	tp_host_counter_record(&device->out_counter, now, at, rate(device->out, out, ns));
}

void tp_host_flows_sample(struct tp_host_flows *flows, const char *text, size_t n, bool are_disks,
			  uint64_t now, uint64_t mono_ns)
{
	bool (*next)(const char **, size_t *, struct tp_host_flow *) =
		are_disks ? tp_host_next_disk : tp_host_next_interface;
	uint64_t ns = mono_ns - flows->base_ns;
	struct tp_host_flow got;

	while (next(&text, &n, &got)) {
		struct tp_host_device *device = find_device(flows, &got, are_disks);

		if (!device || device->is_left_out)
			continue;
		if (flows->base_ns)
			record_device(device, (uint32_t)(device - flows->device), now, got.in,
				      got.out, ns, are_disks);
		device->in = got.in;
		device->out = got.out;
	}
	flows->base_ns = mono_ns;
}

void tp_host_flows_forget_names(struct tp_host_flows *flows)
{
	for (uint32_t i = 0; i < flows->n; i++)
		flows->device[i].in_counter.name = 0;
}
