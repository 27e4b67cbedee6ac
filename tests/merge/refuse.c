/* refuse.c - memory that is refused once
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded, it lets the CK_REFUSE-th allocation of the program fail.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);

static atomic_long allocations;
static long refused;

__attribute__((constructor)) static void begin(void)
{
    const char *given = getenv("CK_REFUSE");

    refused = given == NULL ? 0 : atol(given);
    atomic_store(&allocations, 0);
}

static bool is_refused(void)
{
    if (atomic_fetch_add(&allocations, 1) + 1 != refused) {
        return false;
    }
    errno = ENOMEM;
    return true;
}

void *malloc(size_t bytes)
{
    return is_refused() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return is_refused() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return is_refused() ? NULL : __libc_realloc(old, bytes);
}
