/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_RANGE_H
#define CULPRIT_IMAGE_RANGE_H

#include <stdint.h>

/* Addresses of an image, from start to end exclusive. */
struct image_range {
	uint64_t start, end;
};

#endif
