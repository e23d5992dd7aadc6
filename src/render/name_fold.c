/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/name_fold.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ELLIPSIS  "\xe2\x80\xa6"
#define DEPTH_MAX 64
#define SIGN	  255 /* the depth of bytes that are no bracket whatever they look like */

/* The bytes of an operator's own sign behind "operator", in which brackets are none. */
static size_t operator_size(const char *name, size_t size, size_t at)
{
	static const char word[] = "operator";
	size_t n = sizeof(word) - 1, begin = at + n;

	if (size - at < n || memcmp(name + at, word, n) != 0)
		return 0;
	if (size - begin >= 2 && (!memcmp(name + begin, "()", 2) || !memcmp(name + begin, "->", 2)))
		return n + 2;
	while (begin < size && (name[begin] == '<' || name[begin] == '>' || name[begin] == '='))
		begin++;
	return begin - at;
}

/* The depth of brackets at each byte, opening and closing ones counted as inside. False: they do
 * not match, or are too deep. */
static bool find_depths(const char *name, size_t size, unsigned char *depths, unsigned *ret_deepest)
{
	char open[DEPTH_MAX];
	unsigned depth = 0, deepest = 0;

	for (size_t i = 0; i < size; i++) {
		size_t own = operator_size(name, size, i);
		char c = name[i];

		if (own || (c == '-' && i + 1 < size && name[i + 1] == '>')) {
			own = own ? own : 2;
			memset(depths + i, SIGN, own);
			i += own - 1;
			continue;
		}
		if (c == '<' || c == '(') {
			if (depth == DEPTH_MAX)
				return false;
			open[depth++] = c;
			deepest = depth > deepest ? depth : deepest;
		}
		depths[i] = (unsigned char)depth;
		if (c == '>' || c == ')') {
			if (!depth || open[depth - 1] != (c == '>' ? '<' : '('))
				return false;
			depth--;
		}
	}
	*ret_deepest = deepest;
	return depth == 0;
}

/* Writes the name with an ellipsis for what stands in brackets of that depth. */
static void write_folded(const char *name, size_t size, const unsigned char *depths, unsigned depth,
			 char *out)
{
	for (size_t i = 0; i < size; i++) {
		size_t end = i + 1;

		*out++ = name[i];
		if (depths[i] != depth || (name[i] != '<' && name[i] != '('))
			continue;
		while (end < size &&
		       (depths[end] > depth || (name[end] != '>' && name[end] != ')')))
			end++;
		if (end > i + sizeof(ELLIPSIS) - 1) {
			memcpy(out, ELLIPSIS, sizeof(ELLIPSIS) - 1);
			out += sizeof(ELLIPSIS) - 1;
			i = end - 1;
		}
	}
	*out = 0;
}

char *name_fold(const char *name, size_t size, size_t bytes)
{
	unsigned char *depths = malloc(size + 1);
	char *out = malloc(size + 1);
	unsigned depth;

	if (!depths || !out || !find_depths(name, size, depths, &depth) || !depth) {
		free(depths);
		free(out);
		return NULL;
	}
	do
		write_folded(name, size, depths, depth, out);
	while (strlen(out) > bytes && --depth);
	free(depths);
	return out;
}
