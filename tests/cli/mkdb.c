/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Makes a database of what stdin says, for the test scripts: mkdb DB MACHINE. One thing a line,
 * fields between tabs, with \xNN, \n and \t in them for what a line cannot hold:
 *
 *	epoch START_S END_S
 *	sample KIND ID PATH EVENT PERIOD OFFSET COUNT [KEY=VALUE...]
 *	edge KIND ID PATH EVENT FROM TO COUNT WINDOWS [TO_KIND TO_ID TO_PATH]	(-1: start, end)
 *	touch KIND ID PATH LOAD PLACE COUNT
 *	inst KIND ID PATH EVENT PERIOD OFFSET COUNT KEY=VALUE SOURCE KNOWN OTHER_KNOWN FIELDS
 *	     VALUES [KIND ID PATH OFFSET]	(VALUES: numbers between commas; then a pair's other
 *place) counter EVENT PERIOD NAME VALUE		(EVENT -: of no event) fact NAME VALUE many
 *IMAGES ROWS			(ROWS samples in each of IMAGES images) symbol KIND ID START SIZE
 *NAME		(those of an image together) keep KIND ID PATH ADDRESS...	(the file's symbols,
 *code, and lines of the functions there)
 *	frame NAME KIND ID PATH OFFSET		(names a frame for the stacks of this epoch)
 *	python NAME PATH FUNCTION FIRST LINE	(one of Python, by its function's first line)
 *	stack EVENT PERIOD COUNT KEY=VALUE NAME...	(the outermost frame first)
 *	forest STACKS DEPTH KIND ID PATH	(so many stacks, of calls by chance)
 *	flush				(writes what came so far)
 *	compact				(and makes one file of all)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/instsamples.h"
#include "db/touches.h"
#include "db/writer.h"
#include "find/find.h"
#include "image/script.h"
#include "image/worker/worker.h"

#define FIELDS_MAX 640
#define NAMED_MAX  256

struct named_frame {
	char *name;
	struct db_frame frame;
};

struct symbol {
	struct image_id image;
	struct image_symbol symbol;
};

struct maker {
	const char *db, *machine;
	struct db_writer *writer;
	struct db_batch *batch;
	struct diag diag;
	uint64_t start_ns, end_ns;
	struct named_frame named[NAMED_MAX];
	size_t named_count;
	struct symbol symbols[NAMED_MAX];
	size_t symbol_count;
};

static void stop(const char *what, const struct diag *diag)
{
	fprintf(stderr, "mkdb: %s: %s\n", what, diag ? diag->text : "");
	exit(1);
}

static void unescape(char *text)
{
	char *to = text;
	unsigned byte;

	for (; *text; text++) {
		if (text[0] != '\\') {
			*to++ = *text;
		} else if (text[1] == 'x' && sscanf(text + 2, "%2x", &byte) == 1) {
			*to++ = (char)byte;
			text += 3;
		} else {
			text++;
			*to++ = *text == 'n' ? '\n' : *text == 't' ? '\t' : *text;
		}
	}
	*to = 0;
}

static uint64_t number(const char *text)
{
	return text ? strtoull(text, NULL, 0) : 0;
}

static void flush(struct maker *m)
{
	if (!db_batch_rows(m->batch) && !db_batch_edges(m->batch) && !db_batch_stacks(m->batch))
		return;
	db_batch_interval(m->batch, m->start_ns, m->end_ns);
	if (db_writer_flush(m->writer, m->batch, &m->diag))
		stop("flush", &m->diag);
	db_batch_clear(m->batch);
	while (m->named_count)
		free(m->named[--m->named_count].name);
}

static void compact(struct maker *m)
{
	flush(m);
	if (db_writer_compact(m->writer, NULL, &m->diag))
		stop("compact", &m->diag);
}

static void begin_epoch(struct maker *m, char **field)
{
	flush(m);
	m->start_ns = number(field[1]) * 1000000000;
	m->end_ns = number(field[2]) * 1000000000;
	if (db_writer_begin_epoch(m->writer, m->start_ns, &m->diag))
		stop("epoch", &m->diag);
}

static uint32_t find_event(struct maker *m, const char *name, const char *period)
{
	struct db_event event = {name, number(period), DB_EVENT_KERNEL | DB_EVENT_USER};
	uint32_t index;

	if (!strcmp(name, "-"))
		return DB_EVENT_NONE;
	if (db_batch_event(m->batch, &event, &index))
		stop("event", NULL);
	return index;
}

static struct image_id read_id(char **field)
{
	struct image_id id = {.kind = (uint8_t)number(field[0])};
	unsigned byte;

	for (const char *hex = field[1]; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		id.bytes[id.size++] = (uint8_t)byte;
	return id;
}

/* By its kind, id and path. */
static uint32_t find_image(struct maker *m, char **field)
{
	struct image_id id = read_id(field);
	uint32_t image;

	if (db_batch_image(m->batch, &id, field[2], strlen(field[2]), &image))
		stop("image", NULL);
	return image;
}

static void add_edge(struct maker *m, char **field, size_t count)
{
	struct db_edge e = {.image = find_image(m, field + 1), .from = number(field[5])};

	e.to = number(field[6]);
	e.event = find_event(m, field[4], "0");
	e.evidence = !strcmp(field[4], "windows")	  ? DB_EVIDENCE_WINDOWS
		     : !strcmp(field[4], DB_COUNTS_EVENT) ? DB_EVIDENCE_COUNTS
							  : DB_EVIDENCE_RECORDS;
	e.to_image = count >= 12 ? find_image(m, field + 9) : e.image;
	if (db_batch_edge(m->batch, &e, number(field[7]), number(field[8])))
		stop("edge", NULL);
}

static void add_touch(struct maker *m, char **field, size_t count)
{
	(void)count;
	if (db_batch_touch(m->batch, find_image(m, field + 1), number(field[4]), number(field[5]),
			   number(field[6])))
		stop("touch", NULL);
}

static void add_sample(struct maker *m, char **field, size_t count)
{
	struct subject_pair pairs[FIELDS_MAX];
	char subject[SUBJECT_MAX_BYTES];
	uint32_t image = find_image(m, field + 1), owner, profile;
	long size;

	for (size_t i = 8; i < count; i++) {
		char *value = strchr(field[i], '=') + 1;

		pairs[i - 8] = (struct subject_pair){field[i], value,
						     (size_t)(value - field[i] - 1), strlen(value)};
	}
	size = subject_build(pairs, count - 8, subject, sizeof(subject));
	if (size < 0 || db_batch_subject(m->batch, subject, (size_t)size, &owner) ||
	    db_batch_profile(m->batch, image, find_event(m, field[4], field[5]), owner, &profile) ||
	    db_batch_add(m->batch, profile, number(field[6]), number(field[7])))
		stop("sample", NULL);
}

static void add_many(struct maker *m, uint64_t images, uint64_t rows)
{
	char i_text[24], path[64], id[24], offset[24];
	char *field[] = {"sample", "1", id, path, "cycles", "1000", offset, i_text, "comm=many"};
	uint64_t at;

	for (uint64_t i = 0; i < images; i++) {
		snprintf(path, sizeof(path), "/opt/many/image-%llu", (unsigned long long)i);
		snprintf(id, sizeof(id), "%08llx", (unsigned long long)i);
		at = 0x1000;
		for (uint64_t row = 0; row < rows; row++) {
			at += 4 + (i * 7 + row * 13) % 23;
			snprintf(offset, sizeof(offset), "%llu", (unsigned long long)at);
			snprintf(i_text, sizeof(i_text), "%llu", (unsigned long long)(row % 9 + 1));
			char comm[] = "comm=many";

			field[8] = comm;
			add_sample(m, field, 9);
		}
	}
}

static void name_frame(struct maker *m, char **field)
{
	struct named_frame *f = &m->named[m->named_count];

	if (m->named_count == NAMED_MAX)
		stop("frame", NULL);
	f->name = strdup(field[1]);
	f->frame = (struct db_frame){find_image(m, field + 2), number(field[5])};
	m->named_count++;
}

static uint32_t find_subject(struct maker *m, char *text)
{
	char *value = strchr(text, '='), subject[SUBJECT_MAX_BYTES];
	struct subject_pair pair;
	uint32_t owner;
	long size;

	if (!value)
		stop("subject", NULL);
	pair = (struct subject_pair){text, value + 1, (size_t)(value - text), strlen(value + 1)};
	size = subject_build(&pair, 1, subject, sizeof(subject));
	if (size < 0 || db_batch_subject(m->batch, subject, (size_t)size, &owner))
		stop("subject", NULL);
	return owner;
}

static void add_inst(struct maker *m, char **field, size_t count)
{
	struct db_inst inst = {.offset = number(field[6]), .other_image = DB_INST_NO_OTHER};
	char *rest = field[13], *one;
	unsigned n = 0;

	inst.image = find_image(m, field + 1);
	inst.event = find_event(m, field[4], field[5]);
	inst.subject = find_subject(m, field[8]);
	inst.form.source = (uint32_t)number(field[9]);
	inst.form.known[0] = (uint32_t)number(field[10]);
	inst.form.known[1] = (uint32_t)number(field[11]);
	inst.form.fields = number(field[12]);
	while (n < DB_INST_VALUES_MAX && (one = strsep(&rest, ",")))
		inst.values[n++] = (uint32_t)number(one);
	if (count == 18) {
		inst.other_image = find_image(m, field + 14);
		inst.other = number(field[17]);
	}
	if (n != db_inst_values(&inst.form) || db_batch_inst(m->batch, &inst, number(field[7])))
		stop("inst", NULL);
}

static void add_stack(struct maker *m, char **field, size_t count)
{
	struct db_frame frames[FIELDS_MAX];
	uint32_t n = 0;

	for (size_t i = 5; i < count; i++) {
		size_t k = 0;

		while (k < m->named_count && strcmp(m->named[k].name, field[i]) != 0)
			k++;
		if (k == m->named_count)
			stop(field[i], NULL);
		frames[n++] = m->named[k].frame;
	}
	if (db_batch_stack(m->batch, find_event(m, field[1], field[2]), find_subject(m, field[4]),
			   frames, n, number(field[3])))
		stop("stack", NULL);
}

static void add_symbol(struct maker *m, const struct image_id *image, uint64_t start, uint64_t size,
		       const char *name)
{
	if (m->symbol_count == NAMED_MAX)
		stop("symbol", NULL);
	m->symbols[m->symbol_count++] =
		(struct symbol){*image, {.start = start, .size = size, .name = strdup(name)}};
}

static void take_symbol(struct maker *m, char **field)
{
	struct image_id id = read_id(field + 1);

	add_symbol(m, &id, number(field[3]), number(field[4]), field[5]);
}

/* As a recording does. */
static void keep_image(struct maker *m, char **field, size_t count)
{
	struct image_id id = read_id(field + 1);
	uint64_t addresses[FIELDS_MAX];
	struct image_finder *finder;

	for (size_t i = 4; i < count; i++)
		addresses[i - 4] = number(field[i]);
	if (image_finder_new(m->db, m->machine, &finder))
		stop("finder", NULL);
	if (image_finder_keep(finder, &id, field[3], &m->diag) ||
	    image_finder_keep_functions(finder, &id, field[3], addresses, count - 4, NULL,
					&m->diag))
		stop("keep", &m->diag);
	image_finder_free(finder);
}

static void name_python(struct maker *m, char **field)
{
	const char *name = field[3];
	uint64_t function = image_script_function((uint32_t)number(field[4]), name, strlen(name));
	struct image_id id;
	uint32_t image;

	if (m->named_count == NAMED_MAX)
		stop("python", NULL);
	image_script_id(field[2], strlen(field[2]), &id);
	add_symbol(m, &id, function, IMAGE_SCRIPT_LINES, name);
	if (db_batch_image(m->batch, &id, field[2], strlen(field[2]), &image))
		stop("image", NULL);
	m->named[m->named_count].name = strdup(field[1]);
	m->named[m->named_count++].frame =
		(struct db_frame){image, image_script_offset(function, (uint32_t)number(field[5]))};
}

/* Names are kept as a recording keeps them, an image at a time. */
static void keep_symbols(struct maker *m)
{
	struct image_finder *finder;
	size_t end;

	if (!m->symbol_count)
		return;
	if (image_finder_new(m->db, m->machine, &finder))
		stop("finder", NULL);
	for (size_t i = 0; i < m->symbol_count; i = end) {
		struct image_symbol list[NAMED_MAX];

		for (end = i;
		     end < m->symbol_count &&
		     !memcmp(&m->symbols[i].image, &m->symbols[end].image, sizeof(struct image_id));
		     end++)
			list[end - i] = m->symbols[end].symbol;
		if (image_finder_tell_symbols(finder, &m->symbols[i].image, list, end - i,
					      &m->diag))
			stop("symbols", &m->diag);
	}
	image_finder_free(finder);
	while (m->symbol_count)
		free((char *)m->symbols[--m->symbol_count].symbol.name);
}

/* Calls among 4096 places of the image, each of which calls eight others. */
static void add_forest(struct maker *m, char **field)
{
	char comm[] = "comm=forest";
	uint32_t event = find_event(m, "cycles", "1000"), owner = find_subject(m, comm);
	uint32_t image = find_image(m, field + 3), depth = (uint32_t)number(field[2]);
	struct db_frame frames[DB_STACK_MAX];
	uint64_t state = 1, place;

	if (depth < 2 || depth > DB_STACK_MAX)
		stop("forest", NULL);
	for (uint64_t i = 0; i < number(field[1]); i++) {
		uint32_t n = 0;

		place = 0;
		do {
			frames[n++] = (struct db_frame){image, 0x1000 + 16 * place};
			state = state * 6364136223846793005u + 1442695040888963407u;
			place = (place * 2654435761u + (state >> 61) + 1) % 4096;
		} while (n < depth && state >> 40 & 15);
		if (db_batch_stack(m->batch, event, owner, frames, n, 1 + (state >> 33 & 3)))
			stop("forest", NULL);
	}
}

static void take_line(struct maker *m, char *line)
{
	char *field[FIELDS_MAX] = {NULL}, *one;
	size_t count = 0;

	line[strcspn(line, "\n")] = 0;
	while (count < FIELDS_MAX - 1 && (one = strsep(&line, "\t"))) {
		unescape(one);
		field[count++] = one;
	}
	if (!strcmp(field[0], "epoch") && count == 3)
		begin_epoch(m, field);
	else if (!strcmp(field[0], "sample") && count >= 8)
		add_sample(m, field, count);
	else if (!strcmp(field[0], "edge") && count >= 9)
		add_edge(m, field, count);
	else if (!strcmp(field[0], "touch") && count == 7)
		add_touch(m, field, count);
	else if (!strcmp(field[0], "inst") && (count == 14 || count == 18))
		add_inst(m, field, count);
	else if (!strcmp(field[0], "many") && count == 3)
		add_many(m, number(field[1]), number(field[2]));
	else if (!strcmp(field[0], "fact") && count == 3)
		db_batch_fact(m->batch, field[1], field[2]);
	else if (!strcmp(field[0], "frame") && count == 6)
		name_frame(m, field);
	else if (!strcmp(field[0], "symbol") && count == 6)
		take_symbol(m, field);
	else if (!strcmp(field[0], "keep") && count >= 5)
		keep_image(m, field, count);
	else if (!strcmp(field[0], "python") && count == 6)
		name_python(m, field);
	else if (!strcmp(field[0], "stack") && count >= 6)
		add_stack(m, field, count);
	else if (!strcmp(field[0], "flush") && count == 1)
		flush(m);
	else if (!strcmp(field[0], "compact") && count == 1)
		compact(m);
	else if (!strcmp(field[0], "forest") && count == 6)
		add_forest(m, field);
	else if (!strcmp(field[0], "counter") && count == 5)
		db_batch_count(m->batch, find_event(m, field[1], field[2]), field[3],
			       number(field[4]));
	else
		stop(field[0], NULL);
}

int main(int argc, char **argv)
{
	struct maker m = {.batch = db_batch_new(1 << 22)};
	char *line = NULL;
	size_t room = 0;

	image_worker_dispatch(argc, argv);
	if (argc != 3 || !m.batch)
		return 2;
	m.db = argv[1];
	m.machine = argv[2];
	if (db_writer_open(argv[1], argv[2], &io_system, &m.writer, &m.diag))
		stop("open", &m.diag);
	while (getline(&line, &room, stdin) > 0)
		take_line(&m, line);
	flush(&m);
	if ((db_writer_epoch(m.writer) && db_writer_compact(m.writer, NULL, &m.diag)) ||
	    db_writer_close(m.writer, &m.diag))
		stop("close", &m.diag);
	keep_symbols(&m);
	db_batch_free(m.batch);
	free(line);
	return 0;
}
