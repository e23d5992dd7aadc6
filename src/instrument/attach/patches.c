/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instrument/attach/attach_state.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/*
 * Patches that lie on one page are looked at and written together: a program stands still
 * meanwhile, and a page is written in one step, as a patch is.
 */
#define RUN_PATCHES 256
#define RUN_BYTES   4096

struct run {
	const struct attach_space *s;
	const struct target_maps *maps;
	const struct instrument_patch *list[RUN_PATCHES];
	size_t count;
	uint8_t bytes[RUN_BYTES + INSTRUMENT_PATCH_BYTES];
};

static uint64_t start_of(const struct run *r)
{
	return r->list[0]->address;
}

static size_t size_of(const struct run *r)
{
	const struct instrument_patch *last = r->list[r->count - 1];

	return last->address + last->size - start_of(r);
}

static uint8_t *bytes_of(struct run *r, size_t n)
{
	return r->bytes + (r->list[n]->address - start_of(r));
}

static int read_run(struct run *r)
{
	return target_read(r->s->mem, r->maps, start_of(r), r->bytes, size_of(r));
}

static int write_run(const struct run *r)
{
	return target_write(r->s->mem, r->maps, start_of(r), r->bytes, size_of(r));
}

static bool is_on_page(const struct run *r, const struct instrument_patch *p)
{
	const uint64_t page = RUN_BYTES;
	const struct instrument_patch *last = r->list[r->count - 1];

	return r->count < RUN_PATCHES && p->address >= last->address + last->size &&
	       p->address / page == start_of(r) / page &&
	       (p->address + p->size - 1) / page == start_of(r) / page;
}

/* Does what is to be done with the patches of a stage, INSTRUMENT_STAGES: of all, a run at a time.
 * The first that fails ends it. */
static int each_run(const struct attach_space *s, const struct target_maps *maps,
		    const struct implant *i, enum instrument_stage stage,
		    int (*f)(void *arg, struct run *r), void *arg)
{
	struct run run = {.s = s, .maps = maps};
	int r = 0;

	for (size_t n = 0; n < i->count; n++)
		for (uint32_t k = 0; !r && k < i->codes[n].patch_count; k++) {
			const struct instrument_patch *p = &i->codes[n].patches[k];

			if (stage != INSTRUMENT_STAGES && instrument_patch_stage(p) != stage)
				continue;
			if (run.count && !is_on_page(&run, p)) {
				r = f(arg, &run);
				run.count = 0;
			}
			run.list[run.count++] = p;
		}
	return r || !run.count ? r : f(arg, &run);
}

enum attach_taken attach_vet_mapping(const struct target_maps *maps, uint64_t address)
{
	const struct target_mapping *m = target_maps_find(maps, address);

	if (!m || !m->of_file || !m->private || !m->executable)
		return ATTACH_ANONYMOUS;
	return m->answers ? ATTACH_TAKEN : ATTACH_REMOTE;
}

static int vet(void *arg, struct run *r)
{
	(void)arg;
	if (attach_vet_mapping(r->maps, start_of(r)) != ATTACH_TAKEN || read_run(r))
		return -ESTALE;
	for (size_t n = 0; n < r->count; n++)
		if (memcmp(bytes_of(r, n), r->list[n]->before, r->list[n]->size) != 0)
			return -ESTALE;
	return 0;
}

int attach_patches_vet(const struct attach_space *s, const struct target_maps *maps,
		       const struct implant *i)
{
	return each_run(s, maps, i, INSTRUMENT_STAGES, vet, NULL);
}

static int write_after(void *arg, struct run *r)
{
	int err = read_run(r);

	(void)arg;
	for (size_t n = 0; !err && n < r->count; n++)
		memcpy(bytes_of(r, n), r->list[n]->after, r->list[n]->size);
	return err ? err : write_run(r);
}

int attach_patches_write(const struct attach_space *s, const struct target_maps *maps,
			 const struct implant *i)
{
	int r = 0;

	for (int stage = 0; !r && stage < INSTRUMENT_STAGES; stage++)
		r = each_run(s, maps, i, stage, write_after, NULL);
	return r;
}

/* Where they still are: a library may have been unmapped. */
static int write_before(void *arg, struct run *r)
{
	struct attach *a = arg;
	uint64_t back = 0;

	if (read_run(r)) {
		a->counters.patches_gone += r->count;
		return 0;
	}
	for (size_t n = 0; n < r->count; n++) {
		const struct instrument_patch *p = r->list[n];

		if (!memcmp(bytes_of(r, n), p->after, p->size)) {
			memcpy(bytes_of(r, n), p->before, p->size);
			back++;
		} else {
			a->counters.patches_gone += memcmp(bytes_of(r, n), p->before, p->size) != 0;
		}
	}
	if (back && write_run(r))
		a->counters.patches_gone += back;
	return 0;
}

void attach_patches_restore(struct attach *a, const struct attach_space *s,
			    const struct target_maps *maps)
{
	for (int stage = INSTRUMENT_STAGES; stage-- > 0;)
		for (size_t i = 0; i < s->implant_count; i++)
			each_run(s, maps, s->implants[i], stage, write_before, a);
}
