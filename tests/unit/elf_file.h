/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_TESTS_ELF_FILE_H
#define CULPRIT_TESTS_ELF_FILE_H

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>

/*
 * Small ELF files for the tests of the image room, as bytes, so that a test can break any of them.
 * Layout: header, two program headers (executable load, notes), one build-id note, code.
 */
#define ELF_FILE_CODE_OFFSET  0x200
#define ELF_FILE_CODE_ADDRESS 0x401200
#define ELF_FILE_CODE_SIZE    0x80
#define ELF_FILE_SIZE	      (ELF_FILE_CODE_OFFSET + ELF_FILE_CODE_SIZE)

struct elf_file {
	_Alignas(8) uint8_t bytes[ELF_FILE_SIZE];
};

struct elf_file_note {
	Elf64_Nhdr header;
	char name[4];
	uint8_t build_id[20];
};

static inline struct elf_file_note elf_file_note(uint8_t build_id_first)
{
	struct elf_file_note note = {{4, sizeof(note.build_id), NT_GNU_BUILD_ID}, "GNU", {0}};
	for (size_t i = 0; i < sizeof(note.build_id); i++)
		note.build_id[i] = (uint8_t)(build_id_first + i);
	return note;
}

static inline struct elf_file elf_file_64(uint8_t build_id_first)
{
	struct elf_file f = {0};
	struct elf_file_note note = elf_file_note(build_id_first);
	Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = sizeof(h),
			.e_ehsize = sizeof(h),
			.e_phnum = 2,
			.e_phentsize = sizeof(Elf64_Phdr)};
	Elf64_Phdr p[2] = {{.p_type = PT_LOAD,
			    .p_flags = PF_R | PF_X,
			    .p_offset = ELF_FILE_CODE_OFFSET,
			    .p_vaddr = ELF_FILE_CODE_ADDRESS,
			    .p_filesz = ELF_FILE_CODE_SIZE,
			    .p_memsz = ELF_FILE_CODE_SIZE,
			    .p_align = 0x1000},
			   {.p_type = PT_NOTE,
			    .p_flags = PF_R,
			    .p_offset = sizeof(h) + sizeof(p),
			    .p_filesz = sizeof(note),
			    .p_memsz = sizeof(note),
			    .p_align = 4}};
	memcpy(f.bytes, &h, sizeof(h));
	memcpy(f.bytes + sizeof(h), p, sizeof(p));
	memcpy(f.bytes + sizeof(h) + sizeof(p), &note, sizeof(note));
	memset(f.bytes + ELF_FILE_CODE_OFFSET, 0xc3, ELF_FILE_CODE_SIZE);
	return f;
}

static inline Elf64_Ehdr *elf_file_header(struct elf_file *f)
{
	return (Elf64_Ehdr *)f->bytes;
}

static inline Elf64_Phdr *elf_file_segments(struct elf_file *f)
{
	return (Elf64_Phdr *)(f->bytes + sizeof(Elf64_Ehdr));
}

/* The offset of the note. */
#define ELF_FILE_NOTE_OFFSET (sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr))

/* A regular file in memory with these bytes; the caller closes it. */
static inline int file_with(const void *bytes, size_t size)
{
	int fd = memfd_create("culprit-test", MFD_CLOEXEC);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	return fd;
}

#endif
