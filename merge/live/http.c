/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.c - a page for a scraper: a listening socket, a few connections, one loop of poll(2)
 */
#include "merge/live/http.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "merge/kit/say.h"
#include "runtime/base/clock.h"

enum {
	CONNECTIONS = 16,	/* more wait in the kernel's queue */
	REQUEST_BYTES = 4096,
	PATIENCE_S = 5,
};

struct connection {
	int fd;				/* -1: free */
	uint64_t end_ns;		/* of our patience */
	char request[REQUEST_BYTES];
	size_t n_request;
	char *answer;			/* NULL: the request is not whole yet */
	size_t n_answer, n_sent;
};

struct tp_http {
	int fd;
	char *text;
	size_t n_text;
	struct connection connection[CONNECTIONS];
};

/* ---- the socket ---- */

static int listen_at(const struct addrinfo *address)
{
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int on = 1, off = 0;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	/* IPv4, too, where it is all addresses. */
	if (address->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, address->ai_addr, address->ai_addrlen) < 0 || listen(fd, CONNECTIONS) < 0) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

/* Descriptor, or negative with the reason in *why. */
static int open_socket(const char *where, const char **why)
{
	const struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
				       .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	const char *colon = strrchr(where, ':');
	struct addrinfo *list = NULL;
	char host[256];
	int err, fd = -EADDRNOTAVAIL;

	snprintf(host, sizeof(host), "%.*s", (int)(colon - where), where);
	err = getaddrinfo(host[0] ? host : NULL, colon + 1, &hints, &list);
	*why = err ? gai_strerror(err) : NULL;
	/* All addresses: the one of IPv6 has those of IPv4. */
	for (int family = AF_INET6; !err && fd < 0; family = AF_INET) {
		for (const struct addrinfo *at = list; at && fd < 0; at = at->ai_next)
			if (at->ai_family == family)
				fd = listen_at(at);
		if (family == AF_INET)
			break;
	}
	if (list)
		freeaddrinfo(list);
	if (!*why && fd < 0)
		*why = strerror(-fd);
	return fd;
}

struct tp_http *tp_http_open(const char *where)
{
	struct tp_http *http = calloc(1, sizeof(*http));
	const char *why = strerror(ENOMEM);

	for (int i = 0; http && i < CONNECTIONS; i++)
		http->connection[i].fd = -1;
	if (http)
		http->fd = open_socket(where, &why);
	if (!http || http->fd < 0) {
		tp_say("cannot listen at '%s': %s", where, why);
		free(http);
		return NULL;
	}
	return http;
}

static void end_connection(struct connection *connection)
{
	close(connection->fd);
	free(connection->answer);
	*connection = (struct connection){.fd = -1};
}

void tp_http_close(struct tp_http *http)
{
	if (!http)
		return;
	for (int i = 0; i < CONNECTIONS; i++)
		if (http->connection[i].fd >= 0)
			end_connection(&http->connection[i]);
	close(http->fd);
	free(http->text);
	free(http);
}

void tp_http_set(struct tp_http *http, char *text, size_t n)
{
	free(http->text);
	http->text = text;
	http->n_text = n;
}

/* ---- connections ---- */

static bool is_request(const char *request, const char *method)
{
	size_t n = strlen(method);

	return !strncmp(request, method, n) &&
	       (!strncmp(request + n, " / ", 3) || !strncmp(request + n, " /metrics ", 10) ||
		!strncmp(request + n, " /metrics?", 10));
}

/* The request is whole. */
static void make_answer(const struct tp_http *http, struct connection *connection)
{
	bool is_head = is_request(connection->request, "HEAD");
	bool is_found = is_head || is_request(connection->request, "GET");
	const char *text = is_found && http->text ? http->text : "only GET /metrics\n";
	size_t n = is_found && http->text ? http->n_text : strlen(text);
	FILE *file = open_memstream(&connection->answer, &connection->n_answer);

	if (!file)
		return;
	fprintf(file, "HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
		"Content-Length: %zu\r\nConnection: close\r\n\r\n",
		is_found ? "200 OK" : "404 Not Found", n);
	if (!is_head)
		fwrite(text, 1, n, file);
	fclose(file);
}

/* False: the connection is over. */
static bool read_request(const struct tp_http *http, struct connection *connection)
{
	ssize_t n = recv(connection->fd, connection->request + connection->n_request,
			 REQUEST_BYTES - 1 - connection->n_request, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0)
		return false;
	connection->n_request += (size_t)n;
	connection->request[connection->n_request] = '\0';
	if (strstr(connection->request, "\r\n\r\n") || strstr(connection->request, "\n\n")) {
		make_answer(http, connection);
		return connection->answer != NULL;
	}
	return connection->n_request < REQUEST_BYTES - 1;
}

static bool send_answer(struct connection *connection)
{
	ssize_t n = send(connection->fd, connection->answer + connection->n_sent,
			 connection->n_answer - connection->n_sent, MSG_NOSIGNAL);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	connection->n_sent += (size_t)n;
	return connection->n_sent < connection->n_answer;
}

static void take_connection(struct tp_http *http)
{
	for (int i = 0; i < CONNECTIONS; i++) {
		struct connection *connection = &http->connection[i];

		if (connection->fd >= 0)
			continue;
		connection->fd = accept4(http->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		connection->end_ns = tp_clock_mono_ns() + PATIENCE_S * 1000000000ull;
		return;
	}
}

static bool has_room(const struct tp_http *http)
{
	for (int i = 0; i < CONNECTIONS; i++)
		if (http->connection[i].fd < 0)
			return true;
	return false;
}

static void serve_connections(struct tp_http *http, const struct pollfd *polled)
{
	for (int i = 0; i < CONNECTIONS; i++) {
		struct connection *connection = &http->connection[i];
		bool goes_on = true;

		if (connection->fd < 0)
			continue;
		if (polled[i].revents)
			goes_on = connection->answer ? send_answer(connection)
						     : read_request(http, connection);
		if (!goes_on || tp_clock_mono_ns() > connection->end_ns)
			end_connection(connection);
	}
}

void tp_http_serve(struct tp_http *http, uint64_t until_ns)
{
	for (uint64_t now; (now = tp_clock_mono_ns()) < until_ns;) {
		struct pollfd polled[CONNECTIONS + 1];
		int ms = (int)((until_ns - now) / 1000000 + 1);

		for (int i = 0; i < CONNECTIONS; i++) {
			const struct connection *of = http ? &http->connection[i] : NULL;

			polled[i] = (struct pollfd){of ? of->fd : -1,
						    of && of->answer ? POLLOUT : POLLIN, 0};
		}
		polled[CONNECTIONS] = (struct pollfd){http && has_room(http) ? http->fd : -1, POLLIN, 0};
		if (poll(polled, CONNECTIONS + 1, ms) < 0)
			return;
		if (!http)
			continue;
		serve_connections(http, polled);
		if (polled[CONNECTIONS].revents)
			take_connection(http);
	}
}
