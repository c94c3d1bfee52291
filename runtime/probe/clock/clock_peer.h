/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock_peer.h - whom a node's leader compares its clock with, and what the two say to each other
 *
 * The first rank answers, the first process of each other node asks. No name is looked up:
 * that would load libraries into the program and may take seconds. What MASTER_ADDR means is
 * seen in the program's own connection to MASTER_PORT instead.
 */
#ifndef TP_PROBE_CLOCK_PEER_H
#define TP_PROBE_CLOCK_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "runtime/engine/config/config.h"

struct tp_clock_peer {
	uint16_t port;
	bool is_named;		/* `address` is known: it was given, or is found by now */
	struct sockaddr_storage address;
	socklen_t n_address;
	uint64_t key;		/* of the job: who does not know it is not heard */
};

/* "on", "ADDRESS:PORT" or "[ADDRESS]:PORT". NULL, or why it cannot be used: a constant. */
const char *tp_clock_peer_read(struct tp_clock_peer *peer, const char *text,
			       tp_config_getenv_fn lookup, void *ctx);
/* Looks for the address in the kernel's lists of connections. */
bool tp_clock_peer_find(struct tp_clock_peer *peer);
/* The same from one such list; is_6: of IPv6. */
bool tp_clock_peer_parse(struct tp_clock_peer *peer, const char *line, bool is_6);

enum { TP_CLOCK_ASK = 1, TP_CLOCK_ANSWER = 2 };

/* One datagram, both ways the same size: nobody can be flooded through us. Times in ns of
 * CLOCK_MONOTONIC of the host. Of both sides the byte order of x86 and ARM. */
struct tp_clock_message {
	uint64_t magic;
	uint64_t nonce;			/* of who asks, drawn once */
	uint32_t sequence, what;
	uint64_t asked_ns, arrived_ns, answered_ns;
	uint64_t boot_id[2];		/* of the sender */
	uint64_t seal;			/* of all before, with the job's key */
};

void tp_clock_message_seal(struct tp_clock_message *message, uint64_t key);
bool tp_clock_message_is_good(const struct tp_clock_message *message, uint64_t n_bytes,
			      uint32_t what, uint64_t key);

#endif
