/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/process/file_slots.h"

#include <errno.h>
#include <stdlib.h>
#include "util/hash.h"

struct file_slots {
	struct file_slots_config config;
	/* Files that have a slot or will get none (slot 0), in the order in which they came. */
	struct known_file {
		struct wire_file file;
		uint32_t slot;
	} known[FILE_SLOTS_MAX];
	uint32_t known_count;
	struct map64 *keys; /* their hashes */
	unsigned looks_left;
	bool full;
	uint64_t unplaced;
};

struct file_slots *file_slots_new(const struct file_slots_config *config)
{
	struct file_slots *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->config = *config;
	s->keys = map64_new(FILE_SLOTS_MAX);
	if (!s->keys) {
		free(s);
		return NULL;
	}
	return s;
}

void file_slots_free(struct file_slots *s)
{
	if (!s)
		return;
	map64_free(s->keys);
	free(s);
}

static uint64_t file_key(const struct wire_file *f)
{
	return hash_bytes(f, sizeof(*f)) >> 1; /* no key is UINT64_MAX */
}

/* Tells the program, and remembers for what comes before it knows. */
static void settle(struct file_slots *s, const struct wire_file *f, uint32_t slot)
{
	if (s->known_count == FILE_SLOTS_MAX || s->config.put(s->config.arg, f, slot) ||
	    map64_put(s->keys, file_key(f), s->known_count)) {
		s->full = true;
		return;
	}
	s->known[s->known_count++] = (struct known_file){*f, slot};
}

/* Written to since its slot was given: what is known of it is not what runs. */
static bool is_rewritten(const struct file_slots *s, const struct wire_file *f, uint32_t slot)
{
	for (uint32_t i = 0; i < s->known_count; i++) {
		const struct wire_file *known = &s->known[i].file;

		if (s->known[i].slot == slot && known->inode == f->inode &&
		    known->device == f->device && known->modified != f->modified)
			return true;
	}
	return false;
}

uint32_t file_slots_learn(struct file_slots *s, const struct file_place *place)
{
	struct process *life;
	struct mapping *m;
	uint32_t slot = 0;
	uint64_t index;
	int r;

	if (map64_get(s->keys, file_key(&place->file), &index) == 0)
		return s->known[index].slot;
	if (!s->looks_left || s->full || place->offset > UINT32_MAX)
		return 0;
	s->looks_left--;
	m = resolver_find_mapping(s->config.resolver, place->tgid, place->address, place->time_ns,
				  &life);
	/* What this side knows of the process may not be what the kernel saw: an older mapping,
	 * also one of another file that lay alike, or a process that was gone before it was seen.
	 */
	if (m && m->identity == MAPPING_ASKED)
		return 0;
	if (!m || place->address - m->start + m->file_offset != place->offset ||
	    (m->file && file_is_other(m->file, place->file.device, place->file.inode)))
		r = -ESTALE;
	else
		r = s->config.give(s->config.arg, m, life->pid, &slot);
	s->full |= r == -ENOSPC;
	s->unplaced += r != 0;
	if (r)
		return 0;
	if (slot && is_rewritten(s, &place->file, slot))
		slot = 0;
	settle(s, &place->file, slot);
	return slot;
}

void file_slots_begin(struct file_slots *s, unsigned looks)
{
	s->looks_left = looks;
}

bool file_slots_full(const struct file_slots *s)
{
	return s->full;
}

uint64_t file_slots_unplaced(const struct file_slots *s)
{
	return s->unplaced;
}

void file_slots_clear(struct file_slots *s)
{
	for (uint32_t i = 0; i < s->known_count; i++) {
		s->config.drop(s->config.arg, &s->known[i].file);
		map64_remove(s->keys, file_key(&s->known[i].file));
	}
	s->known_count = 0;
	s->full = false;
}
