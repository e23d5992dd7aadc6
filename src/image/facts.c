/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A reader of the few ELF fields that identify an image. Everything is read by pread into buffers
 * of known size: a file that shrinks, lies about its size or has headers that overlap cannot do
 * more than make it fail. The tables it steps through are bounded by the counts in the header
 * (16 bits) and by TABLE_ENTRIES_MAX.
 */
#include "image/facts.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <xxhash.h>
#include "util/id_hash.h"
#include "image/elf/notes.h"
#include "util/io.h"

#define TABLE_ENTRIES_MAX 4096 /* program or section headers looked at */
#define NOTES_MAX	  64   /* note segments or sections looked at */
#define NOTE_BYTES_MAX	  4096 /* read of each */
#define DYNAMIC_MAX	  1024 /* entries looked at */
/* Of a file without a build ID: what is hashed whole, and of a larger one the pieces that are. */
#define CONTENT_MAX  (UINT64_C(16) << 20)
#define PIECE_BYTES  (UINT64_C(256) << 10)
#define PIECES_WHOLE 32 /* over all of the file */
#define PIECES_CODE  32 /* over its executable segments together */

struct elf {
	int fd;
	uint64_t size;
	bool is_64;
	uint64_t phoff, shoff;
	uint32_t phnum, shnum, phentsize, shentsize;
	struct diag *diag;
};

/* A program or section header in the wide form. */
struct part {
	uint32_t type, flags;
	uint64_t address, offset, file_size, align;
};

static int elf_pread(const struct elf *e, void *out, size_t size, uint64_t offset, const char *what)
{
	if (offset > e->size || size > e->size - offset)
		return diag_fail(e->diag, EBADMSG,
				 "truncated ELF file: its %s at %" PRIu64 " is past its end at "
				 "%" PRIu64,
				 what, offset, e->size);
	ssize_t n = io_pread(e->fd, out, size, offset);
	if (n < 0)
		return diag_fail(e->diag, (int)-n, "cannot read the %s: %s", what,
				 strerror((int)-n));
	if ((size_t)n < size)
		return diag_fail(e->diag, EBADMSG, "the file shrank while it was read");
	return 0;
}

static int elf_check_ident(struct elf *e, const uint8_t ident[EI_NIDENT])
{
	if (memcmp(ident, ELFMAG, SELFMAG))
		return diag_fail(e->diag, EBADMSG, "not an ELF file");
	if (ident[EI_DATA] == ELFDATA2MSB)
		return diag_fail(e->diag, EBADMSG,
				 "a big-endian ELF file: only little-endian ones are supported");
	if (ident[EI_DATA] != ELFDATA2LSB)
		return diag_fail(e->diag, EBADMSG, "broken ELF file: byte order %u",
				 ident[EI_DATA]);
	if (ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64)
		return diag_fail(e->diag, EBADMSG, "broken ELF file: class %u", ident[EI_CLASS]);
	e->is_64 = ident[EI_CLASS] == ELFCLASS64;
	return 0;
}

#define TAKE_HEADER(e, h)                                                                      \
	((e)->phoff = (h).e_phoff, (e)->phnum = (h).e_phnum, (e)->phentsize = (h).e_phentsize, \
	 (e)->shoff = (h).e_shoff, (e)->shnum = (h).e_shnum, (e)->shentsize = (h).e_shentsize, \
	 (h).e_machine)

static int elf_read_header(struct elf *e, uint16_t *ret_machine)
{
	union {
		uint8_t ident[EI_NIDENT];
		Elf32_Ehdr narrow;
		Elf64_Ehdr wide;
	} h;

	if (e->size < sizeof(h.ident))
		return diag_fail(e->diag, EBADMSG, "not an ELF file: %" PRIu64 " bytes", e->size);
	int r = elf_pread(e, h.ident, sizeof(h.ident), 0, "header");
	if (r || (r = elf_check_ident(e, h.ident)))
		return r;
	r = elf_pread(e, &h, e->is_64 ? sizeof(h.wide) : sizeof(h.narrow), 0, "header");
	if (r)
		return r;
	uint16_t machine = e->is_64 ? TAKE_HEADER(e, h.wide) : TAKE_HEADER(e, h.narrow);
	if (e->phnum && e->phentsize < (e->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)))
		return diag_fail(e->diag, EBADMSG, "broken ELF file: program headers of %u bytes",
				 e->phentsize);
	if (e->phnum > TABLE_ENTRIES_MAX)
		return diag_fail(e->diag, EBADMSG, "broken ELF file: %u program headers", e->phnum);
	*ret_machine = machine;
	return 0;
}

