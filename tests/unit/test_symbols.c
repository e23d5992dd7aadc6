/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>
#include "elf_file.h"
#include "image/demangle.h"
#include "image/elf/elf_code.h"
#include "image/elf_symbols.h"
#include "image/symbols.h"
#include "workshop.h"

static const char program_c[] =
	"#include <stdio.h>\n"
	"__attribute__((noinline)) static int inner(int x) { return x * 3 + (x >> 1); }\n"
	"__attribute__((noinline)) int outer(int x) { return inner(x) + 1; }\n"
	"int public_name(int x) __attribute__((alias(\"outer\")));\n"
	"int __hidden_name(int x) __attribute__((alias(\"outer\")));\n"
	"asm(\".text\\n.globl label\\nlabel: nop\\n nop\\n ret\\n\"\n"
	"    \".globl half\\n.type half, @function\\nhalf: nop\\n nop\\n\"\n"
	"    \".globl second\\n.type second, @function\\nsecond: nop\\n ret\\n\"\n"
	"    \".size second, 1\\n.size half, . - half\\n\");\n"
	"int main(int argc, char **argv) { (void)argv; return printf(\"%d\", outer(argc)); }\n";

static struct image_symbols *read_symbols(const char *image, const char *debug)
{
	struct image_symbols *s = NULL;
	struct diag diag = {""};
	int fd = workshop_open(image), debug_fd = debug ? workshop_open(debug) : -1;
	assert_true(fd >= 0);
	int err = image_symbols_read(fd, debug_fd, 64 << 20, &s, &diag);
	if (err)
		print_message("%s: %s\n", image, diag.text);
	assert_int_equal(err, 0);
	close(fd);
	if (debug_fd >= 0)
		close(debug_fd);
	return s;
}

static const struct image_function *by_name(const struct image_symbols *s, const char *name)
{
	for (size_t i = 0; i < image_symbols_count(s); i++) {
		const struct image_function *f = image_symbols_at(s, i);
		if (strcmp(f->demangled, name) == 0)
			return f;
	}
	return NULL;
}

static void check_sorted(const struct image_symbols *s)
{
	uint64_t end = 0;
	for (size_t i = 0; i < image_symbols_count(s); i++) {
		const struct image_function *f = image_symbols_at(s, i);
		assert_true(f->start >= end && f->size > 0);
		assert_true(f->start + f->size > f->start);
		end = f->start + f->size;
		assert_ptr_equal(image_symbols_find(s, f->start), f);
		assert_ptr_equal(image_symbols_find(s, end - 1), f);
		assert_ptr_not_equal(image_symbols_find(s, end), f);
	}
}

static void test_symtab(void **state)
{
	(void)state;
	assert_int_equal(workshop_write("p.c", program_c), 0);
	assert_int_equal(workshop_run("gcc -O1 -g p.c -o p"), 0);
	struct image_symbols *s = read_symbols("p", NULL);
	check_sorted(s);
	assert_string_equal(image_symbols_source(s), "symtab");
	assert_non_null(by_name(s, "main"));
	assert_non_null(by_name(s, "inner"));
	assert_non_null(by_name(s, "_start"));
	assert_non_null(by_name(s, "printf@plt"));
	/* Aliases: fewest underscores, then the shortest. */
	assert_non_null(by_name(s, "outer"));
	assert_null(by_name(s, "public_name"));
	assert_null(by_name(s, "__hidden_name"));
	/* A label without size reaches to the next start; an inner function takes over. */
	const struct image_function *label = by_name(s, "label"), *half = by_name(s, "half"),
				    *second = by_name(s, "second");
	assert_non_null(label);
	assert_non_null(half);
	assert_non_null(second);
	assert_int_equal(label->size, 3);
	assert_int_equal(half->start, label->start + 3);
	assert_int_equal(half->size, 2);
	assert_int_equal(second->start, half->start + 2);
	assert_int_equal(second->size, 2);
	image_symbols_free(s);
}

