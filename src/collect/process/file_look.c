/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/process/file_look.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/foreign.h"
#include "util/text.h"
#include "util/trusted.h"

bool file_name_begins(const struct file_name *n, const char *prefix)
{
	size_t size = strlen(prefix);

	return n->path_size >= size && !memcmp(n->path, prefix, size);
}

void file_name_set(struct file_name *n, const char *path, size_t size)
{
	n->path = path;
	n->path_size = text_undeleted_size(path, size);
	n->deleted = n->path_size != size;
}

/* The ways to a file, the surest first. */
enum way { WAY_HELD, WAY_MAPPING, WAY_ROOT, WAY_PATH, WAYS };

static int name_way(const struct file_look *l, enum way way, char *ret, size_t room)
{
	if (way == WAY_HELD) {
		/* Its own open file, so that nobody else moves its position. */
		snprintf(ret, room, "/proc/self/fd/%d", l->held - 1);
		return l->held ? 0 : -ENOENT;
	}
	if (way == WAY_MAPPING) {
		/* The very inode, whatever its name is now and whatever namespace it is in, as long
		 * as the process has not become another. */
		snprintf(ret, room, "/proc/%d/map_files/%llx-%llx", (int)l->mapping.pid,
			 (unsigned long long)l->mapping.start, (unsigned long long)l->mapping.end);
		return 0;
	}
	if (l->name.path_size >= room)
		return -ENAMETOOLONG;
	memcpy(ret, l->name.path, l->name.path_size);
	ret[l->name.path_size] = 0;
	return 0;
}

static int open_way(const struct file_look *l, enum way way, struct stat *st)
{
	char path[4096 + 64], root[32] = "/";
	int fd = name_way(l, way, path, sizeof(path));

	if (way == WAY_ROOT)
		snprintf(root, sizeof(root), "/proc/%d/root", (int)l->mapping.pid);
	/* The kernel recorded a path without links. */
	if (fd == 0)
		fd = way < WAY_ROOT ? foreign_open(path, st) : foreign_open_below(root, path, st);
	return fd;
}

/* Whether a time that stat gave lies after a mapping was made. Who is switched out between the two
 * clocks takes the mapping for older, not for one of the file as it is by now. */
static bool is_after(int64_t s, int64_t ns, uint64_t born_ns)
{
	int64_t wall_ns = (int64_t)clock_wall_ns();

	return wall_ns - (s * 1000000000 + ns) < (int64_t)(clock_monotonic_ns() - born_ns);
}

bool file_version_is_after(const struct file_version *v, uint64_t born_ns)
{
	return born_ns && is_after(v->written_s, v->written_ns, born_ns);
}

static struct file_version version_of(int fd, const struct stat *st)
{
	return (struct file_version){
		.size = (uint64_t)st->st_size,
		.device = st->st_dev,
		.inode = st->st_ino,
		.changed_s = st->st_ctim.tv_sec,
		.changed_ns = st->st_ctim.tv_nsec,
		.written_s = st->st_mtim.tv_sec,
		.written_ns = st->st_mtim.tv_nsec,
		.owner = st->st_uid,
		.claimed = !trusted_content(fd, geteuid()),
	};
}

static bool unchanged(const struct file_version *v, const struct stat *st)
{
	return v->size == (uint64_t)st->st_size && v->changed_s == st->st_ctim.tv_sec &&
	       v->changed_ns == st->st_ctim.tv_nsec;
}

/* Whether a path leads to it, from here. */
static bool version_is_at(const struct file_version *v, const char *path)
{
	struct stat here;

	return stat(path, &here) == 0 && here.st_ino == v->inode && here.st_dev == v->device;
}

/* What is gone when a report asks: files in places that are emptied, and those that are only in
 * the process's own view of the file system. */
