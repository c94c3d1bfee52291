/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.c - batches as a stream of Arrow's C interface, nothing copied
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
	if (begin_schema(child, column->field, (char)tp_batch_type(column->unit))) {
		free(child);
		return ENOMEM;
	}
	put_metadata(((struct schema_rest *)child->private_data)->metadata, "unit",
		     tp_unit_name(column->unit), column->help ? column->help : "");
	schema->children[schema->n_children++] = child;
	return tp_batch_type(column->unit) == TP_BATCH_WORDS ? add_dictionary(child) : 0;
}

static int fill_schema(struct ArrowSchema *schema, const struct tp_shape *shape)
{
	if (begin_schema(schema, "", 0))
		return ENOMEM;
	put_metadata(((struct schema_rest *)schema->private_data)->metadata, "table", shape->name,
		     shape->help);
	schema->children = calloc(shape->n_picked, sizeof(struct ArrowSchema *));
	for (uint32_t i = 0; i < shape->n_picked; i++) {
		if (!schema->children || add_field(schema, &shape->column[shape->picked[i]])) {
			release_schema(schema);
			return ENOMEM;
		}
	}
	return 0;
}

/* ---- arrays ---- */

struct array_rest {
	struct tp_batch *batch;
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
	tp_batch_let_go(rest->batch);
	free(rest);
	array->release = NULL;
}

static int begin_array(struct ArrowArray *array, struct tp_batch *batch, uint32_t n_rows)
{
	struct array_rest *rest = calloc(1, sizeof(*rest));

	if (!rest)
		return ENOMEM;
	tp_batch_hold(batch);
	rest->batch = batch;
	*array = (struct ArrowArray){.length = n_rows, .n_buffers = 1, .buffers = rest->buffer,
				     .release = release_array, .private_data = rest};
	return 0;
}

static int add_words(struct ArrowArray *array, struct tp_batch *batch, const struct tp_words_kept *words)
{
	struct ArrowArray *dictionary = calloc(1, sizeof(*dictionary));
	struct array_rest *rest;

	if (!dictionary)
		return ENOMEM;
	if (begin_array(dictionary, batch, words->n)) {
		free(dictionary);
		return ENOMEM;
	}
	rest = dictionary->private_data;
	rest->buffer[1] = words->end;
	rest->buffer[2] = words->text;
	dictionary->n_buffers = 3;
	array->dictionary = dictionary;
	return 0;
}

static int add_values(struct ArrowArray *array, struct tp_batch *batch, const struct tp_cells *cells)
{
	struct ArrowArray *child = calloc(1, sizeof(*child));
	struct array_rest *rest;

	if (!child)
		return ENOMEM;
	if (begin_array(child, batch, batch->n_rows)) {
		free(child);
		return ENOMEM;
	}
	rest = child->private_data;
	rest->buffer[0] = cells->n_null ? cells->valid : NULL;
	rest->buffer[1] = cells->values;
	child->n_buffers = 2;
	child->null_count = cells->n_null;
	array->children[array->n_children++] = child;
	return cells->words ? add_words(child, batch, cells->words) : 0;
}

static int fill_array(struct ArrowArray *array, const struct tp_shape *shape, struct tp_batch *batch)
{
	if (begin_array(array, batch, batch->n_rows))
		return ENOMEM;
	array->children = calloc(shape->n_picked, sizeof(struct ArrowArray *));
	for (uint32_t i = 0; i < shape->n_picked; i++) {
		if (!array->children || add_values(array, batch, &batch->cells[shape->picked[i]])) {
			release_array(array);
			return ENOMEM;
		}
	}
	return 0;
}

/* ---- the stream ---- */

struct stream_rest {
	struct tp_source *source;
	const char *error;
};

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *schema)
{
	struct stream_rest *rest = stream->private_data;
	int err = fill_schema(schema, &rest->source->shape);

	rest->error = err ? "out of memory" : NULL;
	return err;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *array)
{
	struct stream_rest *rest = stream->private_data;
	struct tp_batch *batch;
	int err = 0;

	*array = (struct ArrowArray){.release = NULL};
	rest->error = NULL;
	batch = rest->source->next(rest->source, &err, &rest->error);
	if (!batch)
		return err;
	err = fill_array(array, &rest->source->shape, batch);
	tp_batch_let_go(batch);
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

	rest->source->free(rest->source);
	free(rest);
	stream->release = NULL;
}

int tp_arrow_stream(struct ArrowArrayStream *stream, struct tp_source *source)
{
	struct stream_rest *rest = calloc(1, sizeof(*rest));

	if (!rest) {
		source->free(source);
		return ENOMEM;
	}
	rest->source = source;
	*stream = (struct ArrowArrayStream){.get_schema = get_schema, .get_next = get_next,
					    .get_last_error = get_last_error,
					    .release = release_stream, .private_data = rest};
	return 0;
}
