/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "counting/counting_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "collect/process/procfs.h"
#include "counting/gate.h"
#include "instrument/attach/implant.h"
#include "instrument/attach/target.h"
#include "instrument/attach/tracer.h"
#include "util/array.h"
#include "util/foreign.h"

#define PATH_BYTES     64
#define MAPPINGS_MAX   4096
#define RESERVED_SLOTS (1u << 19)     /* for libraries that a program has not mapped yet */
#define RESERVED_PATHS (1u << 21)     /* ... where the paths of all functions are counted */
#define DATA_BEHIND    (256ull << 20) /* of an image behind its code, which copies reach too */

/* A mapping of code of a file. */
struct mapped {
	uint64_t start, end, file_offset, inode;
	char *path;
	struct counted_image *image; /* NULL: it cannot be counted */
	uint64_t bias;
};

struct mapped_list {
	struct mapped *list;
	size_t count, room;
	int error;
};

static void take_mapping(void *arg, const struct procfs_mapping *m)
{
	struct mapped_list *l = arg;
	struct mapped one = {.start = m->start,
			     .end = m->end,
			     .file_offset = m->file_offset,
			     .inode = m->name.inode};

	if (!m->name.path_size || m->name.path[0] != '/' || l->error)
		return;
	if (l->count == MAPPINGS_MAX)
		l->error = -E2BIG;
	else if (array_grow(&l->list, l->count, &l->room, sizeof(*l->list), 16))
		l->error = -ENOMEM;
	else if (!(one.path = strndup(m->name.path, m->name.path_size)))
		l->error = -ENOMEM;
	else
		l->list[l->count++] = one;
}

static void free_mappings(struct mapped_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->list[i].path);
	free(l->list);
}

static bool has_ended(pid_t pid)
{
	long state = tracer_status(pid, 0, "State", 'X');

	return state == 'X' || state == 'Z';
}

/* Code of a process runs uncounted; of one that has ended, none does. */
static void miss(struct counting *c, pid_t pid, enum counting_miss cause, const char *path,
		 const char *why)
{
	if (!has_ended(pid))
		counting_miss(&c->report, cause, 1, path, why);
}

/* The same of a file, however often it is looked at. Whether it has counts is known at the end. */
static void miss_image(pid_t pid, struct counted_image *im, const char *why)
{
	if (im->is_missed || has_ended(pid))
		return;
	im->is_missed = true;
	diag_fail(&im->why, EINVAL, "%s", why);
}

static const char *text_of(int r)
{
	return r == -E2BIG ? "it has too many mappings of code" : strerror(-r);
}

/* By which name the file can be had now, and which it is. The mapping leads to the file itself, but
 * not everybody may go there. -EREMOTE: who looks at it might wait for a server among those that
 * are stopped. */
static int find_file(pid_t pid, const struct target_maps *maps, const struct mapped *m, char *path,
		     size_t size, struct stat *ret)
{
	const struct target_mapping *at = target_maps_find(maps, m->start);

	if (!at || !at->answers)
		return at ? -EREMOTE : -ENOENT;
	snprintf(path, size, "/proc/%d/map_files/%llx-%llx", (int)pid, (unsigned long long)m->start,
		 (unsigned long long)m->end);
	if (!stat(path, ret) && !access(path, R_OK))
		return 0;
	/* Whose mapping is gone can have put anything at its path. */
	if (errno != EPERM && errno != EACCES)
		return -errno;
	snprintf(path, size, "/proc/%d/root%s", (int)pid, m->path);
	return stat(path, ret) ? -errno : 0;
}

static int plan(struct counting *c, struct counted_image *im, const char *path, struct diag *diag)
{
	const struct bursts_image *sampled =
		c->bursts ? bursts_find_image(c->bursts, im->path) : NULL;
	const struct plans_request q = {
		.sampled = {sampled ? sampled->list : NULL, sampled ? sampled->count : 0},
		.names = c->names,
		.paths_max = c->paths_max};
	int r = planner_plan(c->planner, path, &im->file, &q, &im->facts, diag);

	if (r)
		return r;
	im->number = c->planned++;
	if (im->facts.slots > INSTRUMENT_SLOTS_MAX - RESERVED_SLOTS - c->next_slot)
		return diag_fail(diag, EFBIG, "there are too many counters");
	im->first_slot = c->next_slot;
	im->left = calloc(im->facts.planned + 1, sizeof(*im->left));
	if (!im->left)
		return diag_fail(diag, ENOMEM, "out of memory");
	c->next_slot += im->facts.slots;
	return 0;
}

