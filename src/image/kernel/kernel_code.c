/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/kernel/kernel.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "image/kernel/kernel_read.h"
#include "image/kernel/kernel_state.h"
#include "util/io.h"

static int pread_all(int fd, void *out, size_t size, uint64_t offset)
{
	ssize_t n = io_pread(fd, out, size, offset);

	return n < 0 ? (int)n : (size_t)n < size ? -EBADMSG : 0;
}

/* The file offset of [address, address + size), or -ENOENT when no segment has all of it. */
static int kcore_locate(int fd, uint64_t address, size_t size, uint64_t *ret_offset)
{
	Elf64_Ehdr header;
	int r = pread_all(fd, &header, sizeof(header), 0);

	if (r)
		return r;
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_type != ET_CORE || header.e_phentsize != sizeof(Elf64_Phdr))
		return -EBADMSG;
	for (uint32_t i = 0; i < header.e_phnum; i++) {
		Elf64_Phdr p;

		r = pread_all(fd, &p, sizeof(p), header.e_phoff + i * sizeof(p));
		if (r)
			return r;
		uint64_t inside = address - p.p_vaddr;
		if (p.p_type != PT_LOAD || address < p.p_vaddr || inside >= p.p_filesz ||
		    size > p.p_filesz - inside)
			continue;
		*ret_offset = p.p_offset + inside;
		return 0;
	}
	return -ENOENT;
}

/* Through an ELF core file of it (/proc/kcore). -ENOENT: there is none, or it lacks the range. */
static int read_kcore(const char *path, uint64_t address, void *out, size_t size, struct diag *diag)
{
	uint64_t offset;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return diag_fail(diag, errno, "%s: %s", path, strerror(errno));
	int r = kcore_locate(fd, address, size, &offset);
	if (!r)
		r = pread_all(fd, out, size, offset);
	close(fd);
	if (r == -ENOENT)
		return diag_fail(diag, ENOENT, "%s has no memory at 0x%" PRIx64, path, address);
	return r ? diag_fail(diag, -r, "%s: %s", path, strerror(-r)) : 0;
}

int image_kernel_code(struct image_kernel *k, uint64_t address, size_t size, uint8_t **ret_data,
		      struct diag *diag)
{
	char path[PATH_MAX];
	struct diag kcore = {0}, bpf = {0};

	if (!size || size > IMAGE_KERNEL_CODE_MAX || address + size < address)
		return diag_fail(diag, EINVAL, "cannot read %zu bytes of the kernel at once", size);
	uint8_t *data = malloc(size);
	if (!data)
		return -ENOMEM;
	snprintf(path, sizeof(path), "%s/proc/kcore", k->root);
	int r = read_kcore(path, address, data, size, &kcore);
	if (r && !*k->root)
		r = kernel_read_bpf(&k->reader, address, data, size, &bpf);
	if (!r) {
		*ret_data = data;
		return 0;
	}
	free(data);
	if (r == -EFAULT)
		return diag_fail(diag, ENOENT, "%s", bpf.text);
	return diag_fail(diag, r == -EPERM || r == -EACCES ? EACCES : ENOENT,
			 "the kernel's memory cannot be read (%s%s%s): run as root or with CAP_BPF "
			 "and CAP_PERFMON, on a kernel without lockdown=confidentiality",
			 kcore.text, *bpf.text ? "; " : "", bpf.text);
}
