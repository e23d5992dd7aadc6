/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/code/structure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "report/code/structure_form.h"

#define FUNCTION_MAX_BYTES ((size_t)512 << 20) /* of one, written */
#define FLUSH_BYTES	   (1u << 16)

struct output {
	struct structure_writing writing;
	const struct structure_form *form;
	FILE *file;
};

int structure_report_make(const char *path, struct structure_report *ret, struct diag *diag)
{
	*ret = (struct structure_report){.path = path};
	if (image_finder_new(NULL, NULL, &ret->finder))
		return diag_fail(diag, ENOMEM, "out of memory");
	int r = image_find_identity(ret->finder, path, &ret->id, diag);
	return r ? r : structure_new(ret->finder, &ret->id, path, &ret->structure, diag);
}

void structure_report_free(struct structure_report *r)
{
	structure_free(r->structure);
	image_finder_free(r->finder);
}

const char *structure_other_file(const struct structure_function *f, uint32_t i)
{
	const char *file = f->scopes[i].file;
	uint32_t around = f->scopes[i].parent;

	while (f->scopes[around].kind != STRUCTURE_FUNCTION &&
	       f->scopes[around].kind != STRUCTURE_INLINED)
		around = f->scopes[around].parent;
	const char *its = f->scopes[around].file;
	return file && (!its || strcmp(its, file) != 0) ? file : NULL;
}

static int flush(struct output *o, size_t least)
{
	struct buf *b = &o->writing.to.buf;

	if (b->error || b->size < least)
		return b->error;
	errno = 0;
	if (b->size && fwrite(b->data, b->size, 1, o->file) != 1)
		return errno ? -errno : -EIO;
	buf_clear(b);
	return 0;
}

/* Functions of one file follow one another. */
static int change_file(struct output *o, const char *file)
{
	struct structure_writing *w = &o->writing;
	const bool same = w->file && file ? !strcmp(w->file, file) : !w->file && !file;

	if (w->in_file && same)
		return 0;
	if (w->in_file)
		o->form->close_file(w);
	free(w->file);
	w->file = file ? strdup(file) : NULL;
	if (file && !w->file)
		return -ENOMEM;
	w->in_file = true;
	o->form->open_file(w, file);
	return 0;
}

static int write_function(void *arg, const struct structure_function *f)
{
	struct output *o = arg;
	int r = change_file(o, f->scopes[0].file);

	if (r)
		return r;
	for (uint32_t i = 0; i < f->scope_count; i++) {
		uint32_t last = i;

		o->form->open(&o->writing, f, i);
		while (f->scopes[last].end == i + 1) {
			o->form->close(&o->writing, f, last);
			if (last == 0)
				break;
			last = f->scopes[last].parent;
		}
	}
	return flush(o, FLUSH_BYTES);
}

int structure_report_write(struct structure_report *r, enum structure_format format, FILE *out,
			   struct diag *diag)
{
	struct output o = {
		.writing = {.report = r},
		.form = format == STRUCTURE_JSON ? &structure_json : &structure_xml,
		.file = out,
	};

	json_writer_init(&o.writing.to, FUNCTION_MAX_BYTES);
	o.form->begin(&o.writing);
	int err = structure_each(r->structure, write_function, &o, diag);
	if (!err && o.writing.in_file)
		o.form->close_file(&o.writing);
	if (!err) {
		o.form->end(&o.writing);
		err = flush(&o, 0);
	}
	free(o.writing.file);
	buf_free(&o.writing.to.buf);
	return err;
}
