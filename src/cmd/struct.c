/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/report.h"
#include "report/code/structure.h"
#include "util/text.h"

/* culprit struct: the structure of a binary, as bloop of HPCToolkit makes it. */

struct structure_options {
	const char *output;
	bool json;
};

static const struct cmd_option options[] = {
	{"output", 'o', "FILE", "the file to write; default: standard output",
	 CMD_AT(NAME, structure_options, output)},
	{"json", 0, NULL, "one JSON object instead of XML", CMD_AT(FLAG, structure_options, json)},
	{NULL},
};

const struct cmd_spec cmd_struct_spec = {
	"struct",
	"IMAGE|PROGRAM",
	"Writes the structure of a binary as XML: files, functions, what was inlined into\n"
	"them, loops and statements, with their lines and code.",
	options,
	false,
};

/* Where a shell would find the program; NULL: nowhere. free() it. */
static char *find_program(const char *name)
{
	const char *path = getenv("PATH"), *end;
	char *found, file[PATH_MAX];

	for (path = path ? path : ""; *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, ':');
		if (snprintf(file, sizeof(file), "%.*s/%s", (int)(end - path), path, name) <
			    (int)sizeof(file) &&
		    access(file, X_OK) == 0 && (found = realpath(file, NULL)))
			return found;
	}
	return NULL;
}

/* A file that is here comes first. free() the result; NULL: there is none. */
static char *find_image(const char *name, struct diag *diag)
{
	char *path = realpath(name, NULL);
	const int err = errno;

	if (!path && !strchr(name, '/'))
		path = find_program(name);
	if (!path)
		diag_fail(diag, err, "%s: %s", name, strerror(err));
	return path;
}

static void tell(uint64_t count, const char *one, const char *many, const char *rest)
{
	if (count)
		fprintf(stderr, "culprit: %llu %s %s\n", TEXT_COUNT(count, one, many), rest);
}

static void tell_counts(const struct structure *s)
{
	const struct structure_counts c = structure_counts(s);
	char why[1024];

	text_escape_controls(why, sizeof(why), structure_without_lines(s),
			     strlen(structure_without_lines(s)));
	if (*why)
		fprintf(stderr, "culprit: functions and loops by address alone: %s\n", why);
	tell(c.incomplete, "function has", "functions have",
	     "jumps whose targets are not known: loops through these are not seen");
	tell(c.lines_refused, "function is", "functions are",
	     "without lines, which could not be read or were past a limit");
	tell(c.loops_refused, "loop is", "loops are",
	     "nested too deeply and counted as part of the loop around it");
	tell(c.refused, "function is", "functions are", "past the limit and left out");
}

static int write_to(struct structure_report *made, const struct structure_options *o,
		    struct diag *diag)
{
	const enum structure_format format = o->json ? STRUCTURE_JSON : STRUCTURE_XML;
	struct diag why = {""};
	FILE *out = stdout;

	if (o->output)
		out = output_open(o->output, diag);
	if (!out)
		return -EIO;
	int r = structure_report_write(made, format, out, &why);
	if (o->output)
		r = output_close(out, o->output, r, diag);
	else if (r)
		diag_fail(diag, -r, "cannot write the structure: %s", strerror(-r));
	if (r && *why.text)
		*diag = why;
	return r;
}

static int run(const struct structure_options *o, char **operands, struct diag *diag)
{
	struct structure_report made = {0};
	char *path;
	int r;

	if (!operands[0] || operands[1])
		return diag_fail(diag, EINVAL, operands[0] ? "one file at a time" : "which file?");
	path = find_image(operands[0], diag);
	if (!path)
		return -ENOENT;
	r = structure_report_make(path, &made, diag);
	if (!r)
		r = write_to(&made, o, diag);
	if (!r)
		tell_counts(made.structure);
	structure_report_free(&made);
	free(path);
	return r;
}

int cmd_struct(int argc, char **argv)
{
	struct structure_options o = {0};
	struct diag diag = {""};
	int operand, r = cmd_parse(&cmd_struct_spec, argc, argv, NULL, &o, &operand);

	if (r < 0)
		r = report_finish("struct", run(&o, argv + operand, &diag), &diag);
	return r;
}
