/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instrument/attach/attach_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of linux/memfd.h: a kernel that does not know it does not need it. */
#define MFD_EXEC_FLAG 0x10
#define SEAL_EXEC     0x20 /* which a kernel may put on by itself */

static struct tracee *find_runner(const struct attach *a, const struct attach_space *s,
				  const struct target_maps *maps)
{
	for (size_t i = 0; i < a->tracer.count; i++)
		if (a->tracer.list[i]->space == s &&
		    call_is_possible(a->tracer.list[i], s->mem, maps))
			return a->tracer.list[i];
	return NULL;
}

int attach_space_find_runner(struct attach *a, struct attach_space *s)
{
	struct target_maps maps = {0};
	bool found = false;
	int r = 0;

	for (unsigned try = 0; !r && !found && try < ATTACH_STIRS; try++) {
		if (try)
			r = tracer_stir(&a->tracer, try, NULL);
		r = r ? r : attach_space_maps(a, s, &maps);
		found = !r && find_runner(a, s, &maps);
	}
	target_maps_free(&maps);
	return r ? r : found ? 0 : -EAGAIN;
}

int attach_space_call(struct attach *a, const struct attach_space *s,
		      const struct target_maps *maps, struct call_errand *errand)
{
	struct tracee *e = find_runner(a, s, maps);

	return e ? call_make(e, s->mem, maps, errand) : -EAGAIN;
}

/*
 * Opens what the program has just made. Others may share its descriptors and have put a file of
 * their choice in its place, which our rights would open, cut or wait for: so it is looked at
 * before it is opened, and must be an empty one without a name, as those are that are made in
 * memory.
 */
static int open_made(pid_t tid, int64_t fd, uint64_t *ret_inode)
{
	int ours = memfd_create("culprit", MFD_CLOEXEC);
	struct statx st = {0}, of_ours = {0};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)tid, (int)fd);
	int found = open(path, O_PATH | O_CLOEXEC), own = -1;
	bool is_made =
		statx(ours, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &of_ours) == 0 &&
		statx(found, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &st) == 0 &&
		st.stx_dev_major == of_ours.stx_dev_major &&
		st.stx_dev_minor == of_ours.stx_dev_minor && st.stx_size == 0;
	if (is_made) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
		own = open(path, O_RDWR | O_CLOEXEC);
	}
	int r = own >= 0 ? own : is_made ? -errno : -EPERM;
	*ret_inode = st.stx_ino;
	close(found);
	close(ours);
	return r;
}

/* Gives a file its size for ever, and maps it: who shrank it would end us at our next look. */
static uint8_t *map_sealed(int fd, size_t bytes)
{
	struct stat st;

	if (!(fcntl(fd, F_GET_SEALS) & ~SEAL_EXEC) && !ftruncate(fd, (off_t)bytes) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) && !fstat(fd, &st) &&
	    (uint64_t)st.st_size == bytes)
		return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	errno = EPERM;
	return MAP_FAILED;
}

/* Gives a file its content for ever: children of other rights have it mapped too. Who shares the
 * descriptor could have written until it was sealed. */
static int seal_content(int fd, const uint8_t *content, size_t bytes)
{
	uint8_t *map;
	bool is_same;

	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL))
		return -errno;
	map = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	is_same = !memcmp(map, content, bytes);
	munmap(map, bytes);
	return is_same ? 0 : -EPERM;
}

/* The file is the program's alone until we give it its size and content. */
static int fill(void *arg, pid_t tid, int64_t fd)
{
	struct attach_space_file *f = arg;
	int own = open_made(tid, fd, &f->inode);

	if (own < 0)
		return own;
	uint8_t *map = map_sealed(own, f->bytes);
	int r = map == MAP_FAILED ? -errno : 0;
	if (!r && f->content) {
		memcpy(map, f->content, f->bytes);
		munmap(map, f->bytes);
		r = seal_content(own, f->content, f->bytes);
	} else if (!r) {
		f->map = map;
		r = fcntl(own, F_ADD_SEALS, F_SEAL_SEAL) ? -errno : 0;
	}
	close(own);
	return r;
}

int attach_space_map(struct attach *a, const struct attach_space *s, const struct target_maps *maps,
		     struct attach_space_file *file)
{
	/* Code is nobody's to change but each one's own; counters are everybody's. */
	const int flags = (file->content ? MAP_PRIVATE : MAP_SHARED) |
			  (file->address ? MAP_FIXED_NOREPLACE : 0);
	const uint64_t sealing = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	const uint64_t exec = file->protection & PROT_EXEC ? MFD_EXEC_FLAG : 0;
	struct call_errand errand = {
		.calls = {{SYS_memfd_create, {call_name_address(maps), sealing | exec}, 0},
			  {SYS_mmap,
			   {file->address, file->bytes, file->protection, flags, CALL_FIRST, 0},
			   0},
			  {SYS_close, {CALL_FIRST}, 0}},
		.count = 3,
		.between = fill,
		.arg = file};
	int r;

	snprintf(errand.name, sizeof(errand.name), "%s", file->name);
	r = attach_space_call(a, s, maps, &errand);
	if (r == -EINVAL && exec) {
		errand.calls[0].arguments[1] = sealing;
		r = attach_space_call(a, s, maps, &errand);
	}
	if (!r && errand.calls[1].result < 0 && errand.calls[1].result > -4096)
		r = (int)errand.calls[1].result;
	if (r && file->map) {
		munmap(file->map, file->bytes);
		file->map = NULL;
	}
	file->address = (uint64_t)errand.calls[1].result;
	return r;
}

void attach_space_hide_from_dumps(struct attach *a, const struct attach_space *s,
				  const struct target_maps *maps, uint64_t address, uint64_t bytes)
{
	struct call_errand errand = {.calls = {{SYS_madvise, {address, bytes, MADV_DONTDUMP}, 0}},
				     .count = 1};

	attach_space_call(a, s, maps, &errand);
}
