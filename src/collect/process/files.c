/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/process/files.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "collect/process/looks.h"
#include "collect/process/procfs.h"
#include "util/clock.h"
#include "util/hash.h"

#define FILES_MAX    65536
#define TABLE_SIZE   4096 /* chains */
#define SETTLED_NS   10000000000
#define LOOK_NS	     1000000000
#define ATTEMPTS_MAX 3 /* different processes through which a file is tried */
/* One that took too long to look at is tried again after this, then after twice that and so on. */
#define LATE_NS	       10000000000
#define LATE_DOUBLINGS 10
#define HELD_MAX       256 /* descriptors of files that do not last */

struct files {
	struct looks *looks;
	struct mapped_file *chains[TABLE_SIZE];
	unsigned held;
	uint64_t numbers;    /* given */
	struct map64 *asked; /* tags of files that are looked at */
	struct files_counters counters;
};

struct files *files_new(const struct image_worker_limits *limits)
{
	struct files *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->looks = looks_new(limits);
	f->asked = map64_new(2 * LOOKS_MAX);
	if (!f->looks || !f->asked) {
		looks_free(f->looks);
		map64_free(f->asked);
		free(f);
		return NULL;
	}
	return f;
}

static void free_file(struct mapped_file *file)
{
	if (file->held)
		close(file->held - 1);
	free((void *)file->path);
	free(file->segments);
	free(file);
}

void files_free(struct files *f)
{
	if (!f || !looks_free(f->looks))
		return;
	for (size_t i = 0; i < TABLE_SIZE; i++) {
		for (struct mapped_file *file = f->chains[i], *next; file; file = next) {
			next = file->next;
			free_file(file);
		}
	}
	map64_free(f->asked);
	free(f);
}

/* The kernel's records and /proc name one file: these leave out what only one of them has, an
 * inode's generation, and the mark of a file that was deleted in between. */
static uint64_t key_of(const struct file_name *n)
{
	uint64_t numbers[4] = {hash_bytes(n->path, n->path_size),
			       hash_bytes(n->build_id, n->build_id_size),
			       (uint64_t)n->device_major << 32 | n->device_minor, n->inode};

	return hash_bytes(numbers, sizeof(numbers));
}

static bool same_generation(const struct file_name *a, const struct file_name *b)
{
	return a->inode_generation == b->inode_generation || !a->inode_generation ||
	       !b->inode_generation;
}

static bool same_name(const struct file_name *a, const struct file_name *b)
{
	return a->path_size == b->path_size && !memcmp(a->path, b->path, a->path_size) &&
	       a->build_id_size == b->build_id_size &&
	       !memcmp(a->build_id, b->build_id, a->build_id_size) &&
	       a->device_major == b->device_major && a->device_minor == b->device_minor &&
	       a->inode == b->inode && same_generation(a, b);
}

/* Names the kernel gives to memory that is no file; a memfd may hold a program, so it is tried. */
static enum file_state first_state(const struct file_name *n)
{
	if (n->path_size == 6 && file_name_begins(n, "[vdso]"))
		return FILE_VDSO;
	if (n->build_id_size || file_name_begins(n, "/memfd:"))
		return FILE_UNRESOLVED;
	if (!file_name_begins(n, "/") || file_name_begins(n, "//") ||
	    file_name_begins(n, "/dev/zero") || file_name_begins(n, "/SYSV") ||
	    file_name_begins(n, "/[aio]"))
		return FILE_ANON;
	return FILE_UNRESOLVED;
}

/* The vDSO is the same in every 64-bit process, so this process's own is read. */
void files_identify_vdso(struct image_id *ret)
{
	const char *base = (const char *)getauxval(AT_SYSINFO_EHDR);

	*ret = (struct image_id){.kind = IMAGE_VDSO};
	for (size_t at = 0; base && at < 2048; at += 4) {
		static const char note[] = "\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU";

		if (!memcmp(base + at, note, sizeof(note))) {
			ret->size = IMAGE_ID_MAX;
			memcpy(ret->bytes, base + at + 16, IMAGE_ID_MAX);
			return;
		}
	}
	ret->size = 1; /* a vDSO without a build ID: still one image */
}

