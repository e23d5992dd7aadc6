/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <cmocka.h>
#include <xxhash.h>
#include "elf_file.h"
#include "image/facts.h"
#include "image/elf/notes.h"

static int read_bytes(const void *bytes, size_t size, struct image_facts *ret, struct diag *diag)
{
	int fd = file_with(bytes, size), r = image_facts_read(fd, ret, diag);
	close(fd);
	return r;
}

static void assert_refused(const void *bytes, size_t size, const char *reason)
{
	struct image_facts facts, before;
	struct diag diag = {0};

	memset(&facts, 0x5a, sizeof(facts));
	before = facts;
	assert_int_equal(read_bytes(bytes, size, &facts, &diag), -EBADMSG);
	assert_memory_equal(&facts, &before, sizeof(facts));
	if (!strstr(diag.text, reason))
		fail_msg("'%s' does not say '%s'", diag.text, reason);
}

static void test_build_id(void **state)
{
	(void)state;
	struct elf_file f = elf_file_64(1);
	struct elf_file_note note = elf_file_note(1);
	struct image_facts facts;

	assert_int_equal(read_bytes(&f, sizeof(f), &facts, NULL), 0);
	assert_int_equal(facts.id.kind, IMAGE_BUILD_ID);
	assert_int_equal(facts.id.size, 20);
	assert_memory_equal(facts.id.bytes, note.build_id, 20);
	assert_int_equal(facts.machine, EM_X86_64);
	assert_int_equal(facts.bits, 64);
	assert_int_equal(facts.segment_count, 1);
	assert_int_equal(facts.segments_refused, 0);
}

static void test_address(void **state)
{
	(void)state;
	struct elf_file f = elf_file_64(1);
	struct image_facts facts;

	assert_int_equal(read_bytes(&f, sizeof(f), &facts, NULL), 0);
	assert_int_equal(facts.segment_count, 1);
	assert_int_equal(facts.segments[0].file_offset, ELF_FILE_CODE_OFFSET);
	assert_int_equal(facts.segments[0].address, ELF_FILE_CODE_ADDRESS);
	assert_int_equal(facts.segments[0].file_size, ELF_FILE_SIZE - ELF_FILE_CODE_OFFSET);
}

static bool is_code_written(const struct elf_file *f)
{
	struct image_facts facts;

	assert_int_equal(read_bytes(f, sizeof(*f), &facts, NULL), 0);
	return facts.code_is_written;
}

/* In the place of the notes. */
static struct elf_file with_dynamic(int64_t tag, uint64_t value)
{
	const Elf64_Dyn list[] = {
		{DT_NEEDED, {1}}, {tag, {value}}, {DT_NULL, {0}}, {DT_TEXTREL, {0}}};
	struct elf_file f = elf_file_64(1);
	Elf64_Phdr *p = &elf_file_segments(&f)[1];

	*p = (Elf64_Phdr){
		.p_type = PT_DYNAMIC, .p_offset = ELF_FILE_CODE_OFFSET, .p_filesz = sizeof(list)};
	memcpy(f.bytes + ELF_FILE_CODE_OFFSET, list, sizeof(list));
	return f;
}

/* What lies in the file is then not what runs. */
static void test_written_code(void **state)
{
	struct elf_file f = elf_file_64(1);

	(void)state;
	assert_false(is_code_written(&f));
	elf_file_segments(&f)[0].p_flags |= PF_W;
	assert_true(is_code_written(&f));
	elf_file_segments(&f)[0].p_flags = PF_R | PF_W;
	assert_false(is_code_written(&f));
	f = with_dynamic(DT_TEXTREL, 0);
	assert_true(is_code_written(&f));
	f = with_dynamic(DT_FLAGS, DF_BIND_NOW | DF_TEXTREL);
	assert_true(is_code_written(&f));
	f = with_dynamic(DT_FLAGS, DF_BIND_NOW);
	assert_false(is_code_written(&f));
	/* Broken ones cost nothing else. */
	elf_file_segments(&f)[1].p_offset = UINT64_MAX;
	assert_false(is_code_written(&f));
}

static void assert_content_hash(const void *bytes, size_t size)
{
	struct image_facts facts;
	XXH128_canonical_t expected;

	XXH128_canonicalFromHash(&expected, XXH3_128bits(bytes, size));
	assert_int_equal(read_bytes(bytes, size, &facts, NULL), 0);
	assert_int_equal(facts.id.kind, IMAGE_CONTENT);
	assert_int_equal(facts.id.size, sizeof(expected));
	assert_memory_equal(facts.id.bytes, &expected, sizeof(expected));
}