static bool is_passing(const struct file_look *l, const struct stat *st)
{
	if (!version_is_at(&l->version, l->name.path))
		return true;
	return st->st_nlink == 0 || file_name_begins(&l->name, "/tmp/") ||
	       file_name_begins(&l->name, "/var/tmp/") || file_name_begins(&l->name, "/memfd:");
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
static bool may_be_renumbered(const struct file_look *l, enum way way, int fd,
			      const struct stat *st)
{
	uint64_t born_ns = l->mapping.born_ns;
	struct statfs fs;

	return way == WAY_ROOT && !l->name.deleted && fstatfs(fd, &fs) == 0 &&
	       fs.f_type == OVERLAYFS_SUPER_MAGIC &&
	       !(born_ns && is_after(st->st_ctim.tv_sec, st->st_ctim.tv_nsec, born_ns));
}

static bool has_recorded_numbers(const struct file_name *n, const struct stat *st)
{
	return st->st_ino == n->inode && major(st->st_dev) == n->device_major &&
	       minor(st->st_dev) == n->device_minor;
}

/*
 * Whether what was opened can be the file of the record. With a build ID the content is compared
 * later. The device may differ: overlays show one number in a record and another in stat. But a
 * name leads where its owner's mounts have it lead, and a file system in user space gives the file
 * that is mapped whatever inode and build ID it likes: so what a name led to must be the very file,
 * or one that the process could have read by itself.
 */
static bool may_be_recorded(const struct file_look *l, enum way way, int fd, const struct stat *st)
{
	if (way >= WAY_ROOT && !has_recorded_numbers(&l->name, st) && !may_read(l->mapping.pid, st))
		return false;
	return l->name.build_id_size || st->st_ino == l->name.inode ||
	       may_be_renumbered(l, way, fd, st);
}

int file_look_open(const struct file_look *l)
{
	for (enum way way = 0; way < WAYS; way++) {
		struct stat st;
		int fd = open_way(l, way, &st);

		if (fd >= 0 && st.st_ino == l->version.inode && st.st_dev == l->version.device)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -ESTALE;
}

static bool facts_match(const struct file_name *n, const struct image_facts *facts)
{
	return n->build_id_size == 0 || (facts->id.size == n->build_id_size &&
					 !memcmp(facts->id.bytes, n->build_id, facts->id.size));
}

/* Reads what the file is. False: its content is not that of the record. */
static bool take_facts(struct file_look *l, struct image_worker *worker, int fd,
		       const struct stat *st)
{
	struct stat after;
	struct diag diag;
	int r = image_worker_identify(worker, fd, &l->facts, &diag);

	if (r == 0 && !facts_match(&l->name, &l->facts))
		return false;
	l->version = version_of(fd, st);
	l->gone = is_passing(l, st);
	l->doubtful = l->version.claimed && !version_is_at(&l->version, l->name.path);
	/* Written to while it was read, it is neither what it was nor what it became. */
	if (r == 0 && (fstat(fd, &after) || !unchanged(&l->version, &after)))
		r = -EBUSY;
	l->looked = r ? FILE_LOOKED_FAILED : FILE_LOOKED_READ;
	l->error = r;
	return true;
}

/*
 * Whether the name leads to the very file that was read, as it was then: so a further mapping of it
 * needs no descriptor, only one call. Where the name leads elsewhere, the process is asked.
 */
static bool is_as_read(const struct file_look *l)
{
	struct stat st;

	return l->is_known && l->version.inode == l->name.inode && stat(l->name.path, &st) == 0 &&
	       st.st_dev == l->version.device && st.st_ino == l->version.inode &&
	       unchanged(&l->version, &st);
}

void file_look(struct file_look *l, struct image_worker *worker)
{
	l->begun_ns = clock_monotonic_ns();
	l->looked = is_as_read(l) ? FILE_LOOKED_SAME : FILE_LOOKED_NOTHING;
	l->fd = -1;
	for (enum way way = 0; way < WAYS && l->looked == FILE_LOOKED_NOTHING; way++) {
		struct stat st;
		int fd = open_way(l, way, &st);

		if (fd < 0)
			continue;
		if (may_be_recorded(l, way, fd, &st)) {
			if (l->is_known && unchanged(&l->version, &st))
				l->looked = FILE_LOOKED_SAME;
			else
				take_facts(l, worker, fd, &st);
		}
		if (l->looked == FILE_LOOKED_NOTHING)
			close(fd);
		else
			l->fd = fd;
	}
}
