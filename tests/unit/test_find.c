/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sys/stat.h>
#include "image/facts.h"
#include "image/find.h"
#include "image/finder.h"
#include "image/kernel.h"
#include "workshop.h"

static const char machine[] = "0123456789abcdef0123456789abcdef";

static const char program[] =
	"static __attribute__((noinline)) int inner(int x) { return x * 3 + (x >> 1); }\n"
	"int main(int argc, char **argv) { (void)argv; return inner(argc); }\n";

static char path[256], db[256];

static struct image_id identity(const char *name)
{
	struct image_facts facts;
	int fd = workshop_open(name);
	assert_true(fd >= 0);
	assert_int_equal(image_facts_read(fd, &facts, NULL), 0);
	close(fd);
	snprintf(path, sizeof(path), "%s/%s", workshop_dir, name);
	snprintf(db, sizeof(db), "%s/db", workshop_dir);
	return facts.id;
}

static struct image_finder *finder(const char *db_path)
{
	struct image_finder *f;
	assert_int_equal(image_finder_new(db_path, db_path ? machine : NULL, &f), 0);
	char root[256];
	snprintf(root, sizeof(root), "%s/debug", workshop_dir);
	assert_int_equal(image_finder_set_debug_root(f, root), 0);
	return f;
}

static uint64_t start_of(const struct image_symbols *s, const char *name)
{
	for (size_t i = 0; i < image_symbols_count(s); i++)
		if (strcmp(image_symbols_at(s, i)->demangled, name) == 0)
			return image_symbols_at(s, i)->start;
	return 0;
}

static void test_plain(void **state)
{
	(void)state;
	assert_int_equal(workshop_write("p.c", program), 0);
	assert_int_equal(
		workshop_run(
			"gcc -O1 -g p.c -o p; mkdir -p debug db/0123456789abcdef0123456789abcdef"),
		0);
	struct image_id id = identity("p");
	struct image_finder *f = finder(NULL);
	const struct image_symbols *s, *again;
	struct image_lines *l;
	const struct image_frame *frames;
	uint8_t *code;
	size_t size;
	assert_int_equal(image_find_symbols(f, &id, path, &s, NULL), 0);
	uint64_t at = start_of(s, "inner");
	assert_true(at != 0);
	assert_int_equal(image_find_symbols(f, &id, path, &again, NULL), 0);
	assert_ptr_equal(s, again);
	assert_int_equal(image_find_lines(f, &id, path, &at, 1, &l, NULL), 0);
	assert_int_equal(image_lines_frames(l, 0, &frames), 1);
	assert_string_equal(frames[0].function, "inner");
	assert_int_equal(frames[0].line, 1);
	image_lines_free(l);
	assert_int_equal(image_find_code(f, &id, path, at, 4, &code, &size, NULL), 0);
	assert_int_equal(size, 4);
	free(code);
	uint16_t m;
	unsigned bits;
	image_find_machine(f, &id, path, &m, &bits);
	assert_int_equal(bits, 64);
	image_finder_free(f);
}

/* Another build at the same path is refused, with the reason, and a FIFO does not hang. */
static void test_replaced(void **state)
{
	(void)state;
	struct image_id id = identity("p");
	const struct image_symbols *s;
	struct diag diag;
	assert_int_equal(workshop_run("mv p kept; gcc -O2 -g p.c -o p"), 0);
	struct image_finder *f = finder(NULL);
	assert_true(image_find_symbols(f, &id, path, &s, &diag) < 0);
	assert_non_null(strstr(diag.text, "another build"));
	/* The same content elsewhere. */
	char kept[300];
	snprintf(kept, sizeof(kept), "%s/kept", workshop_dir);
	assert_int_equal(image_find_symbols(f, &id, kept, &s, &diag), 0);
	image_finder_free(f);
	assert_int_equal(workshop_run("rm p; mkfifo p"), 0);
	f = finder(NULL);
	assert_true(image_find_symbols(f, &id, path, &s, &diag) < 0);
	assert_non_null(strstr(diag.text, "regular"));
	image_finder_free(f);
	assert_int_equal(workshop_run("rm p; mv kept p"), 0);
	char deleted[300];
	snprintf(deleted, sizeof(deleted), "%s (deleted)", path);
	f = finder(NULL);
	assert_int_equal(image_find_symbols(f, &id, deleted, &s, &diag), 0);
	image_finder_free(f);
}

