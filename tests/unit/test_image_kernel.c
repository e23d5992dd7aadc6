/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The running kernel as images, read under directories that look like /proc and /sys, and, when
 * this process may, on the machine itself.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <cmocka.h>
#include "elf_file.h"
#include "image/kernel/kallsyms.h"
#include "image/kernel/kernel.h"
#include "image/kernel/kernel_ahead.h"
#include "image/kernel/kernel_ask.h"
#include "image/kernel/kernel_scan.h"

#define SLIDE UINT64_C(0x1ee00000)
#define TEXT  (UINT64_C(0xffffffff81000000) + SLIDE)

static char root[64];

static void write_bytes(const char *path, const void *data, size_t size)
{
	char full[256];

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		mkdir(full, 0755);
		*slash = '/';
	}
	int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), (ssize_t)size);
	close(fd);
}

static void write_text(const char *path, const char *text)
{
	write_bytes(path, text, strlen(text));
}

static void write_kallsyms(uint64_t text, const char *more)
{
	static char data[16384];

	snprintf(data, sizeof(data),
		 "0000000000000000 A fixed_percpu_data\n"
		 "%" PRIx64 " T startup_64\n"
		 "%" PRIx64 " T _stext\n"
		 "%" PRIx64 " T _text\n"
		 "%" PRIx64 " t do_one_initcall\n"
		 "%" PRIx64 " T __entry_text_start\n"
		 "%" PRIx64 " T schedule\n"
		 "%" PRIx64 " T _etext\n"
		 "%" PRIx64 " D jiffies\n%s",
		 text, text, text, text + 0x1000, text + 0x2000, text + 0x2000, text + 0x800000,
		 text + 0x1000000, more);
	write_text("/proc/kallsyms", data);
}

