/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock_sync.c - the node's leaders ask the first rank for the time, many times
 *
 * A datagram's way there and its way back are two facts of their own: what was sent here
 * arrived there later, and the other way round. Nobody has to be quick: the kernel stamps
 * what arrives, by CLOCK_REALTIME, and that is turned into CLOCK_MONOTONIC by readings of both
 * from before and after; when they moved against each other in between, the moment of reading
 * counts, which is later and so still true.
 */
#include "runtime/probe/clock/clock_sync.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "runtime/base/own_fd.h"
#include "runtime/base/own_table.h"
#include "runtime/base/process.h"
#include "runtime/base/sandbox.h"
#include "runtime/base/text.h"
#include "runtime/engine/config/rank.h"
#include "runtime/engine/facts.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/session.h"
#include "runtime/probe/clock/clock_peer.h"

enum {
	QUICK_MS = 20,		/* the first so many rounds of a window, then slower */
	QUICK_ROUNDS = 20,
	SLOW_MS = 200,
	NEW_WINDOW_MS = 1000,	/* without a round: another window */
	OUT_MAX = 64,		/* asked, not answered */
	KEPT_MAX = 256,		/* not yet recorded: there is no window, or only warm-up */
	ANSWERS_MAX = 512,	/* a round */
	FIND_TRIES = 100,	/* rounds */
	SETTLE_MS = 30,
	STILL_NS = 2000,	/* CLOCK_REALTIME against CLOCK_MONOTONIC: no step */
};

struct asked {
	uint32_t sequence;
	bool is_out;
	uint64_t ticks;
};

/* One way of a datagram; recorded when a window is open. */
struct way {
	uint64_t ticks;		/* own time */
	uint64_t peer_ns;
	uint64_t boot_id[2];
	uint32_t sequence;
	bool is_sent;
};

static struct {
	bool is_wanted, is_server;
	struct tp_clock_peer peer;
	struct tp_own_fd socket;
	int64_t shift_ns;
	uint64_t boot_id[2], nonce;
	uint32_t sequence, n_tries, n_rounds;
	struct asked asked[OUT_MAX];
	struct way kept[KEPT_MAX];
	uint32_t n_kept;
	struct tp_clock_anchor before, now;
	uint64_t settle_ns;	/* since when the window's rest is awaited; 0: not yet */
	uint64_t n_sent, n_answered, n_refused;
	uint64_t peer_name_of[2];
	uint32_t peer_name, generation;
} leader = {.socket = {.fd = -1}};

static const char *look_up(void *ctx, const char *name)
{
	return getenv(name);
}

/* ---- what is always known ---- */

/* NTP's own bound, -1 when it does not keep the clock, or may not be asked. */
static int64_t read_ntp(void)
{
	struct timex now = {.modes = 0};
	int state = tp_sandbox_allows(TP_SANDBOX_ADJTIME) ? adjtimex(&now) : -1;

	if (state < 0 || state == TIME_ERROR || now.status & STA_UNSYNC)
		return -1;
	return now.maxerror;
}

static int64_t read_shift(void)
{
	char text[256];
	ssize_t n = tp_file_read("/proc/self/timens_offsets", text, sizeof(text) - 1);
	const char *at;
	char *end;
	int64_t seconds;

	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, "monotonic");
	if (!at)
		return 0;
	seconds = strtoll(at + strlen("monotonic"), &end, 10);
	return seconds * 1000000000 + strtoll(end, NULL, 10);
}

static void note_fact(const char *key, int64_t value)
{
	char digits[24];
	struct tp_text text;

	tp_text_init(&text, digits, sizeof(digits));
	tp_text_i64(&text, value);
	tp_facts_add(key, digits);
}

/* ---- the socket ---- */