/* What cannot be written was not kept, which the collector must know to say. */
static void test_not_kept(void **state)
{
	(void)state;
	struct image_id id = identity("p");
	struct diag diag = {""};
	assert_int_equal(workshop_run("mkdir full; touch full/0123456789abcdef0123456789abcdef"),
			 0);
	char full[300];
	snprintf(full, sizeof(full), "%s/full", workshop_dir);
	struct image_finder *f = finder(full);
	assert_int_equal(image_finder_keep(f, &id, path, &diag), -EIO);
	assert_non_null(strstr(diag.text, "its symbols are not kept: cannot make "));
	assert_string_equal(strstr(diag.text, "cannot make "), image_finder_keep_why(f));
	assert_true(image_finder_counts(f).keep_failed > 0);
	assert_int_equal(image_finder_counts(f).symbols_kept, 0);
	/* It can be by now, and is tried again. */
	assert_int_equal(workshop_run("rm full/* && mkdir full/0123456789abcdef0123456789abcdef"),
			 0);
	assert_int_equal(image_finder_keep(f, &id, path, &diag), 0);
	assert_int_equal(image_finder_counts(f).symbols_kept, 1);
	image_finder_free(f);
}

/* Nor are the lines of functions, which are asked for again too. */
static void test_functions_not_kept(void **state)
{
	(void)state;
	struct image_id id = identity("p");
	const struct image_symbols *s;
	char db2[300], text[IMAGE_ID_TEXT_MAX], line[400];
	image_id_format(&id, text);
	snprintf(db2, sizeof(db2), "%s/narrow", workshop_dir);
	snprintf(line, sizeof(line),
		 "mkdir -p narrow/0123456789abcdef0123456789abcdef/images/%s.lines/in", text);
	assert_int_equal(workshop_run(line), 0);
	struct image_finder *f = finder(db2);
	assert_int_equal(image_finder_keep(f, &id, path, NULL), 0);
	assert_int_equal(image_find_symbols(f, &id, path, &s, NULL), 0);
	uint64_t at = start_of(s, "main");
	assert_true(image_finder_keep_functions(f, &id, path, &at, 1, NULL) < 0);
	assert_int_equal(image_finder_counts(f).lines_kept, 0);
	assert_int_equal(workshop_run("rm -r narrow/*/images/*.lines"), 0);
	assert_int_equal(image_finder_keep_functions(f, &id, path, &at, 1, NULL), 0);
	assert_int_equal(image_finder_counts(f).lines_kept, 1);
	image_finder_free(f);
}

/* A file's lists may be longer than is kept, as names may share their bytes: that is no failure. */
static void test_long_lists(void **state)
{
	(void)state;
	static char name[16001];
	static struct image_layout_external list[5000];
	struct image_layout l = {.bits = 64, .externals = list, .external_count = 5000};
	struct image_id id = identity("p");
	struct image_finder *f = finder(db);
	memset(name, 'n', sizeof(name) - 1);
	for (size_t i = 0; i < 5000; i++)
		list[i] = (struct image_layout_external){8 * i, name};
	assert_int_equal(finder_save_code(f, &id, &l), -ENOSPC);
	assert_int_equal(image_finder_counts(f).keep_failed, 0);
	assert_int_equal(image_finder_counts(f).code_kept, 0);
	image_finder_free(f);
}

/* Of a large file the code of functions is kept while there is room, and what had none is counted.
 */
static void test_more_than_is_kept(void **state)
{
	(void)state;
	char db2[300];
	const struct image_symbols *s;
	assert_int_equal(
		workshop_write("large.s",
			       ".macro f name\n.globl \\name\n.type \\name, @function\n"
			       "\\name: .skip 6 << 20, 0x90\nret\n.size \\name, . - \\name\n.endm\n"
			       "f one\nf two\nf three\n"),
		0);
	assert_int_equal(workshop_run("gcc -nostdlib -static -Wl,--build-id -Wl,-e,one large.s "
				      "-o large; mkdir -p full/0123456789abcdef0123456789abcdef"),
			 0);
	struct image_id id = identity("large");
	snprintf(db2, sizeof(db2), "%s/full", workshop_dir);
	struct image_finder *f = finder(db2);
	assert_int_equal(image_find_symbols(f, &id, path, &s, NULL), 0);
	uint64_t at[] = {start_of(s, "one"), start_of(s, "two"), start_of(s, "three")};
	assert_int_equal(image_finder_keep_functions(f, &id, path, at, 2, NULL), 0);
	assert_int_equal(image_finder_counts(f).code_refused, 0);
	assert_true(image_finder_keep_functions(f, &id, path, at + 2, 1, NULL) < 0);
	assert_int_equal(image_finder_counts(f).code_refused, 1);
	image_finder_free(f);
}

