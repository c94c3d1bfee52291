/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_outer.h - the outer part of a stack that broke off
 *
 * Frames are read innermost first, a page after the other, while the thread runs. A generator that has
 * given its value has no caller any more, and one that is at its end is freed: then a stack ends too
 * early. To look again until it does not would take what runs long for what runs most. So the inner
 * part is kept as it was at the first look, and what is outside of it is taken from a later one.
 *
 * One thread at a time uses it: the drain thread.
 */
#ifndef TP_PROBE_PYSAMPLE_OUTER_H
#define TP_PROBE_PYSAMPLE_OUTER_H

#include "runtime/probe/sample/pysample_frames.h"

/* Does `look` end at the outermost frame that was noted last of its thread? */
bool tp_pysample_outer_is_known(const struct tp_pysample_hint *hint, const struct tp_pysample_look *look);

/* Of a look whose end is certain. */
void tp_pysample_outer_note(struct tp_pysample_hint *hint, const struct tp_pysample_look *look);

/*
 * Gives `look` the outer frames of `other`, a later one that has them: from the outermost frame that both
 * have on, else from the one by which `look`'s outermost function was called last. They are without names.
 * False: neither is there, and `look` is as it was.
 */
bool tp_pysample_outer_add(const struct tp_pysample_hint *hint, struct tp_pysample_look *look,
			   const struct tp_pysample_look *other);

#endif
