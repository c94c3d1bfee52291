/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_settle.c - a window that is over is finished, also where later ones fill the ring
 */
#include "runtime/probe/gpu/cupti.h"
#include "tests/unit/cupti_decode_rig.h"
#include "tests/unit/cupti_rig.h"

static void begin(void)
{
	set_up();
	tp_config_read(&rig_config, rig_getenv, NULL);
	rig_set_cupti();
	tp_cupti.cuptiActivityGetNextRecord = next_record;
	tp_cupti_allow(&rig_config);
	tp_cupti_inject();
}

TestSuite(cupti_settle, .init = begin, .fini = rig_remove_dir);

/* As the drain does, which finds nothing of the window to take. */
static uint32_t settle(uint64_t end)
{
	uint32_t n = 1;

	while (!tp_cupti_probe.settle(end, false) && n < 10)
		n++;
	return n;
}

Test(cupti_settle, waits_for_the_drain_only_once)
{
	static const struct tp_cupti_wanted wanted = {.begin = 1000, .end = 2000, .has_window = true};
	uint32_t n;

	tp_ring.head->windows[0].begin = 1000;
	tp_ring.head->windows[0].end = 2000;
	tp_ring.head->windows_begun = 1;
	add_kernel("k", 1, T(3000), T(3100));
	decode(&wanted);
	cr_assert_eq(tp_cupti_place_n_kept(), 1);
	while (!tp_cupti_is_ring_half_full()) {
		cr_assert_not_null(tp_ring_reserve());
		tp_ring_commit();
	}
	n = settle(2000);
	cr_assert_eq(n, 2, "%u", n);
	cr_assert_eq(tp_cupti_place_n_kept(), 0);
	check_sums();
	cr_assert_not_null(strstr(report(), "cupti.kernel=1\n"));
}
