/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/vdso.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#define VDSO_MAX (1u << 20)

int image_vdso_copy(void)
{
	const uint8_t *base = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	Elf64_Ehdr header;
	uint64_t size;
	int fd;

	if (!base)
		return -1;
	memcpy(&header, base, sizeof(header));
	size = header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize;
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) || size > VDSO_MAX)
		return -1;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd >= 0 && write(fd, base, size) != (ssize_t)size) {
		close(fd);
		return -1;
	}
	return fd;
}
