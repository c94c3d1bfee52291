/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal.c - lines of the journal, in the file and in memory
 */
#include "merge/live/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "merge/kit/grow.h"
#include "merge/kit/say.h"
#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "runtime/base/hash.h"
#include "runtime/base/text.h"

static const char file_name[] = "watch.journal";
static const char *const words[TP_JOURNAL_WORDS] = {
	[TP_JOURNAL_MERGED] = "merged", [TP_JOURNAL_FAILED] = "failed",
	[TP_JOURNAL_DELIVERED] = "delivered", [TP_JOURNAL_REMOVED] = "removed",
};
enum { LINE_BYTES = 1024, LOOK_NS = 100000000 };

/* A name as one word of a line: others become %XX. Names that are too long are cut, like the line. */
static const char *escape(char word[LINE_BYTES], const char *name)
{
	struct tp_text out;

	tp_text_init(&out, word, LINE_BYTES);
	for (; *name; name++) {
		if ((unsigned char)*name > ' ' && *name != '%' && *name != 0x7f)
			tp_text_char(&out, *name);
		else
			tp_text_fmt(&out, "%%%02x", (unsigned char)*name);
	}
	return word;
}

static uint32_t hash_of(const char *text)
{
	return tp_keyed_hash(tp_hash_bytes(text, strlen(text), 0));
}

static bool is_known(const struct tp_journal *journal, const char *text)
{
	uint32_t hash = hash_of(text), at, row;

	for (row = tp_keyed_first(&journal->known, hash, &at); row != TP_NO_KEYED;
	     row = tp_keyed_next(&journal->known, hash, &at))
		if (!strcmp(journal->name[row], text))
			return true;
	return false;
}

/* Out of memory: what was done may be done again, under the same name. */
static void remember(struct tp_journal *journal, const char *text)
{
	char *copy;

	if (is_known(journal, text) ||
	    !tp_grow(&journal->name, &journal->cap, journal->n_names + 1ull, sizeof(*journal->name)))
		return;
	copy = strdup(text);
	if (copy && tp_keyed_add(&journal->known, hash_of(copy), journal->n_names))
		journal->name[journal->n_names++] = copy;
	else
		free(copy);
}

/* "WORD NAME" is what counts of a line. */
static void take_line(struct tp_journal *journal, char *line)
{
	size_t n_word = strcspn(line, " "), n_name;

	for (uint32_t word = 0; word < TP_JOURNAL_WORDS; word++) {
		if (strlen(words[word]) != n_word || memcmp(line, words[word], n_word) ||
		    line[n_word] != ' ')
			continue;
		n_name = strcspn(line + n_word + 1, " ");
		line[n_word + 1 + n_name] = '\0';
		journal->n[word]++;
		remember(journal, line);
	}
}

static int read_lines(struct tp_journal *journal)
{
	FILE *file = fdopen(dup(journal->fd), "re");
	char line[LINE_BYTES];

	if (!file)
		return -errno;
	rewind(file);
	while (fgets(line, sizeof(line), file)) {
		size_t n = strlen(line);

		/* Cut by a kill; of a line that is none the rest is passed over, too. */
		if (line[n - 1] != '\n')
			break;
		journal->n_bytes += n;
		line[n - 1] = '\0';
		take_line(journal, line);
	}
	fclose(file);
	return ftruncate(journal->fd, (off_t)journal->n_bytes) < 0 ? -errno : 0;
}

static int lock_soon(int fd, uint32_t wait_s)
{
	uint64_t end_ns = tp_clock_mono_ns() + wait_s * 1000000000ull;

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (tp_clock_mono_ns() > end_ns)
			return -EWOULDBLOCK;
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
	}
	return 0;
}

bool tp_journal_open(struct tp_journal *journal, int dir, const char *shown, uint32_t wait_s)
{
	int err = 0;

	*journal = (struct tp_journal){0};
	journal->fd = tp_file_open_at(dir, file_name, O_RDWR | O_CREAT | O_NOFOLLOW, 0644);
	if (journal->fd < 0)
		err = journal->fd;
	if (!err)
		err = lock_soon(journal->fd, wait_s);
	if (err == -EWOULDBLOCK) {
		tp_say("'%s' is watched already, by another trainprof-merge --watch", shown);
	} else {
		if (!err)
			err = read_lines(journal);
		if (err)
			tp_say("cannot write '%s/%s': %s", shown, file_name, tp_file_error(err));
	}
	if (err)
		tp_journal_close(journal);
	return !err;
}

void tp_journal_close(struct tp_journal *journal)
{
	for (uint32_t i = 0; i < journal->n_names; i++)
		free(journal->name[i]);
	free(journal->name);
	tp_keyed_free(&journal->known);
	if (journal->fd >= 0)
		close(journal->fd);
	journal->fd = -1;
}

bool tp_journal_has(const struct tp_journal *journal, enum tp_journal_word word, const char *name)
{
	char text[2 * LINE_BYTES], escaped[LINE_BYTES];

	snprintf(text, sizeof(text), "%s %s", words[word], escape(escaped, name));
	return is_known(journal, text);
}

bool tp_journal_note(struct tp_journal *journal, enum tp_journal_word word, const char *name,
		     const char *text)
{
	char line[LINE_BYTES], escaped[LINE_BYTES];
	int n = snprintf(line, sizeof(line), "%s %s%s%s\n", words[word], escape(escaped, name),
			 *text ? " " : "", text);
	int err;

	if (n >= (int)sizeof(line))
		return false;
	err = lseek(journal->fd, (off_t)journal->n_bytes, SEEK_SET) < 0
		      ? -errno
		      : tp_file_write_all(journal->fd, line, (size_t)n);
	if (!err && fdatasync(journal->fd) < 0 && errno != EINVAL && errno != EROFS)
		err = -errno;
	if (err) {
		tp_say("cannot write '%s': %s", file_name, tp_file_error(err));
		return false;
	}
	journal->n_bytes += (uint64_t)n;
	line[n - 1] = '\0';
	take_line(journal, line);
	return true;
}
