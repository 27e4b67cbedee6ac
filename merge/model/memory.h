/* memory.h - memory, or the end of ckmerge
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * ckmerge is a batch program: when memory is out it cannot answer, and what it
 * read is still there. Each of these functions returns memory or ends the
 * program: one line on stderr, CK_EXIT_FAILED, and no unfinished file left
 * (merge/model/tempfiles.h). No caller checks for NULL. From any thread.
 *
 * What is returned is given to free(). A size of 0 is taken as 1.
 */
#ifndef CK_MERGE_MODEL_MEMORY_H
#define CK_MERGE_MODEL_MEMORY_H

#include <stddef.h>
#include <stdio.h>

/* Ask for large pages for the heap, before there is a thread. A merge touches
 * thousands of pages once each; below a hypervisor each of them costs as much
 * as some hundred events. */
void memory_large_pages(void);

void *xmalloc(size_t bytes) __attribute__((malloc, returns_nonnull));
/* Zeroed. */
void *xcalloc(size_t count, size_t size)
    __attribute__((malloc, returns_nonnull));
void *xrealloc(void *old, size_t bytes) __attribute__((returns_nonnull));
char *xstrdup(const char *text) __attribute__((malloc, returns_nonnull));
/* At most `length` bytes of it. */
char *xstrndup(const char *text, size_t length)
    __attribute__((malloc, returns_nonnull));

/* As open_memstream(), but complete: that one's stream drops what it has no
 * memory for, and its fclose() succeeds. *text, ended by a zero, and
 * *length are the caller's once fclose() was called, which does not fail. */
FILE *xmemstream(char **text, size_t *length)
    __attribute__((malloc, returns_nonnull));

/* Ends the program as above: `bytes` more were refused, or could not even be
 * asked for. */
_Noreturn void memory_out(size_t bytes);

#endif
