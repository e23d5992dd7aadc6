/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "cmd/report.h"
#include "report/export/export.h"
#include "util/text.h"

#define EXPORT_MAX_BYTES ((size_t)2 << 30)

/* culprit export: profiles for other programs. */

struct export_options {
	struct report_options report;
	struct estimates_options estimates;
	const char *code[EXPORT_CODES], *stacks[EXPORT_STACKS], *xml, *raw; /* files */
	bool any_code, any_stacks;
};

#define STACKS_OPTION(name, form, help)                                           \
	{                                                                         \
		name, 0, "FILE", help, CMD_AT(TEXT, export_options, stacks[form]) \
	}
#define CODE_OPTION(name, form, help)                                           \
	{                                                                       \
		name, 0, "FILE", help, CMD_AT(TEXT, export_options, code[form]) \
	}

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	STACKS_OPTION("folded", EXPORT_FOLDED, "stacks, a line each: STACK COUNT"),
	STACKS_OPTION("pprof", EXPORT_PPROF, "stacks, for pprof and tools that read its format"),
	STACKS_OPTION("speedscope", EXPORT_SPEEDSCOPE, "stacks, for speedscope"),
	STACKS_OPTION("callgrind", EXPORT_CALLGRIND,
		      "stacks, for callgrind_annotate and KCachegrind"),
	{"xml", 0, "FILE", "samples by load module, file, function and line",
	 CMD_AT(TEXT, export_options, xml)},
	{"raw", 0, "FILE", "what the processor recorded of individual samples, as JSON lines",
	 CMD_AT(TEXT, export_options, raw)},
	CODE_OPTION("block-counts", EXPORT_BLOCK_COUNTS, "executions of an image's basic blocks"),
	CODE_OPTION("bolt-fdata", EXPORT_FDATA, "for llvm-bolt -data; needs symbols"),
	CODE_OPTION("bolt-preaggregated", EXPORT_PREAGGREGATED, "for perf2bolt -pa"),
	CODE_OPTION("autofdo", EXPORT_AUTOFDO, "AutoFDO's text, for llvm-profdata merge --sample"),
	REPORT_CLASSIC_OPTION(export_options, estimates),
	REPORT_SELECTION_OPTIONS,
	{NULL},
};

const struct cmd_spec cmd_export_spec = {
	"export",
	"",
	"Writes profiles in the formats of other programs. Block counts, and profiles for "
	"optimisers,\n"
	"are of one image: the one with the most samples among those that --image selects.",
	options,
	false,
};

/* Writes what was made, or says why it could not be made. */
static int save(const struct buf *b, const char *path, struct diag *diag)
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

static int write_stacks(const struct export_options *o, struct report_session *s, struct diag *diag)
{
	struct export_stacks_report made = {0};
	int r = export_stacks_make(s, &made, diag);

	for (size_t i = 0; i < EXPORT_STACKS && !r; i++) {
		struct buf b;

		if (!o->stacks[i])
			continue;
		buf_init(&b, EXPORT_MAX_BYTES);
		export_stacks_write(&made, i, &b);
		r = save(&b, o->stacks[i], diag);
		buf_free(&b);
	}
	export_stacks_free(&made);
	return r;
}

static int write_xml(const struct export_options *o, struct report_session *s, struct diag *diag)
{
	struct buf b;

	buf_init(&b, EXPORT_MAX_BYTES);
	int r = export_xml(s, &b, diag);
	if (!r)
		r = save(&b, o->xml, diag);
	buf_free(&b);
	return r;
}

/* arg: where to; NULL is the standard output, which speaks for itself. */
static int put_raw(void *arg, const void *data, size_t size)
{
	if (!arg)
		return cmd_write(data, size);
	errno = 0;
	if (size && fwrite(data, size, 1, arg) != 1)
		return errno ? -errno : -EIO;
	return 0;
}

