/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/types/kernel_types.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/events/tick.h"
#include "util/array.h"
#include "util/num.h"

#define DEPTH_MAX 64

struct cut {
	const struct btf *all;
	struct btf *part;
	struct name {
		const char *text;
		size_t size;
	} * names;
	size_t name_count;
	int *number; /* in part, of each type of all; -1: not there yet */
	int pointer; /* the only one */
};

/* Without what tells several of our own views of one type apart. */
static struct name essence(const char *name)
{
	const char *end = strstr(name + (*name != 0), "___");

	return (struct name){name, end ? (size_t)(end - name) : strlen(name)};
}

static int compare_names(const void *a, const void *b)
{
	const struct name *p = a, *q = b;
	int r = memcmp(p->text, q->text, p->size < q->size ? p->size : q->size);

	return r ? r : NUM_ORDER(p->size, q->size);
}

static bool is_nameable(const struct btf_type *t)
{
	return btf_is_composite(t) || btf_is_any_enum(t) || btf_is_typedef(t);
}

static int collect_names(struct cut *c, const struct btf *const *of, size_t of_count)
{
	size_t room = 0;

	for (size_t i = 0; i < of_count; i++)
		room += btf__type_cnt(of[i]);
	c->names = calloc(room ?: 1, sizeof(*c->names));
	if (!c->names)
		return -ENOMEM;
	for (size_t i = 0; i < of_count; i++)
		for (uint32_t id = 1; id < btf__type_cnt(of[i]); id++) {
			const struct btf_type *t = btf__type_by_id(of[i], id);
			const char *name = btf__name_by_offset(of[i], t->name_off);

			if (is_nameable(t) && name && *name)
				c->names[c->name_count++] = essence(name);
		}
	array_sort(c->names, c->name_count, sizeof(*c->names), compare_names);
	return 0;
}

static bool is_wanted(const struct cut *c, const struct btf_type *t)
{
	const char *name = btf__name_by_offset(c->all, t->name_off);
	struct name key;

	if (!is_nameable(t) || !name || !*name)
		return false;
	key = essence(name);
	return bsearch(&key, c->names, c->name_count, sizeof(key), compare_names) != NULL;
}

static int copy_type(struct cut *c, uint32_t id, unsigned depth);

/* Its members first: fields are added to the type that came last. */
static int copy_composite(struct cut *c, const struct btf_type *t, unsigned depth)
{
	const struct btf_member *m = btf_members(t);
	const char *name = btf__name_by_offset(c->all, t->name_off);
	int number, r = 0;

	for (uint32_t i = 0; r >= 0 && i < btf_vlen(t); i++)
		r = copy_type(c, m[i].type, depth + 1);
	if (r < 0)
		return r;
	number = btf_is_struct(t) ? btf__add_struct(c->part, name, t->size)
				  : btf__add_union(c->part, name, t->size);
	r = number;
	for (uint32_t i = 0; r >= 0 && i < btf_vlen(t); i++)
		r = btf__add_field(c->part, btf__name_by_offset(c->all, m[i].name_off),
				   copy_type(c, m[i].type, depth + 1), btf_member_bit_offset(t, i),
				   btf_member_bitfield_size(t, i));
	return r < 0 ? r : number;
}

static int copy_array(struct cut *c, const struct btf_type *t, unsigned depth)
{
	const struct btf_array *a = btf_array(t);
	int index = copy_type(c, a->index_type, depth + 1);
	int element = index < 0 ? index : copy_type(c, a->type, depth + 1);

	return element < 0 ? element : btf__add_array(c->part, index, element, a->nelems);
}

static int copy_pointer(struct cut *c)
{
	if (!c->pointer)
		c->pointer = btf__add_ptr(c->part, 0);
	return c->pointer;
}

static int copy_new(struct cut *c, uint32_t id, unsigned depth)
{
	const struct btf_type *t = btf__type_by_id(c->all, id);
	int r;

	if (!t || depth > DEPTH_MAX)
		return -EBADMSG;
	switch (btf_kind(t)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return copy_composite(c, t, depth);
	case BTF_KIND_ARRAY:
		return copy_array(c, t, depth);
	case BTF_KIND_PTR:
		return copy_pointer(c);
	case BTF_KIND_TYPEDEF:
		r = copy_type(c, t->type, depth + 1);
		return r < 0 ? r
			     : btf__add_typedef(c->part, btf__name_by_offset(c->all, t->name_off),
						r);
	case BTF_KIND_CONST:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		return copy_type(c, t->type, depth + 1);
	case BTF_KIND_INT:
	case BTF_KIND_FLOAT:
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
	case BTF_KIND_FWD:
		return btf__add_type(c->part, c->all, t);
	default:
		return 0; /* functions: no member is one */
	}
}

/* The number that a type has in the part, once it is there with what is in it. */
static int copy_type(struct cut *c, uint32_t id, unsigned depth)
{
	if (id == 0)
		return 0;
	if (id >= btf__type_cnt(c->all))
		return -EBADMSG;
	if (c->number[id] < 0)
		c->number[id] = copy_new(c, id, depth);
	return c->number[id];
}

static int copy_wanted(struct cut *c)
{
	uint32_t count = btf__type_cnt(c->all);
	int r = 0;

	c->part = btf__new_empty();
	c->number = calloc(count, sizeof(*c->number));
	if (!c->part || !c->number)
		return -ENOMEM;
	memset(c->number, 0xff, count * sizeof(*c->number));
	for (uint32_t id = 1; r >= 0 && id < count; id++)
		if (is_wanted(c, btf__type_by_id(c->all, id)))
			r = copy_type(c, id, 0);
	return r < 0 ? r : 0;
}

static bool is_among(const char *name, const char *const *names)
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names;
}

#define VARIABLES_MAX 16

/* Where they are, each with its type. */
static int copy_variables(struct cut *c, const char *const *names)
{
	int section = btf__find_by_name_kind(c->all, TICK_SECTION, BTF_KIND_DATASEC), r = 0;
	const struct btf_type *t = section < 0 ? NULL : btf__type_by_id(c->all, (uint32_t)section);
	const struct btf_var_secinfo *v = t ? btf_var_secinfos(t) : NULL;
	struct btf_var_secinfo found[VARIABLES_MAX];
	size_t count = 0;

	for (uint32_t i = 0; t && r >= 0 && i < btf_vlen(t) && count < VARIABLES_MAX; i++) {
		const struct btf_type *var = btf__type_by_id(c->all, v[i].type);
		const char *name = btf__name_by_offset(c->all, var->name_off);

		if (!is_among(name, names))
			continue;
		r = copy_type(c, var->type, 0);
		if (r >= 0)
			r = btf__add_var(c->part, name, (int)btf_var(var)->linkage, r);
		found[count] = v[i];
		found[count++].type = (uint32_t)r;
	}
	if (r >= 0 && count)
		r = btf__add_datasec(c->part, TICK_SECTION, t->size);
	for (size_t i = 0; r >= 0 && i < count; i++)
		r = btf__add_datasec_var_info(c->part, (int)found[i].type, found[i].offset,
					      found[i].size);
	return r < 0 ? r : 0;
}

struct btf *kernel_types_cut(const struct btf *all, const struct btf *const *of, size_t of_count,
			     const char *const *variables)
{
	struct cut c = {.all = all};
	int r = collect_names(&c, of, of_count);

	if (!r)
		r = copy_wanted(&c);
	if (!r)
		r = copy_variables(&c, variables);
	free(c.names);
	free(c.number);
	if (!r)
		return c.part;
	btf__free(c.part);
	errno = -r;
	return NULL;
}
