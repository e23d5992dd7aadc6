/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "util/identity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "util/buf.h"
#include "util/num.h"

static const struct {
	const char *name, *prefix;
} image_kinds[] = {
	[IMAGE_BUILD_ID] = {"build ID", ""},
	[IMAGE_CONTENT] = {"content", "content-"},
	[IMAGE_FILE_OFFSET] = {"file", "file-"},
	[IMAGE_KERNEL] = {"kernel", "kernel-"},
	[IMAGE_MODULE] = {"module", "module-"},
	[IMAGE_VDSO] = {"vdso", "vdso-"},
	[IMAGE_BPF] = {"bpf", "bpf-"},
	[IMAGE_JIT] = {"jit", "jit-"},
	[IMAGE_UNKNOWN] = {"unknown", "unknown-"},
	[IMAGE_NOTE] = {"note", "note-"},
	[IMAGE_SCRIPT] = {"script", "script-"},
};

#define IMAGE_KIND_COUNT (sizeof(image_kinds) / sizeof(image_kinds[0]))

void image_id_format(const struct image_id *id, char out[IMAGE_ID_TEXT_MAX])
{
	size_t size = id->size < IMAGE_ID_MAX ? id->size : IMAGE_ID_MAX, n;

	/* A newer version's kind goes through by number. */
	if (id->kind && id->kind < IMAGE_KIND_COUNT)
		n = (size_t)snprintf(out, IMAGE_ID_TEXT_MAX, "%s", image_kinds[id->kind].prefix);
	else
		n = (size_t)snprintf(out, IMAGE_ID_TEXT_MAX, "kind%u-", id->kind);
	/* By hand: a table has one in each row. */
	for (size_t i = 0; i < size; i++) {
		out[n++] = "0123456789abcdef"[id->bytes[i] >> 4];
		out[n++] = "0123456789abcdef"[id->bytes[i] & 15];
	}
	if (!n)
		out[n++] = '-';
	out[n] = 0;
}

/* The kind whose prefix text begins with, and the hex digits after that. */
static int image_kind_parse(const char *text, uint8_t *ret_kind, const char **ret_hex)
{
	char *end;
	long n;

	if (!strcmp(text, "-")) {
		*ret_kind = IMAGE_BUILD_ID;
		*ret_hex = text + 1;
		return 0;
	}
	for (size_t kind = IMAGE_CONTENT; kind < IMAGE_KIND_COUNT; kind++) {
		size_t size = strlen(image_kinds[kind].prefix);

		if (!strncmp(text, image_kinds[kind].prefix, size)) {
			*ret_kind = (uint8_t)kind;
			*ret_hex = text + size;
			return 0;
		}
	}
	if (!strncmp(text, "kind", 4) && text[4] >= '0' && text[4] <= '9') {
		n = strtol(text + 4, &end, 10);
		if (*end != '-' || n > UINT8_MAX || (n && n < (long)IMAGE_KIND_COUNT))
			return -EINVAL;
		*ret_kind = (uint8_t)n;
		*ret_hex = end + 1;
		return 0;
	}
	*ret_kind = IMAGE_BUILD_ID;
	*ret_hex = text;
	return *text ? 0 : -EINVAL;
}

bool image_id_is_kernel(const struct image_id *id)
{
	return id->kind == IMAGE_KERNEL || id->kind == IMAGE_MODULE;
}

int image_id_parse(const char *text, struct image_id *ret)
{
	static const char digits[] = "0123456789abcdef";
	struct image_id id = {0};
	const char *hex, *digit;
	size_t size;

	int r = image_kind_parse(text, &id.kind, &hex);
	if (r)
		return r;
	size = strlen(hex);
	if (size % 2 || size / 2 > IMAGE_ID_MAX)
		return -EINVAL;
	for (size_t i = 0; i < size; i++) {
		digit = strchr(digits, hex[i]);
		if (!digit)
			return -EINVAL;
		id.bytes[i / 2] = (uint8_t)(id.bytes[i / 2] << 4 | (digit - digits));
	}
	id.size = (uint8_t)(size / 2);
	*ret = id;
	return 0;
}

static int key_compare(const char *a, size_t a_size, const char *b, size_t b_size)
{
	size_t common = a_size < b_size ? a_size : b_size;
	int d = common ? memcmp(a, b, common) : 0;

	return d ? d : NUM_ORDER(a_size, b_size);
}

static int pair_compare(const void *a, const void *b)
{
	const struct subject_pair *p = a, *q = b;

	return key_compare(p->key, p->key_size, q->key, q->key_size);
}

long subject_build(struct subject_pair *pairs, size_t count, void *out, size_t room)
{
	struct buf b;
	long size;

	if (count > SUBJECT_MAX_PAIRS)
		return -EFBIG;
	array_sort(pairs, count, sizeof(*pairs), pair_compare);
	buf_init(&b, room < SUBJECT_MAX_BYTES ? room : SUBJECT_MAX_BYTES);
	for (size_t i = 0; i < count; i++) {
		if (!pairs[i].key_size || (i && !pair_compare(&pairs[i - 1], &pairs[i]))) {
			buf_free(&b);
			return -EINVAL;
		}
		buf_append_string(&b, pairs[i].key, pairs[i].key_size);
		buf_append_string(&b, pairs[i].value, pairs[i].value_size);
	}
	size = b.error ? b.error : (long)b.size;
	if (size > 0)
		memcpy(out, b.data, b.size);
	buf_free(&b);
	return size;
}

bool subject_next(const void *subject, size_t size, size_t *at, struct subject_pair *ret)
{
	struct subject_pair pair;
	struct cursor c;

	if (*at >= size)
		return false;
	c = cursor_over((const char *)subject + *at, size - *at);
	pair.key = cursor_string(&c, size, &pair.key_size);
	pair.value = cursor_string(&c, size, &pair.value_size);
	if (c.error)
		return false;
	*at = size - cursor_left(&c);
	*ret = pair;
	return true;
}

const char *subject_get(const void *subject, size_t size, const char *key, size_t *ret_size)
{
	size_t at = 0, key_size = strlen(key);
	struct subject_pair pair;

	while (subject_next(subject, size, &at, &pair)) {
		if (!key_compare(pair.key, pair.key_size, key, key_size)) {
			if (ret_size)
				*ret_size = pair.value_size;
			return pair.value;
		}
	}
	return NULL;
}

bool subject_has_key(const char *key, size_t size)
{
	static const char *const own[] = {"comm", "thread", "cgroup", "container", "pid"};
	static const char label[] = "label.";

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (!key_compare(key, size, own[i], strlen(own[i])))
			return true;
	return size >= sizeof(label) && !memcmp(key, label, sizeof(label) - 1);
}
