/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/values/value_store.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include "db/values.h"
#include "values/extract.h"

struct value_store {
	struct value_store_config config;
	struct value_store_counters counters;
};

static const struct {
	const char *name;
	uint32_t kinds;
} kind_words[] = {
	{"loads", VALUES_LOADS},
	{"stores", VALUES_STORES},
	{"operands", VALUES_OPERANDS},
	{"results", VALUES_RESULTS},
	{"addresses", VALUES_ADDRESSES},
	{"strides", VALUES_STRIDES},
	{"arguments", VALUES_ARGUMENTS},
	{"returns", VALUES_RETURNS},
	{"all", UINT32_MAX},
};

static int parse_word(const char *word, size_t size, uint32_t *kinds, struct diag *diag)
{
	for (size_t i = 0; i < sizeof(kind_words) / sizeof(*kind_words); i++)
		if (strlen(kind_words[i].name) == size && !memcmp(kind_words[i].name, word, size)) {
			*kinds |= kind_words[i].kinds;
			return 0;
		}
	return diag_fail(diag, EINVAL,
			 "'%.*s' is not one of loads, stores, operands, results, addresses, "
			 "strides, arguments, returns, all",
			 (int)size, word);
}

int values_parse_kinds(const char *list, uint32_t *ret, struct diag *diag)
{
	uint32_t kinds = 0;
	int r = 0;

	for (const char *word = list; !r; word++) {
		const size_t size = strcspn(word, ",");

		r = parse_word(word, size, &kinds, diag);
		word += size;
		if (!*word)
			break;
	}
	if (!r)
		*ret = kinds;
	return r;
}

struct value_store *value_store_new(const struct value_store_config *config)
{
	struct value_store *s = calloc(1, sizeof(*s));

	if (s)
		s->config = *config;
	return s;
}

void value_store_free(struct value_store *s)
{
	free(s);
}

void value_store_read_counters(const struct value_store *s, struct value_store_counters *ret)
{
	*ret = s->counters;
}

/* Strides are differences, and so no content. */
static bool may_keep(const struct value_store *s, enum value_kind kind)
{
	return s->config.options->with_contents || kind == VALUE_STRIDE;
}

static int store(struct value_store *s, const struct wire_value *v, const struct value_found *f)
{
	const struct values_options *o = s->config.options;
	struct db_value place = {.site_image = DB_VALUE_NO_SITE, .kind = f->kind};
	struct value_spot spot, site;
	int r = s->config.find(s->config.find_arg, v->at, &spot);

	if (!r && o->image && fnmatch(o->image, spot.path, 0) != 0)
		return -ENOENT;
	if (!r && o->with_sites && v->form == WIRE_VALUE_OF_CALL) {
		r = s->config.find(s->config.find_arg, v->site, &site);
		place.site_image = site.image;
		place.site = site.offset;
	}
	if (r)
		return r;
	place.image = spot.image;
	place.offset = spot.offset;
	return db_batch_value(s->config.batch, &place, o->image ? VALUES_MANY : VALUES_FEW,
			      &f->sample, may_keep(s, f->kind));
}

/* Whether it was stored. */
static bool take_one(struct value_store *s, const struct wire_value *v, const struct value_found *f)
{
	int r = store(s, v, f);

	if (r == -ENOSPC && s->config.make_room(s->config.arg) == 0)
		r = store(s, v, f);
	s->counters.values += !r;
	s->counters.lost += r && r != -ENOENT;
	return !r;
}

void value_store_take(struct value_store *s, const struct wire_values *values)
{
	struct value_found found[VALUES_FOUND_MAX];
	bool any = false;

	for (uint32_t i = 0; i < values->count && i < WIRE_WINDOW_VALUES; i++) {
		const struct wire_value *v = &values->value[i];
		const unsigned count = v->at.slot ? values_extract(v, found) : 0;

		for (unsigned k = 0; k < count; k++)
			if (s->config.options->kinds >> found[k].kind & 1)
				any |= take_one(s, v, &found[k]);
	}
	s->counters.windows += any;
}
