/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_comm.c - the communicators of the process, and NCCL's mask of wanted events
 */
#include "runtime/probe/nccl/nccl_comm.h"

#include <string.h>

#include "runtime/base/sync.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/ring/ring.h"

enum {
	MASKS = 8,		/* libraries of NCCL in one process */
	NAME_WORDS = TP_NCCL_NAME / sizeof(uint64_t),
};

struct comm {
	struct tp_communicator is;
	uint64_t name[NAME_WORDS]; /* zero bytes behind it */
	uint32_t mask;		/* 1 + its place */
	uint32_t has_proxies;	/* atomic */
	uint32_t told_in;	/* generation of the ring + 1 */
	uint32_t version;	/* atomic: odd while `is` and `name` change */
	bool is_used;
};

static struct {
	struct tp_spin lock;
	struct comm comm[TP_NCCL_COMMS];
	struct {
		int *at;	/* NULL: free */
		uint32_t n_comms;
	} mask[MASKS];
	uint32_t wanted;
	struct tp_nccl_comm_counts counts;
	struct tp_communicator largest;
	bool has_largest;
} comms = { .lock = { .rank = TP_LOCK_NCCL } };

/* Under the lock, also the two below. */
static uint32_t add_mask(int *at)
{
	uint32_t place = 0, i;

	for (i = 0; at && i < MASKS; i++) {
		if (comms.mask[i].at == at || (!comms.mask[i].at && !place))
			place = i + 1;
		if (comms.mask[i].at == at)
			break;
	}
	if (!place)
		return 0;
	comms.mask[place - 1].at = at;
	comms.mask[place - 1].n_comms++;
	return place;
}

static struct comm *find(uint32_t at)
{
	return at && at <= TP_NCCL_COMMS ? &comms.comm[at - 1] : NULL;
}

static void write_mask(int *at)
{
	__atomic_store_n(at, (int)comms.wanted, __ATOMIC_RELAXED);
}

static void change(struct comm *comm, uint64_t hash, int32_t rank, const char *name)
{
	uint64_t words[NAME_WORDS] = {0};

	if (name)
		memcpy(words, name, strnlen(name, sizeof(words)));
	/* Readers take no lock: they see all of it or look again. Release, and
	 * acquire there: each member between the two changes of the number. */
	__atomic_store_n(&comm->version, comm->version + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&comm->is.hash, hash, __ATOMIC_RELEASE);
	__atomic_store_n(&comm->is.rank, rank, __ATOMIC_RELEASE);
	for (uint32_t i = 0; i < NAME_WORDS; i++)
		__atomic_store_n(&comm->name[i], words[i], __ATOMIC_RELEASE);
	__atomic_store_n(&comm->version, comm->version + 1, __ATOMIC_RELEASE);
}

/* Under the lock. */
static void note_largest(const struct tp_communicator *is)
{
	if (is->n_ranks <= 0 || (comms.has_largest && is->n_ranks <= comms.largest.n_ranks))
		return;
	comms.largest = *is;
	comms.has_largest = true;
}

uint32_t tp_nccl_comm_add(const struct tp_nccl_who *who, int *mask)
{
	uint32_t at = 0;

	tp_spin_lock(&comms.lock);
	while (at < TP_NCCL_COMMS && comms.comm[at].is_used)
		at++;
	if (at < TP_NCCL_COMMS) {
		struct comm *comm = &comms.comm[at];

		comm->is_used = true;
		__atomic_store_n(&comm->is.n_ranks, who->is.n_ranks, __ATOMIC_RELAXED);
		__atomic_store_n(&comm->is.n_nodes, who->is.n_nodes, __ATOMIC_RELAXED);
		__atomic_store_n(&comm->is.interface, who->is.interface, __ATOMIC_RELAXED);
		change(comm, who->is.hash, who->is.rank, who->name);
		__atomic_store_n(&comm->has_proxies, who->is.n_nodes != 1, __ATOMIC_RELAXED);
		comm->told_in = 0;
		comm->mask = add_mask(mask);
		comms.counts.made++;
		note_largest(&who->is);
	} else {
		comms.counts.refused++;
	}
	if (mask)
		write_mask(mask);
	tp_spin_unlock(&comms.lock);
	return at < TP_NCCL_COMMS ? at + 1 : 0;
}

/* Under the lock. */
static void tell(struct comm *comm)
{
	const uint32_t told = tp_ring.generation + 1;
	uint32_t n_name;
	struct {
		struct tp_communicator is;
		char name[TP_NCCL_NAME];
	} text;

	if (!tp_ring.head || !comm->is_used || comm->told_in == told || !comm->is.hash)
		return;
	text.is = comm->is;
	memcpy(text.name, comm->name, sizeof(text.name));
	n_name = (uint32_t)strnlen(text.name, sizeof(text.name));
	(void)tp_intern(TP_STRING_COMM, &text, (uint32_t)sizeof(text.is) + n_name);
	comm->told_in = told;
}

