/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.c - columns as a stream of Arrow's C interface, nothing copied
 *
 * A consumer may take a child out of its parent and release it later, so each has what it needs in
 * memory of its own. Where memory is out here, ENOMEM is handed back as the interface has it.
 */
#include "merge/arrow/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- schema ---- */

struct schema_rest {
	char format[2];
	char metadata[512];
};

static void release_schema(struct ArrowSchema *schema)
{
	for (int64_t i = 0; i < schema->n_children; i++) {
		if (schema->children[i]->release)
			schema->children[i]->release(schema->children[i]);
		free(schema->children[i]);
	}
	free(schema->children);
	if (schema->dictionary && schema->dictionary->release)
		schema->dictionary->release(schema->dictionary);
	free(schema->dictionary);
	free(schema->private_data);
	schema->release = NULL;
}

static char *put_word(char *at, const char *word)
{
	int32_t n = (int32_t)strnlen(word, 200);

	memcpy(at, &n, sizeof(n));
	memcpy(at + sizeof(n), word, (size_t)n);
	return at + sizeof(n) + n;
}

/* Pairs of words: how many, then each with its length before it. */
static void put_metadata(char *at, const char *key, const char *value, const char *help)
{
	const int32_t n = 2;

	memcpy(at, &n, sizeof(n));
	at = put_word(put_word(at + sizeof(n), key), value);
	put_word(put_word(at, "help"), help);
}

static int begin_schema(struct ArrowSchema *schema, const char *name, char format)
{
	struct schema_rest *rest = calloc(1, sizeof(*rest));

	if (!rest)
		return ENOMEM;
	rest->format[0] = format;
	*schema = (struct ArrowSchema){.format = format ? rest->format : "+s", .name = name,
				       .metadata = rest->metadata,
				       .flags = format ? ARROW_FLAG_NULLABLE : 0,
				       .release = release_schema, .private_data = rest};
	return 0;
}

/* Of texts: what the numbers stand for. */
static int add_dictionary(struct ArrowSchema *schema)
{
	struct ArrowSchema *words = calloc(1, sizeof(*words));

	if (words && !begin_schema(words, "", 'u')) {
		words->metadata = NULL;
		schema->dictionary = words;
		return 0;
	}
	free(words);
	return ENOMEM;
}

static int add_field(struct ArrowSchema *schema, const struct tp_column *column)
{
	struct ArrowSchema *child = calloc(1, sizeof(*child));

	if (!child)
		return ENOMEM;
	if (begin_schema(child, column->field, (char)tp_columns_type(column))) {
		free(child);
		return ENOMEM;
	}
	put_metadata(((struct schema_rest *)child->private_data)->metadata, "unit",
		     tp_unit_name(column->unit), column->help ? column->help : "");
	schema->children[schema->n_children++] = child;
	return tp_columns_type(column) == TP_COLUMNS_WORDS ? add_dictionary(child) : 0;
}

static int fill_schema(struct ArrowSchema *schema, const struct tp_columns *columns)
{
	if (begin_schema(schema, "", 0))
		return ENOMEM;
	put_metadata(((struct schema_rest *)schema->private_data)->metadata, "table", columns->def->name,
		     columns->def->help);
	schema->children = calloc(columns->n_columns, sizeof(struct ArrowSchema *));
	for (uint32_t c = 0; c < columns->n_columns; c++) {
		if (!schema->children || add_field(schema, &columns->column[c])) {
			release_schema(schema);
			return ENOMEM;
		}
	}
	return 0;
}

/* ---- arrays ---- */

struct array_rest {
	struct tp_columns *columns;
	const void *buffer[3];
};

static void release_array(struct ArrowArray *array)
{
	struct array_rest *rest = array->private_data;

	for (int64_t i = 0; i < array->n_children; i++) {
		if (array->children[i]->release)
			array->children[i]->release(array->children[i]);
		free(array->children[i]);
	}
	free(array->children);
	if (array->dictionary && array->dictionary->release)
		array->dictionary->release(array->dictionary);
	free(array->dictionary);
	tp_columns_let_go(rest->columns);
	free(rest);
	array->release = NULL;
}