static int write_raw(const struct export_options *o, struct report_session *s, struct diag *diag)
{
	struct diag unsaid;
	int write_error, r = report_session_open(s, NULL, QUERY_WHOLE, diag);
	FILE *to;

	if (r)
		return r;
	if (!strcmp(o->raw, "-")) {
		r = export_raw(s, put_raw, NULL, &write_error, diag);
		return write_error ? write_error : r;
	}
	to = output_open(o->raw, diag);
	if (!to)
		return -EIO;
	r = export_raw(s, put_raw, to, &write_error, diag);
	/* What else failed is in diag already. */
	return output_close(to, o->raw, r, r && !write_error ? &unsaid : diag);
}

static void describe_code(const struct export_code_report *made)
{
	size_t functions = made->counts->image.function_count;
	char path[512];

	text_escape(path, sizeof(path), made->image->path, made->image->path_size);
	fprintf(stderr,
		"culprit: %s: %zu %s; counts from %llu %s and %llu branch %s of the selection\n",
		path, functions, text_plural(functions, "function", "functions"),
		TEXT_COUNT(made->samples, "sample", "samples"),
		TEXT_COUNT(made->edges, "outcome", "outcomes"));
	if (made->functions_counted)
		fprintf(stderr, "culprit: of %llu %s of the selection the executions are counted\n",
			TEXT_COUNT(made->functions_counted, "function", "functions"));
}

static int write_code(const struct export_options *o, struct report_session *s, struct diag *diag)
{
	struct export_code_report made = {0};
	int r = export_code_make(s, &o->estimates, &made, diag);

	for (size_t i = 0; i < EXPORT_CODES && !r; i++) {
		struct buf b;

		if (!o->code[i])
			continue;
		buf_init(&b, EXPORT_MAX_BYTES);
		r = export_code_write(&made, i, &b, diag);
		if (!r)
			r = save(&b, o->code[i], diag);
		buf_free(&b);
	}
	progress_clear();
	if (!r)
		describe_code(&made);
	export_code_free(&made);
	return r;
}

static int check(struct export_options *o, struct diag *diag)
{
	const struct report_options *report = &o->report;

	for (size_t i = 0; i < EXPORT_CODES; i++)
		o->any_code |= o->code[i] != NULL;
	for (size_t i = 0; i < EXPORT_STACKS; i++)
		o->any_stacks |= o->stacks[i] != NULL;
	if (!o->any_code && !o->any_stacks && !o->xml && !o->raw)
		return diag_fail(diag, EINVAL, "export what?");
	if (o->any_code && report->function)
		return diag_fail(
			diag, EINVAL,
			"an export for optimisers covers a whole image: leave out --function");
	if (o->any_stacks && (report->function || report->selection.image))
		return diag_fail(diag, EINVAL,
				 "stacks are exported whole: leave out --function and --image");
	if (o->raw && report->function)
		return diag_fail(diag, EINVAL,
				 "raw records are selected by --image, not by --function");
	return 0;
}

/* One kind of export, of a session of its own. */
static int run_one(const struct export_options *o,
		   int (*write)(const struct export_options *o, struct report_session *s,
				struct diag *diag),
		   struct diag *diag)
{
	struct report_session s = {.options = &o->report, .progress = progress_show};
	int r = write(o, &s, diag);

	report_tell_finder(s.finder);
	report_tell_reader(s.reader);
	report_session_close(&s);
	return r;
}

static int run(struct export_options *o, struct diag *diag)
{
	int r = check(o, diag);

	if (!r && o->any_stacks)
		r = run_one(o, write_stacks, diag);
	if (!r && o->xml)
		r = run_one(o, write_xml, diag);
	if (!r && o->raw)
		r = run_one(o, write_raw, diag);
	if (!r && o->any_code)
		r = run_one(o, write_code, diag);
	return r;
}

int cmd_export(int argc, char **argv)
{
	struct export_options o = {0};
	struct diag diag = {""};
	int r = cmd_parse(&cmd_export_spec, argc, argv, report_take_option, &o, NULL);

	if (r < 0)
		r = report_finish("export", run(&o, &diag), &diag);
	metrics_free(&o.estimates.metrics);
	return r;
}
