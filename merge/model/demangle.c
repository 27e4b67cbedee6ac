/* demangle.c - by the C++ library's own function
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/model/demangle.h"

#include <stdlib.h>
#include <string.h>

/* Longer ones stay as they are. */
#define DEMANGLE_MAX 4096

/* Of the C++ ABI, which has no header for C. */
extern char *
__cxa_demangle(const char *name, char *buffer, size_t *room, int *status);

char *demangle_name(const char *name)
{
    return strncmp(name, "_Z", 2) == 0 &&
                   strnlen(name, DEMANGLE_MAX) < DEMANGLE_MAX
               ? __cxa_demangle(name, NULL, NULL, NULL)
               : NULL;
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
