/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock_peer.c - addresses without a resolver, messages with a seal
 */
#include "runtime/probe/clock/clock_peer.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/hash.h"
#include "runtime/base/own_fd.h"
#include "runtime/base/text.h"

#define MAGIC 0x31434b4c43505454ull	/* "TTPCLKC1" */

enum {
	ESTABLISHED = 1,	/* as /proc/net/tcp has it */
	PART_BYTES = 4096,
	MOST_PARTS = 256,	/* a megabyte: some thousand connections */
};

/* ---- addresses ---- */

static bool set_address(struct tp_clock_peer *peer, const char *text)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&peer->address;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&peer->address;

	memset(&peer->address, 0, sizeof(peer->address));
	peer->is_named = true;
	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(peer->port);
		peer->n_address = sizeof(*in);
	} else if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(peer->port);
		peer->n_address = sizeof(*in6);
	} else {
		peer->is_named = false;
	}
	return peer->is_named;
}

static bool read_port(const char *text, uint16_t *port)
{
	uint64_t value;

	if (!text || tp_text_parse_u64(text, &value) || !value || value > UINT16_MAX)
		return false;
	*port = (uint16_t)value;
	return true;
}

static const char *read_given(struct tp_clock_peer *peer, const char *text)
{
	const char *colon = strrchr(text, ':');
	char address[INET6_ADDRSTRLEN];
	size_t n = colon ? (size_t)(colon - text) : 0;

	if (!n || !read_port(colon + 1, &peer->port))
		return "it is neither 'on' nor ADDRESS:PORT";
	if (text[0] == '[' && colon[-1] == ']') {
		text++;
		n -= 2;
	}
	if (n >= sizeof(address))
		return "the address is too long";
	memcpy(address, text, n);
	address[n] = '\0';
	return set_address(peer, address) ? NULL : "it needs an address in figures: no name is "
						   "looked up inside the program";
}

const char *tp_clock_peer_read(struct tp_clock_peer *peer, const char *text,
			       tp_config_getenv_fn lookup, void *ctx)
{
	static const char *const of_job[] = {"WORLD_SIZE", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID"};
	const char *why = NULL, *value;

	memset(peer, 0, sizeof(*peer));
	if (!strcmp(text, "on")) {
		value = lookup(ctx, "MASTER_ADDR");
		if (!read_port(lookup(ctx, "MASTER_PORT"), &peer->port))
			return "MASTER_PORT is not set: give ADDRESS:PORT of the first rank";
		if (value)
			set_address(peer, value);
	} else {
		why = read_given(peer, text);
	}
	peer->key = tp_hash_bytes(&peer->port, sizeof(peer->port), MAGIC);
	for (size_t i = 0; i < sizeof(of_job) / sizeof(of_job[0]); i++) {
		value = lookup(ctx, of_job[i]);
		if (value)
			peer->key = tp_hash_bytes(value, strlen(value) + 1, peer->key);
	}
	return why;
}

/* Up to 8 hex digits each. */
static bool read_hex(const char **at, uint32_t n, uint32_t *value)
{
	*value = 0;
	for (uint32_t i = 0; i < n; i++) {
		char c = *(*at)++;
		uint32_t digit = (uint32_t)(c >= '0' && c <= '9'   ? c - '0'
					    : c >= 'A' && c <= 'F' ? c - 'A' + 10
								   : 16);

		if (digit > 15)
			return false;
		*value = *value << 4 | digit;
	}
	return true;
}

/* "  12: 0100007F:A2C4 0100007F:7148 01 ...": number, own and other address, state. */
bool tp_clock_peer_parse(struct tp_clock_peer *peer, const char *line, bool is_6)
{
	const uint32_t n_words = is_6 ? 4 : 1;
	uint32_t word[4] = {0}, port = 0, state;
	struct sockaddr_in *in = (struct sockaddr_in *)&peer->address;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&peer->address;
	const char *at = strchr(line, ':');

	if (!at || at[1] != ' ')
		return false;
	at += 2;
	for (int side = 0; side < 2; side++) {
		for (uint32_t i = 0; i < n_words; i++) {
			if (!read_hex(&at, 8, &word[i]))
				return false;
		}
		if (*at++ != ':' || !read_hex(&at, 4, &port) || *at++ != ' ')
			return false;
	}
	if (!read_hex(&at, 2, &state) || state != ESTABLISHED || port != peer->port)
		return false;
	memset(&peer->address, 0, sizeof(peer->address));
	/* The words are as they lie in memory. */
	if (is_6) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(peer->port);
		memcpy(&in6->sin6_addr, word, sizeof(in6->sin6_addr));
		peer->n_address = sizeof(*in6);
	} else {
		in->sin_family = AF_INET;
		in->sin_port = htons(peer->port);
		memcpy(&in->sin_addr, word, sizeof(in->sin_addr));
		peer->n_address = sizeof(*in);
	}
	peer->is_named = true;
	return true;
}

static bool find_in(struct tp_clock_peer *peer, const char *path, bool is_6)
{
	char buf[PART_BYTES + 1];
	struct tp_own_fd file;
	uint64_t at = 0;
	size_t kept = 0;

	tp_own_fd_open(&file, path, O_RDONLY, 0);
	for (uint32_t i = 0; file.fd >= 0 && i < MOST_PARTS && !peer->is_named; i++) {
		ssize_t n = tp_own_fd_read(&file, buf + kept, PART_BYTES - kept, at);
		char *line = buf, *end;

		if (n <= 0)
			break;
		at += (uint64_t)n;
		buf[kept + (size_t)n] = '\0';
		while ((end = strchr(line, '\n')) && !peer->is_named) {
			*end = '\0';
			tp_clock_peer_parse(peer, line, is_6);
			line = end + 1;
		}
		kept = strlen(line);
		if (kept >= PART_BYTES)
			kept = 0;	/* no line of the kernel's */
		memmove(buf, line, kept);
	}
	tp_own_fd_close(&file);
	return peer->is_named;
}

bool tp_clock_peer_find(struct tp_clock_peer *peer)
{
	return peer->is_named || find_in(peer, "/proc/self/net/tcp", false) ||
	       find_in(peer, "/proc/self/net/tcp6", true);
}

/* ---- messages ---- */

void tp_clock_message_seal(struct tp_clock_message *message, uint64_t key)
{
	message->magic = MAGIC;
	message->seal = tp_hash_bytes(message, offsetof(struct tp_clock_message, seal), key);
}

bool tp_clock_message_is_good(const struct tp_clock_message *message, uint64_t n_bytes,
			      uint32_t what, uint64_t key)
{
	return n_bytes == sizeof(*message) && message->magic == MAGIC && message->what == what &&
	       message->seal == tp_hash_bytes(message, offsetof(struct tp_clock_message, seal), key);
}