static const char data_c[] =
	"int variable[4] = {1}; static int buffer[2]; const long constant = 5; _Thread_local int "
	"mine[64];\n"
	"int main(int argc, char **argv) { (void)argv; buffer[argc & 1] = argc;\n"
	"return variable[argc & 3] + buffer[0] + (int)constant + mine[argc & 63]; }\n";

/* Variables and constants; no function, and nothing whose address is not the image's. */
static void test_data(void **state)
{
	static const char *const names[] = {"variable", "buffer", "constant"};
	static const uint64_t sizes[] = {16, 8, 8};
	struct image_symbols *s = NULL;

	(void)state;
	assert_int_equal(workshop_write("d.c", data_c), 0);
	assert_int_equal(workshop_run("gcc -O1 d.c -o d && cp d d.debug && strip d"), 0);
	int fd = workshop_open("d"), debug_fd = workshop_open("d.debug");
	assert_int_equal(image_data_symbols_read(fd, -1, 1 << 20, &s, NULL), -ENOENT);
	assert_int_equal(image_data_symbols_read(fd, debug_fd, 1 << 20, &s, NULL), 0);
	check_sorted(s);
	for (size_t i = 0; i < 3; i++) {
		const struct image_function *f = by_name(s, names[i]);

		assert_non_null(f);
		assert_int_equal(f->size, sizes[i]);
	}
	assert_null(by_name(s, "main"));
	assert_null(by_name(s, "_start"));
	assert_null(by_name(s, "mine"));
	image_symbols_free(s);
	close(fd);
	close(debug_fd);
}

static void test_stripped(void **state)
{
	(void)state;
	struct image_symbols *whole = read_symbols("p", NULL);
	uint64_t start = by_name(whole, "outer")->start, size = by_name(whole, "outer")->size;
	char name[32];
	snprintf(name, sizeof(name), "FUN_%llx", (unsigned long long)start);
	assert_int_equal(
		workshop_run("strip -o stripped p; gcc -O1 -static p.c -o static;"
			     "strip static; gcc -O1 p.c -Wl,--no-eh-frame-hdr -o nohdr;"
			     "strip nohdr; gcc -O1 p.c -shared -fPIC -o lib.so; strip lib.so"),
		0);
	static const char *const files[] = {"stripped", "nohdr"};
	for (size_t i = 0; i < 2; i++) {
		struct image_symbols *s = read_symbols(files[i], NULL);
		check_sorted(s);
		assert_null(by_name(s, "outer"));
		if (i == 0) {
			const struct image_function *f = image_symbols_find(s, start + 1);
			assert_non_null(f);
			assert_int_equal(f->start, start);
			assert_int_equal(f->size, size);
			assert_int_equal(f->named, 0);
			assert_string_equal(f->name, name);
		}
		assert_true(image_symbols_count(s) > 4);
		image_symbols_free(s);
	}
	struct image_symbols *s = read_symbols("static", NULL);
	check_sorted(s);
	assert_true(image_symbols_count(s) > 500);
	assert_string_equal(image_symbols_source(s), "function starts");
	image_symbols_free(s);
	s = read_symbols("lib.so", NULL);
	check_sorted(s);
	assert_string_equal(image_symbols_source(s), "dynsym");
	assert_non_null(by_name(s, "outer"));
	assert_null(by_name(s, "inner"));
	image_symbols_free(s);
	image_symbols_free(whole);
}

/* A region has its first byte, and not the one behind its last. */
static void test_regions(void **state)
{
	const uint64_t start = ELF_FILE_CODE_ADDRESS, end = start + ELF_FILE_CODE_SIZE;
	struct elf_file f = elf_file_64(1);
	struct elf_code code;
	Elf *elf;
	(void)state;
	elf_version(EV_CURRENT);
	elf = elf_memory((char *)f.bytes, sizeof(f.bytes));
	assert_non_null(elf);
	assert_int_equal(elf_code_init(&code, elf), 0);
	assert_null(elf_code_region(&code, start - 1));
	assert_non_null(elf_code_region(&code, start));
	assert_ptr_equal(elf_code_region(&code, end - 1), elf_code_region(&code, start));
	assert_null(elf_code_region(&code, end));
	assert_non_null(elf_data_at(elf, end - 1));
	assert_null(elf_data_at(elf, end));
	elf_code_free(&code);
	elf_end(elf);
}