static int elf_read_segment(const struct elf *e, uint32_t index, struct part *ret)
{
	uint64_t at = e->phoff + (uint64_t)index * e->phentsize;

	if (at < e->phoff)
		at = UINT64_MAX;
	union {
		Elf32_Phdr narrow;
		Elf64_Phdr wide;
	} h;
	int r = elf_pread(e, &h, e->is_64 ? sizeof(h.wide) : sizeof(h.narrow), at,
			  "program header");
	if (r)
		return r;
	*ret = e->is_64 ? (struct part){h.wide.p_type,	 h.wide.p_flags,  h.wide.p_vaddr,
					h.wide.p_offset, h.wide.p_filesz, h.wide.p_align}
			: (struct part){h.narrow.p_type,   h.narrow.p_flags,  h.narrow.p_vaddr,
					h.narrow.p_offset, h.narrow.p_filesz, h.narrow.p_align};
	return 0;
}

static int elf_read_section(const struct elf *e, uint32_t index, struct part *ret)
{
	uint64_t at = e->shoff + (uint64_t)index * e->shentsize;

	if (at < e->shoff)
		at = UINT64_MAX;
	union {
		Elf32_Shdr narrow;
		Elf64_Shdr wide;
	} h;
	int r = elf_pread(e, &h, e->is_64 ? sizeof(h.wide) : sizeof(h.narrow), at,
			  "section header");
	if (r)
		return r;
	*ret = e->is_64 ? (struct part){h.wide.sh_type, 0,
					h.wide.sh_addr, h.wide.sh_offset,
					h.wide.sh_size, h.wide.sh_addralign}
			: (struct part){h.narrow.sh_type, 0,
					h.narrow.sh_addr, h.narrow.sh_offset,
					h.narrow.sh_size, h.narrow.sh_addralign};
	return 0;
}

/* 0 when the notes have a build ID, else -ENOENT: broken notes only cost the build ID. */
static int elf_read_notes(const struct elf *e, const struct part *p, struct image_id *ret)
{
	_Alignas(8) uint8_t data[NOTE_BYTES_MAX];
	size_t size = p->file_size < sizeof(data) ? (size_t)p->file_size : sizeof(data);
	struct elf quiet = *e;

	quiet.diag = NULL;
	if (elf_pread(&quiet, data, size, p->offset, "notes"))
		return -ENOENT;
	if (image_notes_build_id(data, size, (size_t)p->align, ret))
		return -ENOENT;
	ret->kind = IMAGE_BUILD_ID;
	return 0;
}

/* Whether the loader is told that it relocates code. Of 64-bit files. */
static bool elf_relocates_code(const struct elf *e, const struct part *p)
{
	Elf64_Dyn list[DYNAMIC_MAX];
	size_t count = p->file_size / sizeof(*list);
	struct elf quiet = *e;

	quiet.diag = NULL;
	count = count < DYNAMIC_MAX ? count : DYNAMIC_MAX;
	if (!e->is_64 || elf_pread(&quiet, list, count * sizeof(*list), p->offset, "dynamic part"))
		return false;
	for (size_t i = 0; i < count && list[i].d_tag != DT_NULL; i++)
		if (list[i].d_tag == DT_TEXTREL ||
		    (list[i].d_tag == DT_FLAGS && (list[i].d_un.d_val & DF_TEXTREL)))
			return true;
	return false;
}

static void facts_add_segment(struct image_facts *f, const struct part *p)
{
	if (f->segment_count == IMAGE_SEGMENTS_MAX || p->address + p->file_size < p->address ||
	    p->offset + p->file_size < p->offset) {
		f->segments_refused++;
		return;
	}
	f->segments[f->segment_count++] = (struct image_segment){
		.address = p->address, .file_offset = p->offset, .file_size = p->file_size};
}

static int facts_read_segments(const struct elf *e, struct image_facts *f)
{
	uint32_t notes = 0;

	for (uint32_t i = 0; i < e->phnum; i++) {
		struct part p;
		int r = elf_read_segment(e, i, &p);

		if (r)
			return r;
		if (p.type == PT_LOAD && (p.flags & PF_X) && p.file_size)
			facts_add_segment(f, &p);
		else if (p.type == PT_NOTE && !f->id.size && notes++ < NOTES_MAX)
			elf_read_notes(e, &p, &f->id);
		f->code_is_written |= (p.type == PT_LOAD && (~p.flags & (PF_W | PF_X)) == 0) ||
				      (p.type == PT_DYNAMIC && elf_relocates_code(e, &p));
	}
	return 0;
}

