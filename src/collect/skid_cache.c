/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "collect/skid_cache.h"
#include "config.h"
#include "machine/core.h"
#include "util/hash.h"
#include "util/io.h"

#define FILE_MAX 4096
#define KEY_MAX	 512
#define VERSION	 "2" /* of the loops: what was measured by others is measured again */

/* What a measurement holds for. */
static bool make_key(const char *event, char out[KEY_MAX])
{
	struct machine_cpu cpu = {.vendor = "?"};
	struct utsname u;
	char id[MACHINE_CPU_TEXT];
	machine_cpu_here(&cpu);
	machine_cpu_format(&cpu, id);
	if (uname(&u))
		return false;
	int n = snprintf(out, KEY_MAX, "culprit skid " VERSION " | %s | %s %s | %.40s", id,
			 u.release, u.version, event);
	return n > 0 && n < KEY_MAX;
}

static bool find_directory(char out[PATH_MAX])
{
	const char *home = secure_getenv("HOME"), *cache = secure_getenv("XDG_CACHE_HOME");
	int n;
	if (geteuid() == 0)
		n = snprintf(out, PATH_MAX, "%s/skid", CULPRIT_CACHE_DIR);
	else if (cache && *cache == '/')
		n = snprintf(out, PATH_MAX, "%s/culprit/skid", cache);
	else if (home && *home == '/')
		n = snprintf(out, PATH_MAX, "%s/.cache/culprit/skid", home);
	else
		return false;
	return n > 0 && n < PATH_MAX;
}

static void make_directories(const char *path)
{
	char part[PATH_MAX];
	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		mkdir(part, 0755);
	}
	mkdir(path, 0755);
}

static void name_file(const char *key, char out[32])
{
	snprintf(out, 32, "%016llx", (unsigned long long)hash_bytes(key, strlen(key)));
}

/* Three lines: the key, the fact, cycles a second. */
static int parse(char *text, const char *key, struct skid_facts *ret)
{
	struct skid_facts facts = {.skid = ""};
	struct machine_skid skid;
	char *fact = strchr(text, '\n'), *hz = fact ? strchr(fact + 1, '\n') : NULL, *end;
	if (!hz)
		return -ENOENT;
	*fact++ = *hz++ = '\0';
	if (strcmp(text, key) != 0 || machine_skid_parse(fact, &skid) ||
	    strlen(fact) >= sizeof(facts.skid))
		return -ENOENT;
	facts.clock_hz = strtod(hz, &end);
	if (end == hz || !(facts.clock_hz >= 0 && facts.clock_hz < 1e11))
		return -ENOENT;
	memcpy(facts.skid, fact, strlen(fact) + 1);
	*ret = facts;
	return 0;
}

int skid_cache_read_at(const char *directory, const char *event, struct skid_facts *ret)
{
	char key[KEY_MAX], name[32], path[PATH_MAX + 64], *text;
	size_t size;
	if (!make_key(event, key))
		return -ENOENT;
	name_file(key, name);
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	if (io_read_file(path, FILE_MAX, &text, &size))
		return -ENOENT;
	int r = parse(text, key, ret);
	free(text);
	return r;
}

int skid_cache_write_at(const char *directory, const char *event, const struct skid_facts *facts)
{
	char key[KEY_MAX], name[32], text[FILE_MAX];
	if (!make_key(event, key))
		return -EINVAL;
	name_file(key, name);
	int n = snprintf(text, sizeof(text), "%s\n%s\n%.0f\n", key, facts->skid, facts->clock_hz);
	make_directories(directory);
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int r = io_replace_file(&io_system, fd, name, text, (size_t)n, 0644);
	close(fd);
	return r;
}

int skid_cache_read(const char *event, struct skid_facts *ret)
{
	char directory[PATH_MAX];
	return find_directory(directory) ? skid_cache_read_at(directory, event, ret) : -ENOENT;
}

int skid_cache_write(const char *event, const struct skid_facts *facts)
{
	char directory[PATH_MAX];
	return find_directory(directory) ? skid_cache_write_at(directory, event, facts) : -ENOENT;
}

int skid_recall(const struct event *e, struct skid_facts *ret)
{
	return skid_is_measurable(e) ? skid_cache_read(e->name, ret) : -ENOENT;
}