/* Without a section table the unwinder's segment still leads to the functions. */
static void test_no_sections(void **state)
{
	(void)state;
	size_t size;
	char *elf = workshop_read("stripped", &size);
	assert_non_null(elf);
	struct image_symbols *with = read_symbols("stripped", NULL), *s = NULL;
	memset(elf + 0x28, 0, 8); /* e_shoff */
	memset(elf + 0x3c, 0, 4); /* e_shnum, e_shstrndx */
	int fd = workshop_memory(elf, size);
	assert_int_equal(image_symbols_read(fd, -1, 1 << 20, &s, NULL), 0);
	check_sorted(s);
	assert_string_equal(image_symbols_source(s), "function starts");
	assert_true(image_symbols_count(s) + 8 > image_symbols_count(with));
	close(fd);
	free(elf);
	image_symbols_free(s);
	image_symbols_free(with);
}

static void test_debug_files(void **state)
{
	(void)state;
	assert_int_equal(
		workshop_run("objcopy --only-keep-debug p p.debug; strip -o thin p;"
			     "objcopy --strip-debug p.debug mini; xz -kf mini;"
			     "objcopy --add-section .gnu_debugdata=mini.xz thin with-mini"),
		0);
	struct image_symbols *s = read_symbols("thin", "p.debug");
	check_sorted(s);
	assert_string_equal(image_symbols_source(s), "debug file");
	assert_non_null(by_name(s, "inner"));
	image_symbols_free(s);
	s = read_symbols("with-mini", NULL);
	check_sorted(s);
	assert_string_equal(image_symbols_source(s), "mini debug info");
	assert_non_null(by_name(s, "inner"));
	image_symbols_free(s);
	/* A broken debug file costs only itself. */
	assert_int_equal(workshop_write("p.debug", "\177ELF nonsense"), 0);
	s = read_symbols("thin", "p.debug");
	assert_string_equal(image_symbols_source(s), "function starts");
	image_symbols_free(s);
}

/* Code that nothing tells of but itself. The loop is aligned as functions are, and the constant
 * leads into one as a call would. */
static const char gaps_s[] = ".globl _start, called, filled, frame, branch\n"
			     "_start: call called; mov $0x17e8, %eax; add %al, (%rax)\n"
			     " ud2; .byte 0x66, 0x0f, 0x1f, 0x44, 0, 0\n"
			     "called: xor %eax, %eax; .p2align 4, 0x90\n"
			     "loop: dec %eax; jnz loop; nop; ret\n"
			     " .p2align 4, 0xcc\n"
			     "filled: lea 1(%rdi), %eax; ret; .p2align 4, 0x90\n"
			     "frame: push %rbp; mov %rsp, %rbp; pop %rbp; ret; .p2align 4, 0x90\n"
			     "branch: endbr64; ret; .p2align 4, 0xcc\n";

static void test_gaps(void **state)
{
	static const char *const names[] = {"called", "filled", "frame", "branch"};
	struct image_symbols *whole, *s;
	uint64_t first = 0;

	(void)state;
	assert_int_equal(workshop_write("gaps.s", gaps_s), 0);
	assert_int_equal(workshop_run("gcc -nostdlib -static gaps.s -o gaps;"
				      "strip -o gaps-stripped gaps"),
			 0);
	whole = read_symbols("gaps", NULL);
	s = read_symbols("gaps-stripped", NULL);
	check_sorted(s);
	assert_string_equal(image_symbols_source(s), "code");
	first = by_name(whole, "_start")->start;
	assert_int_equal(image_symbols_count(s), 1 + sizeof(names) / sizeof(*names));
	assert_int_equal(image_symbols_at(s, 0)->start, first);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct image_function *f = image_symbols_at(s, i + 1);

		assert_int_equal(f->start, by_name(whole, names[i])->start);
		assert_int_equal(f->named, 0);
	}
	image_symbols_free(s);
	image_symbols_free(whole);
}