/* Notes that lie, and build-ids that identify nothing, cost only the build-id. */
static void test_content_hash(void **state)
{
	(void)state;
	struct elf_file f = elf_file_64(1);
	struct elf_file_note *note = (void *)(f.bytes + ELF_FILE_NOTE_OFFSET);

	elf_file_header(&f)->e_phnum = 1;
	assert_content_hash(&f, sizeof(f));
	f = elf_file_64(1);
	note->header.n_namesz = UINT32_MAX;
	assert_content_hash(&f, sizeof(f));
	f = elf_file_64(1);
	note->header.n_descsz = UINT32_MAX - 2;
	assert_content_hash(&f, sizeof(f));
	f = elf_file_64(1);
	note->header.n_descsz = 0;
	assert_content_hash(&f, sizeof(f));
	f = elf_file_64(1);
	memset(note->build_id, 0, sizeof(note->build_id));
	assert_content_hash(&f, sizeof(f));
	f = elf_file_64(1);
	elf_file_segments(&f)[1].p_offset = UINT64_MAX - 4;
	assert_content_hash(&f, sizeof(f));
}

/* As in kernel modules: no program headers, the build-id in a note section. */
/* What is longer than there is room for is cut. */
static void test_long_build_id(void **state)
{
	(void)state;
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint8_t id[IMAGE_ID_MAX + 4];
	} note = {{4, sizeof(note.id), NT_GNU_BUILD_ID}, "GNU", {0}};
	struct {
		struct image_id id;
		uint8_t behind[64];
	} found;

	memset(note.id, 7, sizeof(note.id));
	memset(&found, 0xee, sizeof(found));
	assert_int_equal(image_notes_build_id(&note, sizeof(note), 4, &found.id), 0);
	assert_int_equal(found.id.size, IMAGE_ID_MAX);
	assert_memory_equal(found.id.bytes, note.id, IMAGE_ID_MAX);
	assert_int_equal(found.behind[0], 0xee);
}

static void test_section_notes(void **state)
{
	(void)state;
	struct elf_file f = elf_file_64(9);
	Elf64_Shdr sections[2] = {{0},
				  {.sh_type = SHT_NOTE,
				   .sh_offset = ELF_FILE_NOTE_OFFSET,
				   .sh_size = sizeof(struct elf_file_note),
				   .sh_addralign = 4}};
	struct image_facts facts;

	elf_file_header(&f)->e_phnum = 0;
	elf_file_header(&f)->e_shnum = 2;
	elf_file_header(&f)->e_shoff = ELF_FILE_CODE_OFFSET;
	elf_file_header(&f)->e_shentsize = sizeof(sections[0]);
	memcpy(f.bytes + ELF_FILE_CODE_OFFSET, sections, sizeof(sections));
	assert_int_equal(read_bytes(&f, sizeof(f), &facts, NULL), 0);
	assert_int_equal(facts.id.kind, IMAGE_BUILD_ID);
	assert_int_equal(facts.id.bytes[0], 9);
	assert_int_equal(facts.segment_count, 0);
}

static void test_32_bits(void **state)
{
	(void)state;
	struct elf_file_note note = elf_file_note(3);
	Elf32_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT},
			.e_machine = EM_386,
			.e_phoff = sizeof(h),
			.e_phnum = 2,
			.e_phentsize = sizeof(Elf32_Phdr)};
	Elf32_Phdr p[2] = {{.p_type = PT_LOAD,
			    .p_flags = PF_X,
			    .p_offset = 0x40,
			    .p_vaddr = 0x8048040,
			    .p_filesz = 0x10},
			   {.p_type = PT_NOTE,
			    .p_offset = sizeof(h) + sizeof(p),
			    .p_filesz = sizeof(note),
			    .p_align = 4}};
	uint8_t bytes[sizeof(h) + sizeof(p) + sizeof(note)];
	struct image_facts facts;

	memcpy(bytes, &h, sizeof(h));
	memcpy(bytes + sizeof(h), p, sizeof(p));
	memcpy(bytes + sizeof(h) + sizeof(p), &note, sizeof(note));
	assert_int_equal(read_bytes(bytes, sizeof(bytes), &facts, NULL), 0);
	assert_int_equal(facts.bits, 32);
	assert_int_equal(facts.id.kind, IMAGE_BUILD_ID);
	assert_int_equal(facts.id.bytes[0], 3);
	assert_int_equal(facts.segments[0].address - facts.segments[0].file_offset, 0x8048000);
	for (size_t size = 0; size < sizeof(h) + sizeof(p); size++)
		assert_refused(bytes, size, "");
}

