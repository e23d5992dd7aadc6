/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Symbols of which a file has more than are read. */
#include "find_help.h"

/* A program of so many symbols, all of them of its one instruction. */
static void write_symbols(const char *name, size_t count)
{
	static const char strings[] = "\0f\0.text\0.symtab\0.strtab";
	enum { TEXT = 0x1000, STRINGS = 0x1001, SYMBOLS = 0x1100 };
	const Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			      .e_type = ET_EXEC,
			      .e_machine = EM_X86_64,
			      .e_version = EV_CURRENT,
			      .e_phoff = sizeof(h),
			      .e_shoff = 0x100,
			      .e_ehsize = sizeof(h),
			      .e_phentsize = sizeof(Elf64_Phdr),
			      .e_phnum = 1,
			      .e_shentsize = sizeof(Elf64_Shdr),
			      .e_shnum = 4,
			      .e_shstrndx = 3};
	const Elf64_Phdr p = {PT_LOAD, PF_R | PF_X, TEXT, TEXT, TEXT, 1, 1, 0x1000};
	const Elf64_Shdr sections[4] = {
		{0},
		{3, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, TEXT, 1, 0, 0, 1, 0},
		{9, SHT_SYMTAB, 0, 0, SYMBOLS, count * sizeof(Elf64_Sym), 3, 0, 8,
		 sizeof(Elf64_Sym)},
		{17, SHT_STRTAB, 0, 0, STRINGS, sizeof(strings), 0, 0, 1, 0}};
	const Elf64_Sym one = {1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, TEXT, 1};
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", workshop_dir, name);
	out = fopen(path, "wbe");
	assert_non_null(out);
	assert_true(fwrite(&h, sizeof(h), 1, out) == 1 && fwrite(&p, sizeof(p), 1, out) == 1);
	assert_true(!fseek(out, 0x100, SEEK_SET) && fwrite(sections, sizeof(sections), 1, out));
	assert_true(!fseek(out, TEXT, SEEK_SET) && fputc(0xc3, out) == 0xc3 &&
		    fwrite(strings, sizeof(strings), 1, out) && !fseek(out, SYMBOLS, SEEK_SET));
	for (size_t i = 0; i < count; i++)
		assert_true(fwrite(&one, sizeof(one), 1, out) == 1);
	assert_int_equal(fclose(out), 0);
}

static void keep_symbols(size_t count, uint64_t kept, uint64_t refused)
{
	struct image_finder *f = finder(db);

	write_symbols("many", count);
	struct image_id id = identity("many");
	assert_int_equal(image_finder_keep(f, &id, path, NULL) == 0, kept != 0);
	assert_int_equal(image_finder_counts(f).symbols_kept, kept);
	assert_int_equal(image_finder_counts(f).symbols_refused, refused);
	/* It is not asked again for what it cannot give. */
	image_finder_keep(f, &id, path, NULL);
	assert_int_equal(image_finder_counts(f).symbols_refused, refused);
	image_finder_free(f);
	assert_int_equal(unlink(path), 0);
}

/* A file may have more symbols than are read: that is counted too. */
static void test_symbols_too_many(void **state)
{
	(void)state;
	keep_symbols(100, 1, 0);
	keep_symbols(FINDER_READ_BYTES / 32, 0, 1);
}

/* A function whose name is too long is kept without it: so is that it has one. */
static void test_names_too_long(void **state)
{
	(void)state;
	struct image_kept kept;
	char db4[300];
	int r;
	assert_int_equal(workshop_run("long=$(printf %20000s | tr ' ' n); printf '.globl _start\n"
				      ".type _start, @function\n_start: ret\n.size _start, 1\n"
				      ".globl %s\n.type %s, @function\n%s: ret\n.size %s, 1\n' "
				      "$long $long $long $long >long.s; gcc -nostdlib -static "
				      "-Wl,--build-id long.s -o long; "
				      "mkdir -p named/0123456789abcdef0123456789abcdef"),
			 0);
	struct image_id id = identity("long");
	snprintf(db4, sizeof(db4), "%s/named", workshop_dir);
	for (uint64_t turn = 1; turn < 3; turn++) {
		struct image_finder *f = finder(db4);
		image_kept_init(&kept);
		/* Nor does the next recording not tell of it. */
		assert_false(image_finder_keep_new(f, &id, path, &kept, &r));
		assert_int_equal(r, 0);
		assert_int_equal(image_finder_counts(f).symbols_kept, turn == 1);
		assert_int_equal(image_finder_counts(f).names_refused, 1);
		image_kept_free(&kept);
		image_finder_free(f);
	}
}

static int set_up(void **state)
{
	int r = workshop_setup(state);

	snprintf(db, sizeof(db), "%s/db", workshop_dir);
	return r ?: workshop_run("mkdir -p debug db/0123456789abcdef0123456789abcdef");
}

int main(int argc, char **argv)
{
	image_worker_dispatch(argc, argv);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_symbols_too_many),
		cmocka_unit_test(test_names_too_long),
	};
	return cmocka_run_group_tests(tests, set_up, workshop_teardown);
}
