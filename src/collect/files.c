/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "util/buf.h"
#include "util/clock.h"
#include "util/foreign.h"
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
#define DELETED	       " (deleted)"

struct files {
	struct image_worker *worker;
	struct mapped_file *chains[TABLE_SIZE];
	unsigned held;
	uint64_t numbers; /* given */
	struct files_counters counters;
};

struct files *files_new(struct image_worker *worker)
{
	struct files *f = calloc(1, sizeof(*f));

	if (f)
		f->worker = worker;
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
	if (!f)
		return;
	for (size_t i = 0; i < TABLE_SIZE; i++) {
		for (struct mapped_file *file = f->chains[i], *next; file; file = next) {
			next = file->next;
			free_file(file);
		}
	}
	free(f);
}

static uint64_t key_of(const struct file_name *n)
{
	uint64_t numbers[4] = {hash_bytes(n->path, n->path_size),
			       hash_bytes(n->build_id, n->build_id_size),
			       (uint64_t)n->device_major << 32 | n->device_minor,
			       n->inode ^ n->inode_generation << 40};

	return hash_bytes(numbers, sizeof(numbers));
}

static bool same_name(const struct file_name *a, const struct file_name *b)
{
	return a->path_size == b->path_size && !memcmp(a->path, b->path, a->path_size) &&
	       a->build_id_size == b->build_id_size &&
	       !memcmp(a->build_id, b->build_id, a->build_id_size) &&
	       a->device_major == b->device_major && a->device_minor == b->device_minor &&
	       a->inode == b->inode && a->inode_generation == b->inode_generation;
}

static bool name_starts(const struct file_name *n, const char *prefix)
{
	size_t size = strlen(prefix);

	return n->path_size >= size && !memcmp(n->path, prefix, size);
}