static void test_many_segments(void **state)
{
	(void)state;
	enum { COUNT = 100 };
	static struct {
		Elf64_Ehdr header;
		Elf64_Phdr segments[COUNT];
	} f;
	struct elf_file first = elf_file_64(1);
	struct image_facts facts;

	f.header = *elf_file_header(&first);
	f.header.e_phnum = COUNT;
	for (int i = 0; i < COUNT; i++)
		f.segments[i] = elf_file_segments(&first)[0];
	f.segments[3].p_vaddr = UINT64_MAX - 4; /* wraps around */
	f.segments[4].p_flags = PF_R;
	assert_int_equal(read_bytes(&f, sizeof(f), &facts, NULL), 0);
	assert_int_equal(facts.segment_count, IMAGE_SEGMENTS_MAX);
	assert_int_equal(facts.segments_refused, COUNT - IMAGE_SEGMENTS_MAX - 1);
}

static void test_refusals(void **state)
{
	(void)state;
	struct elf_file f = elf_file_64(1);

	assert_refused("", 0, "not an ELF file");
	assert_refused("#!/bin/sh\n. /etc/profile\n", 24, "not an ELF file");
	assert_refused(&f, 20, "truncated");
	assert_refused(&f, sizeof(Elf64_Ehdr) + 8, "truncated");
	f.bytes[EI_DATA] = ELFDATA2MSB;
	assert_refused(&f, sizeof(f), "big-endian");
	f.bytes[EI_DATA] = 0;
	assert_refused(&f, sizeof(f), "byte order");
	f = elf_file_64(1);
	f.bytes[EI_CLASS] = 3;
	assert_refused(&f, sizeof(f), "class");
	f = elf_file_64(1);
	elf_file_header(&f)->e_phentsize = 8;
	assert_refused(&f, sizeof(f), "program headers");
	f = elf_file_64(1);
	elf_file_header(&f)->e_phnum = UINT16_MAX;
	assert_refused(&f, sizeof(f), "program headers");
	f = elf_file_64(1);
	elf_file_header(&f)->e_phoff = UINT64_MAX - 64;
	assert_refused(&f, sizeof(f), "past its end");
}

static void test_not_regular(void **state)
{
	(void)state;
	struct image_facts facts;
	int pair[2], fd;

	assert_int_equal(pipe2(pair, O_CLOEXEC), 0); /* would block when read */
	assert_int_equal(image_facts_read(pair[0], &facts, NULL), -EBADMSG);
	close(pair[0]);
	close(pair[1]);
	fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	assert_int_equal(image_facts_read(fd, &facts, NULL), -EBADMSG);
	close(fd);
	fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(image_facts_read(fd, &facts, NULL), -EBADMSG);
	close(fd);
	assert_int_equal(image_facts_read(-1, &facts, NULL), -EBADF);
}

/* Whatever byte is wrong and wherever the file ends: facts or a reason, never more. */
static void test_damage(void **state)
{
	(void)state;
	struct elf_file f = elf_file_64(1);

	for (size_t i = 0; i < ELF_FILE_CODE_OFFSET; i++) {
		struct image_facts facts;
		struct diag diag = {0};
		int r = read_bytes(&f, i, &facts, &diag);
		assert_true(r == 0 || (r == -EBADMSG && *diag.text));
		for (int bit = 0; bit < 8; bit++) {
			diag.text[0] = 0;
			f.bytes[i] ^= (uint8_t)(1 << bit);
			r = read_bytes(&f, sizeof(f), &facts, &diag);
			assert_true(r == 0 || (r == -EBADMSG && *diag.text));
			f.bytes[i] ^= (uint8_t)(1 << bit);
		}
	}
}

/* Bytes that this thread has read, as the kernel counts them; 0: it does not. */
static uint64_t bytes_read(void)
{
	unsigned long long bytes = 0;
	FILE *f = fopen("/proc/thread-self/io", "re");

	if (f && fscanf(f, "rchar: %llu", &bytes) != 1)
		bytes = 0;
	if (f)
		fclose(f);
	return bytes;
}

