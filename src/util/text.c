/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "util/text.h"

#include <fnmatch.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <wchar.h>
#include <wctype.h>

/* Unicode's tables come from the C library, whatever locale the program itself runs in. */
static locale_t utf8_locale;
static pthread_once_t utf8_once = PTHREAD_ONCE_INIT;

static void utf8_load(void)
{
	utf8_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

/*
 * The length of the UTF-8 character at s, 0 when it is not valid by RFC 3629: surrogates, overlong
 * forms and anything past U+10FFFF are not.
 */
static size_t utf8_decode(const unsigned char *s, size_t size, uint32_t *ret)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t length;
	uint32_t c;

	if (s[0] < 0x80) {
		*ret = s[0];
		return 1;
	}
	length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	if (s[0] < 0xc2 || s[0] > 0xf4 || length > size)
		return 0;
	c = s[0] & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[length] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret = c;
	return length;
}

/* Characters that change how their neighbours are shown, or that are invisible. */
static bool is_invisible(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{0x00, 0x1f},	    {0x7f, 0x9f},	{0xad, 0xad},	  {0x34f, 0x34f},
		{0x61c, 0x61c},	    {0x115f, 0x1160},	{0x17b4, 0x17b5}, {0x180b, 0x180f},
		{0x200b, 0x200f},   {0x2028, 0x202e},	{0x2060, 0x206f}, {0x3164, 0x3164},
		{0xfe00, 0xfe0f},   {0xfeff, 0xfeff},	{0xffa0, 0xffa0}, {0xfff0, 0xfffb},
		{0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	}
	return false;
}

static bool is_printable(uint32_t c)
{
	if (c < 0x80)
		return c >= 0x20 && c < 0x7f;
	pthread_once(&utf8_once, utf8_load);
	return !is_invisible(c) && (!utf8_locale || iswprint_l((wint_t)c, utf8_locale));
}

/* Makes one piece of the output: a character unchanged, or the escape of one byte. Returns the
 * number of input bytes that it stands for. */
static size_t escape_one(const unsigned char *s, size_t size, bool backslash, char piece[8],
			 size_t *ret_size)
{
	uint32_t c;
	size_t length = utf8_decode(s, size, &c);

	if (length && is_printable(c) && !(backslash && c == '\\')) {
		memcpy(piece, s, length);
		*ret_size = length;
		return length;
	}
	if (s[0] == '\n' || s[0] == '\t' || s[0] == '\\') {
		piece[0] = '\\';
		piece[1] = s[0] == '\n' ? 'n' : s[0] == '\t' ? 't' : '\\';
		*ret_size = 2;
	} else {
		*ret_size = (size_t)snprintf(piece, 8, "\\x%02x", s[0]);
	}
	return 1;
}

/* How many characters from s on are plain ASCII that stays unchanged: mostly the whole name. */
static size_t plain_length(const unsigned char *s, size_t size, bool backslash)
{
	size_t n = 0;

	while (n < size && s[n] >= 0x20 && s[n] < 0x7f && !(backslash && s[n] == '\\'))
		n++;
	return n;
}

static size_t escape(char *out, size_t room, const char *name, size_t size, bool backslash)
{
	const unsigned char *s = (const unsigned char *)name;
	size_t plain = plain_length(s, size, backslash), whole = plain, at = plain, piece_size;
	size_t written = !room || plain < room ? plain : room - 1;
	char piece[8];

	if (room && plain)
		memcpy(out, s, written);
	while (at < size) {
		at += escape_one(s + at, size - at, backslash, piece, &piece_size);
		/* Once one piece did not fit, no later one is written either. */
		if (whole == written && piece_size < room - written && room) {
			memcpy(out + written, piece, piece_size);
			written += piece_size;
		}
		whole += piece_size;
	}
	if (room)
		out[written] = 0;
	return whole;
}

size_t text_escape(char *out, size_t room, const char *name, size_t size)
{
	return escape(out, room, name, size, true);
}

size_t text_escape_controls(char *out, size_t room, const char *text, size_t size)
{
	return escape(out, room, text, size, false);
}

size_t text_width(const char *escaped)
{
	const unsigned char *s = (const unsigned char *)escaped;
	size_t size = strlen(escaped), width = 0, length;
	locale_t before = (locale_t)0;
	uint32_t c;
	int columns;

	if (plain_length(s, size, false) == size)
		return size;
	pthread_once(&utf8_once, utf8_load);
	if (utf8_locale)
		before = uselocale(utf8_locale);
	for (size_t at = 0; at < size; at += length) {
		length = utf8_decode(s + at, size - at, &c);
		if (!length) {
			length = 1;
			c = '?';
		}
		columns = c < 0x80 ? 1 : wcwidth((wchar_t)c);
		width += columns < 0 ? 1 : (size_t)columns;
	}
	if (utf8_locale)
		uselocale(before);
	return width;
}

bool text_is_utf8(const char *s, size_t size)
{
	size_t at = 0, length;
	uint32_t c;

	for (; at < size; at += length) {
		length = utf8_decode((const unsigned char *)s + at, size - at, &c);
		if (!length)
			return false;
	}
	return true;
}

bool text_match_glob(const char *pattern, const char *s)
{
	return !fnmatch(pattern, s, 0);
}

size_t text_undeleted_size(const char *path, size_t size)
{
	static const char mark[] = " (deleted)";
	const size_t cut = sizeof(mark) - 1;

	return size > cut && !memcmp(path + size - cut, mark, cut) ? size - cut : size;
}

const char *text_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *text_plural(uint64_t count, const char *one, const char *many)
{
	return count == 1 ? one : many;
}

size_t text_format_time(uint64_t time_ns, const char *format, char *out, size_t room)
{
	time_t seconds = (time_t)(time_ns / 1000000000);
	struct tm tm;
	size_t size = gmtime_r(&seconds, &tm) ? strftime(out, room, format, &tm) : 0;

	out[size] = 0;
	return size;
}
