/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_state.h - what the files of the stand-in for libcupti share
 *
 * FAKE_RELEASE (1108 ... 1300, 9999) is the release that the file is built as: it decides
 * which functions there are, and, unless FAKE_CUPTI_VERSION says otherwise, the rest.
 */
#ifndef FAKE_CUPTI_STATE_H
#define FAKE_CUPTI_STATE_H

#include <pthread.h>

#include "tests/fakes/fake_api.h"
#include "tests/fakes/faults.h"

enum fake_deliver { FAKE_LATE, FAKE_NOW, FAKE_SHUFFLED };
enum { FAKE_N_STATES = 8, FAKE_N_RESOURCES = 64, FAKE_N_KINDS = 64 };

struct fake_cupti {
	struct fake_driver *driver;	/* NULL: there is no libcuda */
	uint32_t version, release;
	enum fake_deliver deliver;
	struct fake_faults faults;
	const char *owner;
	int log;			/* descriptor; -1: none */
	uint32_t stale_flushes;		/* 0: never */
	uint32_t is_dead, is_forked;	/* atomic */
	uint32_t fatal_after;		/* atomic */

	/* subscriber */
	CUpti_CallbackFunc callback;	/* atomic; NULL: nobody */
	void *userdata;
	char subscriber_name[64];
	uint8_t states[FAKE_N_STATES], resources[FAKE_N_RESOURCES];	/* atomic */

	/* activities */
	CUpti_BuffersCallbackRequestFunc requested;	/* atomic */
	CUpti_BuffersCallbackCompleteFunc completed;	/* atomic */
	CUpti_TimestampCallbackFunc timestamp;
	uint64_t timestamp_real, timestamp_first;	/* both clocks as it came */
	double timestamp_rate;
	uint64_t timestamp_again;	/* when one came after another, in its unit */
	uint32_t thread_id_type;
	bool is_per_thread, is_zeroed, all_syncs;
	bool has_nested, flushes_here;
	uint32_t next_correlation, next_inner;		/* atomic */
	uint32_t is_told;		/* atomic: the program gave ids itself */
	uint32_t flushes;		/* atomic */
	uint64_t dropped;		/* atomic */
};
extern struct fake_cupti fake_cupti;
extern const struct fake_tool fake_cupti_tool;

/* cupti_calls.c */
uint64_t fake_cupti_now(void);
uint64_t fake_cupti_in_clock(uint64_t real_ns);
uint32_t fake_cupti_thread(void);
_Noreturn void fake_cupti_die(const char *why);

/* cupti_callbacks.c */
void fake_cupti_watch(uint32_t domain, uint32_t cbid, uint8_t set, uint8_t clear);
void fake_cupti_watch_all(uint32_t domain, uint8_t set, uint8_t clear);
void fake_cupti_unsubscribe(void);

/* cupti_buffers.c: a record of `n_bytes`; `end` is when it is complete, 0: it is. */
void fake_cupti_put(const void *record, uint32_t n_bytes, uint64_t end);
void fake_cupti_flush(bool is_forced);
void fake_cupti_deliver_full(void);
void fake_cupti_start_worker(void);

/* cupti_records.c */
void fake_cupti_records_init(void);
uint32_t fake_cupti_record_bytes(uint32_t kind);	/* 0: unknown to this release */
/* Where start and end of a kind lie, and, of kernels, `completed` too (else 0). */
void fake_cupti_time_offsets(uint32_t kind, uint32_t *start, uint32_t *end, uint32_t *completed);
void fake_cupti_put_call(const struct fake_api *api, uint64_t end, uint32_t returned);
void fake_cupti_work(const struct fake_work *work, uint32_t module);
void fake_cupti_memory(const struct fake_memory *memory, uint32_t correlation);
void fake_cupti_event(uint32_t correlation, uint32_t context, uint32_t stream, uint32_t event);
void fake_cupti_put_context(const struct CUctx_st *context);
void fake_cupti_put_device(uint32_t device);
void fake_cupti_put_stream(uint32_t context, uint32_t stream);

/* cupti_names.c: CUPTI's copy of a kernel's name, one record more points to it. */
const char *fake_cupti_name(const char *name, uint32_t module);
void fake_cupti_name_delivered(const char *copy);
void fake_cupti_names_flush(uint32_t flush);
void fake_cupti_unload(uint32_t module);

/* Defines a function of CUPTI around the body that follows. argument: of it, for faults and the
 * log. */
enum { FAKE_ALONE = 0, FAKE_NEEDS_DRIVER = 1 };
bool fake_cupti_begin(const char *call, int64_t argument, int needs, CUptiResult *result);
void fake_cupti_log(const char *call, int64_t argument, CUptiResult result);
#define FAKE_CUPTI(name, parameters, arguments, argument, needs)                             \
	static CUptiResult do_##name parameters;                                              \
	FAKE_EXPORT CUptiResult CUPTIAPI name parameters                                      \
	{                                                                                     \
		CUptiResult result;                                                           \
                                                                                              \
		if (fake_cupti_begin(#name, (int64_t)(argument), needs, &result))             \
			result = do_##name arguments;                                         \
		if (fake_cupti.log >= 0)                                                      \
			fake_cupti_log(#name, (int64_t)(argument), result);                   \
		return result;                                                                \
	}                                                                                     \
	static CUptiResult do_##name parameters

#endif