static struct mapped_file *new_file(struct files *f, const struct file_name *name, uint64_t key)
{
	struct mapped_file *file = calloc(1, sizeof(*file));
	char *path = malloc(name->path_size + 1);

	if (!file || !path) {
		free(file);
		free(path);
		return NULL;
	}
	memcpy(path, name->path, name->path_size);
	path[name->path_size] = 0;
	file->path = path;
	file->path_size = name->path_size;
	file->name = *name;
	file->name.path = path;
	file->key = key;
	file->number = ++f->numbers;
	file->state = first_state(name);
	if (file->state == FILE_VDSO)
		files_identify_vdso(&file->id);
	return file;
}

struct mapped_file *files_take(struct files *f, const struct file_name *name)
{
	uint64_t key = key_of(name);
	struct mapped_file **chain = &f->chains[key % TABLE_SIZE], *file;

	for (file = *chain; file; file = file->next)
		if (file->key == key && same_name(&file->name, name))
			return file_ref(file);
	if (f->counters.files >= FILES_MAX) {
		f->counters.refused++;
		return NULL;
	}
	file = new_file(f, name, key);
	if (!file)
		return NULL;
	file->next = *chain;
	*chain = file;
	f->counters.files++;
	return file_ref(file);
}

struct mapped_file *file_ref(struct mapped_file *file)
{
	file->refs++;
	return file;
}

void file_unref(struct mapped_file *file)
{
	if (file && --file->refs == 0)
		file->used_ns = clock_monotonic_ns();
}

void files_collect(struct files *f, uint64_t before_ns)
{
	for (size_t i = 0; i < TABLE_SIZE; i++) {
		for (struct mapped_file **at = &f->chains[i], *file; (file = *at);) {
			if (file->refs || file->used_ns >= before_ns) {
				at = &file->next;
				continue;
			}
			*at = file->next;
			f->held -= file->held != 0;
			f->counters.files--;
			free_file(file);
		}
	}
}

static struct file_look look_of(const struct mapped_file *file, const struct file_mapping *mapping)
{
	return (struct file_look){.name = file->name,
				  .mapping = *mapping,
				  .held = file->held,
				  .is_known = file->read,
				  .version = file->version,
				  .fd = -1};
}

int files_open(const struct mapped_file *file, const struct file_mapping *mapping)
{
	const struct file_look look = look_of(file, mapping);

	return file_look_open(&look);
}

void file_name_id(const struct mapped_file *file, struct image_id *ret)
{
	const struct file_version *v = &file->version;
	uint64_t version[3] = {v->size, (uint64_t)v->changed_s, (uint64_t)v->changed_ns};
	uint64_t parts[2] = {file->key, hash_bytes(version, sizeof(version))};

	*ret = (struct image_id){.kind = IMAGE_FILE_OFFSET};
	/* The build ID of the record, if it has one. */
	if (file->name.build_id_size) {
		ret->size = file->name.build_id_size;
		memcpy(ret->bytes, file->name.build_id, ret->size);
		return;
	}
	ret->size = sizeof(parts);
	memcpy(ret->bytes, parts, sizeof(parts));
}

/* A name stands in for the content that could not be read. */
static void make_opaque(struct mapped_file *file)
{
	file->state = FILE_OPAQUE;
	file_name_id(file, &file->id);
}

/* It need not be hostile: the machine, or the file system, may be too busy now. */
static void postpone(struct mapped_file *file)
{
	unsigned doublings = file->late < LATE_DOUBLINGS ? file->late : LATE_DOUBLINGS;

	file->late++;
	file->again_ns = clock_wall_ns() + (LATE_NS << doublings);
}

static void take_failure(struct files *f, struct mapped_file *file, int error)
{
	f->counters.hostile += error == -ETIMEDOUT || error == -EBADMSG;
	if (error == -ETIMEDOUT)
		postpone(file);
	make_opaque(file);
}