/* The image of a mapping's file, planned now if it is new. ret: its number; -1: it cannot be. */
static long find_image(struct counting *c, pid_t pid, const struct target_maps *maps,
		       const struct mapped *m)
{
	struct counted_image im = {.path = NULL};
	char path[PATH_BYTES + 4096];
	struct diag why;
	int r = find_file(pid, maps, m, path, sizeof(path), &im.file);

	if (r) {
		miss(c, pid, COUNTING_MISS_MAPPED, m->path,
		     r == -EREMOTE ? attach_taken_name(ATTACH_REMOTE) : strerror(-r));
		return -1;
	}
	for (size_t i = 0; i < c->image_count; i++)
		if (foreign_is_same(&c->images[i].file, &im.file))
			return c->images[i].failed ? -1 : (long)i;
	im.path = strdup(m->path);
	if (!im.path ||
	    array_grow(&c->images, c->image_count, &c->image_room, sizeof(*c->images), 16)) {
		free(im.path);
		miss(c, pid, COUNTING_MISS_MAPPED, m->path, "out of memory");
		return -1;
	}
	buf_init(&im.edges, SIZE_MAX);
	buf_init(&im.windows, SIZE_MAX);
	r = plan(c, &im, path, &why);
	if (r)
		counting_miss(&c->report, COUNTING_MISS_FILE, 1, m->path, why.text);
	im.failed = r != 0;
	c->images[c->image_count++] = im;
	return r ? -1 : (long)c->image_count - 1;
}

/* How far the code of a mapping is from its image's own addresses. */
static bool find_bias(const struct image_facts *f, const struct mapped *m, uint64_t *ret)
{
	for (uint32_t i = 0; i < f->segment_count; i++) {
		const struct image_segment *s = &f->segments[i];

		if (m->file_offset + (m->end - m->start) <= s->file_offset ||
		    m->file_offset >= s->file_offset + s->file_size)
			continue;
		*ret = m->start - m->file_offset - (s->address - s->file_offset);
		return true;
	}
	return false;
}

/* Whether a mapping is one of a file that is to be counted. */
static bool is_wanted(const struct counting *c, const struct mapped *m)
{
	return strncmp(m->path, "/memfd:", 7) != 0 && strncmp(m->path, "/dev/", 5) != 0 &&
	       (!c->bursts || bursts_find_image(c->bursts, m->path));
}

/* All files that have code in a process, and which images they are. */
static int read_mappings(struct counting *c, pid_t pid, const struct target_maps *maps,
			 struct mapped_list *l)
{
	int r = procfs_each_mapping(pid, take_mapping, l);
	long *found = calloc(l->count + 1, sizeof(*found));

	if (r || l->error || !found) {
		free(found);
		return r ?: l->error ?: -ENOMEM;
	}
	for (size_t i = 0; i < l->count; i++)
		found[i] = is_wanted(c, &l->list[i]) ? find_image(c, pid, maps, &l->list[i]) : -1;
	/* Where images are is known when all of them are. */
	for (size_t i = 0; i < l->count; i++) {
		struct counted_image *im = found[i] < 0 ? NULL : &c->images[found[i]];

		if (im && find_bias(&im->facts.image, &l->list[i], &l->list[i].bias))
			l->list[i].image = im;
		else if (im)
			miss_image(pid, im, "it is not mapped where its code segments are");
	}
	free(found);
	return 0;
}

/* A program that is looked at: its memory, and what lies there. */
struct looked {
	pid_t pid;
	int mem;
	struct target_maps maps;
	struct mapped_list files;
};

