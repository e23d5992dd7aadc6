/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "instrument/attach/target.h"
#include "util/io.h"

#define MOUNTS_MAX_BYTES (16UL << 20)

/* File systems whose files are on this machine's disks or in its memory. */
static const char *const local[] = {
	"bcachefs", "btrfs",	 "erofs",   "exfat", "ext2",	"ext3",	 "ext4",
	"f2fs",	    "hugetlbfs", "iso9660", "jfs",   "overlay", "ramfs", "reiserfs",
	"rootfs",   "squashfs",	 "tmpfs",   "udf",   "vfat",	"xfs",	 "zfs",
};

static bool is_local(const char *type)
{
	for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++)
		if (!strcmp(type, local[i]))
			return true;
	return false;
}

/* A line of mountinfo: two numbers, the device, more, a lone hyphen, the file system's type. */
static bool is_local_mount(const char *line, unsigned major, unsigned minor)
{
	const char *hyphen = strstr(line, " - ");
	unsigned line_major, line_minor;
	char type[32];

	return hyphen && sscanf(line, "%*d %*d %u:%u", &line_major, &line_minor) == 2 &&
	       line_major == major && line_minor == minor && sscanf(hyphen, " - %31s", type) == 1 &&
	       is_local(type);
}

static bool is_mounted_here(unsigned major, unsigned minor)
{
	char *text, *rest;
	bool found = false;
	size_t size;

	if (io_read_file("/proc/self/mountinfo", MOUNTS_MAX_BYTES, &text, &size))
		return false;
	for (char *line = strtok_r(text, "\n", &rest); line && !found;
	     line = strtok_r(NULL, "\n", &rest))
		found = is_local_mount(line, major, minor);
	free(text);
	return found;
}

/* Where memfd_create makes files, which is the same until the machine is started anew; 0: not known
 * yet. */
static dev_t memory_device(void)
{
	static _Atomic dev_t known;
	struct stat st;
	int fd;

	if (known)
		return known;
	fd = memfd_create("culprit", MFD_CLOEXEC);
	if (fd < 0)
		return 0;
	if (!fstat(fd, &st))
		known = st.st_dev;
	close(fd);
	return known;
}

bool target_files_answer(uint32_t major, uint32_t minor, bool *in_memory)
{
	const dev_t device = makedev(major, minor);
	struct stat root;

	*in_memory = device == memory_device();
	return *in_memory || (!stat("/", &root) && root.st_dev == device) ||
	       is_mounted_here(major, minor);
}
