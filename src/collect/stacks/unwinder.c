/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/stacks/unwinder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "collect/host/cpu_sums.h"
#include "collect/host/mapping_types.h"
#include "bpf/unwind.skel.h"

#define TAKE_ONCE 256 /* counts a system call */
/* Users who may tell of codes of Python between two drains, and the part of the ring that one has:
 * a stack can have thousands of new ones, and nobody is to keep others from being named. */
#define TELLERS	    1024
#define NAMES_SHARE 2

#define CHUNK_BYTES (WIRE_UNWIND_CHUNK_ROWS * sizeof(uint32_t))

struct unwinder {
	struct unwind_bpf *bpf;
	uint32_t *rows; /* room for all chunks, of which the first ones are there */
	uint32_t chunk_count, chunk_room;
	struct wire_unwind_rule *rules;
	struct ring_buffer *ring, *snapshots, *names;
	const struct unwinder_taker *taker; /* while it drains */
	bool has_told;			    /* codes, since the shares of users were renewed */
};

const void *unwinder_object(size_t *ret_size)
{
	return unwind_bpf__elf_bytes(ret_size);
}

static bool is_stack(const struct wire_stack *s, size_t size)
{
	return size >= offsetof(struct wire_stack, frame) && s->end < WIRE_STACK_ENDS &&
	       s->kernel_count <= WIRE_STACK_KERNEL && size >= unwinder_stack_bytes(s);
}

static int on_code(void *context, void *data, size_t size)
{
	struct unwinder *u = context;

	u->has_told = true;
	u->taker->code(u->taker->arg, data, size);
	return 0;
}

/* The codes of a stack were told before it. */
static int on_stack(void *context, void *data, size_t size)
{
	struct unwinder *u = context;

	ring_buffer__consume(u->names);
	if (is_stack(data, size))
		u->taker->stack(u->taker->arg, data);
	return 0;
}

static int on_snapshot(void *context, void *data, size_t size)
{
	const struct wire_snapshot *s = data;
	struct unwinder *u = context;

	ring_buffer__consume(u->names);
	if (size >= offsetof(struct wire_snapshot, page) && is_stack(&s->stack, sizeof(s->stack)) &&
	    s->stack.followed && s->bytes <= sizeof(s->page) &&
	    s->bytes <= size - offsetof(struct wire_snapshot, page))
		u->taker->snapshot(u->taker->arg, s);
	return 0;
}

static int load(struct unwinder *u, const struct unwinder_config *config, struct diag *diag)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = config->types);

	u->bpf = unwind_bpf__open_opts(&options);
	if (!u->bpf)
		return diag_fail(diag, ENOMEM, "cannot open the unwinder: %s", strerror(errno));
	u->chunk_room = (config->rows + WIRE_UNWIND_CHUNK_ROWS - 1) / WIRE_UNWIND_CHUNK_ROWS;
	bpf_map__set_max_entries(u->bpf->maps.files, config->files);
	bpf_map__set_max_entries(u->bpf->maps.tables, config->files);
	bpf_map__set_max_entries(u->bpf->maps.rows, u->chunk_room);
	bpf_map__set_max_entries(u->bpf->maps.counts, config->stacks);
	bpf_map__set_max_entries(u->bpf->maps.stacks, config->ring_bytes);
	bpf_map__set_max_entries(u->bpf->maps.snapshots, config->snapshot_bytes);
	bpf_map__set_max_entries(u->bpf->maps.codes, config->codes);
	bpf_map__set_max_entries(u->bpf->maps.names, config->name_bytes);
	bpf_map__set_max_entries(u->bpf->maps.tellers, TELLERS);
	u->bpf->rodata->names_share = config->name_bytes / NAMES_SHARE;
	bpf_program__set_autoload(u->bpf->progs.unwind_tick, config->tick);
	if (config->tick)
		u->bpf->rodata->tick = *config->tick;
	int r = unwind_bpf__load(u->bpf);
	if (r && mapping_types_check("stacks", diag))
		return -EOPNOTSUPP;
	if (r)
		return diag_fail(diag, r == -EPERM ? EPERM : EOPNOTSUPP,
				 "the kernel does not take the unwinder: %s", strerror(-r));
	return 0;
}

