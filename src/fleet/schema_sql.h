/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_FLEET_SCHEMA_SQL_H
#define CULPRIT_FLEET_SCHEMA_SQL_H

#include <stddef.h>
#include <stdint.h>

/* The files of packaging/fleet, in ascending order; made of them at build time. */
struct schema_migration {
	uint32_t number;
	uint32_t needs; /* of the server: 1000 * major + minor; 0: any */
	const char *sql;
};

extern const struct schema_migration schema_migrations[];
extern const size_t schema_migration_count;

#endif
