/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep.c - sizes of containers, compared from look to look, and what is told of those that grow
 *
 * A container is its address. One that is as long as before, or shorter, begins anew; one that is not met any
 * more is forgotten. Another one may stand at the address: growing once is not enough, where there were more
 * looks. The thread that trains writes what is told, the drain thread copies it: a number that is
 * odd while it is written says so.
 */
#include "runtime/probe/keep/keep.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/base/hash.h"
#include "runtime/base/text.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/session.h"
#include "runtime/probe/keep/keep_walk.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pyframe.h"
#include "runtime/trace/grows.h"

enum {
	KNOWN_BITS = 12,	/* containers of a look, at most three quarters of it */
	KNOWN_MOST = 3 << (KNOWN_BITS - 2),
	GROWERS = 32,		/* that are named */
	FIRST = 4,		/* looks, of two windows, without a pause */
	PAUSE = 1000,		/* times the last look's length, between two */
	SOON = 16,		/* looks that the ledger is told of at once */
	NAME = 160, FILE_NAME = 512,
	TEXT = 1200,
};

/* Sizes at a look, by address. */
struct known {
	struct {
		const void *object;
		ptrdiff_t size;
	} of[1 << KNOWN_BITS];
	uint32_t n;
};

struct grower {
	const void *object;	/* NULL: free */
	enum tp_keep_kind kind;
	uint64_t first_step, last_step;
	ptrdiff_t first, last;	/* sizes */
	uint32_t looks;		/* at which it had grown */
	uint32_t look;		/* the last of them */
	size_t item_bytes;
	bool has_tensor;
	char name[NAME], file[FILE_NAME];
};

static struct {
	bool is_wanted, is_found;
	bool is_busy;		/* atomic: a thread looks */
	struct known known[2];	/* this look's, and the last one's, by turns */
	struct grower grower[GROWERS];
	uint32_t look;		/* number of this one, from 1 */
	uint64_t step, last_step;	/* steps that had ended then, and at the last one */
	uint64_t next_ns;
	/* Of all looks. */
	uint64_t n_cut, ns;

	uint32_t version;	/* atomic; odd: `text` is being written */
	uint32_t noted, noted_look;	/* drain thread: the version that the ledger has, and its look */
	uint32_t text_look;
	char text[TEXT];
} keep;

/* ---- what grows ---- */

static struct grower *grower_of(const void *object)
{
	struct grower *unused = NULL;

	for (uint32_t i = 0; i < GROWERS; i++) {
		if (keep.grower[i].object == object)
			return &keep.grower[i];
		if (!keep.grower[i].object)
			unused = &keep.grower[i];
	}
	return unused;
}

static void note_growth(const struct tp_keep_found *found, ptrdiff_t before)
{
	struct grower *grower = grower_of(found->object);
	struct tp_text text;

	if (!grower)
		return;
	if (!grower->object || grower->kind != found->kind || grower->look + 1 != keep.look)
		*grower = (struct grower){.object = found->object, .kind = found->kind,
					  .first_step = keep.last_step, .first = before};
	grower->last_step = keep.step;
	grower->last = found->size;
	grower->looks++;
	grower->look = keep.look;
	grower->item_bytes = tp_keep_item_bytes(found->object,
						found->kind == TP_KEEP_CACHE ? TP_KEEP_DICT : found->kind,
						&grower->has_tensor);
	tp_text_init(&text, grower->name, sizeof(grower->name));
	tp_keep_name(found, &text);
	tp_text_init(&text, grower->file, sizeof(grower->file));
	tp_text_str(&text, tp_keep_file(found));
}

/* Where it is, or belongs. */
static uint32_t place_of(const struct known *known, const void *object)
{
	const uint32_t mask = (1u << KNOWN_BITS) - 1;
	uint32_t at = (uint32_t)tp_hash_mix((uintptr_t)object) & mask;

	while (known->of[at].object && known->of[at].object != object)
		at = (at + 1) & mask;
	return at;
}

static void take(const struct tp_keep_found *found)
{
	struct known *now = &keep.known[keep.look % 2];
	const struct known *before = &keep.known[(keep.look + 1) % 2];
	uint32_t at = place_of(before, found->object);

	if (before->of[at].object && found->size > before->of[at].size)
		note_growth(found, before->of[at].size);
	at = place_of(now, found->object);
	if (!now->of[at].object && now->n == KNOWN_MOST)
		return;
	now->n += !now->of[at].object;
	now->of[at].object = found->object;
	now->of[at].size = found->size;
}

/* ---- what is told ---- */

static const char *const kind_word[] = {
#define _(word, KIND) [TP_KEEP_##KIND] = word,
	TP_GROWS_KINDS(_)
#undef _
};

/* Bytes that a step adds; those of tensors are not known, and count for more than any others. */
static double weight_of(const struct grower *grower)
{
	const double items = (double)(grower->last - grower->first) /
			     (double)(grower->last_step - grower->first_step);

	return items * (double)(grower->item_bytes + 1) + (grower->has_tensor ? 1e12 : 0);
}

static void put_printable(struct tp_text *out, const char *text, char refused)
{
	for (; *text; text++)
		tp_text_char(out, (unsigned char)*text < ' ' || *text == refused ? '?' : *text);
}