/* A program that others may execute, but not read: what was sampled of it is kept, and no more. */
static void test_not_for_all(void **state)
{
	(void)state;
	struct image_layout *l;
	char db3[300];
	if (geteuid() != 0)
		skip();
	assert_int_equal(workshop_run("mkdir -p some/0123456789abcdef0123456789abcdef; "
				      "cp p closed; chown 64124 closed; chmod 711 closed"),
			 0);
	struct image_id id = identity("closed");
	snprintf(db3, sizeof(db3), "%s/some", workshop_dir);
	struct image_finder *f = finder(db3);
	assert_int_equal(image_finder_keep(f, &id, path, NULL), 0);
	assert_int_equal(finder_load_code(f, &id, true, &l), 0);
	assert_false(l->whole);
	assert_int_equal(l->part_count, 0);
	image_layout_free(l);
	image_finder_free(f);
	assert_int_equal(workshop_run("chmod 755 closed; rm -r some/*/images"), 0);
	f = finder(db3);
	assert_int_equal(image_finder_keep(f, &id, path, NULL), 0);
	assert_int_equal(finder_load_code(f, &id, true, &l), 0);
	assert_true(l->whole);
	image_layout_free(l);
	image_finder_free(f);
}

/* Names of open files come and go: what a second one leads to is as good. */
static void test_kept_by_another_name(void **state)
{
	(void)state;
	struct image_id id = identity("p");
	const struct image_symbols *s;
	char db2[300], link[300], other[300];
	snprintf(db2, sizeof(db2), "%s/names", workshop_dir);
	snprintf(link, sizeof(link), "%s/first", workshop_dir);
	snprintf(other, sizeof(other), "%s/second", workshop_dir);
	assert_int_equal(workshop_run("mkdir -p names/0123456789abcdef0123456789abcdef; "
				      "ln p first; ln p second"),
			 0);
	struct image_finder *f = finder(db2);
	assert_int_equal(image_finder_keep(f, &id, link, NULL), 0);
	assert_int_equal(workshop_run("rm first"), 0);
	assert_int_equal(image_find_symbols(f, &id, other, &s, NULL), 0);
	uint64_t at = start_of(s, "main");
	assert_int_equal(image_finder_keep_functions(f, &id, other, &at, 1, NULL), 0);
	assert_int_equal(image_finder_counts(f).lines_kept, 1);
	image_finder_free(f);
}