/* A call of own_table.h, as all that uses the socket: 0, or -errno. */
static int open_socket(void *unused)
{
	const struct sockaddr_in6 any6 = {.sin6_family = AF_INET6,
					  .sin6_port = htons(leader.peer.port)};
	const struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(leader.peer.port)};
	const int type = SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, on = 1, off = 0;
	int fd, err = -1;

	fd = socket(leader.is_server ? AF_INET6 : leader.peer.address.ss_family, type, 0);
	if (leader.is_server && fd >= 0) {
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
		err = bind(fd, (const struct sockaddr *)&any6, sizeof(any6));
	} else if (fd >= 0) {
		err = connect(fd, (const struct sockaddr *)&leader.peer.address,
			      leader.peer.n_address);
	}
	if (leader.is_server && err && (fd < 0 || errno != EADDRINUSE)) {
		if (fd >= 0)
			close(fd);
		fd = socket(AF_INET, type, 0);	/* there is no IPv6 */
		err = fd < 0 ? -1 : bind(fd, (const struct sockaddr *)&any, sizeof(any));
	}
	if (fd < 0 || err) {
		err = -errno;
		tp_probe_off("clock.sync", strerror(errno));
		if (fd >= 0)
			close(fd);
		return err;
	}
	setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
	return tp_own_fd_take(&leader.socket, fd);
}

/* True: there is somebody to talk to. */
static bool is_ready(void)
{
	if (leader.socket.fd >= 0)
		return tp_own_fd_is_ours(&leader.socket);
	if (!leader.is_server && !tp_clock_peer_find(&leader.peer)) {
		if (++leader.n_tries < FIND_TRIES)
			return false;
		tp_probe_off("clock.sync", "there is no connection to MASTER_PORT; give "
					   "ADDRESS:PORT of the first rank");
		leader.is_wanted = false;
		return false;
	}
	leader.is_wanted = !tp_own_table_call(open_socket, NULL);
	return leader.is_wanted;
}

/* ---- times ---- */

static uint64_t host_ns(uint64_t mono_ns)
{
	return mono_ns - (uint64_t)leader.shift_ns;
}

static int64_t real_offset(const struct tp_clock_anchor *anchor)
{
	return (int64_t)(anchor->real_ns - anchor->mono_ns);
}

/* When it arrived, on CLOCK_MONOTONIC; never earlier than it did. */
static uint64_t arrival_ns(struct msghdr *msg)
{
	int64_t moved = real_offset(&leader.now) - real_offset(&leader.before);
	struct timespec stamp;

	if (!leader.before.mono_ns || moved > STILL_NS || moved < -STILL_NS)
		return leader.now.mono_ns;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		uint64_t ns;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS)
			continue;
		memcpy(&stamp, CMSG_DATA(c), sizeof(stamp));
		ns = (uint64_t)stamp.tv_sec * 1000000000u + (uint64_t)stamp.tv_nsec -
		     (uint64_t)real_offset(&leader.now) + STILL_NS / 2;
		if (ns > leader.before.mono_ns && ns < leader.now.mono_ns)
			return ns;
	}
	return leader.now.mono_ns;
}

/* A time before now, in ticks; rather later than earlier. */
static uint64_t to_ticks(uint64_t mono_ns)
{
	const uint64_t *start = tp_ring.head->anchor;
	uint64_t ago = leader.now.mono_ns - mono_ns;

	if (!tp_clock_is_tsc)
		return mono_ns;
	if (leader.now.mono_ns <= start[1] || leader.now.ticks <= start[0])
		return leader.now.ticks;
	return leader.now.ticks - (uint64_t)((double)ago * (1 - 1e-6) *
					    ((double)(leader.now.ticks - start[0]) /
					     (double)(leader.now.mono_ns - start[1])));
}

/* ---- records ---- */

static void keep(const struct way *way)
{
	if (leader.n_kept == KEPT_MAX) {
		memmove(leader.kept, leader.kept + 1, (KEPT_MAX - 1) * sizeof(*way));
		leader.n_kept--;
	}
	leader.kept[leader.n_kept++] = *way;
}

static uint32_t name_of(const uint64_t boot_id[2])
{
	char buf[64];
	struct tp_text text;

	if (leader.peer_name && leader.generation == tp_ring.generation &&
	    !memcmp(leader.peer_name_of, boot_id, sizeof(leader.peer_name_of)))
		return leader.peer_name;
	tp_text_init(&text, buf, sizeof(buf));
	tp_text_str(&text, TP_CLOCK_PEER);
	for (int i = 0; i < 2; i++)
		for (int shift = 60; shift >= 0; shift -= 4)
			tp_text_char(&text, "0123456789abcdef"[boot_id[i] >> shift & 15]);
	memcpy(leader.peer_name_of, boot_id, sizeof(leader.peer_name_of));
	leader.generation = tp_ring.generation;
	leader.peer_name = tp_intern_text(buf);
	return leader.peer_name;
}

