/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "find_help.h"

static const char program[] =
	"static __attribute__((noinline)) int inner(int x) { return x * 3 + (x >> 1); }\n"
	"int main(int argc, char **argv) { (void)argv; return inner(argc); }\n";

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
	assert_true(image_finder_keep_functions(f, &id, path, &at, 1, NULL, NULL) < 0);
	assert_int_equal(image_finder_counts(f).lines_kept, 0);
	assert_int_equal(workshop_run("rm -r narrow/*/images/*.lines"), 0);
	assert_int_equal(image_finder_keep_functions(f, &id, path, &at, 1, NULL, NULL), 0);
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

/* Symbols for which there is no place: no failure either, and a blob of them is not there. */
static void test_symbols_too_large(void **state)
{
	(void)state;
	enum { FUNCTIONS = 17000 };
	static char name[16001];
	struct image_symbol *list = calloc(FUNCTIONS, sizeof(*list));
	struct image_id id = {.kind = IMAGE_CONTENT, .size = 4, .bytes = "many"};
	struct image_finder *f = finder(db);
	struct image_symbols *s;
	assert_non_null(list);
	memset(name, 'n', sizeof(name) - 1);
	for (size_t i = 0; i < FUNCTIONS; i++)
		list[i] = (struct image_symbol){16 * i, 16, name};
	assert_int_equal(image_symbols_build(list, FUNCTIONS, "test", &s), 0);
	finder_save_symbols(f, &id, s);
	image_symbols_free(s);
	assert_int_equal(image_finder_counts(f).symbols_kept, 0);
	assert_int_equal(image_finder_counts(f).symbols_refused, 1);
	assert_int_equal(image_finder_counts(f).keep_failed, 0);
	assert_int_equal(finder_load_symbols(f, &id, &s), -ENOENT);
	/* Half of them have room. */
	assert_int_equal(image_symbols_build(list, FUNCTIONS / 2, "test", &s), 0);
	finder_save_symbols(f, &id, s);
	image_symbols_free(s);
	assert_int_equal(image_finder_counts(f).symbols_kept, 1);
	image_finder_free(f);
	free(list);
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
	assert_int_equal(image_finder_keep(f, &id, path, NULL), 0);
	uint64_t requests = image_worker_stats(f->worker).requests;
	assert_int_equal(image_finder_keep_functions(f, &id, path, at, 2, NULL, NULL), 0);
	assert_int_equal(image_finder_counts(f).code_refused, 0);
	/* However many functions: where the file has code is asked once. */
	assert_int_equal(image_worker_stats(f->worker).requests, requests + 1);
	assert_true(image_finder_keep_functions(f, &id, path, at + 2, 1, NULL, NULL) < 0);
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
	/* While its file is there, that is better than pieces. */
	assert_int_equal(image_find_layout(f, &id, path, &l, NULL), 0);
	assert_true(l->whole);
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

/* What another machine of the database kept serves reports, and goes with that machine's epochs. */
static void test_kept_by_another_machine(void **state)
{
	(void)state;
	struct image_id id = identity("p");
	const struct image_symbols *s;
	struct image_finder *f, *other;
	char db2[300];
	assert_int_equal(workshop_run("mkdir -p two/0123456789abcdef0123456789abcdef "
				      "two/fedcba9876543210fedcba9876543210"),
			 0);
	snprintf(db2, sizeof(db2), "%s/two", workshop_dir);
	assert_int_equal(image_finder_new(db2, "fedcba9876543210fedcba9876543210", &other), 0);
	assert_int_equal(image_finder_keep(other, &id, path, NULL), 0);
	f = finder(db2);
	assert_int_equal(image_find_symbols(f, &id, "/nowhere", &s, NULL), 0);
	image_finder_free(f);
	f = finder(db2);
	assert_int_equal(image_finder_keep(f, &id, path, NULL), 0);
	assert_int_equal(image_finder_counts(f).symbols_kept, 1);
	assert_int_equal(image_finder_counts(f).code_kept, 1);
	assert_int_equal(image_find_symbols(f, &id, path, &s, NULL), 0);
	uint64_t at = start_of(s, "main");
	assert_int_equal(image_finder_keep_functions(other, &id, path, &at, 1, NULL, NULL), 0);
	assert_int_equal(image_finder_keep_functions(f, &id, path, &at, 1, NULL, NULL), 0);
	assert_int_equal(image_finder_counts(f).lines_kept, 1);
	image_finder_free(other);
	image_finder_free(f);
}

/* A program of root's, and one of a user who gave it the same build ID and a name of his own. */
static struct image_id forge(char forged[300])
{
	struct image_id id = identity("p");
	char hex[2 * IMAGE_ID_MAX + 1] = "", line[400];

	for (size_t i = 0; i < id.size; i++)
		sprintf(hex + 2 * i, "%02x", id.bytes[i]);
	snprintf(line, sizeof(line),
		 "sed 's/inner/liar/g' p.c >liar.c; gcc -O1 -g -Wl,--build-id=0x%s liar.c -o liar "
		 "&& "
		 "chown 64124 liar; rm -rf claims; mkdir -p "
		 "claims/0123456789abcdef0123456789abcdef",
		 hex);
	assert_int_equal(workshop_run(line), 0);
	snprintf(forged, 300, "%s/liar", workshop_dir);
	return id;
}

static void keep_all(struct image_finder *f, const struct image_id *id, const char *file,
		     const uint64_t *at)
{
	assert_int_equal(image_finder_keep(f, id, file, NULL), 0);
	assert_int_equal(image_finder_keep_functions(f, id, file, at, 1, NULL, NULL), 0);
}

/* What a report of that database says the function at an address is, by symbols and by lines. */
static void check_names(const char *dir, const struct image_id *id, const char *at_path,
			uint64_t at, const char *symbol, const char *line)
{
	const struct image_symbols *s;
	const struct image_frame *frames;
	struct image_finder *f = finder(dir);
	struct image_lines *l;

	assert_int_equal(image_find_symbols(f, id, at_path, &s, NULL), 0);
	assert_string_equal(image_symbols_find(s, at)->demangled, symbol);
	if (image_find_lines(f, id, at_path, &at, 1, &l, NULL) == 0) {
		assert_int_equal(image_lines_frames(l, 0, &frames), line ? 1 : 0);
		if (line)
			assert_string_equal(frames[0].function, line);
		image_lines_free(l);
	} else {
		assert_null(line);
	}
	image_finder_free(f);
}

static uint64_t address_in(const char *file, const struct image_id *id, const char *name)
{
	struct image_finder *f = finder(NULL);
	const struct image_symbols *s;
	uint64_t at;

	assert_int_equal(image_find_symbols(f, id, file, &s, NULL), 0);
	at = start_of(s, name);
	image_finder_free(f);
	return at;
}

/* Whoever comes first, a file that others could write says nothing of the image of one that they
 * could not; where it is the only one, it says what it is. */
static void test_forged_build_id(void **state)
{
	(void)state;
	char forged[300], db4[300];
	if (geteuid() != 0)
		skip();
	struct image_id id = forge(forged);
	uint64_t at = address_in(path, &id, "inner");
	assert_int_equal(address_in(forged, &id, "liar"), at);
	snprintf(db4, sizeof(db4), "%s/claims", workshop_dir);
	struct image_finder *f = finder(db4);
	keep_all(f, &id, forged, &at);
	check_names(db4, &id, "/nowhere", at, "liar", "liar");
	/* The true one comes second, in the same recording. */
	image_finder_forget(f, &id);
	keep_all(f, &id, path, &at);
	check_names(db4, &id, forged, at, "inner", "inner");
	image_finder_free(f);
	/* What was told of the claim in another recording neither takes its place nor adds to it.
	 */
	uint64_t main_at = address_in(forged, &id, "main");
	f = finder(db4);
	keep_all(f, &id, forged, &main_at);
	image_finder_free(f);
	check_names(db4, &id, forged, at, "inner", "inner");
	check_names(db4, &id, forged, main_at, "main", NULL);
	/* Nor does a name that leads to it now, for what is known of the true one. */
	f = finder(db4);
	keep_all(f, &id, path, &at);
	assert_int_equal(workshop_run("mv p away"), 0);
	image_finder_keep_functions(f, &id, forged, &main_at, 1, NULL, NULL);
	image_finder_free(f);
	assert_int_equal(workshop_run("mv away p"), 0);
	check_names(db4, &id, "/nowhere", main_at, "main", NULL);
	/* What others may write is as good as another's. */
	assert_int_equal(workshop_run("chown 0 liar; chmod 775 liar"), 0);
	check_names(db4, &id, forged, main_at, "main", NULL);
	assert_int_equal(workshop_run("chmod 755 liar"), 0);
	check_names(db4, &id, forged, main_at, "main", "main");
}

/* Nor is what was kept of the one added to, by the other, under a name that is to be trusted. */
static void test_forged_and_gone(void **state)
{
	(void)state;
	char forged[300], db5[300];
	if (geteuid() != 0)
		skip();
	struct image_id id = forge(forged);
	uint64_t at = address_in(path, &id, "inner"), main_at = address_in(path, &id, "main");
	snprintf(db5, sizeof(db5), "%s/claims", workshop_dir);
	struct image_finder *f = finder(db5);
	keep_all(f, &id, forged, &at);
	assert_int_equal(workshop_run("rm liar"), 0);
	image_finder_keep_functions(f, &id, path, &main_at, 1, NULL, NULL);
	image_finder_free(f);
	f = finder(db5);
	keep_all(f, &id, path, &main_at);
	image_finder_free(f);
	check_names(db5, &id, "/nowhere", main_at, "main", "main");
	check_names(db5, &id, "/nowhere", at, "inner", NULL);
}

/* The checksum of a debug file that the image names is easily forged: its owner counts. */
static void test_forged_debug_file(void **state)
{
	(void)state;
	const struct image_symbols *s;
	if (geteuid() != 0)
		skip();
	assert_int_equal(workshop_run("gcc -O1 -g p.c -o linked && "
				      "objcopy --only-keep-debug linked linked.debug && "
				      "strip linked && chown 64124 linked.debug && "
				      "objcopy --add-gnu-debuglink=linked.debug linked"),
			 0);
	struct image_id id = identity("linked");
	struct image_finder *f = finder(NULL);
	assert_int_equal(image_find_symbols(f, &id, path, &s, NULL), 0);
	assert_int_equal(start_of(s, "inner"), 0);
	image_finder_free(f);
	assert_int_equal(workshop_run("chown 64124 linked"), 0);
	f = finder(NULL);
	assert_int_equal(image_find_symbols(f, &id, path, &s, NULL), 0);
	assert_true(start_of(s, "inner") != 0);
	image_finder_free(f);
}

/* A table of made-up lines below a program's code, whose saved form leaves that many bytes of the
 * largest. */
static void make_lines(size_t left, struct image_line_table *ret)
{
	enum { NAMES = (LINE_TABLE_MAX_BYTES >> 14) - 2 };
	static char name[LINES_STRING_MAX + 1];
	uint64_t addresses[NAMES + 1];
	struct image_lines *lines;
	struct buf saved;
	size_t last = 1;

	/* The last name grows by what is missing. */
	for (int pass = 0; pass < 2; pass++) {
		assert_int_equal(image_lines_new(NAMES + 1, &lines), 0);
		for (size_t i = 0; i <= NAMES; i++) {
			memset(name, 'n', sizeof(name) - 1);
			snprintf(name, 8, "%07zu", i);
			name[7] = 'n';
			name[i < NAMES ? LINES_STRING_MAX - 1 : 8 + last] = 0;
			addresses[i] = 16 + i;
			struct lines_frame frame = {.function = image_lines_string(lines, name)};
			assert_int_equal(image_lines_set(lines, i, &frame, 1), 0);
			name[i < NAMES ? LINES_STRING_MAX - 1 : 8 + last] = 'n';
		}
		assert_int_equal(image_line_table_of(addresses, NAMES + 1, lines, ret), 0);
		buf_init(&saved, 2 * LINE_TABLE_MAX_BYTES);
		assert_int_equal(image_line_table_save(ret, &saved), 0);
		if (pass == 0) {
			last += LINE_TABLE_MAX_BYTES - left - saved.size - 1;
			assert_in_range(last, 1, LINES_STRING_MAX - 8);
			image_line_table_free(ret);
		} else {
			assert_in_range(saved.size, LINE_TABLE_MAX_BYTES - left - 1,
					LINE_TABLE_MAX_BYTES - left + 1);
		}
		buf_free(&saved);
	}
}

/* Lines whose saved form is past the limit are refused, and counted, and what was kept stays. */
static void test_lines_too_large(void **state)
{
	(void)state;
	struct image_id id = identity("p");
	const struct image_symbols *s;
	struct image_line_table t, kept;
	char db6[300];
	assert_int_equal(workshop_run("mkdir -p wide/0123456789abcdef0123456789abcdef"), 0);
	snprintf(db6, sizeof(db6), "%s/wide", workshop_dir);
	struct image_finder *f = finder(db6);
	assert_int_equal(image_finder_keep(f, &id, path, NULL), 0);
	assert_int_equal(image_find_symbols(f, &id, path, &s, NULL), 0);
	uint64_t at = start_of(s, "main");
	make_lines(16, &t);
	assert_int_equal(finder_save_lines(f, &id, "lines", &t), 0);
	image_line_table_free(&t);
	assert_int_equal(image_finder_keep_functions(f, &id, path, &at, 1, NULL, NULL), 0);
	assert_int_equal(image_finder_counts(f).lines_refused, 1);
	assert_int_equal(image_finder_counts(f).lines_kept, 1);
	assert_int_equal(image_finder_counts(f).keep_failed, 0);
	assert_int_equal(finder_load_lines(f, &id, "lines", true, &kept), 0);
	assert_true(image_line_table_find(&kept, at) == SIZE_MAX);
	assert_true(image_line_table_find(&kept, 16) == 0);
	image_line_table_free(&kept);
	image_finder_free(f);
	/* Where there is room for them, they are taken. */
	f = finder(db6);
	make_lines(4096, &t);
	assert_int_equal(finder_save_lines(f, &id, "lines", &t), 0);
	image_line_table_free(&t);
	assert_int_equal(image_finder_keep_functions(f, &id, path, &at, 1, NULL, NULL), 0);
	assert_int_equal(image_finder_counts(f).lines_refused, 0);
	assert_int_equal(finder_load_lines(f, &id, "lines", true, &kept), 0);
	assert_true(image_line_table_find(&kept, at) != SIZE_MAX);
	image_line_table_free(&kept);
	image_finder_free(f);
}

static bool disk_is_full;

/* In place of the C library's: a disk as large as one likes. */
int statvfs(const char *where, struct statvfs *ret)
{
	(void)where;
	*ret = (struct statvfs){.f_frsize = 1, .f_blocks = (uint64_t)100 << 30};
	ret->f_bavail = disk_is_full ? (uint64_t)1 << 30 : (uint64_t)2 << 30;
	return 0;
}

/* Samples count for more than code and lines, which leave a GiB to them. */
static void test_nearly_full(void **state)
{
	(void)state;
	struct image_id id = identity("p");
	struct image_kept_lines known;
	const struct image_symbols *s;
	char db2[300];
	assert_int_equal(workshop_run("mkdir -p tight/0123456789abcdef0123456789abcdef"), 0);
	snprintf(db2, sizeof(db2), "%s/tight", workshop_dir);
	disk_is_full = true;
	struct image_finder *f = finder(db2);
	assert_int_equal(image_finder_keep(f, &id, path, NULL), 0);
	assert_int_equal(image_find_symbols(f, &id, path, &s, NULL), 0);
	uint64_t at = start_of(s, "main");
	assert_int_equal(image_finder_keep_functions(f, &id, path, &at, 1, NULL, NULL), 0);
	assert_int_equal(image_finder_counts(f).symbols_kept, 1);
	assert_int_equal(image_finder_counts(f).code_kept, 0);
	assert_int_equal(image_finder_counts(f).lines_kept, 0);
	assert_int_equal(image_finder_counts(f).code_refused, 1);
	assert_int_equal(image_finder_counts(f).lines_refused, 1);
	image_finder_free(f);
	/* Nor does what is known of them from before go there. */
	f = finder(db2);
	image_kept_lines_init(&known);
	assert_int_equal(image_finder_keep_functions(f, &id, path, &at, 1, &known, NULL), 0);
	assert_true(known.is_new && known.packed.size);
	assert_int_equal(image_finder_counts(f).lines_kept, 0);
	assert_int_equal(image_finder_counts(f).lines_refused, 1);
	assert_int_equal(image_finder_counts(f).keep_failed, 0);
	image_kept_lines_free(&known);
	image_finder_free(f);
	disk_is_full = false;
}

/* A database that has what is known of lines is not read for them again, nor written; one that has
 * a part of it gets all. */
static void test_known_lines_are_there(void **state)
{
	(void)state;
	struct image_id id = identity("p");
	struct image_kept_lines known;
	const struct image_symbols *s;
	char db2[300];
	assert_int_equal(workshop_run("mkdir -p some/0123456789abcdef0123456789abcdef "
				      "again/0123456789abcdef0123456789abcdef"),
			 0);
	snprintf(db2, sizeof(db2), "%s/some", workshop_dir);
	struct image_finder *f = finder(db2);
	image_kept_lines_init(&known);
	assert_int_equal(image_finder_keep(f, &id, path, NULL), 0);
	assert_int_equal(image_find_symbols(f, &id, path, &s, NULL), 0);
	uint64_t at[] = {start_of(s, "main"), start_of(s, "inner")};
	assert_int_equal(image_finder_keep_functions(f, &id, path, at, 2, &known, NULL), 0);
	assert_true(known.packed.size);
	image_finder_free(f);
	snprintf(db2, sizeof(db2), "%s/again", workshop_dir);
	const struct db_blobs blobs = {db2, "0123456789abcdef0123456789abcdef", &io_system};
	f = finder(db2);
	assert_int_equal(image_finder_keep(f, &id, path, NULL), 0);
	assert_int_equal(image_finder_keep_functions(f, &id, path, at, 1, NULL, NULL), 0);
	assert_int_equal(image_finder_keep_functions(f, &id, path, at + 1, 1, &known, NULL), 0);
	assert_int_equal(image_finder_counts(f).lines_kept, 2);
	assert_true(db_blob_holds(&blobs, &id, "lines", known.packed.data, known.packed.size));
	image_finder_free(f);
	/* That it is not opened shows where it could not be. */
	known.packed.data[known.packed.size - 1] ^= 1;
	assert_false(db_blob_holds(&blobs, &id, "lines", known.packed.data, known.packed.size));
	assert_int_equal(
		db_blob_place(&blobs, &id, "lines", known.packed.data, known.packed.size, NULL), 0);
	f = finder(db2);
	assert_int_equal(image_finder_keep_functions(f, &id, path, at, 1, &known, NULL), 0);
	assert_int_equal(image_finder_counts(f).damaged, 0);
	assert_int_equal(image_finder_counts(f).lines_kept, 0);
	image_finder_free(f);
	image_kept_lines_free(&known);
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
	assert_int_equal(image_finder_keep_functions(f, &id, other, &at, 1, NULL, NULL), 0);
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
	assert_int_equal(image_finder_keep_functions(f, &id, path, at, 4, NULL, &diag), 0);
	assert_int_equal(image_finder_keep_functions(f, &id, path, at, 1, NULL, &diag), 0);
	assert_int_equal(image_finder_counts(f).lines_kept, 1);
	image_finder_free(f);
	/* Another time nothing is new. */
	f = finder(db);
	assert_int_equal(image_finder_keep(f, &id, path, &diag), 0);
	assert_int_equal(image_finder_keep_functions(f, &id, path, at, 4, NULL, &diag), 0);
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
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_not_kept),
		cmocka_unit_test(test_functions_not_kept),
		cmocka_unit_test(test_symbols_too_large),
		cmocka_unit_test(test_long_lists),
		cmocka_unit_test(test_kept_by_another_name),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_debug_files),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_not_for_all),
		cmocka_unit_test(test_more_than_is_kept),
		cmocka_unit_test(test_lines_too_large),
		cmocka_unit_test(test_nearly_full),
		cmocka_unit_test(test_known_lines_are_there),
		cmocka_unit_test(test_kept_by_another_machine),
		cmocka_unit_test(test_forged_build_id),
		cmocka_unit_test(test_forged_and_gone),
		cmocka_unit_test(test_forged_debug_file),
	};
	return cmocka_run_group_tests(tests, workshop_setup, workshop_teardown);
}
