/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grows.h - facts of the step ledger on containers of the program that grow: "grows.LOOK.NUMBER"
 *
 * Specified in trainprof-trace(5), "Step ledger".
 */
#ifndef TP_TRACE_GROWS_H
#define TP_TRACE_GROWS_H

#define TP_GROWS "grows."
enum { TP_GROWS_MOST = 4 };	/* containers of one look */

#define TP_GROWS_KINDS(_)                                                                  \
	_("list", LIST) _("dict", DICT) _("set", SET) _("deque", DEQUE) _("cache", CACHE)

#endif
