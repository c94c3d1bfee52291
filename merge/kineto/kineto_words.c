/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_words.c - the words of torch.profiler's traces, old and new
 */
#include "merge/kineto/kineto_words.h"

#include <stdio.h>
#include <string.h>

#include "merge/model/device.h"
#include "runtime/trace/torch_names.h"

static bool is_word(const struct tp_json_text *text, const char *word)
{
	return tp_json_is(text, word, (uint32_t)strlen(word));
}

bool tp_kineto_begins(const struct tp_json_text *text, const char *with)
{
	size_t n = strlen(with);

	return text->n >= n && !memcmp(text->bytes, with, n);
}

enum tp_kineto_category tp_kineto_category(const struct tp_json_text *category)
{
	static const struct {
		const char *word;
		enum tp_kineto_category category;
	} known[] = {
		/* Since 1.13 or so, then before; the commonest first. */
		{"cpu_op", TP_KINETO_OP}, {"cuda_runtime", TP_KINETO_RUNTIME},
		{"kernel", TP_KINETO_KERNEL}, {"user_annotation", TP_KINETO_ANNOTATION},
		{"gpu_memcpy", TP_KINETO_MEMCPY}, {"gpu_memset", TP_KINETO_MEMSET},
		{"cuda_driver", TP_KINETO_DRIVER}, {"cuda_sync", TP_KINETO_SYNC},
		{"overhead", TP_KINETO_OVERHEAD},
		{"python_function", TP_KINETO_PYTHON},
		{"Operator", TP_KINETO_OP}, {"Runtime", TP_KINETO_RUNTIME},
		{"Kernel", TP_KINETO_KERNEL}, {"Memcpy", TP_KINETO_MEMCPY},
		{"Memset", TP_KINETO_MEMSET},
		/* What the profiler itself spans; annotations of the host, repeated for the GPU. */
		{"Trace", TP_KINETO_SEEN}, {"gpu_user_annotation", TP_KINETO_SEEN},
		{"hip_runtime", TP_KINETO_RUNTIME}, {"hip_driver", TP_KINETO_DRIVER},
		{"xpu_runtime", TP_KINETO_RUNTIME}, {"xpu_driver", TP_KINETO_DRIVER},
		{"privateuse1_runtime", TP_KINETO_RUNTIME},
		{"privateuse1_driver", TP_KINETO_DRIVER}, {"mtia_runtime", TP_KINETO_RUNTIME},
		{"glow_runtime", TP_KINETO_RUNTIME},
	};

	for (uint32_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (is_word(category, known[i].word))
			return known[i].category;
	return TP_KINETO_NONE;
}

bool tp_kineto_step(const struct tp_json_text *name, uint32_t *step)
{
	static const char begin[] = TP_NAME_PROFILER_STEP;
	uint64_t n = 0;

	if (name->n < sizeof(begin) || memcmp(name->bytes, begin, sizeof(begin) - 1))
		return false;
	for (uint32_t i = sizeof(begin) - 1; i < name->n; i++) {
		if (name->bytes[i] < '0' || name->bytes[i] > '9' || n > UINT32_MAX / 10)
			return false;
		n = n * 10 + (uint64_t)(name->bytes[i] - '0');
	}
	*step = (uint32_t)n;
	return true;
}

/* Our key for one of theirs; NULL: it is not kept. */
static const char *find_key(const struct tp_json_text *theirs)
{
	/* Of 1.8 and before, and of AMD's. */
	static const struct {
		const char *theirs, *ours;
	} other[] = {
		{"major", "major"}, {"minor", "minor"}, {"multiProcessorCount", "sms"},
		{"maxThreadsPerMultiProcessor", "sm_threads"},
		{"maxSharedMemoryPerMultiProcessor", "sm_shared"},
	};

	for (const struct tp_device_fact *fact = tp_device_facts; fact->key; fact++)
		if (fact->kineto && is_word(theirs, fact->kineto))
			return fact->key;
	for (uint32_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		if (is_word(theirs, other[i].theirs))
			return other[i].ours;
	return NULL;
}

uint32_t tp_kineto_device(struct tp_json_in *in, char *out, uint32_t cap)
{
	struct tp_json_text key, text;
	bool is_first = true, has_id = false;
	uint32_t n = 0;

	if (!tp_json_in_take(in, '{'))
		return 0;
	while (tp_json_in_key(in, &key, &is_first)) {
		int64_t number;

		if (TP_JSON_IS(&key, "name") && tp_json_in_peek(in) == '"') {
			char name[97];
			uint32_t k;

			if (!tp_json_in_string(in, &text))
				return 0;
			k = tp_json_in_plain(&text, name, sizeof(name) - 1);
			for (uint32_t i = 0; i < k; i++)
				if (name[i] == '\n')
					name[i] = ' ';
			name[k] = 0;
			n += (uint32_t)snprintf(out + n, cap - n, "name=%s\n", name);
		} else if (!tp_json_in_number(in, 1, &number)) {
			continue;
		} else if (TP_JSON_IS(&key, "id")) {
			has_id = true;
			n += (uint32_t)snprintf(out + n, cap - n, "id=%u\n", (uint32_t)number);
		} else if (find_key(&key)) {
			n += (uint32_t)snprintf(out + n, cap - n, "%s=%lld\n", find_key(&key),
						(long long)number);
		}
		if (n >= cap)
			return 0;
	}
	return has_id && !in->is_bad && !in->is_short ? n : 0;
}