static int look(struct counting *c, pid_t pid, struct looked *ret)
{
	char path[PATH_BYTES];

	*ret = (struct looked){.pid = pid};
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	ret->mem = open(path, O_RDONLY | O_CLOEXEC);
	if (ret->mem < 0)
		return -errno;
	return target_maps_read(pid, &ret->maps) ?: read_mappings(c, pid, &ret->maps, &ret->files);
}

static void looked_free(struct looked *k)
{
	if (k->mem >= 0)
		close(k->mem);
	target_maps_free(&k->maps);
	free_mappings(&k->files);
}

/* Whether the image's copies are in place there: put there, or inherited. */
static bool is_placed(const struct looked *l, const struct counted_image *im, uint64_t bias)
{
	uint8_t now[INSTRUMENT_PATCH_BYTES];

	for (size_t i = 0; i < im->spot_count; i++) {
		const struct counted_spot *s = &im->spots[i];

		if (s->bias == bias &&
		    !target_read(l->mem, &l->maps, s->patch.address, now, s->patch.size) &&
		    !memcmp(now, s->patch.after, s->patch.size))
			return true;
	}
	return false;
}

/* By which it is seen that a copy is in place. Calls may have been left out. */
static const struct instrument_patch *find_spot(const struct instrument_code *code)
{
	for (uint32_t i = 0; i < code->patch_count; i++)
		if (!instrument_patch_is_call(&code->patches[i]))
			return &code->patches[i];
	return NULL;
}

static void note_taken(struct counting *c, struct counted_image *im, uint64_t bias,
		       const struct instrument_code *codes, const enum attach_taken *taken)
{
	const struct instrument_patch *first = NULL;

	for (uint32_t i = 0; i < im->facts.planned; i++) {
		unsigned left = !codes[i].size		   ? COUNTING_LEFT_COPY
				: taken[i] == ATTACH_TAKEN ? COUNTING_LEFT_NOT
							   : COUNTING_LEFT_TAKEN + taken[i];
		unsigned before = im->left[i];

		/* Counted in one process and not in the next. */
		if (before != COUNTING_LEFT_FILE &&
		    (before == COUNTING_LEFT_NOT) != (left == COUNTING_LEFT_NOT))
			counting_miss(
				&c->report, COUNTING_MISS_FUNCTION, 1, im->path,
				counting_left_text(before == COUNTING_LEFT_NOT ? left : before));
		if (before != COUNTING_LEFT_NOT)
			im->left[i] = (uint8_t)left;
		if (!first && left == COUNTING_LEFT_NOT)
			first = find_spot(&codes[i]);
	}
	if (first && !array_grow(&im->spots, im->spot_count, &im->spot_room, sizeof(*im->spots), 4))
		im->spots[im->spot_count++] = (struct counted_spot){bias, *first};
}

/* Tells who asks for originals of this process's copies. */
static void note_copies(struct counting *c, pid_t pid, const struct mapped *m, uint64_t room)
{
	const struct counted_image *im = m->image;
	const struct copies_file file = {.inode = attach_inode(c->attach, pid, room),
					 .bias = m->bias,
					 .image = im->copies_image,
					 .gate = im->facts.gate ? im->facts.gate + m->bias : 0};

	if (file.inode)
		copies_add_file(c->copies, &file);
}

/* The copies of an image's functions for a process, and its gate behind them if it has one. */
struct copying {
	struct instrument_code *codes;
	enum attach_taken *taken;
	uint32_t planned;
	bool has_gate;
};

static void copying_free(struct copying *k)
{
	for (uint32_t i = 0; k->codes && i <= k->planned; i++)
		instrument_code_free(&k->codes[i]);
	free(k->codes);
	free(k->taken);
}

