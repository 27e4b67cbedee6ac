/* pages.h - a large array of zeros takes the memory that is touched of it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * calloc() writes zeros to the whole array where the heap keeps what was freed
 * (M_MMAP_THRESHOLD): a table that stays nearly empty takes all of its memory,
 * a page fault for each page.
 */
#ifndef CK_AGENT_SYMBOLS_PAGES_H
#define CK_AGENT_SYMBOLS_PAGES_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

/* `count` items of `bytes` each. NULL with errno. */
static inline void *ck_pages_create(size_t count, size_t bytes)
{
    void *pages;

    if (bytes == 0 || count > SIZE_MAX / bytes) {
        errno = ENOMEM;
        return NULL;
    }
    pages = mmap(NULL, count * bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

/* The same count and size. Of NULL nothing is done. Keeps errno. */
static inline void ck_pages_destroy(void *pages, size_t count, size_t bytes)
{
    int saved = errno;

    if (pages != NULL) {
        (void)munmap(pages, count * bytes);
        errno = saved;
    }
}

#endif
