/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/stacks/stack_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "collect/process/files.h"
#include "collect/process/resolve.h"
#include "collect/stacks/python.h"
#include "collect/stacks/unwind_maker.h"
#include "collect/stacks/unwind_tables.h"
#include "image/vdso.h"
#include "util/array.h"

/* A file whose table takes longer is given up: of the processor, and until it is there. A busy
 * machine may need long for little, and who waits is only the next file. */
#define MAKER_BYTES    (256u << 20)
#define MAKER_NS       2000000000ull /* one was too little for libx265 when the host was busy */
#define MAKER_WAIT_NS  60000000000ull
#define MAKER_AGAIN_NS 10000000000ull
#define MAKER_TRIES    4
/* When a recording ends, for tables that nobody waits for any more but the next recording. */
#define FINISH_NS 5000000000ull

struct stack_files {
	struct stack_files_config config;
	struct unwind_tables *tables;
	struct unwind_maker *maker;
	struct stack_file slots[STACK_SLOTS];
	uint32_t count;		  /* slots given: 1 to count */
	uint32_t wishes;	  /* for tables */
	uint32_t vdso;		  /* the vDSO's, 0: it has none */
	uint32_t python_count;	  /* interpreters: 1 to this */
	uint32_t pythons_unknown; /* see stack_files_unknown_pythons() */
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

/* That a file has no table is placed too. */
static void place_table(struct stack_files *f, uint32_t slot, const struct image_unwind *u)
{
	struct stack_file *file = &f->slots[slot];

	f->without += !u;
	if (u) {
		f->derived_rows += u->derived;
		f->skipped_bytes += u->skipped_bytes;
	}
	/* One that is larger than all the memory is as good as none. */
	if (unwind_tables_put(f->tables, slot, u, file->segments, file->segment_count) == -ENOSPC) {
		f->without++;
		unwind_tables_put(f->tables, slot, NULL, NULL, 0);
	}
}

struct runs {
	struct originals_run *list;
	size_t count, room;
};

static int take_run(void *arg, const struct originals_run *run)
{
	struct runs *r = arg;

	if (array_grow(&r->list, r->count, &r->room, sizeof(*r->list), 4096))
		return -ENOMEM;
	r->list[r->count++] = *run;
	return 0;
}

/* Of what copies are, now: nobody has to look at a file for it. */
static void place_originals(struct stack_files *f, uint32_t slot)
{
	const struct originals *o = f->config.originals;
	struct runs runs = {0};
	int r = o->each_run(o->arg, f->slots[slot].copied - 1, take_run, &runs);

	if (r || unwind_tables_put_originals(f->tables, slot, runs.list, runs.count)) {
		f->without++;
		unwind_tables_put(f->tables, slot, NULL, NULL, 0);
	}
	free(runs.list);
}

static void want_table(struct stack_files *f, uint32_t slot)
{
	struct stack_file *file = &f->slots[slot];
	/* None twice: a slot may be another file's when the answer comes. */
	uint64_t wish = (uint64_t)++f->wishes << 32 | slot;

	if (file->copied)
		place_originals(f, slot);
	else if (file->fd >= 0 && unwind_maker_ask(f->maker, wish, file->fd) == 0)
		file->wish = wish;
	else
		place_table(f, slot, NULL);
}

/* If it is an interpreter of Python that is known: the program learns how to read its frames. */
static void describe_python(struct stack_files *f, struct stack_file *file,
			    const struct image_python *python)
{
	uint32_t minor = python->version >> 16 & 0xff;
	struct wire_python wire;

	if (file->python || f->python_count + 1 >= WIRE_PYTHONS)
		return;
	if (python_describe(python, file->segments, file->segment_count, &wire))
		f->pythons_unknown |= UINT32_C(1) << (minor < 32 ? minor : 31);
	else if (!unwinder_put_python(f->config.kernel, f->python_count + 1, &wire))
		file->python = ++f->python_count;
}

uint32_t stack_files_unknown_pythons(const struct stack_files *f)
{
	return f->pythons_unknown;
}

uint64_t stack_files_take(struct stack_files *f)
{
	struct unwind_made *made;
	uint64_t took_ns = 0;

	while ((made = unwind_maker_take(f->maker))) {
		uint32_t slot = (uint32_t)made->wish;

		took_ns += made->took_ns;
		if (f->slots[slot].wish == made->wish) {
			f->slots[slot].wish = 0;
			if (made->python.version)
				describe_python(f, &f->slots[slot], &made->python);
			place_table(f, slot, made->u);
		}
		unwind_maker_give_back(f->maker, made);
	}
	return took_ns;
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
	*ret = ++f->count;
	return 0;
}

/* Its table is made when a stack meets it: a thread that began now would keep rights that are given
 * up after this. */
static void add_vdso(struct stack_files *f)
{
	struct stack_file file = {
		.path = (char *)"[vdso]", .path_size = 6, .fd = image_vdso_copy()};
	struct image_facts facts;

	if (file.fd < 0)
		return;
	/* By no worker: it is the kernel's own. */
	if (image_facts_read(file.fd, &facts, NULL)) {
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
		.rule_count = UNWINDER_RULES,
		.slot_count = STACK_SLOTS,
		.put = put_table,
		.quiesce = quiesce,
		.reach = reach,
		.arg = f,
	};
	const struct unwind_maker_config maker = {
		.limits = {.memory_bytes = MAKER_BYTES,
			   .time_ns = MAKER_NS,
			   .wait_ns = MAKER_WAIT_NS},
		.again_ns = MAKER_AGAIN_NS,
		.tries = MAKER_TRIES,
		.allowance = config->allowance,
	};

	if (f) {
		f->tables = unwind_tables_new(&memory);
		f->maker = unwind_maker_new(&maker);
	}
	if (!f || !f->tables || !f->maker) {
		stack_files_free(f);
		return diag_fail(diag, ENOMEM, "out of memory");
	}
	f->config = *config;
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
	unwind_maker_free(f->maker, FINISH_NS);
	free(f);
}

/* The slot for the originals of all copies of an image. */
static int give_originals(struct stack_files *f, uint32_t image, uint32_t *ret)
{
	const struct stack_file like = {
		.path = (char *)"", .fd = -1, .number = UINT64_MAX, .copied = image + 1};
	int r;

	for (*ret = 1; *ret <= f->count; ++*ret)
		if (f->slots[*ret].copied == like.copied)
			return 0;
	r = add_slot(f, &like, ret);
	if (!r)
		place_originals(f, *ret);
	return r;
}

/* Of a file of copies. */
static int give_copies(struct stack_files *f, const struct mapped_file *file, uint32_t *ret)
{
	const struct originals *o = f->config.originals;
	struct stack_file like = {.path = (char *)"", .fd = -1, .number = file->number};
	struct wire_unwind_table table = {0};
	struct originals_file of;
	int r;

	*ret = 0;
	if (!o->find_file(o->arg, file->name.inode, &of))
		return 0;
	r = give_originals(f, of.image, &like.originals);
	r = r ?: add_slot(f, &like, ret);
	if (r)
		return r;
	table.originals = like.originals;
	table.bias = of.bias;
	return unwinder_put_table(f->config.kernel, *ret, &table);
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

	const bool is_copies =
		f->config.originals->find_file && file_name_begins(&file->name, RESOLVER_COPIES);

	if (m->identity == MAPPING_ASKED && !is_copies)
		return -EAGAIN;
	*ret = file->state == FILE_VDSO ? f->vdso : 0;
	if ((file->state != FILE_ELF || m->identity == MAPPING_REWRITTEN) && !is_copies)
		return 0;
	for (uint32_t slot = 1; slot <= f->count; slot++)
		if (f->slots[slot].number == file->number) {
			*ret = slot;
			return 0;
		}
	if (is_copies)
		return give_copies(f, file, ret);
	like.fd = files_open(file, &(struct file_mapping){pid, m->start, m->end, m->born_ns});
	int r = add_slot(f, &like, ret);
	if (!r)
		want_table(f, *ret);
	return r;
}

void stack_files_load(struct stack_files *f, uint32_t slot)
{
	if (slot && slot <= f->count && f->slots[slot].originals)
		slot = f->slots[slot].originals;
	if (slot && slot <= f->count && !f->slots[slot].wish &&
	    !unwind_tables_find(f->tables, slot, 0))
		want_table(f, slot);
}

bool stack_files_is_pending(const struct stack_files *f, uint32_t slot)
{
	return slot && slot <= f->count && f->slots[slot].wish;
}

int stack_files_fd(const struct stack_files *f)
{
	return unwind_maker_fd(f->maker);
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
	static const struct wire_unwind_table none;

	for (uint32_t slot = f->vdso + 1; slot <= f->count; slot++) {
		unwind_tables_drop(f->tables, slot);
		if (f->slots[slot].originals)
			unwinder_put_table(f->config.kernel, slot, &none);
		free_file(&f->slots[slot]);
		f->slots[slot].wish = 0;
	}
	unwind_maker_forget(f->maker);
	f->count = f->vdso;
	f->python_count = 0;
}

void stack_files_count(const struct stack_files *f, struct stack_files_counters *ret)
{
	struct unwind_tables_counters t;
	struct unwind_maker_counters made;

	unwind_tables_count(f->tables, &t);
	unwind_maker_count(f->maker, &made);
	*ret = (struct stack_files_counters){
		.tables = t.tables,
		.table_bytes = t.rows * sizeof(uint32_t),
		.evicted = t.evicted,
		.refused = t.refused,
		.without = f->without,
		.derived_rows = f->derived_rows,
		.skipped_bytes = f->skipped_bytes,
		.late = made.late,
		.cache = made.cache,
	};
}
