/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * accuracy-dump DB: the samples and edges of the last epoch as JSON, for the harness: an array of
 * {"image", "path", "event", "period", "samples": [[offset, count], ...]} and the same with
 * "edges": [[from, to, count, windows, image of to where it is another], ...], null for
 * DB_EDGE_START and DB_EDGE_END; and with "paths": [[function, [block, ...], end, to, count]]. An
 * image comes in many parts, and an offset in any of them. Facts are {"fact", "value"}, counters of
 * no event {"counter", "value"}.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/paths.h"
#include "db/reader.h"

struct dump {
	bool any;
};

static void print_text(const char *text, size_t size)
{
	putchar('"');
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

/* A profile is shown several times, so images repeat: one array of parts. */
static void print_head(struct dump *d, const struct db_profile *p)
{
	char id[IMAGE_ID_TEXT_MAX];

	image_id_format(p->image, id);
	printf("%s\n{\"image\":\"%s\",\"path\":", d->any ? "," : "", id);
	print_text(p->image_path, p->image_path_size);
	printf(",\"event\":");
	print_text(p->event->name, strlen(p->event->name));
	printf(",\"period\":%" PRIu64, p->event->period);
	d->any = true;
}

static int print_rows(void *arg, const struct db_profile *p, const uint64_t *offsets,
		      const uint64_t *counts, size_t n)
{
	print_head(arg, p);
	printf(",\"samples\":[");
	for (size_t i = 0; i < n; i++)
		printf("%s[%" PRIu64 ",%" PRIu64 "]", i ? "," : "", offsets[i], counts[i]);
	printf("]}");
	return 0;
}

static void print_offset(uint64_t offset)
{
	if (offset == DB_EDGE_START)
		printf("null");
	else
		printf("%" PRIu64, offset);
}

static int print_edge(void *arg, const char *epoch, const void *item)
{
	const struct db_edge_item *e = item;
	const struct db_profile p = {.image = e->image,
				     .image_path = e->path.data,
				     .image_path_size = e->path.size,
				     .event = e->event};
	char id[IMAGE_ID_TEXT_MAX];

	(void)epoch;
	print_head(arg, &p);
	printf(",\"edges\":[[");
	print_offset(e->from);
	putchar(',');
	print_offset(e->to);
	printf(",%" PRIu64 ",%" PRIu64, e->count, e->windows);
	image_id_format(e->to_image, id);
	if (memcmp(e->to_image, e->image, sizeof(*e->image)) != 0)
		printf(",\"%s\"", id);
	printf("]]}");
	return 0;
}

static int print_path(void *arg, const char *epoch, const void *item)
{
	const struct db_path_item *p = item;
	const struct db_profile profile = {.image = p->image,
					   .image_path = p->image_path.data,
					   .image_path_size = p->image_path.size,
					   .event = p->event};

	(void)epoch;
	print_head(arg, &profile);
	printf(",\"paths\":[[%" PRIu64 ",[", p->function);
	for (uint32_t i = 0; i < p->block_count; i++)
		printf("%s%" PRIu64, i ? "," : "", p->blocks[i]);
	printf("],%d,%" PRIu64 ",%" PRIu64 "]]}", p->end, p->to, p->count);
	return 0;
}

static int print_fact(void *arg, const char *epoch, const char *name, const char *value)
{
	struct dump *d = arg;

	(void)epoch;
	printf("%s\n{\"fact\":", d->any ? "," : "");
	print_text(name, strlen(name));
	printf(",\"value\":");
	print_text(value, strlen(value));
	putchar('}');
	d->any = true;
	return 0;
}

static int print_counter(void *arg, const struct db_event *event, const char *name, uint64_t value)
{
	struct dump *d = arg;

	if (event)
		return 0;
	printf("%s\n{\"counter\":", d->any ? "," : "");
	print_text(name, strlen(name));
	printf(",\"value\":%" PRIu64 "}", value);
	d->any = true;
	return 0;
}

static void print_damage(void *arg, const char *what)
{
	(void)arg;
	fprintf(stderr, "accuracy-dump: damaged: %s\n", what);
	exit(1);
}

int main(int argc, char **argv)
{
	struct dump d = {0};
	struct db_visitor visitor = {
		.rows = print_rows,
		.item = {[CHUNK_EDGES] = print_edge, [CHUNK_PATHS] = print_path},
		.fact = print_fact,
		.counter = print_counter,
		.damage = print_damage,
		.arg = &d};
	struct db_reader *reader = NULL;
	struct diag diag = {0};
	int error;

	if (argc != 2) {
		fprintf(stderr, "usage: accuracy-dump DB\n");
		return 2;
	}
	printf("[");
	error = db_reader_open(argv[1], &io_system, &reader, &diag);
	if (!error)
		error = db_reader_query(reader, &visitor, &diag);
	if (error)
		fprintf(stderr, "accuracy-dump: %s\n", diag.text);
	printf("]\n");
	db_reader_free(reader);
	return error ? 1 : 0;
}
