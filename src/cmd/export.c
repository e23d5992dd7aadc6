/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/export.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "cmd/output.h"

/* culprit export: profiles for other programs. */

enum {
	OPTION_CODE = INSIGHTS_OPTION_END,
	OPTION_STACKS = OPTION_CODE + EXPORT_CODES,
	OPTION_XML = OPTION_STACKS + EXPORT_STACKS,
	OPTION_RAW,
};

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	{"folded", OPTION_STACKS + EXPORT_FOLDED, "FILE", "stacks, a line each: STACK COUNT"},
	{"pprof", OPTION_STACKS + EXPORT_PPROF, "FILE", "stacks, for pprof and all that reads it"},
	{"speedscope", OPTION_STACKS + EXPORT_SPEEDSCOPE, "FILE", "stacks, for speedscope"},
	{"callgrind", OPTION_STACKS + EXPORT_CALLGRIND, "FILE",
	 "stacks, for callgrind_annotate and KCachegrind"},
	{"xml", OPTION_XML, "FILE", "samples by load module, file, function and line"},
	{"raw", OPTION_RAW, "FILE", "what the processor said of single samples, as JSON lines"},
	{"counts", OPTION_CODE + EXPORT_COUNTS, "FILE", "executions of an image's basic blocks"},
	{"bolt-fdata", OPTION_CODE + EXPORT_FDATA, "FILE", "for llvm-bolt -data; needs symbols"},
	{"bolt-preaggregated", OPTION_CODE + EXPORT_PREAGGREGATED, "FILE", "for perf2bolt -pa"},
	{"autofdo", OPTION_CODE + EXPORT_AUTOFDO, "FILE",
	 "AutoFDO's text, for llvm-profdata merge --sample"},
	INSIGHTS_OPTIONS,
	REPORT_SELECTION_OPTIONS,
	{NULL},
};

const struct cmd_spec cmd_export_spec = {
	"export",
	"",
	"Writes profiles as other programs read them. What optimisers read, and --counts, is of\n"
	"one image: the one with most samples among those that --image selects.",
	options,
	false,
};

struct export_options {
	struct insights_session session;
	const char *code[EXPORT_CODES], *stacks[EXPORT_STACKS], *xml, *raw;
	bool any_code, any_stacks;
};

static int take_option(void *arg, int value, const char *text, struct diag *diag)
{
	struct export_options *o = arg;

	if (value == REPORT_JSON || value == REPORT_CSV)
		return diag_fail(diag, EINVAL, "an export has a form of its own");
	if (value == OPTION_XML) {
		o->xml = text;
	} else if (value == OPTION_RAW) {
		o->raw = text;
	} else if (value >= OPTION_STACKS && value < OPTION_XML) {
		o->stacks[value - OPTION_STACKS] = text;
		o->any_stacks = true;
	} else if (value >= OPTION_CODE && value < OPTION_STACKS) {
		o->code[value - OPTION_CODE] = text;
		o->any_code = true;
	} else {
		return insights_take_option(&o->session, value, text, diag);
	}
	return 0;
}

int export_save(const struct buf *b, const char *path, struct diag *diag)
{
	FILE *f;
	int r = 0;

	if (b->error)
		return diag_fail(diag, -b->error, "the profile is too large: %s",
				 strerror(-b->error));
	if (!strcmp(path, "-"))
		return cmd_write(b->data, b->size);
	f = output_open(path, diag);
	if (!f)
		return -EIO;
	errno = 0;
	if (b->size && fwrite(b->data, b->size, 1, f) != 1)
		r = errno ? -errno : -EIO;
	return output_close(f, path, r, diag);
}

int export_open(struct export_source *s, struct report_options *report, enum query_group group,
		struct diag *diag)
{
	const struct db_epoch *const *epochs;
	const char *path;
	size_t count;
	int r = query_new(&report->selection, group, &s->query, diag);

	if (!r)
		r = report_open(report, &path, &s->reader, diag);
	if (r)
		return r;
	epochs = db_reader_selected(s->reader, &count);
	r = image_finder_new(path, count ? epochs[0]->machine : NULL, &s->finder);
	return r ? diag_fail(diag, -r, "cannot look for symbols: %s", strerror(-r)) : 0;
}

void export_close(struct export_source *s)
{
	report_tell_finder(s->finder);
	query_free(s->query);
	image_finder_free(s->finder);
	report_close(s->reader);
}

static int check(const struct export_options *o, struct diag *diag)
{
	const struct report_options *report = &o->session.report;

	if (!o->any_code && !o->any_stacks && !o->xml && !o->raw)
		return diag_fail(diag, EINVAL, "export what?");
	if (o->any_code && report->function)
		return diag_fail(diag, EINVAL, "an export for optimisers is of a whole image");
	if (o->any_stacks && (report->function || report->selection.image))
		return diag_fail(diag, EINVAL,
				 "stacks are exported whole: --function and --image are not for "
				 "them");
	if (o->raw && report->function)
		return diag_fail(diag, EINVAL,
				 "raw records are selected by --image, not by --function");
	return 0;
}

static int run(struct export_options *o, struct diag *diag)
{
	struct report_options *report = &o->session.report;
	int r = check(o, diag);

	if (!r && o->any_stacks)
		r = export_stacks(report, o->stacks, diag);
	if (!r && o->xml)
		r = export_xml(report, o->xml, diag);
	if (!r && o->raw)
		r = export_raw(report, o->raw, diag);
	if (!r && o->any_code)
		r = export_code(&o->session, o->code, diag);
	return r;
}

int cmd_export(int argc, char **argv)
{
	struct export_options o = {0};
	struct diag diag = {""};
	int r = cmd_parse(&cmd_export_spec, argc, argv, take_option, &o, NULL);

	if (r >= 0)
		return r;
	r = run(&o, &diag);
	insights_close(&o.session);
	if (r == -EINVAL)
		return cmd_fail_usage("export", &diag);
	return r < 0 ? cmd_fail(&diag) : r;
}
