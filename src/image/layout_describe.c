/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "image/elf_symbols.h"
#include "unwind/frame_sections.h"
#include "image/layout_wire.h"
#include "util/array.h"
#include "util/num.h"

struct describe {
	struct elf_code code;
	unsigned pointer_bytes;
	struct buf lists[WIRE_LISTS];
	struct buf skipped;	 /* ranges */
	struct elf_region relro; /* words in here are told as relocated */
};

/* What is for the linkers, debuggers and unwinders alone: no code takes a number from there. */
static bool is_for_tools(const GElf_Shdr *sh, const char *name)
{
	static const char *const names[] = {".eh_frame", ".eh_frame_hdr", ".gcc_except_table",
					    ".gopclntab"};

	switch (sh->sh_type) {
	case SHT_DYNSYM:
	case SHT_STRTAB:
	case SHT_RELA:
	case SHT_REL:
	case SHT_HASH:
	case SHT_GNU_HASH:
	case SHT_GNU_versym:
	case SHT_GNU_verneed:
	case SHT_GNU_verdef:
		return true;
	}
	for (size_t i = 0; name && i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static int describe_skipped(struct describe *d)
{
	size_t names;
	int err = 0;

	if (!elf_find_names(d->code.elf, &names))
		return 0;
	for (Elf_Scn *scn = NULL; !err && (scn = elf_nextscn(d->code.elf, scn));) {
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_ALLOC) ||
		    sh.sh_flags & SHF_EXECINSTR || sh.sh_size > UINT64_MAX - sh.sh_addr ||
		    !is_for_tools(&sh, elf_strptr(d->code.elf, names, sh.sh_name)))
			continue;
		struct image_range r = {sh.sh_addr, sh.sh_addr + sh.sh_size};
		err = buf_append(&d->skipped, &r, sizeof(r));
	}
	if (d->skipped.size)
		array_sort(d->skipped.data, d->skipped.size / sizeof(struct image_range),
			   sizeof(struct image_range), num_compare_u64);
	return err;
}

static int add_part(struct describe *d, const GElf_Phdr *ph, uint64_t start, uint64_t end)
{
	struct wire_part p = {start, ph->p_offset + (start - ph->p_vaddr), end - start};

	return start < end ? buf_append(&d->lists[WIRE_PARTS], &p, sizeof(p)) : 0;
}

/* A segment without what is skipped. */
static int describe_segment(struct describe *d, const GElf_Phdr *ph)
{
	const struct image_range *skipped = (const struct image_range *)d->skipped.data;
	const size_t count = d->skipped.size / sizeof(*skipped);
	const uint64_t end = ph->p_vaddr + ph->p_filesz;
	uint64_t at = ph->p_vaddr;
	int r = 0;

	for (size_t i = 0; i < count && !r && at < end && skipped[i].start < end; i++) {
		if (skipped[i].end <= at)
			continue;
		r = add_part(d, ph, at, skipped[i].start);
		at = skipped[i].end;
	}
	return r ? r : add_part(d, ph, at, end);
}

/* What the program cannot write: segments without W, and what is read-only once it is relocated. */
static int describe_parts(struct describe *d)
{
	GElf_Phdr ph;
	int r = describe_skipped(d);

	for (size_t i = 0; !r && elf_next_segment(d->code.elf, &i, &ph);) {
		if (ph.p_filesz == 0)
			continue;
		const bool relro = ph.p_type == PT_GNU_RELRO;
		if (!relro && (ph.p_type != PT_LOAD || (ph.p_flags & PF_W)))
			continue;
		if (ph.p_filesz > UINT64_MAX - ph.p_vaddr)
			continue;
		if (relro)
			d->relro = (struct elf_region){ph.p_vaddr, ph.p_vaddr + ph.p_filesz};
		r = describe_segment(d, &ph);
	}
	return r;
}

struct landing_sink {
	struct describe *describe;
	uint64_t function;
};

static int add_landing(void *arg, uint64_t landing)
{
	const struct landing_sink *sink = arg;
	struct image_layout_landing l = {sink->function, landing};

	return buf_append(&sink->describe->lists[WIRE_LANDINGS], &l, sizeof(l));
}

static int add_frame(void *arg, const struct ehframe_entry *e)
{
	struct describe *d = arg;
	struct landing_sink sink = {d, e->start};
	struct image_layout_frame f = {e->start, e->size, e->part};
	int r = buf_append(&d->lists[WIRE_FRAMES], &f, sizeof(f));
	size_t size = 0;
	const uint8_t *table = !r && e->lsda ? elf_bytes_at(d->code.elf, e->lsda, &size) : NULL;

	if (table) {
		r = ehframe_each_landing(table, size, e->lsda, e->start, d->pointer_bytes,
					 add_landing, &sink);
		if (r == -EBADMSG) /* costs only the rest of this table */
			r = 0;
	}
	return r;
}

static int describe_frames(struct describe *d)
{
	int r = elf_each_frame(&d->code, d->pointer_bytes, add_frame, d);

	return r == -EBADMSG ? 0 : r;
}

