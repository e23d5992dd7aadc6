/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_DWARF_MD5_H
#define CULPRIT_IMAGE_DWARF_MD5_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The MD5s of a unit's source files, in the order of libdw's Dwarf_Files, which does not give them:
 * from the header of its line table (DWARF 5, 6.2.4.1). Returns their number, 0 when there are
 * none; free() *ret.
 */
size_t dwarf_read_md5s(Dwarf *dwarf, Dwarf_Die *unit, uint8_t (**ret)[16]);

#endif
