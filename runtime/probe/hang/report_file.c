/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_file.c - writes and reads small files of text in the run folder
 */
#include "runtime/probe/hang/report_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/begins.h"
#include "runtime/base/folder.h"
#include "runtime/base/open.h"
#include "runtime/base/own_table.h"
#include "runtime/engine/ring/ring.h"

void tp_report_file_name(uint32_t n, const char *suffix, char path[TP_REPORT_PATH])
{
	const char *ledger = tp_ring.head->ledger_path;
	const char *slash = strrchr(ledger, '/'), *dot = strrchr(ledger, '.');
	struct tp_text text;

	tp_text_init(&text, path, TP_REPORT_PATH);
	tp_text_bytes(&text, ledger,
		      dot && (!slash || dot > slash) ? (size_t)(dot - ledger) : strlen(ledger));
	tp_text_fmt(&text, ".%u", tp_ring.head->pid);
	if (n > 1)
		tp_text_fmt(&text, ".%u", n);
	tp_text_str(&text, suffix);
}

int tp_report_file_write(const char *path, const struct tp_text *text)
{
	char draft[TP_REPORT_PATH + 8];
	struct iovec part = {text->buf, text->len};
	struct tp_own_fd file;
	struct tp_text name;
	int err, close_err;

	tp_text_init(&name, draft, sizeof(draft));
	tp_text_fmt(&name, "%s.new", path);
	tp_folder_unlink(tp_ring.folder, draft, NULL);
	err = tp_folder_create(tp_ring.folder, draft, O_WRONLY, 0644, &file);
	if (err)
		return err;
	err = tp_own_fd_write(&file, &part, 1, 0);
	close_err = tp_own_fd_close(&file);
	err = err ? err : close_err;
	if (!err)
		err = tp_folder_rename(tp_ring.folder, draft, path);
	if (err)
		tp_folder_unlink(tp_ring.folder, draft, NULL);
	return err;
}

void tp_report_file_remove(const char *path)
{
	tp_folder_unlink(tp_ring.folder, path, NULL);
}

/* ---- the others ---- */

static struct {
	struct tp_hang hang[TP_REPORT_PEERS];
	uint32_t n;
	uint64_t since_real_ns;
	char text[TP_REPORT_HEAD_MAX];
} peers;

static void read_peer(int folder, const char *name)
{
	struct tp_hang *hang = &peers.hang[peers.n];
	ssize_t n;
	int fd;

	if (peers.n == TP_REPORT_PEERS || !tp_ends(name, TP_HANG_SUFFIX))
		return;
	fd = tp_file_open_at(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd < 0)
		return;
	n = pread(fd, peers.text, sizeof(peers.text), 0);
	close(fd);
	if (n > 0 && tp_hang_parse(peers.text, (size_t)n, hang) && hang->real_ns >= peers.since_real_ns)
		peers.n++;
}

static int read_folder(void *arg)
{
	char entries[4096] __attribute__((aligned(16)));
	const struct tp_folder *folder = arg;
	ssize_t n;
	int fd = tp_file_open_at(folder->own.fd, ".", O_RDONLY | O_DIRECTORY, 0);

	while (fd >= 0 && (n = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *entry = (const void *)(entries + at);

			at += entry->d_reclen;
			read_peer(fd, entry->d_name);
		}
	}
	if (fd >= 0)
		close(fd);
	return 0;
}

uint32_t tp_report_file_peers(uint64_t since_real_ns, const struct tp_hang **peer)
{
	peers.n = 0;
	peers.since_real_ns = since_real_ns;
	*peer = peers.hang;
	if (tp_ring.folder && tp_own_fd_is_ours(&tp_ring.folder->own))
		tp_own_table_call(read_folder, (void *)(uintptr_t)tp_ring.folder);
	return peers.n;
}
