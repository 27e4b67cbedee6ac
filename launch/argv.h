/* argv.h - an argument vector that grows
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_LAUNCH_ARGV_H
#define CK_LAUNCH_ARGV_H

#include <stddef.h>

struct argv {
    char **items; /* own copies; items[count] is NULL once one was added */
    size_t count;
    int is_short; /* an addition failed: the vector must not be used */
};

/* Add a copy; a failure sticks in is_short. */
void argv_add(struct argv *words, const char *word);
void argv_printf(struct argv *words, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void argv_fini(struct argv *words);
/* The vector as one line that a shell reads back to the same words; malloc'ed,
 * NULL with ENOMEM. */
char *argv_line(const struct argv *words);

#endif
