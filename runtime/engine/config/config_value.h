/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_value.h - one value of a TRAINPROF_ variable, from text
 *
 * The seam between where values come from (config.c) and what they mean (config_value.c).
 */
#ifndef TP_ENGINE_CONFIG_VALUE_H
#define TP_ENGINE_CONFIG_VALUE_H

#include "runtime/base/options.h"
#include "runtime/engine/config/config.h"

/*
 * 0: the field of `id` has the value. -errno: bad, nothing is changed; `bad` (cap bytes) holds
 * the word at fault where the value has several, else it is empty.
 */
int tp_config_parse(struct tp_config *config, enum tp_option_id id, const char *text, char *bad,
		    uint32_t cap);

/* ---- config_trigger.c: of that one option ---- */

int tp_config_parse_trigger(struct tp_config *config, const char *text, char *bad, uint32_t cap);
void tp_config_describe_trigger(const struct tp_trigger_spec *trigger, struct tp_text *out);

#endif
