/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "model_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "util/hash.h"

#define NODES_MAX 1024
#define NAMES_MAX 64 /* of a directory */
#define OPS_MAX	  256
#define FDS_MAX	  64
#define FD_FIRST  1000
#define NAME_ROOM 96

/* A name and what it stands for. */
struct entry {
	char name[NAME_ROOM];
	int node;
};

struct names {
	struct entry list[NAMES_MAX];
	size_t count;
};

/* What was done to a directory: a name made to stand for a node (-1: for none), another taken away.
 */
struct op {
	int dir, node;
	char name[NAME_ROOM], gone[NAME_ROOM];
};

struct node {
	bool is_dir;
	char made_as[NAME_ROOM];
	struct names *now, *safe; /* a directory's */
	uint8_t *data, *safe_data;
	size_t size, safe_size;
	bool unsafe; /* written to since its last sync */
};

struct model_disk {
	struct node nodes[NODES_MAX];
	int node_count;
	struct op ops[OPS_MAX]; /* that are not safe */
	size_t op_count;
	struct {
		bool open;
		int node;
		size_t at;
	} fds[FDS_MAX];
	struct io_time clock;
	void (*before)(void *arg);
	void *before_arg;
	bool ignore_data;
	const char *ignored;
};

static void need(bool condition, const char *what)
{
	if (condition)
		return;
	printf("Bail out! the model of a disk: %s\n", what);
	exit(1);
}

static void *copy_of(const void *data, size_t size)
{
	void *copy = malloc(size + 1);

	need(copy, "out of memory");
	if (size)
		memcpy(copy, data, size);
	return copy;
}

static int node_new(struct model_disk *d, bool is_dir, const char *name)
{
	struct node *n = &d->nodes[d->node_count];

	need(d->node_count < NODES_MAX, "too many files");
	n->is_dir = is_dir;
	snprintf(n->made_as, sizeof(n->made_as), "%s", name);
	if (is_dir) {
		n->now = calloc(1, sizeof(*n->now));
		n->safe = calloc(1, sizeof(*n->safe));
		need(n->now && n->safe, "out of memory");
	}
	return d->node_count++;
}

struct model_disk *model_disk_new(void)
{
	struct model_disk *d = calloc(1, sizeof(*d));

	need(d, "out of memory");
	node_new(d, true, "root");
	return d;
}

void model_disk_free(struct model_disk *d)
{
	for (int i = 0; i < d->node_count; i++) {
		free(d->nodes[i].now);
		free(d->nodes[i].safe);
		free(d->nodes[i].data);
		free(d->nodes[i].safe_data);
	}
	free(d);
}

static struct entry *find(struct names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (!strcmp(names->list[i].name, name))
			return &names->list[i];
	return NULL;
}

static void take_away(struct names *names, const char *name)
{
	struct entry *e = find(names, name);

	if (e)
		*e = names->list[--names->count];
}

static void apply(struct names *names, const struct op *op)
{
	if (*op->gone)
		take_away(names, op->gone);
	if (op->node < 0)
		return;
	take_away(names, op->name);
	need(names->count < NAMES_MAX, "too many names");
	snprintf(names->list[names->count].name, NAME_ROOM, "%s", op->name);
	names->list[names->count++].node = op->node;
}

/* Changes the names of a directory, for now. */
static void change(struct model_disk *d, int dir, const char *name, int node, const char *gone)
{
	struct op *op = &d->ops[d->op_count++];

	need(d->op_count <= OPS_MAX, "too many changes of names");
	*op = (struct op){.dir = dir, .node = node};
	snprintf(op->name, sizeof(op->name), "%s", name);
	snprintf(op->gone, sizeof(op->gone), "%s", gone);
	apply(d->nodes[dir].now, op);
}

static void watch(const struct model_disk *d)
{
	if (d->before)
		d->before(d->before_arg);
}

/* The directory that the last component of a path is in, and that component. */
static int walk(struct model_disk *d, int dirfd, const char *path, char last[NAME_ROOM])
{
	int at = dirfd == AT_FDCWD ? 0 : d->fds[dirfd - FD_FIRST].node;
	struct entry *e;
	size_t size;

	for (;; path += size) {
		path += strspn(path, "/");
		size = strcspn(path, "/");
		need(size < NAME_ROOM, "a name is too long");
		memcpy(last, path, size);
		last[size] = 0;
		if (!path[size])
			return at;
		e = !strcmp(last, ".") ? NULL : find(d->nodes[at].now, last);
		if (!e && strcmp(last, ".") != 0)
			return -ENOENT;
		at = e ? e->node : at;
		if (!d->nodes[at].is_dir)
			return -ENOTDIR;
	}
}