static void take_facts(struct mapped_file *file, const struct image_facts *facts)
{
	struct image_segment *copy = calloc(facts->segment_count + 1, sizeof(*copy));

	if (!copy) {
		make_opaque(file);
		return;
	}
	memcpy(copy, facts->segments, facts->segment_count * sizeof(*copy));
	free(file->segments);
	file->segments = copy;
	file->segment_count = facts->segment_count;
	file->id = facts->id;
	file->read = true;
	file->state = FILE_ELF;
	/* Made at run time, mostly; only a program in it makes it a file. */
	if (facts->id.kind == IMAGE_FILE_OFFSET)
		file->state = file_name_begins(&file->name, "/memfd:") ? FILE_ANON : FILE_OPAQUE;
}

/* The file was rewritten in place, or can be read now: what was said under the old identity stays
 * so, this mapping and later ones get a new entry under the same name. */
static struct mapped_file *replace(struct files *f, struct mapped_file *old)
{
	struct mapped_file **at = &f->chains[old->key % TABLE_SIZE], *file;

	file = new_file(f, &old->name, old->key);
	if (!file)
		return file_ref(old);
	/* In front of the old one in its chain, which is therefore found no more. */
	file->next = *at;
	*at = file;
	file->attempts = old->attempts;
	file->late = old->late;
	f->counters.files++;
	return file_ref(file);
}

/* Keeps open what does not last. */
static void hold(struct files *f, struct mapped_file *file, int fd)
{
	if (fd >= 0 && file->state == FILE_ELF && file->gone && !file->held && f->held < HELD_MAX) {
		file->held = fd + 1;
		f->held++;
	} else if (fd >= 0) {
		close(fd);
	}
}

/* When it was read, nobody had changed it for a while. */
static bool is_settled(const struct mapped_file *file)
{
	int64_t changed_ns = file->version.changed_s * 1000000000 + file->version.changed_ns;

	return file->read && (int64_t)file->look_wall_ns - changed_ns > SETTLED_NS;
}

/*
 * Whether what the last look saw is what was mapped. A settled file is looked at once a second, not
 * for each of the mappings that thousands of short processes make of the same libraries. The price:
 * what is written over an old library in place is known as what it was for up to a second.
 */
static bool is_fresh(const struct mapped_file *file, uint64_t born_ns)
{
	bool is_same = is_settled(file) && !file->doubtful;

	if (!file->answer_ns || file_is_pending(file))
		return false;
	return (born_ns && file->look_ns >= born_ns) ||
	       ((!born_ns || is_same) && clock_monotonic_ns() - file->answer_ns < LOOK_NS);
}

static bool is_final(const struct mapped_file *file)
{
	if (file->state == FILE_ANON || file->state == FILE_VDSO)
		return true;
	return file->name.build_id_size &&
	       ((file->state == FILE_ELF && !file->doubtful) ||
		(file->state == FILE_OPAQUE && file->attempts >= ATTEMPTS_MAX));
}

bool file_is_other(const struct mapped_file *file, uint32_t kernel_device, uint64_t inode)
{
	const struct file_name *n = &file->name;
	bool named = n->build_id_size == 0; /* else records have no numbers */
	uint32_t device = named ? n->device_major << 20 | n->device_minor
				: major(file->version.device) << 20 | minor(file->version.device);

	return device == kernel_device && (named ? n->inode : file->version.inode) != inode;
}

bool file_is_pending(const struct mapped_file *file)
{
	return file->state == FILE_OPAQUE && file->late && !is_final(file);
}

/* What another mapping of it has found out. */
static void take_newest(struct files *f, struct mapped_file **file)
{
	struct mapped_file *newest = files_take(f, &(*file)->name);

	if (!newest)
		return;
	file_unref(*file);
	*file = newest;
}

/* The answer keeps a reference until it is taken. */
static void ask(struct files *f, struct mapped_file *file, const struct file_mapping *mapping)
{
	struct file_look *look = file->asked ? NULL : malloc(sizeof(*look));

	if (!look)
		return;
	*look = look_of(file, mapping);
	if (file->doubtful)
		look->held = 0;
	/* Of a process that is gone nobody knows whose it was: those share a turn. */
	const bool gone = procfs_read_user(mapping->pid, &look->turn.user) != 0;
	if (gone)
		look->turn.user = (uid_t)-1;
	look->owner = file;
	if (map64_put(f->asked, file_tag(file), 0) || looks_ask(f->looks, look)) {
		map64_remove(f->asked, file_tag(file));
		f->counters.crowded += !file->crowded;
		file->crowded = true;
		free(look);
		return;
	}
	f->counters.ownerless += gone;
	file->asked = true;
	file_ref(file);
}