/* What the collector kept serves when the file is gone. */
static void test_kept(void **state)
{
	(void)state;
	struct image_id id = identity("p");
	const struct image_symbols *s;
	struct diag diag = {""};
	uint8_t *code, *kept;
	size_t size, kept_size;
	struct image_finder *f = finder(db);
	assert_int_equal(image_finder_keep(f, &id, path, &diag), 0);
	assert_int_equal(image_finder_keep(f, &id, path, &diag), 0);
	assert_int_equal(image_finder_counts(f).symbols_kept, 1);
	assert_int_equal(image_find_symbols(f, &id, path, &s, &diag), 0);
	uint64_t at[] = {start_of(s, "main") + 1, start_of(s, "inner"), 1, UINT64_MAX};
	assert_int_equal(image_find_code(f, &id, path, at[1], 8, &code, &size, &diag), 0);
	assert_int_equal(image_finder_counts(f).code_kept, 1);
	assert_true(image_finder_wants_functions(f, &id, path));
	assert_int_equal(image_finder_keep_functions(f, &id, path, at, 4, &diag), 0);
	assert_int_equal(image_finder_keep_functions(f, &id, path, at, 1, &diag), 0);
	assert_int_equal(image_finder_counts(f).lines_kept, 1);
	image_finder_free(f);
	/* Another time nothing is new. */
	f = finder(db);
	assert_int_equal(image_finder_keep(f, &id, path, &diag), 0);
	assert_int_equal(image_finder_keep_functions(f, &id, path, at, 4, &diag), 0);
	assert_int_equal(image_finder_counts(f).symbols_kept, 0);
	assert_int_equal(image_finder_counts(f).code_kept, 0);
	assert_int_equal(image_finder_counts(f).lines_kept, 0);
	image_finder_free(f);

	assert_int_equal(workshop_run("mv p away; cp away p; echo >>p; "
				      "objcopy --remove-section .note.gnu.build-id p"),
			 0);
	f = finder(db);
	struct image_layout *layout;
	struct image_lines *lines;
	const struct image_frame *frames;
	assert_int_equal(image_find_layout(f, &id, path, &layout, &diag), 0);
	assert_true(layout->whole);
	image_layout_free(layout);
	assert_int_equal(image_find_lines(f, &id, path, at, 3, &lines, &diag), 0);
	assert_int_equal(image_lines_frames(lines, 1, &frames), 1);
	assert_string_equal(frames[0].function, "inner");
	assert_int_equal(frames[0].line, 1);
	assert_true(frames[0].built_ns > 0);
	assert_int_equal(image_lines_frames(lines, 2, &frames), 0);
	image_lines_free(lines);
	assert_int_equal(image_find_symbols(f, &id, path, &s, &diag), 0);
	assert_int_equal(start_of(s, "inner"), at[1]);
	assert_int_equal(image_find_code(f, &id, path, at[1], 8, &kept, &kept_size, &diag), 0);
	assert_int_equal(kept_size, 8);
	assert_memory_equal(kept, code, 8);
	free(kept);
	free(code);
	assert_true(image_find_code(f, &id, path, 1, 8, &kept, &kept_size, &diag) < 0);
	image_finder_free(f);
	f = finder(NULL);
	assert_true(image_find_symbols(f, &id, path, &s, &diag) < 0);
	image_finder_free(f);
	assert_int_equal(workshop_run("mv away p"), 0);
}

static void check_debug(const struct image_id *id, const char *source)
{
	const struct image_symbols *s;
	struct image_lines *l;
	struct diag diag = {""};
	struct image_finder *f = finder(db);
	assert_int_equal(image_find_symbols(f, id, path, &s, &diag), 0);
	assert_string_equal(image_symbols_source(s), source);
	uint64_t at = image_symbols_at(s, 0)->start;
	if (strcmp(source, "debug file") == 0) {
		assert_int_equal(image_find_lines(f, id, path, &at, 1, &l, &diag), 0);
		image_lines_free(l);
	}
	image_finder_free(f);
}

/* A debug file by build-id or by link; one installed later replaces what is in the cache. */
static void test_debug_files(void **state)
{
	(void)state;
	char command[1024];
	assert_int_equal(
		workshop_run("gcc -O1 -fno-inline -falign-functions=64 -g p.c -o q -Wl,--build-id;"
			     "objcopy --only-keep-debug q q.debug; strip q"),
		0);
	struct image_id id = identity("q");
	check_debug(&id, "function starts");
	char hex[2 * IMAGE_ID_MAX + 1] = "";
	for (size_t i = 0; i < id.size; i++)
		sprintf(hex + 2 * i, "%02x", id.bytes[i]);
	snprintf(command, sizeof(command),
		 "mkdir -p debug/.build-id/%.2s; cp q.debug debug/.build-id/%.2s/%s.debug", hex,
		 hex, hex + 2);
	assert_int_equal(workshop_run(command), 0);
	check_debug(&id, "debug file");
	assert_int_equal(workshop_run("rm -r debug/.build-id db/*/images;"
				      "objcopy --add-gnu-debuglink=q.debug q; mkdir .debug;"
				      "mv q.debug .debug/"),
			 0);
	check_debug(&id, "debug file");
	/* So large that the collector does not compute its checksum, which a report waits for. */
	assert_int_equal(workshop_run("rm -r db/*/images; cp .debug/q.debug kept.debug;"
				      "truncate -s 100M .debug/q.debug;"
				      "objcopy --remove-section .gnu_debuglink q;"
				      "objcopy --add-gnu-debuglink=.debug/q.debug q"),
			 0);
	struct image_finder *f = finder(db);
	const struct image_symbols *s;
	assert_int_equal(image_finder_keep(f, &id, path, NULL), 0);
	assert_int_equal(image_find_symbols(f, &id, path, &s, NULL), 0);
	assert_string_equal(image_symbols_source(s), "function starts");
	image_finder_free(f);
	assert_int_equal(workshop_run("rm -r db/*/images"), 0);
	check_debug(&id, "debug file");
	assert_int_equal(workshop_run("mv kept.debug .debug/q.debug;"
				      "objcopy --remove-section .gnu_debuglink q;"
				      "objcopy --add-gnu-debuglink=.debug/q.debug q"),
			 0);
	/* One of another build under the right name: its checksum is wrong. */
	assert_int_equal(workshop_run("rm -r db/*/images; echo >>.debug/q.debug"), 0);
	check_debug(&id, "function starts");
}

