/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "image/symbols.h"
#include "instsample/ibs.h"
#include "render/json_writer.h"
#include "report/export/export.h"

/* culprit export --raw: the raw records of single samples, each a line of JSON. */

#define LINE_MAX_BYTES	((size_t)64 << 10) /* names have limits, registers are few */
#define WRITE_EACH	((size_t)1 << 20)
#define SUBJECT_TEXT	(SUBJECT_MAX_BYTES + 2)
#define REGISTER_NUMBER 16

struct writing {
	struct json_writer json;
	struct image_finder *finder;
	int (*write)(void *arg, const void *data, size_t size);
	void *arg;	      /* of that */
	struct image_id last; /* of the last record, whose symbols these are */
	char *path;
	const struct image_symbols *symbols; /* NULL: none are known */
	uint64_t records;
	int write_error;
};

/* An image and an address in it, of a path that is not terminated. */
static int put_place(struct json_writer *w, const struct image_id *id, const struct db_bytes *path,
		     uint64_t offset)
{
	char text[IMAGE_ID_TEXT_MAX], *name = strndup(path->size ? path->data : "", path->size);

	if (!name)
		return -ENOMEM;
	image_id_format(id, text);
	json_writer_text(w, "image", name);
	json_writer_text(w, "build_id", text);
	json_writer_address(w, "address", offset);
	free(name);
	return 0;
}

static void put_subject(struct json_writer *w, const struct db_bytes *subject)
{
	struct subject_pair pair;
	char text[SUBJECT_TEXT];
	size_t at = 0;

	json_writer_open(w, "subject", '[');
	while (subject_next(subject->data, subject->size, &at, &pair)) {
		snprintf(text, sizeof(text), "%.*s=%.*s", (int)pair.key_size, pair.key,
			 (int)pair.value_size, pair.value);
		json_writer_text(w, NULL, text);
	}
	json_writer_close(w, ']');
}

/* Records come by image. */
static const char *find_function(struct writing *o, const struct db_raw_item *r)
{
	const struct image_function *f;

	if (!o->path || memcmp(&o->last, r->image, sizeof(o->last)) != 0) {
		free(o->path);
		o->path = strndup(r->path.size ? r->path.data : "", r->path.size);
		o->last = *r->image;
		if (!o->path || image_find_symbols(o->finder, r->image, o->path, &o->symbols, NULL))
			o->symbols = NULL;
	}
	f = o->symbols ? image_symbols_find(o->symbols, r->offset) : NULL;
	return f ? f->name : NULL;
}

static void put_registers(struct json_writer *w, const struct db_raw_item *r)
{
	unsigned at = 0;

	json_writer_open(w, "registers", '{');
	for (unsigned number = 0; number < 32; number++) {
		const char *name = ibs_register_name(r->form.kind, number);
		char unnamed[REGISTER_NUMBER];

		if (!(r->form.mask >> number & 1))
			continue;
		snprintf(unnamed, sizeof(unnamed), "%u", number);
		json_writer_address(w, name ? name : unnamed, r->values[at++]);
	}
	json_writer_close(w, '}');
}

/* What the registers mean, but for what is 0. */
static void put_fields(struct json_writer *w, const struct db_raw_item *r)
{
	const struct ibs_form form = {r->form.kind, r->form.caps, r->form.mask};
	uint64_t value;
	size_t count;
	const struct ibs_field *fields = ibs_fields(r->form.kind, &count);

	json_writer_open(w, "fields", '{');
	for (size_t i = 0; i < count; i++)
		if (ibs_field_get(&fields[i], &form, r->values, &value) && value) {
			json_writer_count(w, fields[i].name, value);
		}
	json_writer_close(w, '}');
}

static void put_kind(struct json_writer *w, const struct db_raw_form *form)
{
	const char *kind = ibs_kind_name(form->kind);

	if (kind)
		json_writer_text(w, "kind", kind);
	else
		json_writer_count(w, "kind", form->kind);
	json_writer_address(w, "caps", form->caps);
}

static int write_out(struct writing *o)
{
	struct buf *b = &o->json.buf;
	int r = b->error;

	if (!r)
		r = o->write(o->arg, b->data, b->size);
	buf_clear(b);
	return o->write_error = r;
}

static int put_record(void *arg, const char *epoch, const struct db_raw_item *r)
{
	struct writing *o = arg;
	struct json_writer *w = &o->json;

	if (r->form.kind == DB_RAW_PAIR)
		return 0; /* none of the processor's */
	w->more = false;
	json_writer_open(w, NULL, '{');
	json_writer_text(w, "epoch", epoch);
	json_writer_text(w, "event", r->event->name);
	int err = put_place(w, r->image, &r->path, r->offset);
	json_writer_text(w, "function", find_function(o, r));
	put_subject(w, &r->subject);
	json_writer_count(w, "count", r->count);
	put_kind(w, &r->form);
	if (r->target_image && !err) {
		json_writer_open(w, "target", '{');
		err = put_place(w, r->target_image, &r->target_path, r->target);
		json_writer_close(w, '}');
	}
	put_registers(w, r);
	put_fields(w, r);
	json_writer_close(w, '}');
	buf_append_u8(&w->buf, '\n');
	o->records++;
	if (!err && (w->buf.error || w->buf.size >= WRITE_EACH))
		err = write_out(o);
	return err;
}

static int read_records(struct report_session *s, struct writing *o, struct diag *diag)
{
	s->query->raw = put_record;
	s->query->raw_arg = o;
	int r = query_read(s->query, s->reader, diag);
	if (!r)
		r = write_out(o);
	if (!r && !o->records)
		r = diag_fail(diag, ENODATA,
			      "the selection has no raw records: culprit import --raw keeps those "
			      "of AMD's IBS (perf record --raw-samples -e ibs_op//)");
	return r;
}

int export_raw(struct report_session *s, int (*write)(void *arg, const void *data, size_t size),
	       void *arg, int *ret_write_error, struct diag *diag)
{
	struct writing o = {.write = write, .arg = arg};
	int r = report_session_open(s, NULL, QUERY_WHOLE, diag);

	json_writer_init(&o.json, WRITE_EACH + LINE_MAX_BYTES);
	o.finder = s->finder;
	if (!r)
		r = read_records(s, &o, diag);
	*ret_write_error = o.write_error;
	buf_free(&o.json.buf);
	free(o.path);
	return r;
}