void tp_nccl_comm_remove(uint32_t at)
{
	struct comm *comm = find(at);

	if (!comm)
		return;
	tp_spin_lock(&comms.lock);
	tell(comm);
	/* The library may be unloaded after its last one. */
	if (comm->is_used && comm->mask && !--comms.mask[comm->mask - 1].n_comms) {
		__atomic_store_n(comms.mask[comm->mask - 1].at, 0, __ATOMIC_RELAXED);
		comms.mask[comm->mask - 1].at = NULL;
	}
	comm->is_used = false;
	comm->mask = 0;
	tp_spin_unlock(&comms.lock);
}

void tp_nccl_comm_name(uint32_t at, uint64_t hash, int32_t rank, const char *name)
{
	struct comm *comm = find(at);

	if (!comm || !hash ||
	    tp_likely(__atomic_load_n(&comm->is.hash, __ATOMIC_RELAXED) == hash))
		return;
	tp_spin_lock(&comms.lock);
	if (comm->is_used && comm->is.hash != hash) {
		change(comm, hash, rank, name);
		comm->told_in = 0;
	}
	tp_spin_unlock(&comms.lock);
}

bool tp_nccl_comm_get(uint32_t at, struct tp_communicator *is, char name[TP_NCCL_NAME])
{
	uint64_t words[NAME_WORDS];
	const struct comm *comm = find(at);
	uint32_t version, again;

	if (!comm)
		return false;
	do {
		version = __atomic_load_n(&comm->version, __ATOMIC_ACQUIRE);
		is->hash = __atomic_load_n(&comm->is.hash, __ATOMIC_ACQUIRE);
		is->rank = __atomic_load_n(&comm->is.rank, __ATOMIC_ACQUIRE);
		is->n_ranks = __atomic_load_n(&comm->is.n_ranks, __ATOMIC_ACQUIRE);
		is->n_nodes = __atomic_load_n(&comm->is.n_nodes, __ATOMIC_ACQUIRE);
		is->interface = __atomic_load_n(&comm->is.interface, __ATOMIC_ACQUIRE);
		for (uint32_t i = 0; i < NAME_WORDS; i++)
			words[i] = __atomic_load_n(&comm->name[i], __ATOMIC_ACQUIRE);
		again = __atomic_load_n(&comm->version, __ATOMIC_RELAXED);
	} while (tp_unlikely(version != again || version & 1));
	memcpy(name, words, sizeof(words));
	return true;
}

bool tp_nccl_comm_has_proxies(uint32_t at)
{
	const struct comm *comm = find(at);

	return !comm || __atomic_load_n(&comm->has_proxies, __ATOMIC_RELAXED);
}

void tp_nccl_comm_saw_proxy(uint32_t at)
{
	struct comm *comm = find(at);

	if (comm && !tp_nccl_comm_has_proxies(at))
		__atomic_store_n(&comm->has_proxies, 1, __ATOMIC_RELAXED);
}

void tp_nccl_comm_set_mask(uint32_t mask)
{
	tp_spin_lock(&comms.lock);
	comms.wanted = mask;
	for (uint32_t i = 0; i < MASKS; i++)
		if (comms.mask[i].at)
			write_mask(comms.mask[i].at);
	tp_spin_unlock(&comms.lock);
}

void tp_nccl_comm_tell(void)
{
	tp_spin_lock(&comms.lock);
	for (uint32_t i = 0; i < TP_NCCL_COMMS; i++)
		tell(&comms.comm[i]);
	tp_spin_unlock(&comms.lock);
}

bool tp_nccl_comm_largest(struct tp_communicator *is)
{
	bool has_one;

	tp_spin_lock(&comms.lock);
	has_one = comms.has_largest;
	*is = comms.largest;
	tp_spin_unlock(&comms.lock);
	return has_one;
}

struct tp_nccl_comm_counts tp_nccl_comm_counts(void)
{
	struct tp_nccl_comm_counts counts;

	tp_spin_lock(&comms.lock);
	counts = comms.counts;
	tp_spin_unlock(&comms.lock);
	return counts;
}

void tp_nccl_comm_forked(void)
{
	/* The masks are the child's own: NCCL of the parent is of no use there. */
	for (uint32_t i = 0; i < MASKS; i++)
		if (comms.mask[i].at)
			*comms.mask[i].at = 0;
	memset(&comms, 0, sizeof(comms));
	comms.lock.rank = TP_LOCK_NCCL;
}