static int begin_array(struct ArrowArray *array, struct tp_columns *columns, uint32_t n_rows)
{
	struct array_rest *rest = calloc(1, sizeof(*rest));

	if (!rest)
		return ENOMEM;
	tp_columns_hold(columns);
	rest->columns = columns;
	*array = (struct ArrowArray){.length = n_rows, .n_buffers = 1, .buffers = rest->buffer,
				     .release = release_array, .private_data = rest};
	return 0;
}

static int add_words(struct ArrowArray *array, struct tp_columns *columns, const struct tp_words *words)
{
	static const int32_t none;
	struct ArrowArray *dictionary = calloc(1, sizeof(*dictionary));
	struct array_rest *rest;

	if (!dictionary)
		return ENOMEM;
	if (begin_array(dictionary, columns, words->n)) {
		free(dictionary);
		return ENOMEM;
	}
	rest = dictionary->private_data;
	rest->buffer[1] = words->end ? words->end : &none;
	rest->buffer[2] = words->text ? words->text : "";
	dictionary->n_buffers = 3;
	array->dictionary = dictionary;
	return 0;
}

static int add_values(struct ArrowArray *array, struct tp_columns *columns,
		      const struct tp_columns_batch *batch, uint32_t at)
{
	const struct tp_columns_values *value = &batch->value[at];
	struct ArrowArray *child = calloc(1, sizeof(*child));
	struct array_rest *rest;

	if (!child)
		return ENOMEM;
	if (begin_array(child, columns, batch->n_rows)) {
		free(child);
		return ENOMEM;
	}
	rest = child->private_data;
	rest->buffer[0] = value->n_null ? value->valid : NULL;
	rest->buffer[1] = value->values;
	child->n_buffers = 2;
	child->null_count = value->n_null;
	array->children[array->n_children++] = child;
	return tp_columns_type(&columns->column[at]) == TP_COLUMNS_WORDS ?
		       add_words(child, columns, &columns->words[at]) : 0;
}

static int fill_array(struct ArrowArray *array, struct tp_columns *columns,
		      const struct tp_columns_batch *batch)
{
	if (begin_array(array, columns, batch->n_rows))
		return ENOMEM;
	array->children = calloc(columns->n_columns, sizeof(struct ArrowArray *));
	for (uint32_t c = 0; c < columns->n_columns; c++) {
		if (!array->children || add_values(array, columns, batch, c)) {
			release_array(array);
			return ENOMEM;
		}
	}
	return 0;
}

/* ---- the stream ---- */

struct stream_rest {
	struct tp_columns *columns;
	uint32_t at;		/* the batch that comes next */
	const char *error;
};

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *schema)
{
	struct stream_rest *rest = stream->private_data;
	int err = fill_schema(schema, rest->columns);

	rest->error = err ? "out of memory" : NULL;
	return err;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *array)
{
	struct stream_rest *rest = stream->private_data;
	int err;

	*array = (struct ArrowArray){.release = NULL};
	if (rest->at == rest->columns->n_batches)
		return 0;
	err = fill_array(array, rest->columns, rest->columns->batch[rest->at]);
	rest->at += !err;
	rest->error = err ? "out of memory" : NULL;
	return err;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
	return ((struct stream_rest *)stream->private_data)->error;
}

static void release_stream(struct ArrowArrayStream *stream)
{
	struct stream_rest *rest = stream->private_data;

	tp_columns_let_go(rest->columns);
	free(rest);
	stream->release = NULL;
}

int tp_arrow_stream(struct ArrowArrayStream *stream, struct tp_columns *columns)
{
	struct stream_rest *rest = calloc(1, sizeof(*rest));

	if (!rest)
		return ENOMEM;
	tp_columns_hold(columns);
	rest->columns = columns;
	*stream = (struct ArrowArrayStream){.get_schema = get_schema, .get_next = get_next,
					    .get_last_error = get_last_error,
					    .release = release_stream, .private_data = rest};
	return 0;
}
