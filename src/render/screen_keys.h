/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_RENDER_SCREEN_KEYS_H
#define CULPRIT_RENDER_SCREEN_KEYS_H

#include <stddef.h>
#include <stdint.h>

/* Turns the bytes that a terminal sends into keys. All zero before the first read. */
struct screen_keys {
	uint8_t bytes[256];
	size_t size, at;
};

/* As screen_read_key, from a descriptor that does not block. */
int screen_keys_read(struct screen_keys *k, int fd);

#endif