/* Words that will hold an address of this image. */
static int describe_relocations(struct describe *d, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	Elf_Scn *symbols_scn = sh->sh_link ? elf_getscn(d->code.elf, sh->sh_link) : NULL;
	Elf_Data *symbols = symbols_scn ? elf_getdata(symbols_scn, NULL) : NULL;
	size_t count = data && sh->sh_entsize ? data->d_size / sh->sh_entsize : 0;
	int r = 0;

	for (size_t i = 0; i < count && i <= INT32_MAX && !r; i++) {
		GElf_Rela rel;
		GElf_Sym sym = {0};

		if (!gelf_getrela(data, (int)i, &rel))
			break;
		const unsigned type = (unsigned)GELF_R_TYPE(rel.r_info);
		if (rel.r_offset < d->relro.start || rel.r_offset >= d->relro.end)
			continue;
		if (type == R_X86_64_64 &&
		    (!symbols || !gelf_getsym(symbols, (int)GELF_R_SYM(rel.r_info), &sym) ||
		     sym.st_shndx == SHN_UNDEF))
			continue;
		if (type != R_X86_64_RELATIVE && type != R_X86_64_64)
			continue;
		struct wire_word w = {rel.r_offset, sym.st_value + (uint64_t)rel.r_addend};
		r = buf_append(&d->lists[WIRE_WORDS], &w, sizeof(w));
	}
	return r;
}

static int describe_words(struct describe *d)
{
	int r = 0;

	for (Elf_Scn *scn = NULL; !r && (scn = elf_nextscn(d->code.elf, scn));) {
		GElf_Shdr sh;

		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA && (sh.sh_flags & SHF_ALLOC))
			r = describe_relocations(d, scn, &sh);
	}
	return r;
}

static int describe_externals(struct describe *d)
{
	struct elf_got_name *list = NULL;
	size_t count = 0;
	int r = elf_read_got(d->code.elf, &list, &count);

	for (size_t i = 0; i < count && !r; i++) {
		struct wire_external e = {list[i].address, d->lists[WIRE_NAMES].size};

		r = buf_append(&d->lists[WIRE_NAMES], list[i].name, strlen(list[i].name) + 1);
		if (!r)
			r = buf_append(&d->lists[WIRE_EXTERNALS], &e, sizeof(e));
	}
	free(list);
	return r;
}

static int append_all(struct describe *d, struct buf *out)
{
	struct wire_layout head = {.machine = d->code.header.e_machine,
				   .bits = d->pointer_bytes * 8};

	for (size_t i = 0; i < WIRE_LISTS; i++) {
		struct buf *b = &d->lists[i];

		head.counts[i] = b->size / wire_sizes[i];
		if (b->size && i != WIRE_NAMES && i != WIRE_EXTERNALS)
			array_sort(b->data, head.counts[i], wire_sizes[i], num_compare_u64);
	}
	int r = buf_append(out, &head, sizeof(head));
	for (size_t i = 0; i < WIRE_LISTS && !r; i++)
		r = buf_append(out, d->lists[i].data, d->lists[i].size);
	return r;
}

static int describe_elf(struct describe *d, struct buf *out)
{
	d->pointer_bytes = d->code.header.e_ident[EI_CLASS] == ELFCLASS64 ? 8 : 4;
	if (d->code.header.e_type == ET_REL || d->code.header.e_ident[EI_DATA] != ELFDATA2LSB)
		return -EOPNOTSUPP;
	int r = describe_parts(d);
	if (!r) /* which are ranges, too */
		r = buf_append(&d->lists[WIRE_RANGES], d->code.regions,
			       d->code.region_count * sizeof(*d->code.regions));
	if (!r)
		r = describe_frames(d);
	if (!r && d->code.header.e_machine == EM_X86_64)
		r = describe_words(d);
	if (!r && d->code.header.e_machine == EM_X86_64)
		r = describe_externals(d);
	return r ? r : append_all(d, out);
}

int image_layout_describe(int fd, struct buf *out, struct diag *diag)
{
	struct describe d = {0};

	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf)
		return diag_fail(diag, EBADMSG, "not an ELF file: %s", elf_errmsg(-1));
	for (size_t i = 0; i < WIRE_LISTS; i++)
		buf_init(&d.lists[i], out->max);
	buf_init(&d.skipped, out->max);
	int r = elf_code_init(&d.code, elf);
	if (!r)
		r = describe_elf(&d, out);
	elf_code_free(&d.code);
	buf_free(&d.skipped);
	for (size_t i = 0; i < WIRE_LISTS; i++)
		buf_free(&d.lists[i]);
	elf_end(elf);
	if (r == -EOPNOTSUPP)
		return diag_fail(diag, EOPNOTSUPP,
				 "relocatable and big-endian files cannot be analysed");
	if (r < 0)
		return diag_fail(diag, -r, "the layout of an ELF file: %s", strerror(-r));
	return 0;
}
