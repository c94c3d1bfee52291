/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trainprof_read.h - what a training recorded, as tables of Arrow (libtrainprof-read.so)
 *
 *	char error[512];
 *	const char *path = "trainprof-run";
 *	struct trainprof_run *run = trainprof_open(&path, 1, NULL, error, sizeof(error));
 *	struct ArrowArrayStream stream;
 *
 *	if (!run || trainprof_table(run, "kernels", "name,dur_ns", &stream, error, sizeof(error)))
 *		...say error...
 *
 * Streams are those of Arrow's C stream interface: DuckDB, Polars, pyarrow and others take one as it
 * is. trainprof-read(3) has the tables. Nothing here prints, ends the program or changes the run's
 * files. Any number of runs may be open, in any threads; one call works at a time.
 */
#ifndef TRAINPROF_READ_H
#define TRAINPROF_READ_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Arrow's C data and stream interfaces, as their specification has them. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
	const char *format, *name, *metadata;
	int64_t flags, n_children;
	struct ArrowSchema **children, *dictionary;
	void (*release)(struct ArrowSchema *);
	void *private_data;
};

struct ArrowArray {
	int64_t length, null_count, offset, n_buffers, n_children;
	const void **buffers;
	struct ArrowArray **children, *dictionary;
	void (*release)(struct ArrowArray *);
	void *private_data;
};
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
	int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
	int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
	const char *(*get_last_error)(struct ArrowArrayStream *);
	void (*release)(struct ArrowArrayStream *);
	void *private_data;
};
#endif

struct trainprof_run;

/* Which part of a run, as of trainprof-merge's options: "0,2,5-7"; NULL: all. */
struct trainprof_choice {
	const char *ranks, *windows, *steps;
};

/* The table at `at` of those that there are, whatever the run; ends with a name of NULL. */
struct trainprof_about {
	const char *name;
	const char *view;	/* of trainprof-merge that shows it; "": of this library only */
	const char *help;	/* one line */
};
struct trainprof_about trainprof_about(uint32_t at);

/* Paths as of trainprof-merge: folders and files. chosen may be NULL. NULL: nothing usable, `error` says
 * why and names the file. */
struct trainprof_run *trainprof_open(const char *const *path, uint32_t n_paths,
				     const struct trainprof_choice *chosen, char *error, size_t error_bytes);
/* Streams that were got before may still be read. NULL: nothing. */
void trainprof_close(struct trainprof_run *run);

/*
 * Fills *stream, which the caller releases. columns: "name,dur_ns", in that order; NULL: all. 0, or an
 * errno with its reason in `error`: ENOENT, no such table or column; ENOMEM; EIO.
 * Tables of views are read now, all of a view together, and kept. Those of this library are read while
 * the stream is: memory is that of a batch and of what the table needs to know, and each stream reads
 * the files again; a column that is not asked for is not made.
 */
int trainprof_table(struct trainprof_run *run, const char *name, const char *columns,
		    struct ArrowArrayStream *stream, char *error, size_t error_bytes);

/* What trainprof-merge -v VIEW prints, for the caller to free(). NULL: as above, reason in `error`. */
char *trainprof_text(struct trainprof_run *run, const char *view, char *error, size_t error_bytes);

#ifdef __cplusplus
}
#endif

#endif