static int fd_new(struct model_disk *d, int node)
{
	for (int i = 0; i < FDS_MAX; i++)
		if (!d->fds[i].open) {
			d->fds[i].open = true;
			d->fds[i].node = node;
			d->fds[i].at = 0;
			return FD_FIRST + i;
		}
	return -EMFILE;
}

static int model_open(void *arg, int dirfd, const char *path, int flags, mode_t mode)
{
	struct model_disk *d = arg;
	char name[NAME_ROOM];
	int dir = walk(d, dirfd, path, name), node;
	struct entry *e;

	(void)mode;
	if (dir < 0)
		return dir;
	e = find(d->nodes[dir].now, name);
	node = !strcmp(name, ".") ? dir : e ? e->node : -1;
	if (node < 0 && !(flags & O_CREAT))
		return -ENOENT;
	if (node >= 0 && (flags & O_EXCL))
		return -EEXIST;
	if (node >= 0 && (flags & O_DIRECTORY) && !d->nodes[node].is_dir)
		return -ENOTDIR;
	if (node < 0) {
		watch(d);
		node = node_new(d, false, name);
		change(d, dir, name, node, "");
	}
	return fd_new(d, node);
}

static ssize_t model_read(void *arg, int fd, void *data, size_t size, uint64_t offset)
{
	const struct model_disk *d = arg;
	const struct node *n = &d->nodes[d->fds[fd - FD_FIRST].node];

	if (offset >= n->size)
		return 0;
	size = size < n->size - offset ? size : n->size - offset;
	memcpy(data, n->data + offset, size);
	return (ssize_t)size;
}

static ssize_t model_write(void *arg, int fd, const void *data, size_t size)
{
	struct model_disk *d = arg;
	struct node *n = &d->nodes[d->fds[fd - FD_FIRST].node];
	size_t *at = &d->fds[fd - FD_FIRST].at;

	watch(d);
	if (*at + size > n->size) {
		n->data = realloc(n->data, *at + size);
		need(n->data, "out of memory");
		n->size = *at + size;
	}
	memcpy(n->data + *at, data, size);
	*at += size;
	n->unsafe = true;
	return (ssize_t)size;
}

static int model_stat(void *arg, int fd, struct stat *ret)
{
	const struct model_disk *d = arg;
	const struct node *n = &d->nodes[d->fds[fd - FD_FIRST].node];

	*ret = (struct stat){
		.st_mode = n->is_dir ? S_IFDIR | 0750 : S_IFREG | 0640,
		.st_nlink = 1,
		.st_size = (off_t)n->size,
		.st_blocks = (blkcnt_t)(n->size + 511) / 512,
	};
	return 0;
}

static bool is_ignored(const struct model_disk *d, bool data, const struct node *n)
{
	return d->ignored && d->ignore_data == data &&
	       !strncmp(n->made_as, d->ignored, strlen(d->ignored));
}

static int model_sync_data(void *arg, int fd)
{
	struct model_disk *d = arg;
	struct node *n = &d->nodes[d->fds[fd - FD_FIRST].node];

	watch(d);
	if (is_ignored(d, true, n))
		return 0;
	free(n->safe_data);
	n->safe_data = copy_of(n->data, n->size);
	n->safe_size = n->size;
	n->unsafe = false;
	return 0;
}

static int model_sync_dir(void *arg, int fd)
{
	struct model_disk *d = arg;
	int dir = d->fds[fd - FD_FIRST].node;
	size_t kept = 0;

	watch(d);
	if (is_ignored(d, false, &d->nodes[dir]))
		return 0;
	for (size_t i = 0; i < d->op_count; i++)
		if (d->ops[i].dir != dir)
			d->ops[kept++] = d->ops[i];
	d->op_count = kept;
	*d->nodes[dir].safe = *d->nodes[dir].now;
	return 0;
}

static int model_rename(void *arg, int dirfd, const char *from, const char *to)
{
	struct model_disk *d = arg;
	int dir = d->fds[dirfd - FD_FIRST].node;
	struct entry *e = find(d->nodes[dir].now, from);

	if (!e)
		return -ENOENT;
	watch(d);
	change(d, dir, to, e->node, from);
	return 0;
}

static int model_unlink(void *arg, int dirfd, const char *path, int flags)
{
	struct model_disk *d = arg;
	int dir = d->fds[dirfd - FD_FIRST].node;
	struct entry *e = find(d->nodes[dir].now, path);

	if (!e)
		return -ENOENT;
	if (d->nodes[e->node].is_dir != !!(flags & AT_REMOVEDIR))
		return flags ? -ENOTDIR : -EISDIR;
	if (flags && d->nodes[e->node].now->count)
		return -ENOTEMPTY;
	watch(d);
	change(d, dir, "", -1, path);
	return 0;
}

