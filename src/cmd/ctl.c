/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "collect/control.h"
#include "config.h"
#include "util/text.h"

/* A flush waits for the disk. */
#define PATIENCE_MS 120000

static const struct cmd_option options[] = {
	{"json", 'j', NULL, "prints the daemon's answer as it is"},
	{"socket", 's', "PATH", "of the control socket (default " CULPRIT_RUN_DIR "/control)"},
	{NULL},
};

static const struct cmd_spec spec = {
	.name = "ctl",
	.operands = "status|flush|epoch|stop|label KEY=VALUE",
	.help = "Tells the daemon to write what it has (flush), to begin an epoch, to mark the "
		"samples from\n"
		"now on (label; an empty VALUE takes the mark away), to end; or asks how it is.",
	.options = options,
};

struct request {
	const char *socket;
	bool as_json;
};

static int take_option(void *arg, int value, const char *text, struct diag *diag)
{
	struct request *r = arg;

	(void)diag;
	if (value == 'j')
		r->as_json = true;
	else
		r->socket = text;
	return 0;
}

/* Checks the words here, so that the mistake is told where it was made. */
static int make_request(int count, char **words, char *out, size_t room, struct diag *diag)
{
	static const char *const plain[] = {"status", "flush", "epoch", "stop"};
	bool label = count == 2 && !strcmp(words[0], "label"), known = label;

	if (count == 0)
		return diag_fail(diag, EINVAL,
				 "what is it to do? status, flush, epoch, label or stop");
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		known |= count == 1 && !strcmp(words[0], plain[i]);
	if (!known)
		return diag_fail(diag, EINVAL,
				 "'%s'%s is none of: status, flush, epoch, stop, label KEY=VALUE",
				 words[0], count > 1 ? " with these words" : "");
	if (label && (!strchr(words[1], '=') || strchr(words[1], '\n')))
		return diag_fail(diag, EINVAL, "label '%s' is not KEY=VALUE", words[1]);
	if (snprintf(out, room, "%s%s%s", words[0], label ? " " : "", label ? words[1] : "") >=
	    (int)room)
		return diag_fail(diag, EINVAL, "the label is too long");
	return 0;
}

static void print_value(const char *key, const json_t *value)
{
	char name[512];

	if (json_is_string(value)) {
		text_escape(name, sizeof(name), json_string_value(value),
			    json_string_length(value));
		printf("%-18s %s\n", key, name);
	} else if (json_is_integer(value)) {
		printf("%-18s %" JSON_INTEGER_FORMAT "\n", key, json_integer_value(value));
	} else if (json_is_real(value)) {
		printf("%-18s %.6g\n", key, json_real_value(value));
	}
}

static void print_status(const json_t *answer)
{
	const char *key;
	json_t *value, *event;
	size_t i;

	json_object_foreach((json_t *)answer, key, value)
	{
		if (!json_is_array(value))
			print_value(key, value);
		json_array_foreach(value, i, event)
			printf("%-18s %s, period %" JSON_INTEGER_FORMAT "\n", i ? "" : "events",
			       json_string_value(json_object_get(event, "name")) ?: "?",
			       json_integer_value(json_object_get(event, "period")));
	}
}

static int show(const char *text, bool as_json, bool whole, struct diag *diag)
{
	json_t *answer = json_loads(text, 0, NULL);
	int r = 0;

	if (!answer) {
		r = diag_fail(diag, EBADMSG, "the daemon's answer makes no sense");
	} else if (!json_is_true(json_object_get(answer, "ok"))) {
		r = diag_fail(diag, EREMOTEIO, "the daemon says: %s",
			      json_string_value(json_object_get(answer, "error")) ?: "no");
	} else if (as_json) {
		puts(text);
	} else if (whole) {
		print_status(answer);
	}
	json_decref(answer);
	return r;
}

int cmd_ctl(int argc, char **argv)
{
	struct request request = {.socket = CULPRIT_RUN_DIR "/control"};
	char line[CONTROL_REQUEST_MAX - 1], *text = NULL;
	struct diag diag = {0};
	int operand, r, status = cmd_parse(&spec, argc, argv, take_option, &request, &operand);

	if (status >= 0)
		return status;
	if (make_request(argc - operand, argv + operand, line, sizeof(line), &diag))
		return cmd_fail_usage("ctl", &diag);
	r = control_ask(request.socket, line, PATIENCE_MS, &text, &diag);
	if (!r)
		r = show(text, request.as_json, !strcmp(line, "status"), &diag);
	free(text);
	return r ? cmd_fail(&diag) : CMD_OK;
}