static void put_grower(struct tp_text *out, uint32_t number, const struct grower *grower)
{
	tp_text_fmt(out, TP_GROWS "%u.%u=%lu %lu %lu %lu %lu %u %s ", keep.look, number, grower->first_step,
		    (unsigned long)grower->first, grower->last_step, (unsigned long)grower->last,
		    (unsigned long)grower->item_bytes, grower->has_tensor, kind_word[grower->kind]);
	put_printable(out, grower->file, '\n');
	tp_text_str(out, ": ");
	put_printable(out, grower->name, ':');
	tp_text_char(out, '\n');
}

static bool is_growing(const struct grower *grower)
{
	return grower->object && grower->look == keep.look && grower->looks >= (keep.look > 2 ? 2 : 1);
}

/* Whole lines of those that grew at each look of late, the heaviest first. */
static void tell(void)
{
	bool is_told[GROWERS] = {false};
	struct tp_text out;
	uint32_t version = __atomic_load_n(&keep.version, __ATOMIC_RELAXED);

	__atomic_store_n(&keep.version, version + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	tp_text_init(&out, keep.text, sizeof(keep.text));
	tp_text_fmt(&out, TP_GROWS "%u=%lu\n", keep.look, keep.step);
	keep.text_look = keep.look;
	for (uint32_t n = 0; n < TP_GROWS_MOST; n++) {
		const struct grower *heaviest = NULL;
		const size_t len = out.len;

		for (uint32_t i = 0; i < GROWERS; i++) {
			const struct grower *grower = &keep.grower[i];

			if (is_growing(grower) && !is_told[i] &&
			    (!heaviest || weight_of(grower) > weight_of(heaviest)))
				heaviest = grower;
		}
		if (!heaviest)
			break;
		is_told[heaviest - keep.grower] = true;
		put_grower(&out, n, heaviest);
		if (out.is_cut) {
			keep.text[len] = '\0';
			break;
		}
	}
	__atomic_store_n(&keep.version, version + 2, __ATOMIC_RELEASE);
}

static void look(void)
{
	const uint64_t begin_ns = tp_clock_mono_ns();
	uint32_t pause;

	keep.look++;
	keep.last_step = keep.step;
	keep.step = __atomic_load_n(&tp_ring.head->steps_done, __ATOMIC_RELAXED);
	memset(&keep.known[keep.look % 2], 0, sizeof(keep.known[0]));
	tp_keep_begin();
	keep.n_cut += !tp_keep_walk(take);
	tell();
	tp_keep_end();
	for (uint32_t i = 0; i < GROWERS; i++)
		if (keep.grower[i].look != keep.look)
			keep.grower[i].object = NULL;
	pause = keep.look < FIRST ? 0 : PAUSE;
	keep.next_ns = tp_clock_mono_ns();
	keep.ns += keep.next_ns - begin_ns;
	keep.next_ns += pause * (keep.next_ns - begin_ns);
}

/* ---- the probe ---- */

static void look_if_due(void)
{
	const int kept_errno = errno;
	int held;

	if (!keep.is_wanted || tp_session_is_follower() ||
	    __atomic_load_n(&tp_ring.head->steps_done, __ATOMIC_RELAXED) == keep.step ||
	    __atomic_exchange_n(&keep.is_busy, true, __ATOMIC_ACQUIRE))
		return;
	if (tp_clock_mono_ns() >= keep.next_ns && tp_pyframe_enter(&held)) {
		if (!keep.is_found)
			keep.is_wanted = keep.is_found = tp_keep_api_find();
		if (keep.is_wanted)
			look();
		tp_py.release(held);
	}
	__atomic_store_n(&keep.is_busy, false, __ATOMIC_RELEASE);
	errno = kept_errno;
}

static int open_keep(const struct tp_config *config)
{
	keep.is_wanted = config->record & (TP_RECORD_TENSORS | TP_RECORD_CATEGORIES | TP_RECORD_HEAP) &&
			 tp_py.minor;
	return 0;
}

/* In a long run ever more seldom, and at its end: its log is not to be made of this. */
static void note(struct tp_text *facts, bool is_last)
{
	const uint32_t version = __atomic_load_n(&keep.version, __ATOMIC_ACQUIRE);
	uint32_t of_look;
	char text[TEXT];

	if (version == keep.noted || version % 2)
		return;
	of_look = keep.text_look;
	if (!is_last && of_look > SOON && of_look < keep.noted_look + keep.noted_look / 4)
		return;
	memcpy(text, keep.text, sizeof(text));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__atomic_load_n(&keep.version, __ATOMIC_RELAXED) != version)
		return;
	keep.noted = version;
	keep.noted_look = of_look;
	text[sizeof(text) - 1] = '\0';
	tp_text_str(facts, text);
}

static void report(struct tp_text *totals)
{
	if (keep.look)
		tp_text_fmt(totals, "keep.looks=%u\nkeep.cut=%lu\nkeep.ns=%lu\n", keep.look, keep.n_cut,
			    keep.ns);
}

/* Steps are counted anew. */
static void forked(void)
{
	memset(keep.known, 0, sizeof(keep.known));
	memset(keep.grower, 0, sizeof(keep.grower));
	keep.look = 0;
	keep.n_cut = keep.ns = 0;
	keep.version = keep.noted = keep.noted_look = 0;
	keep.step = keep.next_ns = 0;
	keep.text[0] = '\0';
	keep.is_busy = false;
}

const struct tp_probe tp_keep_probe = {
	.name = "keep",
	.open = open_keep,
	.arm = look_if_due,
	.disarm = look_if_due,
	.note = note,
	.report = report,
	.forked = forked,
};
