/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/stack_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "collect/files.h"
#include "collect/python.h"
#include "collect/unwind_cache.h"
#include "collect/unwind_tables.h"
#include "image/vdso.h"

#define RULES 65536

struct stack_files {
	struct stack_files_config config;
	struct unwind_tables *tables;
	struct unwind_cache *cache;
	struct stack_file slots[STACK_SLOTS];
	uint32_t count;	       /* slots given: 1 to count */
	uint32_t vdso;	       /* the vDSO's, 0: it has none */
	uint32_t python_count; /* interpreters: 1 to this */
	uint64_t without;
	uint64_t derived_rows, skipped_bytes;
};

static int put_table(void *arg, uint32_t slot, const struct wire_unwind_table *table)
{
	struct stack_files *f = arg;
	struct wire_unwind_table t = *table;

	t.python = f->slots[slot].python;
	return unwinder_put_table(f->config.kernel, slot, &t);
}

static int quiesce(void *arg)
{
	struct stack_files *f = arg;

	return sampler_quiesce(f->config.sampler, NULL);
}

static int reach(void *arg, uint32_t first, uint32_t count)
{
	struct stack_files *f = arg;

	return unwinder_reach(f->config.kernel, first, count);
}

/* Compiles and places the table of a slot. That it has none is placed too. */
static void load_table(struct stack_files *f, uint32_t slot)
{
	struct stack_file *file = &f->slots[slot];
	struct unwind_cache_key key = {0};
	struct image_unwind *u = NULL;
	bool kept = file->fd >= 0 && unwind_cache_read(f->cache, file->fd, &key, &u) == 0;

	if (!kept && (file->fd < 0 || image_worker_unwind(f->config.worker, file->fd, &u, NULL)))
		f->without++;
	if (u) {
		f->derived_rows += u->derived;
		f->skipped_bytes += u->skipped_bytes;
	}
	/* One that is larger than all the memory is as good as none. */
	if (unwind_tables_put(f->tables, slot, u, file->segments, file->segment_count) == -ENOSPC) {
		f->without++;
		unwind_tables_put(f->tables, slot, NULL, NULL, 0);
	}
	if (u && !kept)
		unwind_cache_take(f->cache, file->fd, &key, u);
	else
		image_unwind_free(u);
}

/* If it is an interpreter of Python that is known: the program learns how to read its frames. */
static void describe_python(struct stack_files *f, struct stack_file *file)
{
	struct image_python python;
	struct wire_python wire;

	if (file->fd < 0 || f->python_count + 1 >= WIRE_PYTHONS ||
	    image_worker_python(f->config.worker, file->fd, &python, NULL) ||
	    python_describe(&python, file->segments, file->segment_count, &wire) ||
	    unwinder_put_python(f->config.kernel, f->python_count + 1, &wire))
		return;
	file->python = ++f->python_count;
}

static void free_file(struct stack_file *file)
{
	free(file->path);
	free(file->segments);
	if (file->fd >= 0)
		close(file->fd);
}

/* Takes over the descriptor. */
static int add_slot(struct stack_files *f, const struct stack_file *like, uint32_t *ret)
{
	struct stack_file *file = &f->slots[f->count + 1];

	if (f->count + 1 == STACK_SLOTS) {
		if (like->fd >= 0)
			close(like->fd);
		return -ENOSPC;
	}
	*file = *like;
	file->path = strdup(like->path);
	file->segments = calloc(like->segment_count + 1, sizeof(*file->segments));
	if (!file->path || !file->segments) {
		free_file(file);
		return -ENOMEM;
	}
	memcpy(file->segments, like->segments, like->segment_count * sizeof(*file->segments));
	file->segment_count = like->segment_count;
	describe_python(f, file);
	*ret = ++f->count;
	load_table(f, *ret);
	return 0;
}

static void add_vdso(struct stack_files *f)
{
	struct stack_file file = {
		.path = (char *)"[vdso]", .path_size = 6, .fd = image_vdso_copy()};
	struct image_facts facts;

	if (file.fd < 0)
		return;
	if (image_worker_facts(f->config.worker, file.fd, &facts, NULL)) {
		close(file.fd);
		return;
	}
	files_identify_vdso(&file.id);
	file.segments = facts.segments;
	file.segment_count = facts.segment_count;
	if (add_slot(f, &file, &f->vdso) == 0)
		unwinder_put_vdso(f->config.kernel, f->vdso);
}

