/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/layout.h"
#include "db/reader_state.h"
#include "util/text.h"

/* Finds the epochs that an expression selects. */

static bool has_prefix(const char *name, const char *prefix, size_t size)
{
	return strncmp(name, prefix, size) == 0;
}

/* Whether a name is at or after FROM and at or before TO, or begins with either. */
static bool in_range(const char *name, const char *from, size_t from_size, const char *to)
{
	bool after = !from_size || has_prefix(name, from, from_size) ||
		     strncmp(name, from, from_size) > 0;
	bool before = !*to || has_prefix(name, to, strlen(to)) || strcmp(name, to) < 0;

	return after && before;
}

static bool matches(const char *name, const char *expression)
{
	const char *dots = strstr(expression, "..");
	size_t size = strlen(expression);

	if (strcmp(expression, "all") == 0)
		return true;
	if (dots)
		return in_range(name, expression, (size_t)(dots - expression), dots + 2);
	/* A whole name means that epoch alone, not NAME-2 as well. */
	if (layout_is_epoch(expression))
		return strcmp(name, expression) == 0;
	return size && has_prefix(name, expression, size);
}

int db_reader_set_machine(struct db_reader *r, const char *glob)
{
	char *copy = glob ? strdup(glob) : NULL;

	if (glob && !copy)
		return -ENOMEM;
	free(r->machine);
	r->machine = copy;
	return 0;
}

static bool is_wanted(const struct db_reader *r, const struct epoch_ref *ref)
{
	return !r->machine || text_match_glob(r->machine, ref->machine);
}

static void note_future(struct db_reader *r, const struct epoch_ref *ref)
{
	char text[LAYOUT_NAME_MAX + 160];

	if (!ref->future)
		return;
	snprintf(
		text, sizeof(text),
		"epoch %.63s begins in the future: a clock was wrong. It is not 'last' while there "
		"is another, and goes by its age",
		ref->name);
	reader_note(r, text);
}

/* 0 too when it is not there any more, or is none. */
static int choose(struct db_reader *r, struct epoch_ref *ref, struct diag *diag)
{
	int err = reader_load(r, ref, diag);

	if (err == 0) {
		note_future(r, ref);
		r->chosen[r->chosen_count++] = &ref->info;
	} else if (layout_is_stray(err)) {
		reader_note_stray(r, ref->name, err);
		err = 0;
	}
	return err == -ENOENT ? 0 : err;
}

static void note_without_samples(struct db_reader *r, size_t count)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "%zu newer %s no samples: 'last' is the newest epoch with some (see: culprit "
		 "epochs)",
		 count, text_plural(count, "epoch has", "epochs have"));
	if (count)
		reader_note(r, text);
}

/* The newest with samples, or with any data, of the future or not. */
static int choose_newest(struct db_reader *r, bool future, bool any_data, struct diag *diag)
{
	size_t passed_over = 0;
	int err = 0;

	for (size_t i = r->ref_count; i-- > 0 && !r->chosen_count && err == 0;) {
		const struct db_epoch *e = &r->refs[i].info;
		size_t damages = r->damages;

		if (!is_wanted(r, &r->refs[i]))
			continue;
		if (r->refs[i].future != future) {
			note_future(r, &r->refs[i]);
			continue;
		}
		err = choose(r, &r->refs[i], diag);
		/* What a damaged one had nobody knows: it is not passed over without a word. */
		if (!r->chosen_count ||
		    (e->files && (any_data || e->samples || r->damages > damages)))
			continue;
		r->chosen_count = 0;
		passed_over += e->files != 0;
	}
	if (r->chosen_count)
		note_without_samples(r, passed_over);
	return err;
}

static int choose_last(struct db_reader *r, struct diag *diag)
{
	int err = 0;

	for (int attempt = 0; attempt < 4 && !err && !r->chosen_count; attempt++)
		err = choose_newest(r, attempt & 2, attempt & 1, diag);
	return err;
}

/* The names of the machines, in order of their first epochs, as far as there is room. */
static void list_machines(const struct db_reader *r, char *out, size_t room)
{
	size_t used = 0;

	for (size_t i = 0; i < r->ref_count && used < room; i++) {
		bool seen = false;

		for (size_t j = 0; j < i && !seen; j++)
			seen = !strcmp(r->refs[i].machine, r->refs[j].machine);
		if (!seen)
			used += (size_t)snprintf(out + used, room - used, "%s%s", used ? ", " : "",
						 r->refs[i].machine);
	}
}

static bool any_wanted(const struct db_reader *r)
{
	for (size_t i = 0; i < r->ref_count; i++)
		if (is_wanted(r, &r->refs[i]))
			return true;
	return false;
}

static int fail_empty(const struct db_reader *r, const char *expression, struct diag *diag)
{
	char machines[400] = "";

	/* What was meant is there, but is none. */
	if (r->damages && r->note_count && any_wanted(r))
		return diag_fail(diag, ENOENT, "there are no samples in %s; %s", r->path,
				 r->notes[r->note_count - 1]);

	if (r->ref_count && !any_wanted(r)) {
		list_machines(r, machines, sizeof(machines));
		return diag_fail(diag, ENOENT,
				 "no machine of %s matches '%s'; the machines are: %s", r->path,
				 r->machine, machines);
	}
	if (!r->ref_count || strcmp(expression, "last") == 0 || strcmp(expression, "all") == 0)
		return diag_fail(diag, ENOENT,
				 "there are no samples in %s: is it a database, and has a "
				 "recording into it ended? (culprit record -o %s)",
				 r->path, r->path);
	return diag_fail(diag, ENOENT,
			 "no epoch of %s matches '%s': there are %zu, from %s to %s (culprit "
			 "epochs lists them)",
			 r->path, expression, r->ref_count, r->refs[0].name,
			 r->refs[r->ref_count - 1].name);
}

int db_reader_select(struct db_reader *r, const char *expression, struct diag *diag)
{
	int err = reader_list(r, diag);

	if (err < 0)
		return err;
	r->chosen = calloc(r->ref_count + 1, sizeof(*r->chosen));
	if (!r->chosen)
		return diag_fail(diag, ENOMEM, "out of memory for the list of epochs");
	if (strcmp(expression, "last") == 0)
		err = choose_last(r, diag);
	for (size_t i = 0; i < r->ref_count && err == 0 && strcmp(expression, "last"); i++) {
		if (!is_wanted(r, &r->refs[i]) || !matches(r->refs[i].name, expression))
			continue;
		err = choose(r, &r->refs[i], diag);
	}
	if (err == 0 && !r->chosen_count)
		err = fail_empty(r, expression, diag);
	if (err < 0) {
		free(r->chosen);
		r->chosen = NULL;
		r->chosen_count = 0;
	}
	return err;
}

const struct db_epoch *const *db_reader_selected(const struct db_reader *r, size_t *ret_count)
{
	*ret_count = r->chosen_count;
	return r->chosen;
}
