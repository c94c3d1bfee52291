/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter_names.h - names of the counters that the recording half writes and the merge knows by name
 *
 * A counter's string is its name, unit and group (trainprof-trace(5)); all others are only drawn.
 */
#ifndef TP_COUNTER_NAMES_H
#define TP_COUNTER_NAMES_H

#define TP_COUNTER_MACHINE_CPU "machine CPU"
#define TP_COUNTER_CORE "core"					/* one for each */
#define TP_COUNTER_RSS "RSS"
#define TP_COUNTER_HEAP_LIVE "heap live"
#define TP_COUNTER_VIRTUAL "virtual"
#define TP_COUNTER_PSS "PSS"
#define TP_COUNTER_PRIVATE "private"
#define TP_COUNTER_SHARED "shared"

/* Of a device, by the driver */
#define TP_COUNTER_DEVICE "GPU memory "				/* how those of its memory begin */
#define TP_COUNTER_DEVICE_USED TP_COUNTER_DEVICE "used"
#define TP_COUNTER_DEVICE_OWN TP_COUNTER_DEVICE_USED " by this process"
#define TP_COUNTER_DEVICE_TOTAL TP_COUNTER_DEVICE "total"
#define TP_COUNTER_SM_CLOCK "GPU SM clock"
#define TP_COUNTER_THROTTLED_POWER "throttled by power"
#define TP_COUNTER_THROTTLED_HEAT "throttled by heat"
#define TP_COUNTER_THROTTLED_HARDWARE "throttled by hardware"
#define TP_COUNTER_THROTTLED_SETTING "throttled by a setting"

/* Of a device, by the allocations that were seen */
#define TP_COUNTER_DEVICE_KNOWN TP_COUNTER_DEVICE "known"
#define TP_COUNTER_DEVICE_UNATTRIBUTED TP_COUNTER_DEVICE "unattributed"

#endif