/* Into the window that is open, or was until `end`. */
static void record_kept(uint64_t time)
{
	for (uint32_t i = 0; i < leader.n_kept; i++) {
		const struct way *way = &leader.kept[i];
		uint32_t name = name_of(way->boot_id);
		struct tp_rec *rec;

		if (way->ticks > time || time - way->ticks > TP_LEN_MAX || !name)
			continue;
		rec = tp_ring_reserve();
		if (!rec)
			continue;
		*rec = (struct tp_rec){
			.time = time,
			.kind = TP_REC_EXCHANGE,
			.flags = way->is_sent ? TP_F_SENT : 0,
			.name = name,
			.link = way->sequence,
			.arg = way->peer_ns,
		};
		tp_rec_set_len(rec, time - way->ticks);
		tp_ring_commit();
	}
	leader.n_kept = 0;
}

/* ---- datagrams ---- */

static int ask(void *unused)
{
	struct tp_clock_message message = {
		.nonce = leader.nonce,
		.sequence = ++leader.sequence,
		.what = TP_CLOCK_ASK,
		.boot_id = {leader.boot_id[0], leader.boot_id[1]},
	};
	struct asked *asked = &leader.asked[message.sequence % OUT_MAX];

	*asked = (struct asked){.sequence = message.sequence, .is_out = true};
	asked->ticks = tp_clock_now();
	message.asked_ns = host_ns(tp_clock_mono_ns());
	tp_clock_message_seal(&message, leader.peer.key);
	if (!tp_own_fd_is_ours(&leader.socket) ||
	    send(leader.socket.fd, &message, sizeof(message), MSG_NOSIGNAL) < 0)
		asked->is_out = false;
	else
		leader.n_sent++;
	return 0;
}

static void take_answer(const struct tp_clock_message *message, uint64_t arrived_ns)
{
	struct asked *asked = &leader.asked[message->sequence % OUT_MAX];
	struct way way = {.boot_id = {message->boot_id[0], message->boot_id[1]},
			  .sequence = message->sequence};

	/* Of somebody else, or once more. */
	if (!asked->is_out || asked->sequence != message->sequence ||
	    message->nonce != leader.nonce || message->answered_ns < message->arrived_ns) {
		leader.n_refused++;
		return;
	}
	asked->is_out = false;
	leader.n_answered++;
	way.is_sent = true;
	way.ticks = asked->ticks;
	way.peer_ns = message->arrived_ns;
	keep(&way);
	way.is_sent = false;
	way.ticks = to_ticks(arrived_ns);
	way.peer_ns = message->answered_ns;
	keep(&way);
}

static void give_answer(struct tp_clock_message *message, uint64_t arrived_ns,
			const struct sockaddr_storage *to, socklen_t n_to)
{
	message->what = TP_CLOCK_ANSWER;
	message->arrived_ns = host_ns(arrived_ns);
	message->boot_id[0] = leader.boot_id[0];
	message->boot_id[1] = leader.boot_id[1];
	message->answered_ns = host_ns(tp_clock_mono_ns());
	tp_clock_message_seal(message, leader.peer.key);
	if (tp_own_fd_is_ours(&leader.socket) &&
	    sendto(leader.socket.fd, message, sizeof(*message), MSG_NOSIGNAL,
		   (const struct sockaddr *)to, n_to) > 0)
		leader.n_answered++;
}

/* All that has arrived. */
static int listen_to_all(void *unused)
{
	const uint32_t what = leader.is_server ? TP_CLOCK_ASK : TP_CLOCK_ANSWER;

	leader.before = leader.now;
	for (uint32_t i = 0; i < ANSWERS_MAX; i++) {
		struct tp_clock_message message;
		struct sockaddr_storage from;
		char control[128] __attribute__((aligned(8)));
		struct iovec part = {&message, sizeof(message)};
		struct msghdr msg = {.msg_name = &from, .msg_namelen = sizeof(from),
				     .msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
				     .msg_controllen = sizeof(control)};
		ssize_t n = tp_own_fd_is_ours(&leader.socket)
				    ? recvmsg(leader.socket.fd, &msg, MSG_DONTWAIT)
				    : -1;

		if (n < 0)
			break;
		tp_clock_take_anchor(&leader.now);
		if (!tp_clock_message_is_good(&message, (uint64_t)n, what, leader.peer.key) ||
		    msg.msg_flags & MSG_TRUNC)
			leader.n_refused++;
		else if (leader.is_server)
			give_answer(&message, arrival_ns(&msg), &from, msg.msg_namelen);
		else
			take_answer(&message, arrival_ns(&msg));
	}
	tp_clock_take_anchor(&leader.now);
	return 0;
}

