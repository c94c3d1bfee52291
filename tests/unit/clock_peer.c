/* SPDX-License-Identifier: Apache-2.0 */
/* clock_peer.c of the probe: whom to ask, and what a datagram must be to be heard. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/probe/clock/clock_peer.h"

static const char *environment[8][2];

static const char *look_up(void *ctx, const char *name)
{
	for (int i = 0; i < 8 && environment[i][0]; i++) {
		if (!strcmp(environment[i][0], name))
			return environment[i][1];
	}
	return NULL;
}

static void set(int at, const char *name, const char *value)
{
	environment[at][0] = name;
	environment[at][1] = value;
}

static const char *address_of(const struct tp_clock_peer *peer)
{
	static char text[INET6_ADDRSTRLEN];
	const struct sockaddr_in *in = (const struct sockaddr_in *)&peer->address;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&peer->address;

	return inet_ntop(peer->address.ss_family, peer->address.ss_family == AF_INET6 ?
			 (const void *)&in6->sin6_addr : (const void *)&in->sin_addr, text, sizeof(text));
}

Test(clock_peer, addresses_are_taken_and_names_are_not_looked_up)
{
	static const struct {
		const char *text, *address;
		uint16_t port;
	} good[] = {
		{"10.1.2.3:4000", "10.1.2.3", 4000}, {"[fe80::1]:65535", "fe80::1", 65535},
		{"::1:77", "::1", 77},
	};
	static const char *const bad[] = {"", "yes", "10.1.2.3", "10.1.2.3:", "10.1.2.3:0", ":4000",
					  "10.1.2.3:65536", "node7:4000", "[]:1", "10.1.2:1",
					  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:1"};
	struct tp_clock_peer peer;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		cr_assert_null(tp_clock_peer_read(&peer, good[i].text, look_up, NULL));
		cr_assert(peer.is_named && peer.port == good[i].port);
		cr_assert_str_eq(address_of(&peer), good[i].address);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_not_null(tp_clock_peer_read(&peer, bad[i], look_up, NULL), "%s", bad[i]);
}

Test(clock_peer, the_master_is_found_in_the_list_of_connections)
{
	struct tp_clock_peer peer;
	static const char head[] = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when";
	static const char other[] = "   0: 0107A8C0:7148 0207A8C0:A2C4 01 00000000:00000000 00:00000000";
	static const char listens[] = "   1: 00000000:7148 00000000:7148 0A 00000000:00000000 00:00000000";
	static const char it[] = "  12: 0207A8C0:A2C4 0107A8C0:7148 01 00000000:00000000 02:000006C3";
	static const char it6[] = "   3: B80D0120000000000000000002000000:A2C4 "
				  "B80D0120000000000000000001000000:7148 01 00000000:00000000";

	cr_assert_not_null(tp_clock_peer_read(&peer, "on", look_up, NULL), "no MASTER_PORT");
	set(0, "MASTER_PORT", "29000");	/* 0x7148 */
	set(1, "MASTER_ADDR", "node0");
	cr_assert_null(tp_clock_peer_read(&peer, "on", look_up, NULL));
	cr_assert_not(peer.is_named);
	cr_assert_not(tp_clock_peer_parse(&peer, head, false));
	cr_assert_not(tp_clock_peer_parse(&peer, other, false));
	cr_assert_not(tp_clock_peer_parse(&peer, listens, false));
	cr_assert(tp_clock_peer_parse(&peer, it, false));
	cr_assert_str_eq(address_of(&peer), "192.168.7.1");
	cr_assert(tp_clock_peer_parse(&peer, it6, true));
	cr_assert_str_eq(address_of(&peer), "2001:db8::1");
	/* Cut anywhere. */
	for (size_t n = 0; n < 46; n++) {
		char *line = strndup(it, n);

		peer.is_named = false;
		cr_assert(tp_clock_peer_parse(&peer, line, false) == (n >= 36), "%zu", n);
		free(line);
	}
	set(1, "MASTER_ADDR", "10.0.0.9");
	cr_assert_null(tp_clock_peer_read(&peer, "on", look_up, NULL));
	cr_assert_str_eq(address_of(&peer), "10.0.0.9");
}

Test(clock_peer, only_messages_of_the_same_job_are_heard)
{
	struct tp_clock_message message = {.nonce = 5, .sequence = 7, .what = TP_CLOCK_ASK,
					   .asked_ns = 12345}, changed;
	struct tp_clock_peer here, there;

	tp_clock_peer_read(&here, "10.1.2.3:4000", look_up, NULL);
	set(0, "TORCHELASTIC_RUN_ID", "other");
	tp_clock_peer_read(&there, "10.1.2.3:4000", look_up, NULL);
	cr_assert_neq(here.key, there.key);
	tp_clock_message_seal(&message, here.key);
	cr_assert(tp_clock_message_is_good(&message, sizeof(message), TP_CLOCK_ASK, here.key));
	cr_assert_not(tp_clock_message_is_good(&message, sizeof(message), TP_CLOCK_ASK, there.key));
	cr_assert_not(tp_clock_message_is_good(&message, sizeof(message), TP_CLOCK_ANSWER, here.key));
	cr_assert_not(tp_clock_message_is_good(&message, sizeof(message) - 1, TP_CLOCK_ASK, here.key));
	for (size_t bit = 0; bit < sizeof(message) * 8; bit++) {
		changed = message;
		((uint8_t *)&changed)[bit / 8] ^= (uint8_t)(1 << bit % 8);
		cr_assert_not(tp_clock_message_is_good(&changed, sizeof(changed), TP_CLOCK_ASK, here.key),
			      "bit %zu", bit);
	}
}
