/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/elf/debug_link.h"

#include <errno.h>
#include <string.h>
#include "image/elf/elf_code.h"
#include "util/buf.h"

/* The name, its terminator, padding to 4 bytes, the CRC. */
static int parse(const Elf_Data *data, struct image_debug_link *ret)
{
	size_t size = data && data->d_buf ? strnlen(data->d_buf, data->d_size) : 0;
	size_t crc_at = (size + 4) & ~(size_t)3;

	if (size == 0 || size >= sizeof(ret->name) || crc_at + 4 > data->d_size ||
	    memchr(data->d_buf, '/', size) || strcmp(data->d_buf, ".") == 0 ||
	    strcmp(data->d_buf, "..") == 0)
		return -EBADMSG;
	struct cursor c = cursor_over((const char *)data->d_buf + crc_at, 4);
	memcpy(ret->name, data->d_buf, size + 1);
	ret->crc = cursor_u32(&c);
	return 0;
}

int image_debug_link_read(int fd, struct image_debug_link *ret, struct diag *diag)
{
	struct image_debug_link link = {0};
	GElf_Shdr sh;

	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF) {
		elf_end(elf);
		return diag_fail(diag, EBADMSG, "not an ELF file");
	}
	Elf_Scn *scn = elf_find_section(elf, ".gnu_debuglink", &sh);
	int r = scn && sh.sh_type != SHT_NOBITS ? parse(elf_rawdata(scn, NULL), &link) : -ENOENT;
	elf_end(elf);
	if (r == -ENOENT)
		return diag_fail(diag, ENOENT, "the file names no separate debug file");
	if (r < 0)
		return diag_fail(diag, EBADMSG, "the name of the separate debug file is broken");
	*ret = link;
	return 0;
}