static bool is_recording(void)
{
	return __atomic_load_n(&tp_ring.head->phase, __ATOMIC_RELAXED) == TP_PHASE_ACTIVE;
}

/* ---- the probe ---- */

static int open_sync(const struct tp_config *config)
{
	struct tp_rank rank;
	const char *why;

	leader.shift_ns = read_shift();
	if (leader.shift_ns)
		note_fact("clock.shift_ns", leader.shift_ns);
	note_fact("ntp.maxerror_us", read_ntp());
	leader.is_wanted = false;
	if (!strcmp(config->clock_sync, "off"))
		return 0;
	tp_rank_read(&rank, look_up, NULL);
	why = tp_clock_peer_read(&leader.peer, config->clock_sync, look_up, NULL);
	if (why) {
		tp_probe_off("clock.sync", why);
		return -EINVAL;
	}
	/* One of each node. */
	leader.is_server = rank.rank == 0;
	leader.is_wanted = rank.rank >= 0 && rank.local_rank <= 0;
	tp_process_boot_id(leader.boot_id);
	if (getrandom(&leader.nonce, sizeof(leader.nonce), GRND_NONBLOCK) != sizeof(leader.nonce))
		leader.nonce = tp_clock_real_ns();
	return 0;
}

static uint32_t get_period_ms(void)
{
	if (!leader.is_wanted || tp_session_is_follower())
		return 0;
	return leader.n_rounds < QUICK_ROUNDS ? QUICK_MS : SLOW_MS;
}

static void exchange(uint64_t now)
{
	if (!leader.is_wanted || !is_ready())
		return;
	if (tp_clock_mono_ns() - leader.now.mono_ns > NEW_WINDOW_MS * 1000000ull)
		leader.n_rounds = 0;
	leader.settle_ns = 0;
	leader.n_rounds++;
	tp_own_table_call(listen_to_all, NULL);
	if (is_recording())
		record_kept(tp_clock_now());
	if (!leader.is_server) {
		tp_own_table_call(ask, NULL);
		tp_own_table_call(ask, NULL);
	}
}

/* Answers to what was asked in the window may still come. */
static bool settle(uint64_t end, bool is_closing)
{
	uint64_t now_ns = tp_clock_mono_ns();

	if (!leader.is_wanted || leader.socket.fd < 0 || !tp_own_fd_is_ours(&leader.socket))
		return true;
	if (!leader.settle_ns)
		leader.settle_ns = now_ns;
	tp_own_table_call(listen_to_all, NULL);
	if (!is_closing && now_ns - leader.settle_ns < SETTLE_MS * 1000000ull)
		return false;
	record_kept(end);
	leader.settle_ns = 0;
	return true;
}

static void report(struct tp_text *totals)
{
	tp_text_fmt(totals, "ntp.maxerror_us=");
	tp_text_i64(totals, read_ntp());
	tp_text_char(totals, '\n');
	if (leader.is_wanted)
		tp_text_fmt(totals, "clock.asked=%lu\nclock.answered=%lu\nclock.refused=%lu\n",
			    leader.n_sent, leader.n_answered, leader.n_refused);
}

static void forget_parent(void)
{
	tp_own_fd_close(&leader.socket);
	leader.is_wanted = false;
	leader.n_kept = 0;
}

static void close_sync(void)
{
	tp_own_fd_close(&leader.socket);
}

const struct tp_probe tp_clock_sync_probe = {
	.name = "clock",
	.open = open_sync,
	.period_ms = get_period_ms,
	.tick = exchange,
	.settle = settle,
	.report = report,
	.forked = forget_parent,
	.close = close_sync,
};
