/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/report.h"

#include <errno.h>
#include <string.h>
#include "cmd/pager.h"
#include "cmd/progress.h"
#include "util/text.h"

int report_take_option(void *options, int value, const char *text, struct diag *diag)
{
	if (value != REPORT_SUBJECT)
		return diag_fail(diag, ENOSYS,
				 "an option that is listed here is not taken: a fault of culprit's "
				 "own, please report it");
	return report_add_subject(options, text, diag);
}

int report_take_function(const struct report_options *o, char *const *operands, const char **ret,
			 struct diag *diag)
{
	const char *what = *operands ? *operands : o->function;

	if (!what || !*what)
		return diag_fail(diag, EINVAL, "which function? culprit prof ranks them");
	if (*operands && operands[1])
		return diag_fail(diag, EINVAL, "one function at a time");
	if (o->function && what != o->function)
		return diag_fail(diag, EINVAL, "give FUNCTION or --function, not both");
	*ret = what;
	return 0;
}

static void tell(const char *note)
{
	char text[2048];

	text_escape_controls(text, sizeof(text), note, strlen(note));
	fprintf(stderr, "culprit: %s\n", text);
}

void report_tell_damage(const struct report_header *h)
{
	for (size_t i = 0; i < h->note_count; i++)
		if (!strncmp(h->notes[i], DB_NOTE_DAMAGED, strlen(DB_NOTE_DAMAGED)))
			tell(h->notes[i]);
}

void report_tell_reader(struct db_reader *reader)
{
	const char *const *notes;
	size_t count, more;

	if (!reader)
		return;
	notes = db_reader_take_notes(reader, &count, &more);
	for (size_t i = 0; i < count; i++)
		tell(notes[i]);
	if (more)
		fprintf(stderr, "culprit: " REPORT_MORE_NOTES "\n",
			TEXT_COUNT(more, "place", "places"));
}

void report_tell_finder(const struct image_finder *f)
{
	uint64_t damaged = f ? image_finder_counts(f).damaged : 0;

	if (damaged)
		fprintf(stderr, "culprit: " REPORT_KEPT_DAMAGED "\n",
			TEXT_COUNT(damaged, "time", "times"));
}

int report_print(const struct table *t, const struct report_header *h, enum table_format format)
{
	struct diag diag;

	progress_clear();
	if (format == TABLE_CSV)
		report_header_print(h, stderr, 0);
	int r = table_print(t, h, format, stdout, format == TABLE_TEXT ? pager_width() : 0);
	/* Errors of stdout are told by whoever flushes it. */
	if (!r || r == -EIO)
		return r ? CMD_FAILURE : CMD_OK;
	diag_fail(&diag, -r, "%s", r == -ENOMEM ? "out of memory" : strerror(-r));
	return cmd_fail(&diag);
}

void report_print_choices(const struct report_session *s, const struct pick *p, int r)
{
	struct report_header h = {0};
	struct table *t;

	if (r != -EEXIST || !p->functions)
		return;
	t = pick_choices(p, s, &h);
	report_print(t, &h, s->options->format);
	table_free(t);
	report_header_free(&h);
}

int report_run(const struct cmd_spec *spec, int argc, char **argv,
	       int (*take)(void *options, int value, const char *text, struct diag *diag),
	       int (*show)(void *options, struct report_run *run), void *options,
	       struct metrics *metrics)
{
	struct report_run run = {.session = {.options = options, .progress = progress_show}};
	int operand, r;

	r = cmd_parse(spec, argc, argv, take, options, *spec->operands ? &operand : NULL);
	if (r < 0) {
		run.operands = argv + (*spec->operands ? operand : argc);
		r = show(options, &run);
		report_header_free(&run.header);
		r = report_end(&run.session, spec->name, r, &run.diag);
	}
	if (metrics)
		metrics_free(metrics);
	return r;
}

int report_finish(const char *command, int r, const struct diag *diag)
{
	if (r == -EINVAL && command)
		return cmd_fail_usage(command, diag);
	return r < 0 ? cmd_fail(diag) : r;
}

int report_end(struct report_session *s, const char *command, int r, const struct diag *diag)
{
	report_tell_reader(s->reader);
	report_session_close(s);
	return report_finish(command, r, diag);
}

void report_end_sets(struct sets *s)
{
	for (size_t i = 0; i < s->count; i++)
		report_tell_reader(s->list[i]->session.reader);
	sets_free(s);
}
