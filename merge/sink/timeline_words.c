/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline_words.c - names of categories and arguments, and the dialects
 */
#include "merge/sink/timeline.h"

enum { CHROME = 1, TORCH = 2, PERFETTO = 4, JSON = CHROME | TORCH, ALL = JSON | PERFETTO };

const struct tp_key_text tp_key_text[TP_KEYS] = {
	{"", 0, ALL},
#define KEY(symbol, text, in) {",\"" text "\":", sizeof(text) - 1, in},
#include "merge/sink/timeline_words.def"
#undef KEY
};

static const char *const category_text[TP_SLICE_CATEGORIES] = {
	"",
#define CATEGORY(symbol, text) text,
#include "merge/sink/timeline_words.def"
#undef CATEGORY
};

const char *tp_slice_category(const struct tp_dialect *dialect, enum tp_slice_category category)
{
	return dialect->category[category] ? dialect->category[category] : category_text[category];
}

#define IN_JSON                                                                            \
	.has_external_ids = true, .stream_0 = TP_TITLE_STREAM_0, .no_correlation = -1,     \
	.module_prefix = "nn.Module: "
#define OF_TORCH .bit = TORCH, .is_torch = true, .stack = TP_KEY_CALL_STACK, IN_JSON

const struct tp_dialect tp_dialect_chrome = {.bit = CHROME, .stack = TP_KEY_LINE, IN_JSON};
const struct tp_dialect tp_dialect_hta = {OF_TORCH};
const struct tp_dialect tp_dialect_tb = {
	OF_TORCH,
	.is_for_plugin = true,
	.category = {
		[TP_SLICE_RUNTIME] = "Runtime",
		[TP_SLICE_DRIVER] = "Runtime",
		[TP_SLICE_BACKWARD] = "forward_backward",
	},
};
const struct tp_dialect tp_dialect_perfetto = {
	.bit = PERFETTO,
	.has_module_tracks = true,
	.has_tensor_curves = true,
	.needs_length = true,
	.module_prefix = "",
	.category = {
		[TP_SLICE_MODULE] = "module",
		[TP_SLICE_PEAK] = "cpu_instant_event",
	},
};
