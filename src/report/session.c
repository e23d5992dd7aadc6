/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "cfg/open.h"
#include "config.h"

int report_add_subject(struct report_options *o, const char *text, struct diag *diag)
{
	if (o->selection.subject_count == REPORT_SUBJECTS_MAX)
		return diag_fail(diag, EINVAL, "more than %d subjects", REPORT_SUBJECTS_MAX);
	o->subjects[o->selection.subject_count++] = text;
	o->selection.subjects = o->subjects;
	return 0;
}

int report_find_db(const char *named, const char **ret_path, struct diag *diag)
{
	static const char *const usual[] = {"culprit.db", CULPRIT_STATE_DIR};
	const char *variable = getenv("CULPRIT_DB");
	struct stat st;

	if (!named && variable && *variable)
		named = variable;
	for (size_t i = 0; i < 2 && !named; i++) {
		if (!stat(usual[i], &st))
			named = usual[i];
	}
	if (!named)
		return diag_fail(diag, ENOENT,
				 "there is no database: neither ./culprit.db nor " CULPRIT_STATE_DIR
				 " exists; make one (culprit record -a) or name one (-i DB)");
	*ret_path = named;
	return 0;
}

static int open_reader(struct report_session *s, struct diag *diag)
{
	const struct report_options *o = s->options;
	struct db_reader *reader;
	const char *path;
	int r = report_find_db(o->db, &path, diag);

	if (!r)
		r = db_reader_open(path, &io_system, &reader, diag);
	if (r)
		return r;
	db_reader_free(s->reader);
	s->reader = reader;
	r = db_reader_set_machine(reader, o->machine);
	if (r)
		return diag_fail(diag, -r, "out of memory");
	r = db_reader_select(reader, o->epoch ? o->epoch : "last", diag);
	if (!r)
		s->path = path;
	return r;
}

int report_session_select(struct report_session *s, const struct query_selection *selection,
			  enum query_group group, struct diag *diag)
{
	struct query *query;
	int r = query_new(selection ? selection : &s->options->selection, group, &query, diag);

	if (r)
		return r;
	query_free(s->query);
	s->query = query;
	return s->path ? 0 : open_reader(s, diag);
}

static int open_finder(struct report_session *s, struct diag *diag)
{
	const struct db_epoch *const *epochs;
	size_t count;

	epochs = db_reader_selected(s->reader, &count);
	int r = image_finder_new(s->path, count ? epochs[0]->machine : NULL, &s->finder);
	return r ? diag_fail(diag, -r, "cannot look for symbols: %s", strerror(-r)) : 0;
}

int report_session_open(struct report_session *s, const struct query_selection *selection,
			enum query_group group, struct diag *diag)
{
	int r = report_session_select(s, selection, group, diag);

	return r || s->finder ? r : open_finder(s, diag);
}

int report_session_read(struct report_session *s, const struct query_selection *selection,
			enum query_group group, struct diag *diag)
{
	int r = report_session_open(s, selection, group, diag);

	return r ? r : query_read(s->query, s->reader, diag);
}

void report_session_close(struct report_session *s)
{
	query_free(s->query);
	image_finder_free(s->finder);
	db_reader_free(s->reader);
	s->query = NULL;
	s->finder = NULL;
	s->reader = NULL;
	s->path = NULL;
}

static void tell(const struct report_session *s, const char *what, const char *path)
{
	if (s->progress)
		s->progress("reading %s of %s", what, path ? path : "an image");
}

static int find_symbols(void *arg, const struct image_id *id, const char *path,
			const struct image_symbols **ret, struct diag *diag)
{
	const struct report_session *s = arg;

	tell(s, "symbols", path);
	return image_find_symbols(s->finder, id, path, ret, diag);
}

static int find_lines(void *arg, const struct image_id *id, const char *path,
		      const uint64_t *addresses, size_t count, struct image_lines **ret,
		      struct diag *diag)
{
	const struct report_session *s = arg;

	tell(s, "lines", path);
	return image_find_lines(s->finder, id, path, addresses, count, ret, diag);
}

static int find_graphs(void *arg, const struct image_id *id, const char *path,
		       struct cfg_image **ret, struct diag *diag)
{
	const struct report_session *s = arg;

	tell(s, "code", path);
	return cfg_image_open(s->finder, id, path, ret, diag);
}

struct rank_source report_session_source(const struct report_session *s)
{
	return (struct rank_source){find_symbols, find_lines, find_graphs, (void *)s};
}

uint64_t report_sampled_ns(const struct db_reader *reader)
{
	const struct db_epoch *const *epochs;
	uint64_t last = 0;
	size_t count;

	epochs = db_reader_selected(reader, &count);
	for (size_t i = 0; i < count; i++)
		last = epochs[i]->end_ns > last ? epochs[i]->end_ns : last;
	return last;
}