static int make_copies(struct counting *c, const struct looked *l, const struct mapped *m,
		       uint64_t room, struct copying *k)
{
	struct counted_image *im = m->image;
	struct instrument_destination at = {m->bias, room, im->first_slot,
					    attach_slots(c->attach, l->pid)};
	uint8_t bytes[GATE_LOOKS_AT];
	int r;

	k->planned = im->facts.planned;
	k->codes = calloc(k->planned + 1, sizeof(*k->codes));
	k->taken = calloc(k->planned + 1, sizeof(*k->taken));
	r = k->codes && k->taken ? planner_copy(c->planner, im->number, &im->facts, &at, k->codes)
				 : -ENOMEM;
	if (r)
		return r;
	k->has_gate =
		!c->bursts && im->facts.gate &&
		!target_read(l->mem, &l->maps, im->facts.gate + m->bias, bytes, sizeof(bytes)) &&
		!gate_new(im->facts.gate + m->bias, bytes, room + im->facts.bytes,
			  &k->codes[k->planned]);
	if (im->placed)
		return 0;
	r = copies_add_image(c->copies,
			     &(struct copies_image){.codes = k->codes,
						    .count = k->planned,
						    .bias = m->bias,
						    .room = room,
						    .room_at = IMPLANT_HEADER_BYTES},
			     &im->copies_image);
	im->placed = !r;
	return r;
}

/* Those that could not be made have no patches, and change nothing. */
static int apply(struct counting *c, pid_t pid, uint64_t room, struct copying *k, struct diag *diag)
{
	uint32_t all = k->planned + k->has_gate, slots = attach_slots(c->attach, pid), count = 0;
	struct instrument_code *made = calloc(all + 1, sizeof(*made));
	enum attach_taken *taken = calloc(all + 1, sizeof(*taken));
	int r = made && taken ? 0 : diag_fail(diag, ENOMEM, "out of memory");

	for (uint32_t i = 0; !r && i < all; i++)
		if (k->codes[i].size)
			made[count++] = k->codes[i];
	if (!r)
		r = attach_apply(c->attach, pid, room, made, count, slots, taken, diag);
	count = 0;
	for (uint32_t i = 0; !r && i < all; i++)
		if (k->codes[i].size)
			k->taken[i] = taken[count++];
	free(made);
	free(taken);
	return r;
}

static uint32_t reserved_slots(const struct counting *c)
{
	if (c->bursts)
		return 0;
	return c->paths_max && !c->names ? RESERVED_PATHS : RESERVED_SLOTS;
}

/* Counters, and who is to wait while copies are made: at a gate one does so stopped, not busy; who
 * is counted in bursts runs on. */
static int get_ready(struct counting *c, pid_t pid, struct diag *diag)
{
	int r = 0;

	if (!attach_slots(c->attach, pid))
		r = attach_prepare(c->attach, pid, c->next_slot + reserved_slots(c), diag);
	else if (!c->bursts)
		r = attach_hold(c->attach, pid, diag);
	if (c->bursts)
		attach_go_on(c->attach);
	return r;
}

/* Puts an image's copies into a process. False: its gate is not in place. */
static bool put_in(struct counting *c, const struct looked *l, const struct mapped *m)
{
	const pid_t pid = l->pid;
	struct counted_image *im = m->image;
	struct copying k = {0};
	struct diag why;
	uint64_t room;
	const bool had_copies = attach_slots(c->attach, pid) != 0;
	bool has_gate = false;
	int r = get_ready(c, pid, &why);

	if (!r && attach_slots(c->attach, pid) < im->first_slot + im->facts.slots)
		r = diag_fail(&why, ENOSPC, "the program has no room for more counters");
	r = r
		    ?: attach_find_room(pid, m->start - m->file_offset, m->end + DATA_BEHIND,
					im->facts.bytes + GATE_BYTES_MAX, &room, &why);
	if (!r) {
		r = make_copies(c, l, m, room, &k);
		if (r)
			diag_fail(&why, -r, "its copies could not be made: %s", strerror(-r));
	}
	r = r ?: apply(c, pid, room, &k, &why);
	if (!r) {
		im->is_put_in = true;
		note_taken(c, im, m->bias, k.codes, k.taken);
		note_copies(c, pid, m, room);
		has_gate = k.has_gate && k.taken[k.planned] == ATTACH_TAKEN;
	} else {
		miss_image(pid, im, why.text);
		if (had_copies && !attach_slots(c->attach, pid))
			miss(c, pid, COUNTING_MISS_PROGRAM, NULL, why.text); /* lost all of them */
	}
	copying_free(&k);
	return has_gate;
}