static void test_cplusplus(void **state)
{
	(void)state;
	assert_int_equal(
		workshop_write("t.cc",
			       "namespace room { template <class T> struct box { T v; "
			       "__attribute__((noinline)) T get(T x) { return v + x; } }; }\n"
			       "template struct room::box<int>;\n"
			       "int main(int c, char **) { room::box<int> b{c};"
			       " return b.get(c); }\n"),
		0);
	assert_int_equal(workshop_run("g++ -O2 t.cc -o t"), 0);
	struct image_symbols *s = read_symbols("t", NULL);
	const struct image_function *f = by_name(s, "room::box<int>::get");
	assert_non_null(f);
	assert_string_equal(f->name, "_ZN4room3boxIiE3getEi");
	image_symbols_free(s);
}

static void test_demangle(void **state)
{
	(void)state;
	static const char *const pairs[][2] = {
		{"_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE",
		 "core::fmt::Formatter::write_str"},
		{"_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE.llvm.123",
		 "core::fmt::Formatter::write_str"},
		{"_RNvCs4fqI2P2rA04_7mycrate3foo", "mycrate::foo"},
		{"_ZNSt6vectorIiSaIiEE9push_backERKi",
		 "std::vector<int, std::allocator<int> >::push_back"},
		{"_ZNSt6vectorIiSaIiEE9push_backERKi@plt",
		 "std::vector<int, std::allocator<int> >::push_back@plt"},
		{"_ZL3barv.cold", "bar [clone .cold]"},
		{"main", NULL},
		{"_Z", NULL},
		{"_ZN", NULL},
		{"_R", NULL},
		{"_ZN1aC", NULL},
		{"", NULL},
	};
	char out[DEMANGLE_MAX_RESULT];
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		bool ok = image_demangle(pairs[i][0], out);
		assert_int_equal(ok, pairs[i][1] != NULL);
		if (ok)
			assert_string_equal(out, pairs[i][1]);
	}
}

