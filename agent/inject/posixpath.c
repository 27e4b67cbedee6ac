/* posixpath.c - which path a descriptor was opened by
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A descriptor that was inherited, duplicated or received has no path here.
 */
#include "agent/inject/posixpath.h"

#include <stdlib.h>
#include <string.h>

#include "agent/inject/inject.h"

static INJECT_ROOM _Atomic(struct inject_text *) paths[POSIX_PATHS];
static const char *ring;

void posix_path_set(int fd, const char *path)
{
    if (fd >= 0 && fd < POSIX_PATHS && path != NULL) {
        atomic_store_explicit(&paths[fd], inject_text_find(path),
                              memory_order_relaxed);
    }
}

void posix_path_forget(int fd)
{
    if (fd >= 0 && fd < POSIX_PATHS) {
        atomic_store_explicit(&paths[fd], NULL, memory_order_relaxed);
    }
}

/* NULL = none, "" = it is known to have none. */
static struct inject_text *path_of(int fd)
{
    return fd >= 0 && fd < POSIX_PATHS
               ? atomic_load_explicit(&paths[fd], memory_order_relaxed)
               : NULL;
}

bool posix_path_is_unknown(int fd)
{
    return path_of(fd) == NULL && fd < POSIX_PATHS;
}

bool posix_path_is_socket(int fd)
{
    const struct inject_text *text = path_of(fd);

    return text != NULL && (strncmp(text->text, "tcp ", 4) == 0 ||
                            strncmp(text->text, "pipe ", 5) == 0);
}

uint32_t posix_path_id(int fd)
{
    struct inject_text *text = path_of(fd);

    return text == NULL || text->text[0] == '\0' ? 0 : inject_text_number(text);
}

bool posix_path_is_ring(const char *path)
{
    return path != NULL && ring != NULL && strcmp(path, ring) == 0;
}

INJECT_START void posix_path_load(void)
{
    ring = getenv(CK_RING_ENV);
}