/* Of a large file a bounded part is read, and yet another size, another begin or end, other code in
 * a large segment of it is another image. The files are sparse. */
static void test_huge_content(void **state)
{
	static const uint64_t changes[] = {100, UINT64_C(600) << 20, (UINT64_C(1) << 30) + 4095};
	(void)state;
	struct elf_file f = elf_file_64(1);
	struct image_facts a, b;
	uint64_t before;

	elf_file_header(&f)->e_phnum = 1;
	elf_file_segments(&f)[0].p_offset = UINT64_C(600) << 20;
	elf_file_segments(&f)[0].p_filesz = UINT64_C(100) << 20;
	int fd = file_with(&f, sizeof(f));
	assert_int_equal(ftruncate(fd, (INT64_C(1) << 30) + 4096), 0);
	before = bytes_read();
	assert_int_equal(image_facts_read(fd, &a, NULL), 0);
	assert_in_range(bytes_read() - before, 0, 17u << 20);
	assert_int_equal(a.id.kind, IMAGE_CONTENT);
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		assert_int_equal(pwrite(fd, "x", 1, (off_t)changes[i]), 1);
		assert_int_equal(image_facts_read(fd, &b, NULL), 0);
		assert_memory_not_equal(a.id.bytes, b.id.bytes, sizeof(a.id.bytes));
		a = b;
	}
	assert_int_equal(ftruncate(fd, (INT64_C(1) << 40) + 4096), 0);
	before = bytes_read();
	assert_int_equal(image_facts_read(fd, &b, NULL), 0);
	assert_in_range(bytes_read() - before, 0, 17u << 20);
	assert_memory_not_equal(a.id.bytes, b.id.bytes, sizeof(a.id.bytes));
	close(fd);
}

/* Also what is no ELF file, or a broken one, is somebody. */
static void test_identify(void **state)
{
	(void)state;
	struct elf_file f = elf_file_64(1);
	struct image_facts a, b;
	int fd = file_with(&f, sizeof(f));

	assert_int_equal(image_facts_identify(fd, &a, NULL), 0);
	assert_int_equal(a.id.kind, IMAGE_BUILD_ID);
	close(fd);
	f.bytes[EI_CLASS] = 3;
	fd = file_with(&f, sizeof(f));
	assert_int_equal(image_facts_identify(fd, &a, NULL), 0);
	assert_int_equal(a.id.kind, IMAGE_FILE_OFFSET);
	assert_int_equal(a.id.size, 16);
	assert_int_equal(a.segment_count, 0);
	assert_int_equal(pwrite(fd, "x", 1, ELF_FILE_SIZE - 1), 1);
	assert_int_equal(image_facts_identify(fd, &b, NULL), 0);
	assert_memory_not_equal(a.id.bytes, b.id.bytes, sizeof(a.id.bytes));
	close(fd);
	assert_int_equal(image_facts_identify(-1, &b, NULL), -EBADF);
}

struct self {
	struct image_id id;
	uint64_t function_address; /* of the ELF file */
};

static int find_self(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct self *self = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_NOTE && !self->id.size)
			image_notes_build_id((void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
					     info->dlpi_phdr[i].p_memsz, info->dlpi_phdr[i].p_align,
					     &self->id);
	self->function_address = (uint64_t)find_self - info->dlpi_addr;
	return 1; /* the program itself is the first */
}

/* A real file: this program, compared with what the dynamic linker says of it. */
static void test_self(void **state)
{
	(void)state;
	struct self self = {0};
	struct image_facts facts;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_int_equal(image_facts_read(fd, &facts, NULL), 0);
	close(fd);
	dl_iterate_phdr(find_self, &self);
	assert_true(self.id.size > 0);
	assert_int_equal(facts.id.size, self.id.size);
	assert_memory_equal(facts.id.bytes, self.id.bytes, IMAGE_ID_MAX);
	const struct image_segment *s = facts.segments;
	assert_in_range(self.function_address, s->address, s->address + s->file_size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_build_id),      cmocka_unit_test(test_address),
		cmocka_unit_test(test_content_hash),  cmocka_unit_test(test_section_notes),
		cmocka_unit_test(test_long_build_id), cmocka_unit_test(test_32_bits),
		cmocka_unit_test(test_many_segments), cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_not_regular),   cmocka_unit_test(test_damage),
		cmocka_unit_test(test_huge_content),  cmocka_unit_test(test_identify),
		cmocka_unit_test(test_self),	      cmocka_unit_test(test_written_code),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