static int model_mkdir(void *arg, int dirfd, const char *path, mode_t mode)
{
	struct model_disk *d = arg;
	char name[NAME_ROOM];
	int dir = walk(d, dirfd, path, name);

	(void)mode;
	if (dir < 0)
		return dir;
	if (find(d->nodes[dir].now, name))
		return -EEXIST;
	watch(d);
	change(d, dir, name, node_new(d, true, name), "");
	return 0;
}

static int model_list(void *arg, int fd, char **ret_names, size_t *ret_count)
{
	const struct model_disk *d = arg;
	const struct names *names = d->nodes[d->fds[fd - FD_FIRST].node].now;
	char *block = malloc(names->count * NAME_ROOM + 1), *to = block;

	if (!block)
		return -ENOMEM;
	for (size_t i = 0; i < names->count; i++)
		to = stpcpy(to, names->list[i].name) + 1;
	*ret_names = block;
	*ret_count = names->count;
	return 0;
}

static int model_lock(void *arg, int fd)
{
	(void)arg, (void)fd;
	return 0;
}

static int model_close(void *arg, int fd)
{
	((struct model_disk *)arg)->fds[fd - FD_FIRST].open = false;
	return 0;
}

static void model_time(void *arg, struct io_time *ret)
{
	*ret = ((struct model_disk *)arg)->clock;
}

struct io model_disk_io(struct model_disk *d)
{
	return (struct io){model_open,	    model_read,
			   model_write,	    model_stat,
			   model_sync_data, model_sync_dir,
			   model_rename,    model_unlink,
			   model_mkdir,	    model_list,
			   model_lock,	    model_close,
			   model_time,	    d};
}

struct io_time *model_disk_clock(struct model_disk *d)
{
	return &d->clock;
}

void model_disk_watch(struct model_disk *d, void (*before)(void *arg), void *arg)
{
	d->before = before;
	d->before_arg = arg;
}

void model_disk_ignore(struct model_disk *d, bool data, const char *prefix)
{
	d->ignore_data = data;
	d->ignored = prefix;
}

size_t model_disk_unsafe(const struct model_disk *d)
{
	return d->op_count;
}

/* What may be left of a file's data. */
static void crash_file(const struct node *from, struct node *to, uint64_t choice)
{
	if (!from->unsafe) {
		to->data = copy_of(from->data, from->size);
		to->size = from->size;
		return;
	}
	to->size = choice % 5 == 0 ? from->safe_size : from->size;
	to->data = copy_of(choice % 5 == 0 ? from->safe_data : from->data, to->size);
	if (choice % 5 == 1) /* its size was written, and nothing else */
		memset(to->data, 0, to->size);
	else if (choice % 5 == 2) /* cut */
		to->size /= 2;
	else if (choice % 5 == 3) /* its beginning came last */
		memset(to->data, 0, to->size / 2);
}

struct model_disk *model_disk_crash(const struct model_disk *d, uint64_t names, uint64_t seed)
{
	struct model_disk *c = calloc(1, sizeof(*c));

	need(c, "out of memory");
	c->clock = d->clock;
	for (int i = 0; i < d->node_count; i++) {
		struct node *n = &c->nodes[node_new(c, d->nodes[i].is_dir, d->nodes[i].made_as)];

		if (n->is_dir)
			*n->now = *d->nodes[i].safe;
		else
			crash_file(&d->nodes[i], n, hash_u64(seed + (uint64_t)i));
	}
	for (size_t i = 0; i < d->op_count; i++)
		if (names >> i % 64 & 1)
			apply(c->nodes[d->ops[i].dir].now, &d->ops[i]);
	for (int i = 0; i < c->node_count; i++)
		if (c->nodes[i].is_dir)
			*c->nodes[i].safe = *c->nodes[i].now;
	return c;
}

/* Whatever the order of names is. */
static uint64_t node_hash(const struct model_disk *d, const struct node *n)
{
	uint64_t sum = 1;

	if (!n->is_dir)
		return hash_bytes(n->data, n->size);
	for (size_t i = 0; i < n->now->count; i++) {
		const struct entry *e = &n->now->list[i];

		sum += hash_u64(hash_bytes(e->name, strlen(e->name)) ^
				hash_u64(node_hash(d, &d->nodes[e->node])));
	}
	return hash_u64(sum);
}

uint64_t model_disk_hash(const struct model_disk *d)
{
	return node_hash(d, &d->nodes[0]);
}