int stack_files_new(const struct stack_files_config *config, struct stack_files **ret,
		    struct diag *diag)
{
	struct stack_files *f = calloc(1, sizeof(*f));
	struct unwind_memory memory = {
		.rows = unwinder_rows(config->kernel),
		.rules = unwinder_rules(config->kernel),
		.row_count = config->row_count,
		.rule_count = RULES,
		.slot_count = STACK_SLOTS,
		.put = put_table,
		.quiesce = quiesce,
		.reach = reach,
		.arg = f,
	};

	if (f)
		f->tables = unwind_tables_new(&memory);
	if (!f || !f->tables) {
		free(f);
		return diag_fail(diag, ENOMEM, "out of memory");
	}
	f->config = *config;
	f->cache = unwind_cache_new(NULL);
	add_vdso(f);
	*ret = f;
	return 0;
}

void stack_files_free(struct stack_files *f)
{
	if (!f)
		return;
	for (uint32_t slot = 1; slot <= f->count; slot++)
		free_file(&f->slots[slot]);
	unwind_tables_free(f->tables);
	unwind_cache_free(f->cache);
	free(f);
}

void stack_files_keep(struct stack_files *f)
{
	unwind_cache_write(f->cache);
}

int stack_files_give(struct stack_files *f, const struct mapping *m, pid_t pid, uint32_t *ret)
{
	const struct mapped_file *file = m->file;
	struct stack_file like = {
		.id = file->id,
		.path = (char *)file->path,
		.path_size = file->path_size,
		.segments = file->segments,
		.segment_count = file->segment_count,
		.number = file->number,
	};

	*ret = file->state == FILE_VDSO ? f->vdso : 0;
	if (file->state != FILE_ELF)
		return 0;
	for (uint32_t slot = 1; slot <= f->count; slot++)
		if (f->slots[slot].number == file->number) {
			*ret = slot;
			return 0;
		}
	like.fd = files_open(file, pid, m->start, m->end);
	return add_slot(f, &like, ret);
}

void stack_files_load(struct stack_files *f, uint32_t slot)
{
	if (slot && slot <= f->count && !unwind_tables_find(f->tables, slot, 0))
		load_table(f, slot);
}

struct stack_file *stack_files_get(struct stack_files *f, uint32_t slot)
{
	return slot && slot <= f->count ? &f->slots[slot] : NULL;
}

void stack_files_use(struct stack_files *f, uint32_t slot)
{
	unwind_tables_use(f->tables, slot);
}

const struct wire_unwind_rule *stack_files_rule(const struct stack_files *f, uint32_t slot,
						uint32_t offset)
{
	return unwind_tables_find(f->tables, slot, offset);
}

int stack_files_read(const struct stack_files *f, uint32_t slot, uint64_t offset, void *to,
		     size_t size)
{
	if (!slot || slot > f->count || f->slots[slot].fd < 0 || offset > INT64_MAX)
		return -EIO;
	return pread(f->slots[slot].fd, to, size, (off_t)offset) == (ssize_t)size ? 0 : -EIO;
}

void stack_files_clear(struct stack_files *f)
{
	for (uint32_t slot = f->vdso + 1; slot <= f->count; slot++) {
		unwind_tables_drop(f->tables, slot);
		free_file(&f->slots[slot]);
	}
	f->count = f->vdso;
	f->python_count = 0;
}

void stack_files_count(const struct stack_files *f, struct stack_files_counters *ret)
{
	struct unwind_tables_counters t;
	struct unwind_cache_counters c;

	unwind_tables_count(f->tables, &t);
	unwind_cache_count(f->cache, &c);
	*ret = (struct stack_files_counters){
		.tables = t.tables,
		.table_bytes = t.rows * sizeof(uint32_t),
		.evicted = t.evicted,
		.refused = t.refused,
		.without = f->without,
		.derived_rows = f->derived_rows,
		.skipped_bytes = f->skipped_bytes,
		.kept = c.read,
	};
}
