/* demangle.c - C++ by its library's own function, Rust by ours
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/model/demangle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/rustname.h"

/* Longer ones stay as they are. */
#define DEMANGLE_MAX 4096

/* Of the C++ ABI, which has no header for C. */
extern char *
__cxa_demangle(const char *name, char *buffer, size_t *room, int *status);

char *demangle_name(const char *name)
{
    char text[DEMANGLE_MAX];
    char *plain;

    if (strnlen(name, DEMANGLE_MAX) >= DEMANGLE_MAX) {
        return NULL;
    }
    if (strncmp(name, "_R", 2) == 0) {
        return rustname_whole(text, sizeof(text), name) ? strdup(text) : NULL;
    }
    if (strncmp(name, "_Z", 2) != 0) {
        return NULL;
    }
    (void)snprintf(text, sizeof(text), "%.*s", (int)rustname_older_length(name),
                   name);
    plain = __cxa_demangle(text, NULL, NULL, NULL);
    if (plain != NULL) {
        rustname_older(plain);
    }
    return plain;
}

const char *demangle(struct texts *texts, const char *bytes, size_t length)
{
    char name[DEMANGLE_MAX];
    const char *kept;
    char *plain;

    length = strnlen(bytes, length);
    if (length >= sizeof(name)) {
        return texts_keep(texts, bytes, length);
    }
    memcpy(name, bytes, length);
    name[length] = '\0';
    plain = demangle_name(name);
    if (plain == NULL) {
        return texts_keep(texts, bytes, length);
    }
    kept = texts_keep(texts, plain, strlen(plain));
    free(plain);
    return kept;
}