static int setup(void **state)
{
	(void)state;
	struct elf_file_note note = elf_file_note(0x40);

	strcpy(root, "/tmp/culprit-kernel-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	write_bytes("/sys/kernel/notes", &note, sizeof(note));
	write_kallsyms(TEXT, "");
	return 0;
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

static struct image_kernel *kernel_new(void)
{
	struct image_kernel *k = NULL;
	struct diag diag = {0};

	if (image_kernel_new(root, &k, &diag))
		fail_msg("%s", diag.text);
	return k;
}

static void test_core(void **state)
{
	(void)state;
	struct image_kernel *k = kernel_new();
	const struct image_kernel_region *r = image_kernel_find(k, TEXT + 0x1234);

	assert_non_null(r);
	assert_string_equal(r->path, "[kernel.kallsyms]");
	assert_int_equal(r->id.kind, IMAGE_KERNEL);
	assert_int_equal(r->id.bytes[0], 0x40);
	assert_int_equal(r->start, TEXT);
	assert_int_equal(r->end, TEXT + 0x800000);
	assert_int_equal(TEXT + 0x1234 - r->bias, KERNEL_LINK_TEXT + 0x1234);
#ifdef __x86_64__
	assert_int_equal(r->bias, SLIDE);
#endif
	assert_null(image_kernel_find(k, TEXT - 1));
	assert_null(image_kernel_find(k, TEXT + 0x800000));
	assert_null(image_kernel_find(k, 0));
	assert_null(image_kernel_find(k, UINT64_MAX));
	image_kernel_free(k);
}

/* Two boots of one kernel: the same stored addresses. */
static void test_slides_add_up(void **state)
{
	(void)state;
	const uint64_t texts[] = {TEXT, TEXT + 0x600000, TEXT - SLIDE};
	uint64_t stored[3];

	for (int i = 0; i < 3; i++) {
		write_kallsyms(texts[i], "");
		struct image_kernel *k = kernel_new();
		stored[i] = texts[i] + 0x77 - image_kernel_find(k, texts[i] + 0x77)->bias;
		image_kernel_free(k);
	}
	assert_int_equal(stored[0], stored[1]);
	assert_int_equal(stored[0], stored[2]);
}

static void test_hidden(void **state)
{
	(void)state;
	struct image_kernel *k = (void *)1;
	struct diag diag = {0};

	write_text("/proc/kallsyms", "0000000000000000 T _stext\n0000000000000000 T _text\n"
				     "0000000000000000 T schedule\n0000000000000000 T _etext\n");
	assert_int_equal(image_kernel_new(root, &k, &diag), -EACCES);
	assert_ptr_equal(k, (void *)1);
	write_text("/proc/iomem", "  01000000-017fffff : Kernel code\n"
				  "  02000000-02ffffff : Kernel bss\n");
	diag = (struct diag){0};
	assert_int_equal(image_kernel_new_core(root, &k, &diag), -EACCES);
	assert_ptr_equal(k, (void *)1);
	assert_non_null(strstr(diag.text, "CAP_SYSLOG"));
	assert_non_null(strstr(diag.text, "kptr_restrict"));
	write_text("/proc/kallsyms", "");
	assert_int_equal(image_kernel_new(root, &k, &diag), -ENOENT);
	write_text("/proc/kallsyms", "ffffffff81000000 T _text\nffffffff81000000 T _etext\n");
	assert_int_equal(image_kernel_new(root, &k, &diag), -EBADMSG);
	char path[128];
	snprintf(path, sizeof(path), "%s/proc/kallsyms", root);
	unlink(path);
	assert_int_equal(image_kernel_new(root, &k, &diag), -ENOENT);
	assert_ptr_equal(k, (void *)1);
}

static void test_modules(void **state)
{
	(void)state;
	struct elf_file_note note = elf_file_note(0x60);
	struct image_kernel *k;

	/* The first one's size reaches over the second, as since Linux 6.4. */
	write_text(
		"/proc/modules",
		"ext4 1000000 2 jbd2,mbcache, Live 0xffffffffc0200000 (OE)\n"
		"loop 32768 0 - Live 0xffffffffc0210000\n"
		"../../etc 4096 0 - Live 0xffffffffc0300000\n" /* would lead out of /sys/module */
		"short\n"
		"zero 0 0 - Live 0xffffffffc0400000\n"
		"wraps 18446744073709551615 0 - Live 0xffffffffc0500000\n"
		"hidden 4096 0 - Live 0x0000000000000000\n\n \n");
	write_bytes("/sys/module/ext4/notes/.note.gnu.build-id", &note, sizeof(note));
	write_text("/sys/module/ext4/sections/.text", "0xffffffffc0200040\n");
	write_text("/sys/module/loop/srcversion", "A1B2\n");
	write_text("/sys/module/loop/sections/.text", "0xffffffff00000000\n"); /* elsewhere */
	k = kernel_new();
	const struct image_kernel_region *r = image_kernel_find(k, 0xffffffffc0200140);
	assert_non_null(r);
	assert_string_equal(r->path, "[module]/ext4");
	assert_int_equal(r->id.kind, IMAGE_MODULE);
	assert_int_equal(r->id.bytes[0], 0x60);
	assert_int_equal(r->bias, 0xffffffffc0200040);
	assert_int_equal(r->end, 0xffffffffc0210000);
	r = image_kernel_find(k, 0xffffffffc0210000);
	assert_non_null(r);
	assert_string_equal(r->path, "[module]/loop");
	assert_int_equal(r->id.kind, IMAGE_MODULE);
	assert_int_equal(r->id.size, 16);
	assert_int_equal(r->bias, 0xffffffffc0210000);
	assert_int_equal(image_kernel_counts(k).regions, 3);
	assert_int_equal(image_kernel_counts(k).lines_refused, 6);
	struct image_id first = r->id;
	write_text("/sys/module/loop/srcversion", "C3D4\n"); /* another build of it */
	assert_int_equal(image_kernel_refresh(k), 0);
	r = image_kernel_find(k, 0xffffffffc0210000);
	assert_memory_not_equal(&r->id, &first, sizeof(first));
	image_kernel_free(k);
}

#define BPF_A "bpf_prog_6deef7357e7b4530_sd_fw_egress"
#define BPF_B "bpf_prog_0a1b2c3d4e5f6071_filter"

static void test_bpf(void **state)
{
	(void)state;
	const uint64_t a = 0xffffffffc1000000, b = 0xffffffffc1000400;
	struct image_kernel *k;

	write_kallsyms(TEXT, "ffffffffc1000400 t " BPF_B "\t[bpf]\n"
			     "ffffffffc1000000 t " BPF_A "\t[bpf]\n"
			     "ffffffffc0f00000 t ftrace_trampoline\t[__builtin__ftrace]\n"
			     "ffffffffc0e00000 t ext4_read\t[ext4]\n");
	k = kernel_new();
	const struct image_kernel_region *r = image_kernel_find(k, a + 0x3ff);
	assert_non_null(r);
	assert_string_equal(r->path, BPF_A);
	assert_int_equal(r->id.kind, IMAGE_BPF);
	assert_int_equal(r->bias, a);
	assert_int_equal(r->end, b);
	assert_string_equal(image_kernel_find(k, b)->path, BPF_B);
	assert_string_equal(image_kernel_find(k, 0xffffffffc0f00010)->path, "ftrace_trampoline");
	assert_null(image_kernel_find(k, 0xffffffffc0e00000)); /* no module has it */
	struct image_id id = r->id;
	assert_int_equal(image_kernel_ksymbol(k, 0xffffffffd0000000, 0x80, BPF_A, 0), 0);
	r = image_kernel_find(k, 0xffffffffd000007f);
	assert_memory_equal(&r->id, &id, sizeof(id)); /* the same program, loaded twice */
	assert_null(image_kernel_find(k, 0xffffffffd0000080));
	image_kernel_free(k);
}

static void test_ksymbol(void **state)
{
	(void)state;
	const uint64_t a = 0xffffffffc1000000;
	struct image_kernel *k = kernel_new();

	assert_int_equal(image_kernel_ksymbol(k, a, 0x400, BPF_A, 0), 0);
	assert_int_equal(image_kernel_find(k, a)->end, a + 0x400);
	assert_int_equal(image_kernel_ksymbol(k, a, 0x400, BPF_B, 1), -ENOENT);
	assert_int_equal(image_kernel_ksymbol(k, a + 1, 0x400, BPF_A, 1), -ENOENT);
	assert_int_equal(image_kernel_ksymbol(k, a, 0x400, BPF_A, 1), 0);
	assert_non_null(image_kernel_find(k, a)); /* its last samples are still to come */
	assert_int_equal(image_kernel_refresh(k), 0);
	assert_non_null(image_kernel_find(k, a));
	/* Another one in the middle of its addresses. */
	assert_int_equal(image_kernel_ksymbol(k, a + 0x100, 0x400, BPF_B, 0), 0);
	assert_string_equal(image_kernel_find(k, a + 0xff)->path, BPF_A);
	assert_string_equal(image_kernel_find(k, a + 0x100)->path, BPF_B);
	assert_int_equal(image_kernel_refresh(k), 0);
	assert_null(image_kernel_find(k, a));
	/* kallsyms does not have it: its event of being gone must be on its way. */
	assert_string_equal(image_kernel_find(k, a + 0x100)->path, BPF_B);
	assert_int_equal(image_kernel_refresh(k), 0);
	assert_int_equal(image_kernel_refresh(k), 0);
	assert_null(image_kernel_find(k, a + 0x100));
	/* What makes no sense, and what would replace the kernel. */
	assert_int_equal(image_kernel_ksymbol(k, 0, 0x400, BPF_A, 0), -EINVAL);
	assert_int_equal(image_kernel_ksymbol(k, a, 0, BPF_A, 0), -EINVAL);
	assert_int_equal(image_kernel_ksymbol(k, a, 16, "", 0), -EINVAL);
	assert_int_equal(image_kernel_ksymbol(k, UINT64_MAX - 4, 64, BPF_A, 0), -EINVAL);
	assert_int_equal(image_kernel_ksymbol(k, TEXT + 64, 64, BPF_A, 0), -EINVAL);
	assert_int_equal(image_kernel_ksymbol(k, TEXT - 64, 65, BPF_A, 0), -EINVAL);
	assert_string_equal(image_kernel_find(k, TEXT + 64)->path, "[kernel.kallsyms]");
	image_kernel_free(k);
}

static struct image_kernel *new_core(void)
{
	struct image_kernel *k = NULL;
	struct diag diag = {0};

	if (image_kernel_new_core(root, &k, &diag))
		fail_msg("%s", diag.text);
	return k;
}

static void check_core(const struct image_kernel *k)
{
	const struct image_kernel_region *r = image_kernel_find(k, TEXT + 0x1234);

	assert_non_null(r);
	assert_string_equal(r->path, "[kernel.kallsyms]");
	assert_int_equal(r->start, TEXT);
	assert_int_equal(r->end, TEXT + 0x800000);
	assert_int_equal(TEXT + 0x1234 - r->bias, KERNEL_LINK_TEXT + 0x1234);
	assert_true(image_kernel_is_core(k, TEXT));
	assert_true(image_kernel_is_core(k, TEXT + 0x1ffffff)); /* with what ran at the boot */
	assert_false(image_kernel_is_core(k, TEXT + 0x2000000));
	assert_false(image_kernel_is_core(k, TEXT - 1));
}

#define MORE                                    \
	"ffffffffc1000000 t " BPF_A "\t[bpf]\n" \
	"ffffffffc0200050 t loop_read\t[loop]\n"

static void write_end(void)
{
	static char more[512];

	snprintf(more, sizeof(more), "%" PRIx64 " T _einittext\n" MORE, TEXT + 0x2000000);
	write_kallsyms(TEXT, more);
	write_text("/proc/modules", "loop 32768 0 - Live 0xffffffffc0200000\n");
}

/* Without a scan of all names at the start: the core is the same, the rest is there after it. */
static void test_core_alone(void **state)
{
	(void)state;
	const uint64_t a = 0xffffffffc1000000, module = 0xffffffffc0200140;
	struct image_kernel *k;

	write_end();
	write_text("/proc/iomem", "00001000-0009fbff : System RAM\n"
				  "00100000-bfffffff : System RAM\n"
				  "  01000000-017fffff : Kernel code\n"
				  "  01800000-01bfffff : Kernel rodata\n"
				  "  02000000-02ffffff : Kernel bss\n");
	k = new_core();
#ifdef __x86_64__
	assert_int_equal(image_kernel_counts(k).scans, 0);
	assert_int_equal(image_kernel_counts(k).regions, 1);
	check_core(k);
	assert_null(image_kernel_find(k, a));
	assert_null(image_kernel_find(k, module));
	/* One that goes before anyone asked what there is. */
	assert_int_equal(image_kernel_ksymbol(k, a - 0x1000, 0x80, BPF_B, 1), 0);
	assert_string_equal(image_kernel_find(k, a - 0xf81)->path, BPF_B);
	assert_int_equal(image_kernel_ksymbol(k, a - 0xff0, 0x80, BPF_A, 1), -ENOENT);
	assert_int_equal(image_kernel_ksymbol(k, TEXT, 0x80, BPF_A, 1), -ENOENT);
#endif
	for (int i = 0; i < 2; i++) {
		assert_int_equal(image_kernel_refresh(k), 0);
		check_core(k);
		assert_string_equal(image_kernel_find(k, a)->path, BPF_A);
		assert_string_equal(image_kernel_find(k, module)->path, "[module]/loop");
	}
	assert_null(image_kernel_find(k, a - 0x1000));
	assert_int_equal(image_kernel_ksymbol(k, a - 0x1000, 0x80, BPF_B, 1), -ENOENT);
	image_kernel_free(k);
}

/* What the kernel says of an address that is in no region. */
static void test_answers(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int r;
		const char *name;
	} cases[] = {
		{BPF_A "+0x20/0x80", 0, BPF_A},
		{BPF_A "+0x20/0x80 [bpf]", 0, BPF_A},
		{"bpf_trampoline_6442517287+0x20/0x1000", 0, "bpf_trampoline_6442517287"},
		{"ftrace_trampoline+0x20/0x1000 [__builtin__ftrace]", 0, "ftrace_trampoline"},
		/* A filter of system calls. */
		{"0xffffffffc1000020", -ENOENT, NULL},
		/* Of these there is more to know than one function. */
		{"ext4_read+0x20/0x80 [ext4]", -EAGAIN, NULL},
		{"bpf_iter_func+0x20/0x80 [some_module]", -EAGAIN, NULL},
		{"native_safe_halt+0x20/0x80", -EAGAIN, NULL},
		/* No answers. */
		{"", -EAGAIN, NULL},
		{BPF_A, -EAGAIN, NULL},
		{BPF_A "+0x20", -EAGAIN, NULL},
		{BPF_A "+0x80/0x80", -EAGAIN, NULL},
		{BPF_A "+0xffffffffd0000000/0xffffffffe0000000", -EAGAIN, NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kernel_answer a;

		assert_int_equal(kernel_answer_parse(cases[i].text, 0xffffffffc1000020, &a),
				 cases[i].r);
		if (cases[i].r)
			continue;
		assert_string_equal(a.name, cases[i].name);
		assert_int_equal(a.start, 0xffffffffc1000000);
	}
}

/* Under another root the running kernel says nothing. */
static void test_no_answers(void **state)
{
	(void)state;
	struct image_kernel *k = kernel_new();

	assert_int_equal(image_kernel_ask(k, 0xffffffffc1000020), -EAGAIN);
	assert_int_equal(image_kernel_counts(k).asked, 0);
	image_kernel_free(k);
}

/* What has no name is known beside what was asked for, and nowhere where no code is. */
static void test_unnamed(void **state)
{
	(void)state;
	struct image_kernel *k = kernel_new();
	const struct image_kernel_region *r;

	assert_null(image_kernel_unnamed(k, 0xffffffffc1000020));
	kernel_note_unnamed(k, 0xffffffffc1000020);
	r = image_kernel_unnamed(k, 0xffffffffc100003f);
	assert_non_null(r);
	assert_string_equal(r->path, "[kernel.unnamed]");
	assert_int_equal(r->id.kind, IMAGE_BPF);
	assert_true(r->start <= 0xffffffffc1000020 && r->end > 0xffffffffc1000020);
	assert_ptr_equal(image_kernel_unnamed(k, 0xffffffffc1000000), r);
	assert_null(image_kernel_unnamed(k, 0xffffffffc1000040));
	assert_null(image_kernel_unnamed(k, 0xffffffffc0ffffff));
	kernel_note_unnamed(k, 0xffff888000000000);
	assert_null(image_kernel_unnamed(k, 0xffff888000000000));
	image_kernel_free(k);
}

/* Where the sizes are hidden, or are none: all names, as always. */
static void test_core_by_scan(void **state)
{
	(void)state;
	static const char *const texts[] = {
		NULL,
		"",
		"  00000000-00000000 : Kernel code\n  00000000-00000000 : Kernel bss\n",
		"  01000000-017fffff : Kernel code\n",
		"  01000000-017fffff : Kernel codes\n  02000000-02ffffff : Kernel bss\n",
		"  01000000-00ffffff : Kernel code\n  02000000-02ffffff : Kernel bss\n",
		"  01000000-017fffff : Kernel code\n  01000000-0107ffff : Kernel bss\n",
		"  01000000-ffffffffffffffff : Kernel code\n  1-2 : Kernel bss\n",
		"  01000000-017fffff : Kernel code\n  02000000-4fffffff : Kernel bss\n",
	};

	write_end();
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		if (texts[i])
			write_text("/proc/iomem", texts[i]);
		struct image_kernel *k = new_core();
		assert_int_equal(image_kernel_counts(k).scans, 1);
		check_core(k);
		assert_non_null(image_kernel_find(k, 0xffffffffc1000000));
		image_kernel_free(k);
	}
}

/* An exact size from an event survives the next scan, which knows only where the next one starts.
 */
static void test_sizes_survive(void **state)
{
	(void)state;
	const uint64_t a = 0xffffffffc1000000;
	struct image_kernel *k = kernel_new();

	assert_int_equal(image_kernel_ksymbol(k, a, 0x80, BPF_A, 0), 0);
	write_kallsyms(TEXT, "ffffffffc1000000 t " BPF_A "\t[bpf]\n");
	for (int i = 0; i < 5; i++)
		assert_int_equal(image_kernel_refresh(k), 0);
	assert_non_null(image_kernel_find(k, a + 0x7f));
	assert_null(image_kernel_find(k, a + 0x80));
	assert_int_equal(image_kernel_counts(k).scans, 6);
	/* A refresh that fails changes nothing. */
	write_text("/proc/kallsyms", "");
	assert_int_equal(image_kernel_refresh(k), -ENOENT);
	assert_non_null(image_kernel_find(k, a));
	image_kernel_free(k);
}

/* Functions by the stored addresses; the marks of the linker are none of them. */
static void test_symbols(void **state)
{
	(void)state;
	struct image_symbols *s;
	struct diag diag = {0};
	struct image_id nobody = {.kind = IMAGE_MODULE, .size = 4};

	write_kallsyms(TEXT, "ffffffffc0200050 t ext4_read\t[ext4]\n"
			     "ffffffffc0200090 t ext4_write\t[ext4]\n"
			     "ffffffffc1000000 t " BPF_A "\t[bpf]\n");
	write_text("/proc/modules", "ext4 4096 0 - Live 0xffffffffc0200000\n");
	write_text("/sys/module/ext4/sections/.text", "0xffffffffc0200040\n");
	struct image_kernel *k = kernel_new();
	assert_int_equal(image_kernel_symbols(k, &image_kernel_find(k, TEXT)->id, &s, NULL), 0);
	assert_int_equal(image_symbols_count(s), 3);
	const struct image_function *f = image_symbols_find(s, KERNEL_LINK_TEXT + 0x1fff);
	assert_string_equal(f->name, "do_one_initcall");
	assert_int_equal(f->start, KERNEL_LINK_TEXT + 0x1000);
	f = image_symbols_find(s, KERNEL_LINK_TEXT + 0x7fffff);
	assert_string_equal(f->name, "schedule");
	assert_string_equal(image_symbols_source(s), "kallsyms");
	image_symbols_free(s);
	/* The same without the regions of a scan before. */
	assert_int_equal(image_kernel_core_symbols(root, &image_kernel_find(k, TEXT)->id, &s, NULL),
			 0);
	assert_int_equal(image_symbols_count(s), 3);
	f = image_symbols_find(s, KERNEL_LINK_TEXT + 0x7fffff);
	assert_string_equal(f->name, "schedule");
	assert_int_equal(f->start + f->size,
			 image_kernel_find(k, TEXT)->end - image_kernel_find(k, TEXT)->bias);
	image_symbols_free(s);
	assert_int_equal(image_kernel_core_symbols(root, &nobody, &s, &diag), -ENOENT);
	/* And read beside other work: given away once, to who asks for this kernel. */
	struct kernel_ahead *ahead;
	assert_int_equal(kernel_ahead_start(root, &ahead), 0);
	assert_int_equal(kernel_ahead_take(ahead, &nobody, &s), -ENOENT);
	assert_int_equal(kernel_ahead_take(ahead, &image_kernel_find(k, TEXT)->id, &s), 0);
	assert_int_equal(image_symbols_count(s), 3);
	assert_string_equal(image_symbols_find(s, KERNEL_LINK_TEXT + 0x7fffff)->name, "schedule");
	image_symbols_free(s);
	assert_int_equal(kernel_ahead_take(ahead, &image_kernel_find(k, TEXT)->id, &s), -ENOENT);
	kernel_ahead_free(ahead);
	assert_int_equal(kernel_ahead_start(root, &ahead), 0);
	kernel_ahead_free(ahead); /* nobody wanted them */
	assert_int_equal(kernel_ahead_start("/nowhere", &ahead), 0);
	assert_true(kernel_ahead_take(ahead, &nobody, &s) < 0);
	kernel_ahead_free(ahead);
	kernel_ahead_free(NULL);
	const struct image_kernel_region *r = image_kernel_find(k, 0xffffffffc0200090);
	assert_int_equal(image_kernel_symbols(k, &r->id, &s, NULL), 0);
	assert_int_equal(image_symbols_count(s), 2);
	f = image_symbols_find(s, 0x60);
	assert_string_equal(f->name, "ext4_write");
	assert_int_equal(f->start, 0x50);
	image_symbols_free(s);
	r = image_kernel_find(k, 0xffffffffc1000000);
	assert_int_equal(image_kernel_symbols(k, &r->id, &s, NULL), 0);
	assert_int_equal(image_symbols_count(s), 1);
	assert_string_equal(image_symbols_find(s, 0x10)->name, BPF_A);
	image_symbols_free(s);
	assert_int_equal(image_kernel_symbols(k, &nobody, &s, &diag), -ENOENT);
	image_kernel_free(k);
}

struct tally {
	uint64_t lines, last_address;
	size_t longest;
};

static int tally_line(void *arg, const struct kallsyms_line *line)
{
	struct tally *t = arg;
	t->lines++;
	t->last_address = line->address;
	if (line->name_size > t->longest)
		t->longest = line->name_size;
	return 0;
}

static void test_hostile_lines(void **state)
{
	(void)state;
	static const char bad[] = "\n"
				  "zzz\n"
				  "12345678901234567 T seventeen_digits\n"
				  "ffffffff81000000\n"
				  "ffffffff81000000 T\n"
				  "ffffffff81000000 T \n"
				  "ffffffff81000000 T \t[m]\n"
				  "ffffffff81000000 t name\t[\n"
				  "ffffffff81000000 t name\tm]\n"
				  " T name\n";
	const size_t good_size = 4096 - 20;
	char path[128], *data = malloc(400000);
	struct tally t = {0};
	uint64_t refused = 0;
	size_t size = 0;

	memcpy(data, bad, sizeof(bad) - 1);
	size += sizeof(bad) - 1;
	size += (size_t)sprintf(data + size, "ffffffff81000001 t "); /* as long as allowed */
	memset(data + size, 'n', good_size);
	size += good_size;
	data[size++] = '\n';
	size += (size_t)sprintf(data + size, "ffffffff81000002 t "); /* over many pieces */
	memset(data + size, 'n', 300000);
	size += 300000;
	size += (size_t)sprintf(data + size, "\nffffffff81000003 t last_without_newline");
	write_bytes("/proc/kallsyms", data, size);
	snprintf(path, sizeof(path), "%s/proc/kallsyms", root);
	assert_int_equal(kallsyms_each(path, tally_line, &t, &refused, NULL), 0);
	assert_int_equal(t.lines, 2);
	assert_int_equal(t.longest, good_size);
	assert_int_equal(t.last_address, 0xffffffff81000003);
	assert_int_equal(refused, 11);
	free(data);
}

static void test_kcore(void **state)
{
	(void)state;
	struct elf_file f = elf_file_64(1);
	struct image_kernel *k = kernel_new();
	struct diag diag = {0};
	uint8_t *data = NULL;

	assert_int_equal(image_kernel_code(k, TEXT + 16, 4, &data, &diag), -ENOENT);
	assert_non_null(strstr(diag.text, "/proc/kcore"));
	elf_file_header(&f)->e_type = ET_CORE;
	elf_file_segments(&f)[0].p_vaddr = TEXT;
	f.bytes[ELF_FILE_CODE_OFFSET + 16] = 0x90;
	write_bytes("/proc/kcore", &f, sizeof(f));
	assert_int_equal(image_kernel_code(k, TEXT + 16, ELF_FILE_CODE_SIZE - 16, &data, &diag), 0);
	assert_int_equal(data[0], 0x90);
	assert_int_equal(data[1], 0xc3);
	free(data);
	assert_int_equal(image_kernel_code(k, TEXT + 16, ELF_FILE_CODE_SIZE, &data, &diag),
			 -ENOENT);
	assert_int_equal(image_kernel_code(k, TEXT, 0, &data, &diag), -EINVAL);
	assert_int_equal(image_kernel_code(k, TEXT, SIZE_MAX, &data, &diag), -EINVAL);
	write_bytes("/proc/kcore", &f, sizeof(Elf64_Ehdr) + 4);
	assert_int_equal(image_kernel_code(k, TEXT + 16, 4, &data, &diag), -ENOENT);
	image_kernel_free(k);
}

/* This machine's kernel: an address that kallsyms names is in the core kernel, and its code can be
 * read, here or with the reason why not. */
static void test_this_machine(void **state)
{
	(void)state;
	struct image_kernel *k;
	struct diag diag = {0};
	uint8_t *data = NULL, *again = NULL;

	if (image_kernel_new("", &k, &diag)) {
		assert_true(*diag.text);
		skip();
	}
	const struct image_kernel_region *core = NULL;
	for (uint64_t at = 0xffff000000000000; !core && at < 0xfffffffffff00000; at += 0x100000)
		if ((core = image_kernel_find(k, at)) && core->id.kind != IMAGE_KERNEL)
			core = NULL;
	assert_non_null(core);
	struct image_kernel *alone = NULL;
	assert_int_equal(image_kernel_new_core("", &alone, &diag), 0);
	const struct image_kernel_region *same = image_kernel_find(alone, core->start);
	assert_int_equal(same->end, core->end);
	assert_int_equal(same->bias, core->bias);
	assert_memory_equal(&same->id, &core->id, sizeof(core->id));
	image_kernel_free(alone);
	int r = image_kernel_code(k, core->start, 10000, &data, &diag);
	if (r) {
		assert_int_equal(r, -EACCES);
		assert_non_null(strstr(diag.text, "CAP_BPF"));
	} else {
		assert_int_equal(image_kernel_code(k, core->start + 5000, 5000, &again, &diag), 0);
		assert_memory_equal(data + 5000, again, 5000);
		free(again);
		free(data);
		assert_int_equal(image_kernel_code(k, 0x10, 16, &data, &diag), -ENOENT);
	}
	assert_int_equal(image_kernel_refresh(k), 0);
	image_kernel_free(k);
}

int main(void)
{
#define EACH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		EACH(test_core),	  EACH(test_slides_add_up), EACH(test_hidden),
		EACH(test_modules),	  EACH(test_bpf),	    EACH(test_ksymbol),
		EACH(test_sizes_survive), EACH(test_hostile_lines), EACH(test_kcore),
		EACH(test_symbols),	  EACH(test_this_machine),  EACH(test_core_alone),
		EACH(test_core_by_scan),  EACH(test_answers),	    EACH(test_no_answers),
		EACH(test_unnamed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