/* Names the kernel gives to memory that is no file; a memfd may hold a program, so it is tried. */
static enum file_state first_state(const struct file_name *n)
{
	if (n->path_size == 6 && name_starts(n, "[vdso]"))
		return FILE_VDSO;
	if (n->build_id_size || name_starts(n, "/memfd:"))
		return FILE_UNRESOLVED;
	if (!name_starts(n, "/") || name_starts(n, "//") || name_starts(n, "/dev/zero") ||
	    name_starts(n, "/SYSV") || name_starts(n, "/[aio]"))
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
	ret->size = 1; /* a vDSO without a build-id: still one image */
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

/* The ways to a file, the surest first. */
enum way { WAY_HELD, WAY_MAPPING, WAY_ROOT, WAY_PATH, WAYS };

static bool is_marked_deleted(const struct mapped_file *file)
{
	size_t size = file->path_size, cut = strlen(DELETED);

	return size > cut && !memcmp(file->path + size - cut, DELETED, cut);
}

static int name_way(const struct mapped_file *file, enum way way, pid_t pid, uint64_t start,
		    uint64_t end, char *ret, size_t room)
{
	if (way == WAY_HELD) {
		/* Its own open file, so that nobody else moves its position. */
		snprintf(ret, room, "/proc/self/fd/%d", file->held - 1);
		return file->held ? 0 : -ENOENT;
	}
	if (way == WAY_MAPPING) {
		/* The very inode, whatever its name is now and whatever namespace it is in, as long
		 * as the process has not become another. */
		snprintf(ret, room, "/proc/%d/map_files/%llx-%llx", (int)pid,
			 (unsigned long long)start, (unsigned long long)end);
		return 0;
	}
	size_t size = file->path_size - (is_marked_deleted(file) ? strlen(DELETED) : 0);

	if (size >= room)
		return -ENAMETOOLONG;
	memcpy(ret, file->path, size);
	ret[size] = 0;
	return 0;
}

static int open_way(const struct mapped_file *file, enum way way, pid_t pid, uint64_t start,
		    uint64_t end, struct stat *st)
{
	char path[4096 + 64], root[32] = "/";
	int fd = name_way(file, way, pid, start, end, path, sizeof(path));

	if (way == WAY_ROOT)
		snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	/* The kernel recorded a path without links. */
	if (fd == 0)
		fd = way < WAY_ROOT ? foreign_open(path, st) : foreign_open_below(root, path, st);
	return fd;
}

/* Whether a time that stat gave lies after a mapping was made. */
static bool is_after(const struct timespec *then, uint64_t born_ns)
{
	int64_t age_ns = (int64_t)(clock_monotonic_ns() - born_ns);

	return (int64_t)clock_wall_ns() - (then->tv_sec * 1000000000 + then->tv_nsec) < age_ns;
}

/* Without a build-id a file is only what it was when it was mapped while nobody has written to it
 * since. */
static bool written_since(const struct mapped_file *file, const struct stat *st, uint64_t born_ns)
{
	return file->name.build_id_size == 0 && born_ns && is_after(&st->st_mtim, born_ns);
}

/* Whether the process could read it too: lest it name a file that only we may. */
static bool may_read(pid_t pid, const struct stat *st)
{
	struct stat process;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return st->st_mode & S_IROTH || (stat(path, &process) == 0 && process.st_uid == st->st_uid);
}

/*
 * An overlay has numbers of its own for a file that it copied from a lower layer, while a mapping
 * has those of the layer (Linux 6.1; 6.18 shows the same in both). There the path has to do, in the
 * process's own root, as long as nothing was done to the file (a rename, too, sets its ctime) since
 * it was mapped.
 */
static bool may_be_renumbered(const struct mapped_file *file, enum way way, int fd,
			      const struct stat *st, uint64_t born_ns)
{
	struct statfs fs;

	return way == WAY_ROOT && !is_marked_deleted(file) && fstatfs(fd, &fs) == 0 &&
	       fs.f_type == OVERLAYFS_SUPER_MAGIC && !(born_ns && is_after(&st->st_ctim, born_ns));
}

static bool has_recorded_numbers(const struct mapped_file *file, const struct stat *st)
{
	return st->st_ino == file->name.inode && major(st->st_dev) == file->name.device_major &&
	       minor(st->st_dev) == file->name.device_minor;
}

/*
 * Whether what was opened can be the file of the record. With a build-id the content is compared
 * later. The device may differ: overlays show one number in a record and another in stat. But a
 * name leads where its owner's mounts have it lead, and a file system in user space gives the file
 * that is mapped whatever inode and build-id it likes: so what a name led to must be the very file,
 * or one that the process could have read by itself.
 */
static bool may_be_recorded(const struct mapped_file *file, enum way way, pid_t pid, int fd,
			    const struct stat *st, uint64_t born_ns)
{
	if (way >= WAY_ROOT && !has_recorded_numbers(file, st) && !may_read(pid, st))
		return false;
	return file->name.build_id_size || st->st_ino == file->name.inode ||
	       may_be_renumbered(file, way, fd, st, born_ns);
}

int files_open(const struct mapped_file *file, pid_t pid, uint64_t start, uint64_t end)
{
	for (enum way way = 0; way < WAYS; way++) {
		struct stat st;
		int fd = open_way(file, way, pid, start, end, &st);

		if (fd >= 0 && st.st_dev == file->device && st.st_ino == file->inode)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -ESTALE;
}

static bool unchanged(const struct mapped_file *file, const struct stat *st)
{
	return file->size == (uint64_t)st->st_size && file->changed.s == st->st_ctim.tv_sec &&
	       file->changed.ns == st->st_ctim.tv_nsec;
}

/* From here, its path. */
static bool leads_to_it(const struct mapped_file *file)
{
	struct stat here;

	return stat(file->path, &here) == 0 && here.st_ino == file->inode &&
	       here.st_dev == file->device;
}

/* What is gone when a report asks: files in places that are emptied, and those that are only in
 * the process's own view of the file system. */
static bool is_passing(const struct mapped_file *file, const struct stat *st)
{
	if (!leads_to_it(file))
		return true;
	return st->st_nlink == 0 || name_starts(&file->name, "/tmp/") ||
	       name_starts(&file->name, "/var/tmp/") || name_starts(&file->name, "/memfd:");
}

/* A name stands in for the content that could not be read: the build-id of the record if it has
 * one, else what the record says of the file. */
static void make_opaque(struct mapped_file *file)
{
	file->state = FILE_OPAQUE;
	file->id = (struct image_id){.kind = IMAGE_FILE_OFFSET};
	if (file->name.build_id_size) {
		file->id.size = file->name.build_id_size;
		memcpy(file->id.bytes, file->name.build_id, file->id.size);
		return;
	}
	uint64_t parts[2] = {file->key, hash_u64(file->size ^ (uint64_t)file->changed.ns ^
						 (uint64_t)file->changed.s << 20)};

	file->id.size = sizeof(parts);
	memcpy(file->id.bytes, parts, sizeof(parts));
}

static bool facts_match(const struct mapped_file *file, const struct image_facts *facts)
{
	return file->name.build_id_size == 0 ||
	       (facts->id.size == file->name.build_id_size &&
		!memcmp(facts->id.bytes, file->name.build_id, facts->id.size));
}

/* It need not be hostile: the machine, or the file system, may be too busy now. */
static void postpone(struct mapped_file *file)
{
	unsigned doublings = file->late < LATE_DOUBLINGS ? file->late : LATE_DOUBLINGS;

	file->late++;
	file->again_ns = clock_wall_ns() + (LATE_NS << doublings);
}

/* Reads what the file is. -ESTALE: its content is not that of the record. */
static int take_facts(struct files *f, struct mapped_file *file, int fd, const struct stat *st)
{
	struct image_segment *copy;
	struct image_facts facts;
	struct diag diag;
	int r = image_worker_facts(f->worker, fd, &facts, &diag);

	if (r == 0 && !facts_match(file, &facts))
		return -ESTALE;
	file->size = (uint64_t)st->st_size;
	file->device = st->st_dev;
	file->inode = st->st_ino;
	file->changed.s = st->st_ctim.tv_sec;
	file->changed.ns = st->st_ctim.tv_nsec;
	file->gone = is_passing(file, st);
	if (r) {
		f->counters.hostile += r == -ETIMEDOUT || r == -EBADMSG;
		if (r == -ETIMEDOUT)
			postpone(file);
		if (r == -EBADMSG && name_starts(&file->name, "/memfd:"))
			file->state = FILE_ANON;
		else
			make_opaque(file);
		return 0;
	}
	copy = calloc(facts.segment_count ?: 1, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	memcpy(copy, facts.segments, facts.segment_count * sizeof(*copy));
	free(file->segments);
	file->segments = copy;
	file->segment_count = facts.segment_count;
	file->id = facts.id;
	file->state = FILE_ELF;
	return 0;
}

/* The file was rewritten in place, or can be read now: what was said under the old identity stays
 * so, this mapping and later ones get a new entry under the same name. */
static struct mapped_file *replace(struct files *f, struct mapped_file *old)
{
	struct mapped_file **at = &f->chains[old->key % TABLE_SIZE], *file;

	file = new_file(f, &old->name, old->key);
	if (!file)
		return old;
	/* In front of the old one in its chain, which is therefore found no more. */
	file->next = *at;
	*at = file;
	file->attempts = old->attempts;
	file->late = old->late;
	f->counters.files++;
	file_unref(old);
	return file_ref(file);
}

/* Keeps open what does not last. */
static void hold(struct files *f, struct mapped_file *file, int fd)
{
	if (file->state == FILE_ELF && file->gone && !file->held && f->held < HELD_MAX) {
		file->held = fd + 1;
		f->held++;
	} else {
		close(fd);
	}
}

/* When it was read, nobody had changed it for a while. */
static bool is_settled(const struct mapped_file *file)
{
	int64_t changed_ns = file->changed.s * 1000000000 + file->changed.ns;

	return file->state == FILE_ELF && (int64_t)file->looked_ns - changed_ns > SETTLED_NS;
}

/*
 * A settled file is looked at once a second, not for each of the mappings that thousands of short
 * processes make of the same libraries. The price: what is written over an old library in place is
 * known as what it was for up to a second.
 */
static bool was_just_seen(const struct mapped_file *file)
{
	return is_settled(file) && clock_wall_ns() - file->looked_ns < LOOK_NS;
}

static bool is_final(const struct mapped_file *file)
{
	if (file->state == FILE_ANON || file->state == FILE_VDSO)
		return true;
	return file->name.build_id_size &&
	       (file->state == FILE_ELF ||
		(file->state == FILE_OPAQUE && file->attempts >= ATTEMPTS_MAX));
}

bool file_is_other(const struct mapped_file *file, uint32_t kernel_device, uint64_t inode)
{
	const struct file_name *n = &file->name;
	bool named = n->build_id_size == 0; /* else records have no numbers */
	uint32_t device = named ? n->device_major << 20 | n->device_minor
				: major(file->device) << 20 | minor(file->device);

	return device == kernel_device && (named ? n->inode : file->inode) != inode;
}

bool file_is_passing(const struct mapped_file *file)
{
	return file->gone || (file->state == FILE_ELF && !leads_to_it(file));
}

bool file_is_pending(const struct mapped_file *file)
{
	return file->state == FILE_OPAQUE && file->late && !is_final(file);
}

/*
 * Whether the name leads to the very file that was read, as it was then: so a further mapping of it
 * needs no descriptor, only one call. Where the name leads elsewhere, the process is asked.
 */
static bool is_as_read(const struct mapped_file *file)
{
	struct stat st;

	return file->state == FILE_ELF && file->inode == file->name.inode &&
	       stat(file->path, &st) == 0 && st.st_dev == file->device &&
	       st.st_ino == file->inode && unchanged(file, &st);
}

/* What another mapping of a file that was late may have found out. */
static struct mapped_file *take_newest(struct files *f, struct mapped_file *file)
{
	struct mapped_file *newest = files_take(f, &file->name);

	if (!newest)
		return file;
	file_unref(file);
	return newest;
}

struct mapped_file *files_resolve(struct files *f, struct mapped_file *file, pid_t pid,
				  uint64_t start, uint64_t end, uint64_t born_ns)
{
	int r = -ESTALE;

	if (file_is_pending(file))
		file = take_newest(f, file);
	if (is_final(file) || was_just_seen(file) ||
	    (file_is_pending(file) && clock_wall_ns() < file->again_ns))
		return file;
	if (is_as_read(file)) {
		file->looked_ns = clock_wall_ns();
		return file;
	}
	file->attempts++;
	for (enum way way = 0; way < WAYS && r; way++) {
		struct stat st;
		int fd = open_way(file, way, pid, start, end, &st);

		if (fd < 0)
			continue;
		if (!may_be_recorded(file, way, pid, fd, &st, born_ns)) {
			close(fd);
			continue;
		}
		if (file->state == FILE_OPAQUE ||
		    (file->state == FILE_ELF && !unchanged(file, &st)))
			file = replace(f, file);
		r = 0;
		if (file->state == FILE_UNRESOLVED && !written_since(file, &st, born_ns))
			r = take_facts(f, file, fd, &st);
		file->looked_ns = clock_wall_ns();
		hold(f, file, fd);
	}
	if (file->state == FILE_UNRESOLVED) {
		f->counters.unreadable++;
		make_opaque(file);
	}
	return file;
}

struct mapped_file *files_meet(struct files *f, struct mapped_file *file, pid_t pid, uint64_t start,
			       uint64_t end, uint64_t born_ns)
{
	/* One that is known and settled will be there when a sample falls into it, if any does. */
	if (file->state == FILE_UNRESOLVED || (file->name.build_id_size == 0 && !is_settled(file)))
		return files_resolve(f, file, pid, start, end, born_ns);
	return file;
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

void files_read_counters(const struct files *f, struct files_counters *ret)
{
	*ret = f->counters;
}