static void put_all(struct counting *c, const struct looked *l)
{
	for (size_t i = 0; i < l->files.count; i++) {
		const struct mapped *m = &l->files.list[i];

		if (m->image && m->image->facts.planned && !is_placed(l, m->image, m->bias))
			put_in(c, l, m);
	}
}

/* What maps the libraries, where it is not the program itself. */
static const struct mapped *find_loader(const struct mapped_list *l)
{
	const struct mapped *loader = NULL;
	size_t images = 0;

	for (size_t i = 0; i < l->count; i++) {
		images += l->list[i].image != NULL;
		if (l->list[i].image && l->list[i].image->facts.gate)
			loader = &l->list[i];
	}
	return images > 1 ? loader : NULL;
}

/* Lets a process go on that waits for its copies, and gets none. */
static void let_go(struct counting *c, pid_t pid)
{
	struct diag unused;

	attach_apply(c->attach, pid, 0, NULL, 0, 0, NULL, &unused);
}

static bool has_images(const struct looked *l)
{
	for (size_t i = 0; i < l->files.count; i++)
		if (l->files.list[i].image)
			return true;
	return false;
}

/* A program that was looked at, before its first instruction. */
static void take_looked(struct counting *c, const struct looked *l)
{
	const struct mapped *loader = find_loader(&l->files);

	c->report.programs++;
	if (loader && put_in(c, l, loader))
		return;
	if (loader)
		miss(c, l->pid, COUNTING_MISS_GATE, loader->path,
		     "the loader cannot be made to wait for counters");
	put_all(c, l);
}

void counting_take_program(struct counting *c, pid_t pid)
{
	struct looked l;
	struct diag why;
	int r = attach_refuse(pid, &why);

	if (r) {
		miss(c, pid, COUNTING_MISS_PROGRAM, NULL, why.text);
		let_go(c, pid);
		return;
	}
	r = look(c, pid, &l);
	if (!r && !has_images(&l))
		r = -ENOEXEC;
	if (!r) {
		take_looked(c, &l);
	} else {
		diag_fail(&why, -r, "process %d %s%s", (int)pid,
			  r == -ENOEXEC ? "has no file that can be counted"
					: "cannot be looked at: ",
			  r == -ENOEXEC ? "" : text_of(r));
		miss(c, pid, COUNTING_MISS_PROGRAM, NULL, why.text);
	}
	looked_free(&l);
	let_go(c, pid);
}

void counting_take_libraries(struct counting *c, pid_t pid)
{
	struct looked l = {.mem = -1};
	struct diag why;
	/* Stopped, not busy, while it waits. */
	int r = attach_hold(c->attach, pid, &why);

	if (!r) {
		r = look(c, pid, &l);
		if (r)
			diag_fail(&why, -r, "process %d cannot be looked at: %s", (int)pid,
				  text_of(r));
		else
			put_all(c, &l);
	}
	if (r)
		miss(c, pid, COUNTING_MISS_LIBRARIES, NULL, why.text);
	looked_free(&l);
	attach_let_on(c->attach, pid, GATE_ENTERED, GATE_PASSED);
	attach_go_on(c->attach);
}

static int look_at_running(struct counting *c, pid_t pid, struct looked *l, struct diag *diag)
{
	int r = look(c, pid, l);

	if (!r && !has_images(l))
		r = -ENOEXEC;
	return r ? diag_fail(diag, -r, "process %d %s%s", (int)pid,
			     r == -ENOEXEC ? "has no functions with samples that can be counted"
					   : "cannot be looked at: ",
			     r == -ENOEXEC ? "" : text_of(r))
		 : 0;
}

int counting_plan_running(struct counting *c, pid_t pid, struct diag *diag)
{
	struct looked l;
	int r = attach_refuse(pid, diag);

	if (r)
		return r;
	r = look_at_running(c, pid, &l, diag);
	looked_free(&l);
	return r;
}

int counting_take_running(struct counting *c, pid_t pid, struct diag *diag)
{
	struct looked l;
	int r = look_at_running(c, pid, &l, diag);

	if (!r) {
		c->report.programs++;
		put_all(c, &l);
	}
	looked_free(&l);
	return r;
}
