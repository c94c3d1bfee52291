/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option_words.h - the words that values of TRAINPROF_ variables are made of
 *
 * One list each, in the order in which they are shown: the parser (engine/config/config_value.c) gives
 * them their values TP_RECORD_OPS .., the text that says what is accepted (options.c) names them.
 */
#ifndef TP_BASE_OPTION_WORDS_H
#define TP_BASE_OPTION_WORDS_H

#define TP_WORDS_RECORD(_)                                                                 \
	_("ops", OPS)                                                                      \
	_("shapes", SHAPES)                                                                \
	_("tensors", TENSORS)                                                              \
	_("cuda", CUDA)                                                                    \
	_("devmem", DEVMEM)                                                                \
	_("heap", HEAP)                                                                    \
	_("host", HOST)                                                                    \
	_("marks", MARKS)                                                                  \
	_("comm", COMM)                                                                    \
	_("categories", CATEGORIES)                                                        \
	_("pystacks", PYSTACKS)                                                            \
	_("modules", MODULES)                                                              \
	_("frameworks", FRAMEWORKS)                                                        \
	_("samples", SAMPLES)

#define TP_WORDS_STACKS(_) _("heap", HEAP) _("native", NATIVE) _("python", PYTHON)
#define TP_WORDS_HEAP(_)                                                                   \
	_("off", OFF) _("counters", COUNTERS) _("sample", SAMPLE) _("all", ALL)
#define TP_WORDS_LOG(_) _("quiet", QUIET) _("warn", WARN) _("info", INFO) _("debug", DEBUG)
#define TP_WORDS_OVERWRITE(_) _("new", NEW) _("0", REFUSE) _("1", REPLACE)
#define TP_WORDS_CLOCK(_) _("auto", AUTO) _("tsc", TSC) _("monotonic", MONOTONIC)
#define TP_WORDS_GRAPHS(_) _("node", NODE) _("launch", LAUNCH)
/* Names of signals without SIG. */
#define TP_WORDS_SIGNAL(_)                                                                 \
	_("HUP", HUP) _("USR1", USR1) _("USR2", USR2) _("URG", URG) _("WINCH", WINCH)
/* range:NAME and clock:MS beside them. */
#define TP_WORDS_STEP(_)                                                                   \
	_("auto", NONE)                                                                    \
	_("optimizer", OPTIMIZER)                                                          \
	_("zero_grad", ZERO_GRAD)                                                          \
	_("loader", LOADER)                                                                \
	_("mark", MARK)

#endif