static int map_array(struct bpf_map *map, size_t bytes, void *ret, struct diag *diag)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	if (p == MAP_FAILED)
		return diag_fail(diag, errno, "cannot map the unwinder's tables: %s",
				 strerror(errno));
	memcpy(ret, &p, sizeof(p));
	return 0;
}

static int map_rings(struct unwinder *u, struct diag *diag)
{
	int stacks = bpf_map__fd(u->bpf->maps.stacks), names = bpf_map__fd(u->bpf->maps.names);

	u->ring = ring_buffer__new(stacks, on_stack, u, NULL);
	if (u->ring)
		u->snapshots = ring_buffer__new(unwinder_snapshot_fd(u), on_snapshot, u, NULL);
	if (u->snapshots)
		u->names = ring_buffer__new(names, on_code, u, NULL);
	if (!u->names)
		return diag_fail(diag, errno, "cannot map the unwinder's stacks: %s",
				 strerror(errno));
	return 0;
}

/* Addresses for all chunks, so that those that come later continue the first. */
static int reserve_rows(struct unwinder *u, struct diag *diag)
{
	void *p = mmap(NULL, u->chunk_room * CHUNK_BYTES, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return diag_fail(diag, errno, "no addresses for unwind tables: %s",
				 strerror(errno));
	u->rows = p;
	return 0;
}

static int add_chunk(struct unwinder *u)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rows", sizeof(uint32_t), 2 * sizeof(uint32_t),
				WIRE_UNWIND_CHUNK_ROWS / 2, &options);
	uint32_t *at = u->rows + (size_t)u->chunk_count * WIRE_UNWIND_CHUNK_ROWS;
	int r = 0;

	if (fd < 0)
		return fd;
	if (mmap(at, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
		    MAP_FAILED ||
	    bpf_map_update_elem(bpf_map__fd(u->bpf->maps.rows), &u->chunk_count, &fd, BPF_ANY))
		r = -errno;
	else
		u->chunk_count++;
	close(fd); /* the outer map keeps it */
	return r;
}

int unwinder_reach(struct unwinder *u, uint32_t first, uint32_t count)
{
	uint64_t end = (uint64_t)first + count;
	int r = 0;

	if (end > (uint64_t)u->chunk_room * WIRE_UNWIND_CHUNK_ROWS)
		return -ENOSPC;
	while (!r && (uint64_t)u->chunk_count * WIRE_UNWIND_CHUNK_ROWS < end)
		r = add_chunk(u);
	return r;
}

int unwinder_new(const struct unwinder_config *config, struct unwinder **ret, struct diag *diag)
{
	struct unwinder *u = calloc(1, sizeof(*u));

	if (!u)
		return diag_fail(diag, ENOMEM, "out of memory for the unwinder");
	int r = load(u, config, diag);
	if (!r)
		r = reserve_rows(u, diag);
	if (!r)
		r = map_array(u->bpf->maps.rules, UNWINDER_RULES * sizeof(*u->rules), &u->rules,
			      diag);
	if (!r)
		r = map_rings(u, diag);
	if (r) {
		unwinder_free(u);
		return r;
	}
	*ret = u;
	return 0;
}

void unwinder_free(struct unwinder *u)
{
	if (!u)
		return;
	ring_buffer__free(u->ring);
	ring_buffer__free(u->snapshots);
	ring_buffer__free(u->names);
	if (u->rows)
		munmap(u->rows, u->chunk_room * CHUNK_BYTES);
	if (u->rules)
		munmap(u->rules, UNWINDER_RULES * sizeof(*u->rules));
	unwind_bpf__destroy(u->bpf);
	free(u);
}

int unwinder_program(const struct unwinder *u)
{
	return bpf_program__fd(u->bpf->progs.unwind);
}

int unwinder_tick_program(const struct unwinder *u)
{
	return bpf_program__fd(u->bpf->progs.unwind_tick);
}

