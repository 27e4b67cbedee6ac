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

static _Atomic(struct inject_text *) paths[POSIX_PATHS];
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

uint32_t posix_path_id(int fd)
{
    struct inject_text *text = NULL;

    if (fd >= 0 && fd < POSIX_PATHS) {
        text = atomic_load_explicit(&paths[fd], memory_order_relaxed);
    }
    return text == NULL ? 0 : inject_text_number(text);
}

bool posix_path_is_ring(const char *path)
{
    return path != NULL && ring != NULL && strcmp(path, ring) == 0;
}

void posix_path_load(void)
{
    ring = getenv(CK_RING_ENV);
}