int files_resolve(struct files *f, struct mapped_file **file, const struct file_mapping *mapping)
{
	if (is_final(*file))
		return 0;
	take_newest(f, file);
	if (is_final(*file) || (file_is_pending(*file) && clock_wall_ns() < (*file)->again_ns))
		return 0;
	if (!is_fresh(*file, mapping->born_ns)) {
		ask(f, *file, mapping);
		return -EAGAIN;
	}
	if ((*file)->name.build_id_size == 0 &&
	    file_version_is_after(&(*file)->version, mapping->born_ns)) {
		f->counters.unreadable++;
		return -ESTALE;
	}
	return 0;
}

void files_meet(struct files *f, struct mapped_file **file, const struct file_mapping *mapping)
{
	/* One that is known and settled will be there when a sample falls into it, if any does. */
	if ((*file)->state == FILE_UNRESOLVED ||
	    ((*file)->name.build_id_size == 0 && !is_settled(*file)))
		files_resolve(f, file, mapping);
}

/* What was said under the old identity stays so, where there is another. */
static void apply(struct files *f, struct mapped_file *file, struct file_look *look)
{
	bool found = look->looked == FILE_LOOKED_READ || look->looked == FILE_LOOKED_FAILED;
	struct mapped_file *now =
		found && file->state != FILE_UNRESOLVED ? replace(f, file) : file_ref(file);

	now->attempts++;
	now->look_ns = look->begun_ns;
	now->answer_ns = clock_monotonic_ns();
	now->look_wall_ns = clock_wall_ns() - (now->answer_ns - look->begun_ns);
	if (found) {
		now->version = look->version;
		now->gone = look->gone;
		now->doubtful = look->doubtful;
	}
	if (look->looked == FILE_LOOKED_READ)
		take_facts(now, &look->facts);
	else if (look->looked == FILE_LOOKED_FAILED)
		take_failure(f, now, look->error);
	else if (now->state == FILE_UNRESOLVED) {
		f->counters.unreadable++;
		make_opaque(now);
	}
	hold(f, now, look->fd);
	file_unref(now);
}

unsigned files_take_answers(struct files *f)
{
	struct file_look *look;
	unsigned count = 0;

	for (; (look = looks_take(f->looks)); count++) {
		struct mapped_file *file = look->owner;

		file->asked = file->crowded = false;
		map64_remove(f->asked, file_tag(file));
		apply(f, file, look);
		file_unref(file);
		free(look);
	}
	return count;
}

bool files_wait(struct files *f, uint64_t until_ns)
{
	struct pollfd answers = {.fd = looks_fd(f->looks), .events = POLLIN};
	uint64_t now = clock_monotonic_ns();
	struct looks_counters looks;

	looks_count(f->looks, &looks);
	if (!looks.queued || now >= until_ns)
		return false;
	poll(&answers, 1, (int)((until_ns - now) / 1000000 + 1));
	return true;
}

int files_fd(const struct files *f)
{
	return looks_fd(f->looks);
}

uint32_t file_tag(const struct mapped_file *file)
{
	return file->number & INT32_MAX;
}

bool files_is_asked(const struct files *f, uint32_t tag)
{
	uint64_t value;

	return map64_get(f->asked, tag, &value) == 0;
}

bool file_image_offset(const struct mapped_file *file, uint64_t file_offset, uint64_t *ret)
{
	if (file->state != FILE_ELF) {
		*ret = file_offset;
		return true;
	}
	for (uint32_t i = 0; i < file->segment_count; i++) {
		const struct image_segment *s = &file->segments[i];

		if (file_offset - s->file_offset < s->file_size) {
			*ret = s->address + (file_offset - s->file_offset);
			return true;
		}
	}
	return false;
}

void files_read_counters(struct files *f, struct files_counters *ret)
{
	struct looks_counters looks;

	looks_count(f->looks, &looks);
	*ret = f->counters;
	ret->queued = looks.queued;
	ret->worker_ns = looks.worker_ns;
}