static void test_others(void **state)
{
	(void)state;
	const struct image_symbols *s;
	struct diag diag;
	struct image_finder *f = finder(NULL);
	struct image_id id = {.kind = IMAGE_JIT, .size = 4, .bytes = {1, 2, 3, 4}};
	assert_int_equal(image_find_symbols(f, &id, "jit", &s, &diag), -ENOENT);
	id.kind = IMAGE_UNKNOWN;
	assert_int_equal(image_find_symbols(f, &id, "", &s, &diag), -ENOENT);
	id.kind = IMAGE_FILE_OFFSET;
	assert_int_equal(image_find_symbols(f, &id, "/etc/passwd", &s, &diag), -ENOENT);
	id.kind = IMAGE_KERNEL; /* of another build than the running one */
	assert_true(image_find_symbols(f, &id, "[kernel.kallsyms]", &s, &diag) < 0);
	assert_true(strlen(diag.text) > 0);
	/* A BPF program that is gone still has its name. */
	id.kind = IMAGE_BPF;
	assert_int_equal(image_find_symbols(f, &id, "bpf_prog_1234_name", &s, &diag), 0);
	assert_string_equal(image_symbols_find(s, 100)->name, "bpf_prog_1234_name");
	image_finder_free(f);
}

/* The running kernel, as far as this machine lets it be seen. */
static void test_kernel(void **state)
{
	(void)state;
	struct image_kernel *k;
	const struct image_symbols *s;
	struct diag diag;
	unsigned long long address = 0;
	char type, name[128], line[512];
	FILE *f = fopen("/proc/kallsyms", "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx %c %127s", &address, &type, name) == 3 &&
		    strcmp(name, "vfs_read") == 0)
			break;
	if (f)
		fclose(f);
	if (!address || image_kernel_new("", &k, &diag) < 0)
		skip();
	const struct image_kernel_region *r = image_kernel_find(k, address);
	assert_non_null(r);
	assert_ptr_equal(image_kernel_by_id(k, &r->id), r);
	struct image_finder *finder_of_kernel = finder(NULL);
	assert_int_equal(image_find_symbols(finder_of_kernel, &r->id, r->path, &s, &diag), 0);
	const struct image_function *fn = image_symbols_find(s, address - r->bias);
	assert_non_null(fn);
	assert_string_equal(fn->name, "vfs_read");
	uint8_t *code;
	size_t size;
	if (image_find_code(finder_of_kernel, &r->id, r->path, fn->start, fn->size, &code, &size,
			    &diag) == 0) {
		assert_int_equal(size, fn->size);
		free(code);
	} else {
		assert_true(strlen(diag.text) > 0);
	}
	image_finder_free(finder_of_kernel);
	image_kernel_free(k);
}

int main(int argc, char **argv)
{
	image_worker_dispatch(argc, argv);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),	    cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_not_kept),    cmocka_unit_test(test_functions_not_kept),
		cmocka_unit_test(test_long_lists),  cmocka_unit_test(test_kept_by_another_name),
		cmocka_unit_test(test_kept),	    cmocka_unit_test(test_debug_files),
		cmocka_unit_test(test_others),	    cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_not_for_all), cmocka_unit_test(test_more_than_is_kept),
	};
	return cmocka_run_group_tests(tests, workshop_setup, workshop_teardown);
}
