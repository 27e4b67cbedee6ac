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

const char *demangle(struct texts *texts, const char *bytes, size_t length)
{
    char name[DEMANGLE_MAX];
    const char *kept;
    char *plain;

    length = strnlen(bytes, length);
    if (length < 3 || length >= sizeof(name) || bytes[0] != '_' ||
        bytes[1] != 'Z') {
        return texts_keep(texts, bytes, length);
    }
    memcpy(name, bytes, length);
    name[length] = '\0';
    plain = __cxa_demangle(name, NULL, NULL, NULL);
    if (plain == NULL) {
        return texts_keep(texts, bytes, length);
    }
    kept = texts_keep(texts, plain, strlen(plain));
    free(plain);
    return kept;
}