uint32_t *unwinder_rows(struct unwinder *u)
{
	return u->rows;
}

struct wire_unwind_rule *unwinder_rules(struct unwinder *u)
{
	return u->rules;
}

int unwinder_put_file(struct unwinder *u, const struct wire_file *file, uint32_t slot)
{
	int fd = bpf_map__fd(u->bpf->maps.files);

	return bpf_map_update_elem(fd, file, &slot, BPF_ANY) ? -errno : 0;
}

void unwinder_drop_file(struct unwinder *u, const struct wire_file *file)
{
	bpf_map_delete_elem(bpf_map__fd(u->bpf->maps.files), file);
}

int unwinder_put_table(struct unwinder *u, uint32_t slot, const struct wire_unwind_table *table)
{
	int fd = bpf_map__fd(u->bpf->maps.tables);

	return bpf_map_update_elem(fd, &slot, table, BPF_ANY) ? -errno : 0;
}

void unwinder_forget(struct unwinder *u)
{
	u->bpf->bss->files_generation++;
}

int unwinder_put_python(struct unwinder *u, uint32_t number, const struct wire_python *python)
{
	int fd = bpf_map__fd(u->bpf->maps.pythons);

	return bpf_map_update_elem(fd, &number, python, BPF_ANY) ? -errno : 0;
}

void unwinder_forget_codes(struct unwinder *u)
{
	struct wire_python_key keys[TAKE_ONCE];
	uint32_t values[TAKE_ONCE], batch, *from = NULL, count;
	int fd = bpf_map__fd(u->bpf->maps.codes), r = 0;

	while (!r) {
		count = TAKE_ONCE;
		r = bpf_map_lookup_and_delete_batch(fd, from, &batch, keys, values, &count, NULL);
		from = &batch;
	}
}

/* The ring is empty: users may fill their parts of it anew. */
static void renew_shares(struct unwinder *u)
{
	uint32_t users[TAKE_ONCE], bytes[TAKE_ONCE], batch, *from = NULL, count;
	int fd = bpf_map__fd(u->bpf->maps.tellers), r = u->has_told ? 0 : -ENOENT;

	u->has_told = false;
	while (!r) {
		count = TAKE_ONCE;
		r = bpf_map_lookup_and_delete_batch(fd, from, &batch, users, bytes, &count, NULL);
		from = &batch;
	}
}

void unwinder_put_vdso(struct unwinder *u, uint32_t slot)
{
	u->bpf->bss->vdso_slot = slot;
}

/* Bucket by bucket, each as one: a count that is taken is out of the map. */
static int take_counts(struct unwinder *u)
{
	struct wire_stack_key keys[TAKE_ONCE];
	struct wire_stack_count values[TAKE_ONCE];
	int fd = bpf_map__fd(u->bpf->maps.counts), r = 0;
	uint32_t batch, *from = NULL;

	while (!r) {
		uint32_t count = TAKE_ONCE;

		if (bpf_map_lookup_and_delete_batch(fd, from, &batch, keys, values, &count, NULL))
			r = -errno;
		if (r && r != -ENOENT)
			return r;
		for (uint32_t i = 0; i < count; i++)
			u->taker->count(u->taker->arg, &keys[i], values[i].count);
		from = &batch;
	}
	return 0;
}

int unwinder_drain(struct unwinder *u, const struct unwinder_taker *taker)
{
	u->taker = taker;
	int r = take_counts(u);
	ring_buffer__consume(u->names);
	renew_shares(u);
	taker->counted(taker->arg);
	ring_buffer__consume(u->ring);
	return r;
}

void unwinder_take_snapshots(struct unwinder *u, const struct unwinder_taker *taker)
{
	u->taker = taker;
	ring_buffer__consume(u->snapshots);
}

int unwinder_snapshot_fd(const struct unwinder *u)
{
	return bpf_map__fd(u->bpf->maps.snapshots);
}

void unwinder_count(const struct unwinder *u, struct wire_stack_counters *ret)
{
	cpu_sums_read(bpf_map__fd(u->bpf->maps.stacks_of_cpu), ret, sizeof(*ret));
}
