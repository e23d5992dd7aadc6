/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "collect/control.h"
#include "config.h"
#include "render/json.h"
#include "render/table.h"
#include "util/text.h"

/* A flush waits for the disk. */
#define PATIENCE_MS 120000

struct request {
	const char *socket;
	enum table_format format;
};

static const struct cmd_option options[] = {
	{"json", 'j', NULL, "prints the daemon's answer as it is", CMD_AT(FORM, request, format),
	 .number = TABLE_JSON},
	{"csv", 0, NULL, "status: comma-separated values", CMD_AT(FORM, request, format),
	 .number = TABLE_CSV},
	{"socket", 's', "PATH", "the control socket (default " CULPRIT_RUN_DIR "/control)",
	 CMD_AT(TEXT, request, socket)},
	{NULL},
};

const struct cmd_spec cmd_ctl_spec = {
	.name = "ctl",
	.operands = "status|flush|epoch|stop|label KEY=VALUE",
	.help = "Tells the daemon to write its samples (flush), to begin an epoch, to label the "
		"samples\n"
		"from now on (label; an empty VALUE removes the label) or to end (stop); status "
		"asks\n"
		"for its state.",
	.options = options,
};

/* Checks the words here, so that the mistake is told where it was made. */
static int make_request(int count, char **words, char *out, size_t room, struct diag *diag)
{
	static const char *const plain[] = {"status", "flush", "epoch", "stop"};
	bool label = count == 2 && !strcmp(words[0], "label"), known = label;

	if (count == 0)
		return diag_fail(diag, EINVAL,
				 "say what it is to do: status, flush, epoch, label or stop");
	if (count == 1 && !strcmp(words[0], "label"))
		return diag_fail(diag, EINVAL,
				 "say which label: label KEY=VALUE, or label KEY= to remove it");
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		known |= count == 1 && !strcmp(words[0], plain[i]);
	if (!known)
		return diag_fail(
			diag, EINVAL,
			"'%s'%s is not one of: status, flush, epoch, stop, label KEY=VALUE",
			words[0], count > 1 ? " with these words" : "");
	if (label && (!strchr(words[1], '=') || strchr(words[1], '\n')))
		return diag_fail(diag, EINVAL, "label '%s' is not KEY=VALUE", words[1]);
	if (snprintf(out, room, "%s%s%s", words[0], label ? " " : "", label ? words[1] : "") >=
	    (int)room)
		return diag_fail(diag, EINVAL, "the label is too long");
	return 0;
}

/* False: it has no text of one line. */
static bool format_value(const json_t *value, char *out, size_t room)
{
	if (json_is_string(value))
		snprintf(out, room, "%s", json_string_value(value));
	else if (json_is_integer(value))
		snprintf(out, room, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_real(value))
		snprintf(out, room, "%.6g", json_real_value(value));
	return json_is_string(value) || json_is_number(value);
}

/* Calls print(arg, key, value) for each thing the daemon says; an event's value is its period. */
static void each_value(const json_t *answer,
		       void (*print)(void *arg, const char *key, const char *event,
				     const char *value),
		       void *arg)
{
	char text[512], name[512];
	const char *key;
	json_t *value, *event;
	size_t i;

	json_object_foreach((json_t *)answer, key, value)
	{
		if (format_value(value, text, sizeof(text)))
			print(arg, key, NULL, text);
		json_array_foreach(value, i, event)
		{
			if (format_value(json_object_get(event, "name"), name, sizeof(name)) &&
			    format_value(json_object_get(event, "period"), text, sizeof(text)))
				print(arg, key, name, text);
		}
	}
}

/* Whatever listens at the socket may say anything. */
static void print_text(void *arg, const char *key, const char *event, const char *value)
{
	char name[2100], named[2100], text[2100];

	(void)arg;
	text_escape(name, sizeof(name), key, strlen(key));
	text_escape(text, sizeof(text), value, strlen(value));
	text_escape(named, sizeof(named), event ? event : "", event ? strlen(event) : 0);
	if (event)
		printf("%-18s %s, period %s\n", name, named, text);
	else
		printf("%-18s %s\n", name, text);
}

static void add_row(void *arg, const char *key, const char *event, const char *value)
{
	struct table *t = arg;
	char name[600];

	snprintf(name, sizeof(name), "%s%s%s", key, event ? "." : "", event ? event : "");
	table_add_row(t);
	table_set_text(t, 0, name);
	table_set_text(t, 1, value);
}

static int print_csv(const json_t *answer)
{
	struct table *t = table_new("status");

	table_add_column(t, TABLE_NAME, "key", NULL);
	table_add_column(t, TABLE_NAME, "value", NULL);
	each_value(answer, add_row, t);
	int r = table_print(t, NULL, TABLE_CSV, stdout, 0);
	table_free(t);
	return r == -ENOMEM ? r : 0; /* whoever flushes the output tells of the rest */
}

static int show(const char *text, enum table_format format, bool whole, struct diag *diag)
{
	json_t *answer = json_loads(text, 0, NULL);
	int r = 0;

	if (!answer) {
		r = diag_fail(diag, EBADMSG, "the daemon's answer makes no sense");
	} else if (!json_is_true(json_object_get(answer, "ok"))) {
		r = diag_fail(diag, EREMOTEIO, "the daemon says: %s",
			      json_string_value(json_object_get(answer, "error")) ?: "no");
	} else if (format == TABLE_JSON) {
		if (report_json_print(json_incref(answer), 0, stdout))
			r = diag_fail(diag, ENOMEM, "out of memory");
		else
			putchar('\n');
	} else if (whole && format == TABLE_CSV) {
		if (print_csv(answer))
			r = diag_fail(diag, ENOMEM, "out of memory");
	} else if (whole) {
		each_value(answer, print_text, NULL);
	}
	json_decref(answer);
	return r;
}

int cmd_ctl(int argc, char **argv)
{
	struct request request = {.socket = CULPRIT_RUN_DIR "/control"};
	char line[CONTROL_REQUEST_MAX - 1], *text = NULL;
	struct diag diag = {0};
	int operand, r, status = cmd_parse(&cmd_ctl_spec, argc, argv, NULL, &request, &operand);

	if (status >= 0)
		return status;
	if (make_request(argc - operand, argv + operand, line, sizeof(line), &diag))
		return cmd_fail_usage("ctl", &diag);
	if (request.format == TABLE_CSV && strcmp(line, "status") != 0) {
		diag_fail(&diag, EINVAL, "--csv is for status only: the others have no table");
		return cmd_fail_usage("ctl", &diag);
	}
	r = control_ask(request.socket, line, PATIENCE_MS, &text, &diag);
	if (!r)
		r = show(text, request.format, !strcmp(line, "status"), &diag);
	free(text);
	return r ? cmd_fail(&diag) : CMD_OK;
}