/* Back references that double what they stand for, forty times. */
static void test_demangle_bomb(void **state)
{
	(void)state;
	static const char ids[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[1024] = "_Z1fIN1aIiiEE", out[DEMANGLE_MAX_RESULT], long_name[4096];
	for (int i = 0; i < 36; i++) {
		char part[16];
		snprintf(part, sizeof(part), "1aIS%c_S%c_E", ids[i], ids[i]);
		strcat(name, part);
	}
	strcat(name, "EvT_");
	image_demangle(name, out); /* must return, soon, whatever it says */
	memset(long_name, 'P', sizeof(long_name) - 1);
	memcpy(long_name, "_Z1f", 4);
	long_name[sizeof(long_name) - 1] = 0;
	assert_false(image_demangle(long_name, out));
	long_name[2000] = 0;
	image_demangle(long_name, out);
}

static void test_build(void **state)
{
	(void)state;
	const struct image_symbol list[] = {
		{0x1000, 0x100, "old"},	    {0x3000, 0, "third"},  {0x1000, 0x80, "new"},
		{0x2000, 0, "__second"},    {0x2000, 0, "second"}, {0x1040, 0x10, "inside"},
		{UINT64_MAX - 5, 0, "end"},
	};
	struct image_symbols *s;
	assert_int_equal(image_symbols_build(list, 7, "list", &s), 0);
	check_sorted(s);
	assert_int_equal(image_symbols_count(s), 5);
	assert_string_equal(image_symbols_find(s, 0x1000)->name, "new");
	assert_string_equal(image_symbols_find(s, 0x107f)->name, "inside");
	assert_null(image_symbols_find(s, 0x1080));
	assert_string_equal(image_symbols_find(s, 0x2fff)->name, "second");
	assert_string_equal(image_symbols_find(s, 0x3000)->name, "third");
	image_symbols_free(s);
	assert_int_equal(image_symbols_build(NULL, 0, "list", &s), 0);
	assert_int_equal(image_symbols_count(s), 0);
	assert_null(image_symbols_find(s, 0));
	image_symbols_free(s);
}

/* A label, or a start that was only found, is no function where one with a name and a size is. */
static void test_labels_do_not_split(void **state)
{
	(void)state;
	const struct image_symbol list[] = {
		{0x1000, 0x100, "whole"}, {0x1040, 0, "label"}, {0x1080, 0, ""},
		{0x10ff, 0, "last"},	  {0x1100, 0, "next"},
	};
	struct image_symbols *s;
	assert_int_equal(image_symbols_build(list, 5, "list", &s), 0);
	assert_int_equal(image_symbols_count(s), 2);
	assert_int_equal(image_symbols_at(s, 0)->size, 0x100);
	assert_string_equal(image_symbols_find(s, 0x10ff)->name, "whole");
	assert_string_equal(image_symbols_find(s, 0x1100)->name, "next");
	image_symbols_free(s);
}

static void test_save_load(void **state)
{
	(void)state;
	struct image_symbols *s = read_symbols("p", NULL), *t = NULL;
	size_t locals = 0;
	struct buf b;
	buf_init(&b, 1 << 20);
	assert_int_equal(image_symbols_save(s, &b), 0);
	assert_int_equal(image_symbols_load(b.data, b.size, &t, NULL), 0);
	assert_string_equal(image_symbols_source(t), "symtab");
	assert_int_equal(image_symbols_count(s), image_symbols_count(t));
	for (size_t i = 0; i < image_symbols_count(s); i++) {
		const struct image_function *f = image_symbols_at(s, i);
		const struct image_function *g = image_symbols_at(t, i);
		assert_true(f->start == g->start && f->size == g->size && f->named == g->named);
		assert_int_equal(f->local, g->local);
		locals += f->local;
		assert_string_equal(f->name, g->name);
	}
	assert_true(locals > 0 && locals < image_symbols_count(s));
	image_symbols_free(t);
	for (size_t cut = 0; cut < b.size; cut++)
		assert_int_equal(image_symbols_load(b.data, cut, &t, NULL), -EBADMSG);
	for (size_t i = 0; i < b.size * 8; i++) {
		b.data[i / 8] ^= (uint8_t)(1 << i % 8);
		if (image_symbols_load(b.data, b.size, &t, NULL) == 0) {
			check_sorted(t);
			image_symbols_free(t);
		}
		b.data[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	buf_free(&b);
	image_symbols_free(s);
}

static void try_hostile(const void *data, size_t size)
{
	struct image_symbols *s;
	int fd = workshop_memory(data, size);
	assert_true(fd >= 0);
	if (image_symbols_read(fd, -1, 16 << 20, &s, NULL) == 0) {
		check_sorted(s);
		image_symbols_free(s);
	}
	close(fd);
}

/* A table as Go 1.18 to 1.24 have it, made by the assembler. */
static const char go_c[] =
	"asm(\".text\\nfirst: nop\\n nop\\n ret\\nsecond: nop\\n ret\\nlast:\\n\"\n"
	"    \".section .gopclntab, \\\"a\\\"\\n.balign 8\\ntable: .long MAGIC\\n.byte 0, 0, 1, "
	"8\\n\"\n"
	"    \".quad COUNT, 0, first, names - table, 0, 0, 0, funcs - table\\n\"\n"
	"    \"names: .asciz \\\"main.first\\\"\\nname: .asciz "
	"\\\"x.org/y.(*T).second\\\"\\n.balign 4\\n\"\n"
	"    \"funcs: .long 0, one - funcs, second - first, two - funcs, last - first\\n\"\n"
	"    \"one: .long 0, 0\\ntwo: .long second - first, name - names\\n.text\\n\");\n"
	"int main(void) { return 0; }\n";

static void build_go(const char *name, const char *magic, int count)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "sed 's/MAGIC/%s/; s/COUNT/%d/' go.c >made.c && gcc -O1 -no-pie made.c -o %s && "
		 "strip %s",
		 magic, count, name, name);
	assert_int_equal(workshop_run(command), 0);
}

static void test_go(void **state)
{
	static const char *const magics[] = {"0xfffffff0", "0xfffffff1"};
	struct image_symbols *s;

	(void)state;
	assert_int_equal(workshop_write("go.c", go_c), 0);
	for (size_t i = 0; i < 2; i++) {
		build_go("go", magics[i], 2);
		s = read_symbols("go", NULL);
		check_sorted(s);
		assert_string_equal(image_symbols_source(s), "gopclntab");
		assert_non_null(by_name(s, "main.first"));
		assert_int_equal(by_name(s, "main.first")->size, 3);
		assert_non_null(by_name(s, "x.org/y.(*T).second"));
		assert_int_equal(by_name(s, "x.org/y.(*T).second")->start,
				 by_name(s, "main.first")->start + 3);
		image_symbols_free(s);
	}
	/* Of another version; with more functions than there is room for: nothing is taken from it.
	 */
	for (size_t i = 0; i < 2; i++) {
		build_go("odd", i ? magics[0] : "0xfffffffb", i ? 1 << 30 : 2);
		s = read_symbols("odd", NULL);
		check_sorted(s);
		assert_null(by_name(s, "main.first"));
		image_symbols_free(s);
	}
	/* A symbol table has names too, and knows more: it comes first. */
	assert_int_equal(workshop_run("sed 's/MAGIC/0xfffffff0/; s/COUNT/2/' go.c >made.c && "
				      "gcc -O1 -no-pie made.c -o whole"),
			 0);
	s = read_symbols("whole", NULL);
	assert_string_equal(image_symbols_source(s), "symtab");
	assert_null(by_name(s, "main.first"));
	image_symbols_free(s);
}

/* Any byte of the table may be wrong. */
static void test_go_hostile(void **state)
{
	const char magic[] = {(char)0xf0, (char)0xff, (char)0xff, (char)0xff, 0, 0, 1, 8};
	size_t size, at;
	char *elf;

	(void)state;
	build_go("go", "0xfffffff0", 2);
	elf = workshop_read("go", &size);
	assert_non_null(elf);
	at = (size_t)((char *)memmem(elf, size, magic, sizeof(magic)) - elf);
	assert_true(at < size - 160);
	for (size_t i = 0; i < 160 * 3; i++) {
		const char values[] = {0, (char)0xff, 0x7f}, was = elf[at + i / 3];

		elf[at + i / 3] = values[i % 3];
		try_hostile(elf, size);
		elf[at + i / 3] = was;
	}
	free(elf);
}

/* Every truncation of a small file, and bits flipped all over several. */
static void test_hostile(void **state)
{
	(void)state;
	assert_int_equal(workshop_write("s.c", "int f(int x) { return x * 7; }\n"), 0);
	assert_int_equal(workshop_run("gcc -O1 -shared -nostdlib -Wl,-z,noseparate-code s.c -o s"),
			 0);
	static const char *const files[] = {"s", "with-mini", "p"};
	uint64_t seed = 42;
	for (size_t i = 0; i < 3; i++) {
		size_t size;
		char *elf = workshop_read(files[i], &size);
		assert_non_null(elf);
		for (size_t cut = 0; i == 0 && cut < size; cut++)
			try_hostile(elf, cut);
		for (int round = 0; round < 3000; round++) {
			size_t at[4];
			char was[4];
			for (int k = 0; k < 4; k++) {
				seed = seed * 6364136223846793005u + 1442695040888963407u;
				at[k] = (seed >> 33) % (k == 0 ? 64 : size);
				if (k == 3) /* the section table is at the end */
					at[k] = size - 1 - at[k] % (size < 2048 ? size : 2048);
				was[k] = elf[at[k]];
				elf[at[k]] = round % 2 ? (char)(seed >> 20) : (char)0xff;
				if (k == 0 && round % 3)
					elf[at[k]] = was[k];
			}
			try_hostile(elf, size);
			for (int k = 3; k >= 0; k--)
				elf[at[k]] = was[k];
		}
		free(elf);
	}
	try_hostile("", 0);
	try_hostile("\177ELF", 4);
	try_hostile("!<arch>\n", 8);
}

static void test_limits(void **state)
{
	(void)state;
	struct image_symbols *s = NULL;
	struct diag diag;
	int fd = workshop_open("p");
	assert_int_equal(image_symbols_read(fd, -1, 128, &s, &diag), -EFBIG);
	/* Room for the table but not for the names: functions without names. */
	assert_int_equal(image_symbols_read(fd, -1, 12000, &s, &diag), 0);
	check_sorted(s);
	image_symbols_free(s);
	close(fd);
}

/* How many names were refused is kept with the symbols. */
static void test_names_refused(void **state)
{
	(void)state;
	struct image_symbols *s = read_symbols("p", NULL);
	struct buf b;
	assert_int_equal(image_symbols_names_refused(s), 0);
	image_symbols_free(s);
	assert_int_equal(workshop_run("long=$(printf %20000s | tr ' ' n); printf '%s: ret\n"
				      ".globl %s\n.type %s, @function\n.size %s, 1\n' "
				      "$long $long $long $long >long.s; gcc -c long.s -o long.o; "
				      "gcc -shared -nostdlib long.o -o long"),
			 0);
	s = read_symbols("long", NULL);
	/* In both tables of symbols. */
	assert_int_equal(image_symbols_names_refused(s), 2);
	buf_init(&b, 1 << 20);
	assert_int_equal(image_symbols_save(s, &b), 0);
	image_symbols_free(s);
	assert_int_equal(image_symbols_load(b.data, b.size, &s, NULL), 0);
	assert_int_equal(image_symbols_names_refused(s), 2);
	image_symbols_free(s);
	/* There is no number where there is none, and nothing behind it. */
	b.data[b.size - 1] = 0;
	assert_int_equal(image_symbols_load(b.data, b.size, &s, NULL), -EBADMSG);
	b.data[b.size - 1] = 2;
	assert_int_equal(buf_append_u8(&b, 1), 0);
	assert_int_equal(image_symbols_load(b.data, b.size, &s, NULL), -EBADMSG);
	buf_free(&b);
}

/* Sections' names that would be read whole, for one: a file of 1 GiB that takes no room. */
static void test_names_without_end(void **state)
{
	(void)state;
	Elf64_Ehdr header;
	Elf64_Shdr names;
	GElf_Shdr found;
	assert_int_equal(workshop_write("names.c", program_c), 0);
	assert_int_equal(workshop_run("gcc -O1 names.c -o names"), 0);
	char path[256];
	snprintf(path, sizeof(path), "%s/names", workshop_dir);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(elf_version(EV_CURRENT), EV_CURRENT);
	for (int turn = 0; turn < 2; turn++) {
		Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
		assert_non_null(elf);
		assert_int_equal(elf_find_section(elf, ".text", &found) == NULL, turn);
		elf_end(elf);
		assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
		off_t at = (off_t)(header.e_shoff + header.e_shstrndx * sizeof(names));
		assert_int_equal(pread(fd, &names, sizeof(names), at), sizeof(names));
		names.sh_size = 1 << 30;
		assert_int_equal(pwrite(fd, &names, sizeof(names), at), sizeof(names));
		assert_int_equal(ftruncate(fd, (off_t)(names.sh_offset + names.sh_size)), 0);
	}
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_symtab),
		cmocka_unit_test(test_data),
		cmocka_unit_test(test_stripped),
		cmocka_unit_test(test_no_sections),
		cmocka_unit_test(test_regions),
		cmocka_unit_test(test_debug_files),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_cplusplus),
		cmocka_unit_test(test_demangle),
		cmocka_unit_test(test_demangle_bomb),
		cmocka_unit_test(test_build),
		cmocka_unit_test(test_save_load),
		cmocka_unit_test(test_labels_do_not_split),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_names_refused),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_names_without_end),
		cmocka_unit_test(test_go),
		cmocka_unit_test(test_go_hostile),
	};
	return cmocka_run_group_tests(tests, workshop_setup, workshop_teardown);
}
