/* words.h - an argument vector that grows
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_LAUNCH_WORDS_H
#define CK_LAUNCH_WORDS_H

#include <stddef.h>

struct words {
    char **items; /* own copies; items[count] is NULL once one was added */
    size_t count;
    int is_short; /* an addition failed: the vector must not be used */
};

/* Add a copy; a failure sticks in is_short. */
void words_add(struct words *words, const char *word);
void words_printf(struct words *words, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void words_fini(struct words *words);
/* The vector as one line that a shell reads back to the same words; malloc'ed,
 * NULL with ENOMEM. */
char *words_line(const struct words *words);

#endif
