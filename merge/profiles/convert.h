/* convert.h - files of other tools that are not read, and what converts them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_PROFILES_CONVERT_H
#define CK_MERGE_PROFILES_CONVERT_H

#include <stddef.h>

/* Bytes of the beginning that are looked at. */
#define CONVERT_BYTES 32

/* By the first bytes of a file and its name: what it is, and the command that
 * makes something of it that is read. A static text; NULL = nothing known. */
const char *convert_find(const char *name, const char *bytes, size_t length);

#endif
