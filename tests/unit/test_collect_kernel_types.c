/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The part of the kernel's types that the in-kernel programs name: what it has and has not, that it
 * is kept and believed only as it was written, and, where this process may load programs, that they
 * are relocated by it as by all types.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bpf/libbpf.h>
#include <cmocka.h>

#include "collect/types/kernel_types.h"
#include "collect/events/sampler.h"
#include "collect/events/tick.h"
#include "collect/stacks/unwinder.h"
#include "collect/edges/windows.h"
#include "db/blob.h"
#include "util/io.h"

static char root[64];

static int setup(void **state)
{
	(void)state;
	strcpy(root, "/tmp/culprit-types-XXXXXX");
	libbpf_set_print(NULL);
	return mkdtemp(root) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static int teardown(void **state)
{
	(void)state;
	return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static const struct btf_type *find(const struct btf *btf, const char *name, unsigned kind)
{
	int id = btf__find_by_name_kind(btf, name, kind);

	return id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);
}

/* struct far {}; struct near { int a; unsigned b : 3; }; typedef struct near near_t;
 * struct root { const near_t in[4]; struct far *to; union { enum colour c; struct near n; }; }; */
static struct btf *make_all(void)
{
	struct btf *b = btf__new_empty();
	int number = btf__add_int(b, "int", 4, BTF_INT_SIGNED);
	int far = btf__add_struct(b, "far", 8);
	int near = btf__add_struct(b, "near", 8);

	btf__add_field(b, "a", number, 0, 0);
	btf__add_field(b, "b", number, 35, 3);
	int near_t = btf__add_typedef(b, "near_t", near);
	int fixed = btf__add_const(b, near_t);
	int array = btf__add_array(b, number, fixed, 4);
	int to = btf__add_ptr(b, far);
	int colour = btf__add_enum(b, "colour", 4);
	btf__add_enum_value(b, "RED", 7);
	int either = btf__add_union(b, "", 8);
	btf__add_field(b, "c", colour, 0, 0);
	btf__add_field(b, "n", near, 0, 0);
	btf__add_struct(b, "root", 48);
	btf__add_field(b, "in", array, 0, 0);
	btf__add_field(b, "to", to, 256, 0);
	btf__add_field(b, "", either, 320, 0);
	btf__add_struct(b, "root", 16); /* of another part of the kernel */
	btf__add_struct(b, "roots", 4);
	return b;
}

static struct btf *make_names(const char *name)
{
	struct btf *b = btf__new_empty();

	btf__add_struct(b, name, 8);
	btf__add_fwd(b, "far", BTF_FWD_STRUCT); /* only pointed to */
	return b;
}

static struct btf *cut(const char *name)
{
	struct btf *all = make_all(), *of = make_names(name);
	const struct btf *list[] = {of};
	struct btf *part = kernel_types_cut(all, list, 1, tick_variables);

	btf__free(all);
	btf__free(of);
	assert_non_null(part);
	return part;
}

static void test_cut(void **state)
{
	(void)state;
	struct btf *part = cut("root___old");
	const struct btf_type *t = find(part, "root", BTF_KIND_STRUCT), *in;
	unsigned roots = 0;

	assert_non_null(t);
	assert_int_equal(t->size, 48);
	assert_int_equal(btf_vlen(t), 3);
	assert_int_equal(btf_member_bit_offset(t, 1), 256);
	in = btf__type_by_id(part, btf_members(t)[0].type);
	assert_true(btf_is_array(in));
	assert_int_equal(btf_array(in)->nelems, 4);
	assert_string_equal(
		btf__name_by_offset(part, btf__type_by_id(part, btf_array(in)->type)->name_off),
		"near_t");
	in = btf__type_by_id(part, btf_members(t)[1].type);
	assert_true(btf_is_ptr(in));
	assert_int_equal(in->type, 0);
	in = btf__type_by_id(part, btf_members(t)[2].type);
	assert_true(btf_is_union(in));
	assert_int_equal(btf_vlen(in), 2);
	in = find(part, "near", BTF_KIND_STRUCT);
	assert_non_null(in);
	assert_int_equal(btf_member_bit_offset(in, 1), 35);
	assert_int_equal(btf_member_bitfield_size(in, 1), 3);
	in = find(part, "colour", BTF_KIND_ENUM);
	assert_non_null(in);
	assert_int_equal(btf_enum(in)->val, 7);
	assert_null(find(part, "far", BTF_KIND_STRUCT));
	assert_null(find(part, "roots", BTF_KIND_STRUCT));
	for (uint32_t id = 1; id < btf__type_cnt(part); id++) {
		t = btf__type_by_id(part, id);
		roots += !strcmp(btf__name_by_offset(part, t->name_off), "root");
	}
	assert_int_equal(roots, 2); /* as ambiguous as with all types */
	btf__free(part);
}

static void test_cut_of_nothing(void **state)
{
	(void)state;
	struct btf *part = cut("nobody");

	assert_int_equal(btf__type_cnt(part), 1);
	btf__free(part);
	part = cut("___"); /* the name is all there is */
	assert_int_equal(btf__type_cnt(part), 1);
	btf__free(part);
}

/* A type that is in itself, which no compiler writes. */
static void test_cut_without_end(void **state)
{
	(void)state;
	struct btf *all = btf__new_empty(), *of = make_names("loop");
	const struct btf *list[] = {of};

	btf__add_struct(all, "loop", 8);
	btf__add_field(all, "self", 1, 0, 0);
	errno = 0;
	assert_null(kernel_types_cut(all, list, 1, tick_variables));
	assert_int_equal(errno, EBADMSG);
	btf__free(all);
	btf__free(of);
}

static size_t read_types(const char *directory, char **ret)
{
	char path[KERNEL_TYPES_PATH];
	int fd = kernel_types_open(directory, path);
	size_t size;

	if (fd < 0)
		skip(); /* no BTF */
	assert_int_equal(io_read_file(path, 1 << 24, ret, &size), 0);
	close(fd);
	return size;
}

/* The only file of the directory. */
static void find_kept(const char *directory, char path[PATH_MAX])
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char *names;
	size_t count;

	assert_int_equal(io_system.list(NULL, fd, &names, &count), 0);
	assert_int_equal(count, 1);
	snprintf(path, PATH_MAX, "%s/%s", directory, names);
	free(names);
	close(fd);
}

