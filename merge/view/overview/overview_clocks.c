/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_clocks.c - devices whose clocks are held down: a line for each, and advice where it is no
 * matter of what they compute
 *
 * At its limit of power a device is where products fill it; that is told, and no fault.
 */
#include "merge/view/overview/overview_advice.h"

#include <stdio.h>

#include "merge/facts/compute/device_clocks.h"

enum {
	LEAST_PERCENT = 5,	/* of the time, to be told */
	SLOWER_PERCENT = 2,	/* than it may be */
	DEVICES_TOLD = 4,
};

static const char *const by[TP_THROTTLE_N] = {
	[TP_THROTTLE_POWER] = "its limit of power",
	[TP_THROTTLE_HEAT] = "heat",
	[TP_THROTTLE_HARDWARE] = "the hardware (heat, or the power supply)",
	[TP_THROTTLE_SETTING] = "a setting (nvidia-smi -ac, -lgc)",
};

static double most_mhz(const struct tp_gpu_device *device)
{
	return device->device ? device->device->clock_khz / 1000.0 : 0;
}

static double held_percent(const struct tp_device_clock *clock, enum tp_throttle which)
{
	return tp_advice_percent(clock->held_ns[which], clock->told_ns);
}

static bool is_slower(const struct tp_device_clock *clock, double most)
{
	return clock->known_ns > 0 && (most <= 0 || clock->mhz < most * (100 - SLOWER_PERCENT) / 100);
}

/* "1,502 of 1,980 MHz"; where the greatest is not known, "1,502 MHz" */
static const char *say_clock(char buf[64], const struct tp_device_clock *clock, double most)
{
	char a[32], b[32];

	if (most > 0)
		snprintf(buf, 64, "%s of %s MHz", tp_show_count(a, (uint64_t)(clock->mhz + 0.5)),
			 tp_show_count(b, (uint64_t)(most + 0.5)));
	else
		snprintf(buf, 64, "%s MHz", tp_show_count(a, (uint64_t)(clock->mhz + 0.5)));
	return buf;
}

void tp_overview_print_clocks(const struct tp_run *run, const struct tp_overview *overview,
			      struct tp_out *out)
{
	uint32_t n_told = 0;

	for (uint32_t i = 0; i < tp_gpu_time_count(overview->gpu) && n_told < DEVICES_TOLD; i++) {
		const struct tp_gpu_device *device = tp_gpu_time_at(overview->gpu, i);
		const struct tp_device_clock *clock =
			tp_device_clocks_of(overview->clocks, device->proc, device->id);
		char who[96], what[64], text[256];
		size_t n = 0;

		for (uint32_t k = 0; clock && k < TP_THROTTLE_N; k++)
			if (held_percent(clock, k) >= LEAST_PERCENT)
				n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s for %.0f %% of the time",
						      n ? ", by " : "", by[k], held_percent(clock, k));
		if (!n || !is_slower(clock, most_mhz(device)))
			continue;
		n_told++;
		tp_out_item(out, "", TP_OVERVIEW_LABEL, "clock", "GPU %s: %s, held down by %s",
			    tp_overview_gpu_who(who, run, device), say_clock(what, clock, most_mhz(device)),
			    text);
	}
}

/* Of those that are a fault the one that holds it down longer. */
static enum tp_throttle find_fault(const struct tp_device_clock *clock)
{
	return clock->held_ns[TP_THROTTLE_HEAT] >= clock->held_ns[TP_THROTTLE_HARDWARE]
		   ? TP_THROTTLE_HEAT : TP_THROTTLE_HARDWARE;
}

/* What of the windows the device loses by it, at most. */
static double find_loss(const struct tp_gpu_device *device, const struct tp_device_clock *clock)
{
	double most = most_mhz(device);

	if (most <= 0 || !is_slower(clock, most))
		return 0;
	return held_percent(clock, find_fault(clock)) / 100 * (1 - clock->mhz / most) *
	       tp_advice_percent(device->total.compute_ns, device->total.all_ns);
}

bool tp_advice_throttled(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_overview *overview = facts->overview;
	char who[96], what[64];

	for (uint32_t i = 0; i < tp_gpu_time_count(overview->gpu); i++) {
		const struct tp_gpu_device *device = tp_gpu_time_at(overview->gpu, i);
		const struct tp_device_clock *clock =
			tp_device_clocks_of(overview->clocks, device->proc, device->id);
		enum tp_throttle which;
		double loss;

		if (!clock || (loss = find_loss(device, clock)) <= advice->percent)
			continue;
		which = find_fault(clock);
		advice->percent = loss;
		snprintf(advice->evidence, sizeof(advice->evidence),
			 "the clock of GPU %s is held down by %s for %.0f %% of the time: %s",
			 tp_overview_gpu_who(who, facts->run, device), by[which], held_percent(clock, which),
			 say_clock(what, clock, most_mhz(device)));
	}
	snprintf(advice->todo, sizeof(advice->todo),
		 "check the cooling and the power supply of this machine: nvidia-smi -q -d PERFORMANCE, "
		 "TEMPERATURE");
	return advice->percent > 0;
}