/* For files without program headers (kernel modules) or whose PT_NOTE was left out. */
static void facts_read_sections(const struct elf *e, struct image_facts *f)
{
	uint32_t notes = 0;
	struct elf quiet = *e;

	quiet.diag = NULL;
	if (e->shentsize < (e->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)))
		return;
	for (uint32_t i = 0; i < e->shnum && i < TABLE_ENTRIES_MAX && notes < NOTES_MAX; i++) {
		struct part p;

		if (elf_read_section(&quiet, i, &p))
			return;
		if (p.type == SHT_NOTE && ++notes && !elf_read_notes(&quiet, &p, &f->id))
			return;
	}
}

static int hash_range(const struct elf *e, XXH3_state_t *state, uint64_t from, uint64_t to)
{
	uint8_t data[65536];

	while (from < to) {
		size_t size = to - from < sizeof(data) ? (size_t)(to - from) : sizeof(data);
		int r = elf_pread(e, data, size, from, "content");

		if (r)
			return r;
		if (XXH3_128bits_update(state, data, size) != XXH_OK)
			return diag_fail(e->diag, EBADMSG, "cannot hash the content");
		from += size;
	}
	return 0;
}

/* So many pieces of a range, at equal distances, the first at its begin and the last at its end. */
static int hash_pieces(const struct elf *e, XXH3_state_t *state, uint64_t from, uint64_t to,
		       unsigned count)
{
	uint64_t steps;
	int r = 0;

	if (to > e->size)
		to = e->size;
	if (from >= to)
		return 0;
	if (to - from <= count * PIECE_BYTES)
		return hash_range(e, state, from, to);
	steps = to - from - PIECE_BYTES;
	for (unsigned i = 0; i < count && !r; i++) {
		uint64_t at = count > 1 ? from + steps / (count - 1) * i : from;

		if (i + 1 == count && i)
			at = to - PIECE_BYTES;
		r = hash_range(e, state, at, at + PIECE_BYTES);
	}
	return r;
}

/*
 * What a large file costs is bounded, whoever made it: its size, pieces of all of it, and as many
 * of its code, which is what is sampled. Linkers and compilers that leave out build IDs (Go's, for
 * one) put an identity of their own into the first piece.
 */
static int hash_large(const struct elf *e, XXH3_state_t *state, const struct image_facts *f)
{
	int r = hash_pieces(e, state, 0, e->size, PIECES_WHOLE);

	XXH3_128bits_update(state, &e->size, sizeof(e->size));
	for (uint32_t i = 0; i < f->segment_count && !r; i++)
		r = hash_pieces(e, state, f->segments[i].file_offset,
				f->segments[i].file_offset + f->segments[i].file_size,
				PIECES_CODE / f->segment_count);
	return r;
}

static int facts_hash_content(const struct elf *e, enum image_kind kind, struct image_facts *f)
{
	XXH3_state_t *state = XXH3_createState();
	int r = -ENOMEM;

	if (!state || XXH3_128bits_reset(state) != XXH_OK)
		goto out;
	r = e->size <= CONTENT_MAX ? hash_range(e, state, 0, e->size) : hash_large(e, state, f);
	if (r)
		goto out;
	f->id = image_id_from_hash(kind, XXH3_128bits_digest(state));
out:
	XXH3_freeState(state);
	return r;
}

static int facts_open(int fd, struct elf *ret, struct diag *diag)
{
	struct stat st;

	*ret = (struct elf){.fd = fd, .diag = diag};
	if (fstat(fd, &st))
		return diag_fail(diag, errno, "cannot stat the file: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return diag_fail(diag, EBADMSG, "not a regular file");
	ret->size = (uint64_t)st.st_size;
	return 0;
}

int image_facts_read(int fd, struct image_facts *ret, struct diag *diag)
{
	struct image_facts f = {0};
	struct elf e;
	int r = facts_open(fd, &e, diag);

	if (r || (r = elf_read_header(&e, &f.machine)) || (r = facts_read_segments(&e, &f)))
		return r;
	f.bits = e.is_64 ? 64 : 32;
	if (!f.id.size)
		facts_read_sections(&e, &f);
	if (!f.id.size && (r = facts_hash_content(&e, IMAGE_CONTENT, &f)))
		return r;
	*ret = f;
	return 0;
}

int image_facts_identify(int fd, struct image_facts *ret, struct diag *diag)
{
	struct image_facts f = {0};
	struct elf e;
	int r = image_facts_read(fd, ret, diag);

	if (r != -EBADMSG || (r = facts_open(fd, &e, diag)) ||
	    (r = facts_hash_content(&e, IMAGE_FILE_OFFSET, &f)))
		return r;
	*ret = f;
	return 0;
}
