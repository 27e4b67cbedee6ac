/* posixstarts.h - programs that a job starts again and again
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_INJECT_POSIX_POSIXSTARTS_H
#define CK_AGENT_INJECT_POSIX_POSIXSTARTS_H

#include <stdbool.h>
#include <stdint.h>

/* More starts in a second are many: they live for 60 ms each, or beside each
 * other. */
#define POSIX_STARTS_FEW 16

/* The program is to be executed; its file has this key, not 0. True, and
 * counted: it was so many times of late, and nothing would be recorded in it
 * (posiximports.h), so it needs no library. For a child of vfork() too. */
bool posix_starts_spare(const char *path, uint64_t key);

#endif
