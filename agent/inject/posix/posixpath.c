/* posixpath.c - which path a descriptor was opened by
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A descriptor that was inherited, duplicated or received has no path here.
 */
#include "agent/inject/posix/posixpath.h"

#include <string.h>

#include "agent/inject/inject.h"

static INJECT_ROOM _Atomic(struct inject_text *) paths[POSIX_PATHS];
/* Of those: opened, and not looked at since. */
static INJECT_ROOM _Atomic(bool) is_fresh[POSIX_PATHS];

void posix_path_set(int fd, const char *path)
{
    if (fd >= 0 && fd < POSIX_PATHS && path != NULL) {
        atomic_store_explicit(&paths[fd], inject_text_find(path),
                              memory_order_relaxed);
        posix_path_settle(fd);
    }
}

void posix_path_open(int fd, const char *path)
{
    posix_path_set(fd, path);
    if (fd >= 0 && fd < POSIX_PATHS) {
        atomic_store_explicit(&is_fresh[fd], true, memory_order_relaxed);
    }
}

void posix_path_settle(int fd)
{
    if (posix_path_is_fresh(fd)) {
        atomic_store_explicit(&is_fresh[fd], false, memory_order_relaxed);
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

bool posix_path_is_fresh(int fd)
{
    return fd >= 0 && fd < POSIX_PATHS &&
           atomic_load_explicit(&is_fresh[fd], memory_order_relaxed);
}

bool posix_path_is_unknown(int fd)
{
    return fd < POSIX_PATHS && (path_of(fd) == NULL || posix_path_is_fresh(fd));
}

bool posix_path_is_socket(int fd)
{
    const struct inject_text *text = path_of(fd);

    return text != NULL && (strncmp(text->text, "tcp ", 4) == 0 ||
                            strncmp(text->text, "unix ", 5) == 0 ||
                            strncmp(text->text, "pipe ", 5) == 0);
}

uint32_t posix_path_id(int fd)
{
    struct inject_text *text = path_of(fd);

    return text == NULL || text->text[0] == '\0' ? 0 : inject_text_number(text);
}
