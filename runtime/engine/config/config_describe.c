/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_describe.c - what is in use of the TRAINPROF_ variables, as text
 */
#include "runtime/engine/config/config_value.h"
#include "runtime/engine/config/config_words.h"

static void describe_schedule(const struct tp_config *config, struct tp_text *out)
{
	const struct tp_sched_spec *spec = &config->schedule;

	if (config->is_off || spec->always || spec->only_extra) {
		tp_text_str(out, config->is_off ? "off" : spec->always ? "always" : "trigger");
		return;
	}
	for (uint32_t i = 0; i < spec->n_at; i++)
		tp_text_fmt(out, "%s%lu", i ? "," : "at=", spec->at[i]);
	if (spec->n_at) {
		tp_text_fmt(out, ",warmup=%lu,active=%lu", spec->warmup, spec->active);
		return;
	}
	tp_text_str(out, "skip_first=");
	tp_text_u64(out, spec->skip_first);
	tp_text_str(out, ",wait=");
	tp_text_u64(out, spec->wait);
	tp_text_str(out, ",warmup=");
	tp_text_u64(out, spec->warmup);
	tp_text_str(out, ",active=");
	tp_text_u64(out, spec->active);
	tp_text_str(out, ",repeat=");
	tp_text_u64(out, spec->repeat);
	tp_text_str(out, spec->per_run ? ",per=run" : ",per=epoch");
}

static void describe_seconds(uint64_t seconds, struct tp_text *out)
{
	if (!seconds)
		tp_text_str(out, "off");
	else if (seconds % 60)
		tp_text_fmt(out, "%lus", (unsigned long)seconds);
	else
		tp_text_fmt(out, "%lum", (unsigned long)(seconds / 60));
}

static void describe_recorder(uint64_t steps, struct tp_text *out)
{
	if (steps)
		tp_text_fmt(out, "steps=%lu", (unsigned long)steps);
	else
		tp_text_str(out, "off");
}

static void describe_step(const struct tp_step_spec *step, struct tp_text *out)
{
	if (step->source == TP_STEP_RANGE)
		tp_text_fmt(out, "range:%s", step->range);
	else if (step->source == TP_STEP_CLOCK)
		tp_text_fmt(out, "clock:%u", step->clock_ms);
	else
		tp_text_str(out, tp_words_name(tp_words_step, step->source));
}

#define DESCRIBE_TEXT(field) tp_text_str(out, config->field)
#define DESCRIBE_U64(field) tp_text_u64(out, config->field)
#define DESCRIBE_MS(field) tp_text_u64(out, config->field)
#define DESCRIBE_KEEP(field)                                                                       \
	tp_text_i64(out, config->field == TP_KEEP_ALL ? -1 : (int64_t)config->field)
#define DESCRIBE_OVERWRITE(field) tp_text_str(out, tp_words_name(tp_words_overwrite, config->field))
#define DESCRIBE_SECONDS(field) describe_seconds(config->field, out)
#define DESCRIBE_BYTES(field) tp_option_bytes(config->field, out)
#define DESCRIBE_SCHEDULE(field) describe_schedule(config, out)
#define DESCRIBE_RECORDER(field) describe_recorder(config->field, out)
#define DESCRIBE_TRIGGER(field) tp_config_describe_trigger(&config->field, out)
#define DESCRIBE_RECORD(field) tp_words_describe(tp_words_record, config->field, out)
#define DESCRIBE_STACKS(field) tp_words_describe(tp_words_stacks, config->field, out)
#define DESCRIBE_HEAP(field) tp_text_str(out, tp_words_name(tp_words_heap, config->field))
#define DESCRIBE_STEP(field) describe_step(&config->field, out)
#define DESCRIBE_LOG(field) tp_text_str(out, tp_words_name(tp_words_log, config->field))
#define DESCRIBE_CLOCK(field) tp_text_str(out, tp_words_name(tp_words_clock, config->field))
#define DESCRIBE_GRAPHS(field) tp_text_str(out, tp_words_name(tp_words_graphs, config->field))

void tp_config_describe(const struct tp_config *config, struct tp_text *out)
{
#define _(NAME, KIND, field, preset, least, most, meaning)                                   \
	tp_text_str(out, #NAME "=");                                                       \
	DESCRIBE_##KIND(field);                                                            \
	tp_text_char(out, '\n');
#include "runtime/base/options.def"
#undef _
}
