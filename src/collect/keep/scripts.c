/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/keep/scripts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "image/script.h"
#include "image/symbols.h"
#include "util/array.h"
#include "util/hash.h"

#define KEY_BYTES_MAX 65536

struct script {
	struct image_id id;
	uint32_t batch_number, image; /* the batch for which image is its index */
	/* Its functions that were not kept yet. */
	struct image_symbol *fresh; /* names are the interned ones */
	size_t fresh_count, fresh_room;
};

/* What tells a function from others, before its name. */
struct function_key {
	uint32_t script, first_line;
};

struct scripts {
	struct intern *paths;	  /* of scripts */
	struct intern *functions; /* struct function_key and the name */
	struct script *scripts;	  /* by the number of the path */
	struct buf key;
};

static int make_tables(struct scripts *s)
{
	s->paths = intern_new(SCRIPTS_MAX);
	s->functions = intern_new(SCRIPTS_FUNCTIONS_MAX);
	return s->paths && s->functions ? 0 : -ENOMEM;
}

static void free_tables(struct scripts *s)
{
	for (uint32_t i = 0; s->scripts && i < SCRIPTS_MAX; i++)
		free(s->scripts[i].fresh);
	intern_free(s->paths);
	intern_free(s->functions);
	s->paths = s->functions = NULL;
}

struct scripts *scripts_new(void)
{
	struct scripts *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	buf_init(&s->key, KEY_BYTES_MAX);
	s->scripts = calloc(SCRIPTS_MAX, sizeof(*s->scripts));
	if (!s->scripts || make_tables(s)) {
		scripts_free(s);
		return NULL;
	}
	return s;
}

void scripts_free(struct scripts *s)
{
	if (!s)
		return;
	free_tables(s);
	free(s->scripts);
	buf_free(&s->key);
	free(s);
}

int scripts_clear(struct scripts *s)
{
	free_tables(s);
	memset(s->scripts, 0, SCRIPTS_MAX * sizeof(*s->scripts));
	return make_tables(s);
}

static int add_fresh(struct script *script, uint64_t start, const char *name)
{
	if (array_grow(&script->fresh, script->fresh_count, &script->fresh_room,
		       sizeof(*script->fresh), 8))
		return -ENOMEM;
	script->fresh[script->fresh_count++] =
		(struct image_symbol){start, IMAGE_SCRIPT_LINES, name};
	return 0;
}

int scripts_function(struct scripts *s, const char *path, size_t path_size, uint32_t first_line,
		     const char *name, size_t name_size, uint32_t *ret_script,
		     uint64_t *ret_function)
{
	struct function_key key = {.first_line = first_line};
	uint32_t index, known, functions;
	struct script *script;
	uint64_t start;

	if (!s->paths || !s->functions)
		return -ENOMEM;
	known = intern_count(s->paths);
	functions = intern_count(s->functions);
	int r = intern_add(s->paths, path, path_size, &key.script);
	if (r)
		return r;
	script = &s->scripts[key.script];
	if (key.script == known)
		image_script_id(path, path_size, &script->id);
	buf_clear(&s->key);
	buf_append(&s->key, &key, sizeof(key));
	r = buf_append(&s->key, name, name_size);
	if (!r)
		r = intern_add(s->functions, s->key.data, s->key.size, &index);
	if (r)
		return r;
	start = image_script_function(first_line, name, name_size);
	name = (const char *)intern_get(s->functions, index, NULL) + sizeof(key);
	if (index == functions && (r = add_fresh(script, start, name)))
		return r;
	*ret_script = key.script;
	*ret_function = start;
	return 0;
}

int scripts_image(struct scripts *s, uint32_t number, struct db_batch *batch, uint32_t batch_number,
		  uint32_t *ret_image)
{
	struct script *script = &s->scripts[number];
	size_t size;
	int r;

	if (script->batch_number != batch_number + 1) {
		const char *path = intern_get(s->paths, number, &size);

		r = db_batch_image(batch, &script->id, path, size, &script->image);
		if (r)
			return r;
		script->batch_number = batch_number + 1;
	}
	*ret_image = script->image;
	return 0;
}

void scripts_keep(struct scripts *s, struct keeper *k)
{
	uint32_t scripts = s->paths ? intern_count(s->paths) : 0;
	struct keeper_script *list = calloc(scripts + 1, sizeof(*list));
	size_t count = 0;

	for (uint32_t i = 0; i < scripts && list; i++) {
		const struct script *script = &s->scripts[i];

		if (script->fresh_count && image_symbols_build(script->fresh, script->fresh_count,
							       "script", &list[count].symbols) == 0)
			list[count++].id = script->id;
	}
	/* What it refuses now it is asked again the next time. */
	if (!count || keeper_want_scripts(k, list, count)) {
		keeper_free_scripts(list, count);
		return;
	}
	for (uint32_t i = 0; i < scripts; i++)
		s->scripts[i].fresh_count = 0;
}

bool scripts_are_many(const struct scripts *s)
{
	return !s->paths || !s->functions || intern_count(s->paths) > SCRIPTS_MAX / 4 * 3 ||
	       intern_count(s->functions) > SCRIPTS_FUNCTIONS_MAX / 4 * 3;
}