/* Changes the last byte of what is kept, so that it can be told from what is made. */
static void mark_kept(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct buf packed;
	char *data;
	size_t size;

	assert_int_equal(db_blob_unpack(&io_system, fd, 1 << 24, (void **)&data, &size), 0);
	data[size - 1] ^= 1;
	buf_init(&packed, 1 << 24);
	assert_int_equal(db_blob_pack(data, size, &packed), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, packed.data, packed.size, 0), (ssize_t)packed.size);
	buf_free(&packed);
	free(data);
	close(fd);
}

static void test_kept(void **state)
{
	(void)state;
	char directory[80], path[PATH_MAX], *first, *again;
	size_t size;

	snprintf(directory, sizeof(directory), "%s/kept", root);
	size = read_types(directory, &first);
	find_kept(directory, path);
	mark_kept(path);
	assert_int_equal(read_types(directory, &again), size);
	assert_int_equal(again[size - 1], first[size - 1] ^ 1); /* it is what is read */
	free(again);
	/* Somebody else could have written it. */
	assert_int_equal(chmod(path, 0622), 0);
	assert_int_equal(read_types(directory, &again), size);
	assert_memory_equal(again, first, size);
	free(again);
	/* Cut short, or empty: rebuilt, and kept again. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(truncate(path, i ? 0 : 100), 0);
		assert_int_equal(read_types(directory, &again), size);
		assert_memory_equal(again, first, size);
		free(again);
	}
	mark_kept(path);
	/* No place to keep it. */
	assert_int_equal(read_types("/proc/none", &again), size);
	assert_memory_equal(again, first, size);
	free(again);
	free(first);
}

/* Everything but where the maps are. */
static void compare_programs(struct bpf_object *a, struct bpf_object *b)
{
	struct bpf_program *p, *q = NULL;

	bpf_object__for_each_program(p, a)
	{
		const struct bpf_insn *x, *y;

		q = bpf_object__next_program(b, q);
		assert_string_equal(bpf_program__name(p), bpf_program__name(q));
		assert_int_equal(bpf_program__insn_cnt(p), bpf_program__insn_cnt(q));
		x = bpf_program__insns(p);
		y = bpf_program__insns(q);
		for (size_t i = 0; i < bpf_program__insn_cnt(p); i++) {
			struct bpf_insn m = x[i], n = y[i];

			if (m.code == (BPF_LD | BPF_IMM | BPF_DW) && m.src_reg)
				m.imm = n.imm;
			assert_memory_equal(&m, &n, sizeof(m));
		}
	}
}

static void test_programs(void **state)
{
	(void)state;
	static const void *(*const objects[])(size_t *) = {sampler_object, unwinder_object,
							   windows_object};
	char path[KERNEL_TYPES_PATH];
	int fd = kernel_types_open(root, path);
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = path);

	if (fd < 0)
		skip();
	for (size_t i = 0; i < sizeof(objects) / sizeof(*objects); i++) {
		size_t size;
		const void *bytes = objects[i](&size);
		struct bpf_object *all, *part;
		int r;

		if (!bytes)
			continue;
		all = bpf_object__open_mem(bytes, size, NULL);
		part = bpf_object__open_mem(bytes, size, &options);
		assert_non_null(all);
		assert_non_null(part);
		r = bpf_object__load(all);
		assert_int_equal(bpf_object__load(part), r);
		if (!r)
			compare_programs(all, part);
		bpf_object__close(all);
		bpf_object__close(part);
	}
	close(fd);
}

/* The part says where the tick is as all types do, and both find it. */
static void test_tick_in_part(void **state)
{
	struct btf *all = btf__load_vmlinux_btf(), *part;
	char path[KERNEL_TYPES_PATH];
	struct wire_tick of_all, of_part;
	struct diag diag;
	int fd = all ? kernel_types_open(root, path) : -1;

	(void)state;
	if (fd < 0)
		skip(); /* no BTF */
	part = btf__parse(path, NULL);
	assert_non_null(part);
	assert_int_equal(tick_find(all, &of_all, &diag), 0);
	assert_int_equal(tick_find(part, &of_part, &diag), 0);
	assert_memory_equal(&of_all, &of_part, sizeof(of_all));
	btf__free(part);
	btf__free(all);
	close(fd);
}

int main(void)
{
#define EACH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		EACH(test_cut),	 EACH(test_cut_of_nothing), EACH(test_cut_without_end),
		EACH(test_kept), EACH(test_programs),	    EACH(test_tick_in_part),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
