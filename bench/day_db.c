/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/reader.h"
#include "db/writer.h"
#include "util/io.h"

/*
 * Makes an epoch of a day out of a recorded one: day-db FROM TO HOURS COUNT. Each hour has all rows
 * of FROM, each count COUNT times, under a label of its own, so that no two hours have a row in
 * common: more rows than a real day has, where hours resemble each other.
 */
#define ROWS_MAX (1u << 26)
#define HOUR_NS	 3600000000000ull

struct maker {
	struct db_batch *batch;
	unsigned hour;
	uint64_t count, samples;
	uint32_t profile;
};

static void need(int error, const char *what, const struct diag *diag)
{
	if (!error)
		return;
	fprintf(stderr, "day-db: %s: %s\n", what, diag ? diag->text : strerror(-error));
	exit(1);
}

/* The subject with the hour's label added. */
static uint32_t label(struct maker *m, const struct db_profile *p)
{
	struct subject_pair pairs[SUBJECT_MAX_PAIRS] = {0};
	char name[8], subject[SUBJECT_MAX_BYTES];
	size_t at = 0, n = 1;
	uint32_t ret;
	long size;

	snprintf(name, sizeof(name), "%02u", m->hour);
	pairs[0] = (struct subject_pair){"label.hour", name, strlen("label.hour"), strlen(name)};
	while (n < SUBJECT_MAX_PAIRS && subject_next(p->subject, p->subject_size, &at, &pairs[n]))
		n++;
	size = subject_build(pairs, n, subject, sizeof(subject));
	need(size < 0 ? (int)size : 0, "subject", NULL);
	need(db_batch_subject(m->batch, subject, (size_t)size, &ret), "subject", NULL);
	return ret;
}

static bool want(void *arg, const struct db_profile *p)
{
	struct maker *m = arg;
	uint32_t image, event;

	need(db_batch_image(m->batch, p->image, p->image_path, p->image_path_size, &image), "image",
	     NULL);
	need(db_batch_event(m->batch, p->event, &event), "event", NULL);
	need(db_batch_profile(m->batch, image, event, label(m, p), &m->profile), "profile", NULL);
	return true;
}

static int add(void *arg, const struct db_profile *p, const uint64_t *offsets,
	       const uint64_t *counts, size_t n)
{
	struct maker *m = arg;

	(void)p;
	for (size_t i = 0; i < n; i++) {
		need(db_batch_add(m->batch, m->profile, offsets[i], counts[i] * m->count), "row",
		     NULL);
		m->samples += counts[i] * m->count;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct maker m = {.batch = db_batch_new(ROWS_MAX)};
	struct db_visitor visitor = {.want = want, .rows = add, .arg = &m};
	struct db_reader *reader = NULL;
	struct db_writer *writer = NULL;
	struct diag diag = {0};
	unsigned hours;

	if (argc != 5 || !m.batch)
		return 2;
	hours = (unsigned)atoi(argv[3]);
	m.count = strtoull(argv[4], NULL, 0);
	need(db_reader_open(argv[1], &io_system, &reader, &diag), argv[1], &diag);
	need(db_reader_select(reader, "all", &diag), argv[1], &diag);
	need(db_writer_open(argv[2], "day", &io_system, &writer, &diag), argv[2], &diag);
	need(db_writer_begin_epoch(writer, HOUR_NS, &diag), argv[2], &diag);
	for (m.hour = 0; m.hour < hours; m.hour++) {
		db_batch_clear(m.batch);
		need(db_reader_query(reader, &visitor, &diag), argv[1], &diag);
		db_batch_interval(m.batch, (1 + m.hour) * HOUR_NS, (2 + m.hour) * HOUR_NS);
		need(db_writer_flush(writer, m.batch, &diag), argv[2], &diag);
	}
	need(db_writer_compact(writer, NULL, &diag), argv[2], &diag);
	need(db_writer_close(writer, &diag), argv[2], &diag);
	printf("%llu\n", (unsigned long long)m.samples);
	db_batch_free(m.batch);
	db_reader_free(reader);
	return 0;
}
