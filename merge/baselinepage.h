/* baselinepage.h - the stacks of another run, out of its HTML page
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A run has them nowhere else once it is merged. They go into the new page as
 * they are: deflated and in base64, which is checked, as the file may be
 * from another user.
 */
#ifndef CK_MERGE_BASELINEPAGE_H
#define CK_MERGE_BASELINEPAGE_H

#include <stdbool.h>
#include <stddef.h>

/* No longer page is read, and no more stacks are taken from it. */
#define BASELINEPAGE_BYTES ((size_t)64 << 20)
#define BASELINEPAGE_STACKS ((size_t)1 << 20)

/* A block of a page: base64 in the text of it. */
struct baselinepage_block {
    const char *at; /* NULL = there is none; borrowed from the text */
    size_t length;
};

struct baselinepage {
    char *text;
    struct baselinepage_block flames;
    struct baselinepage_block stacks;
};

/* Those of report.html in a directory; both or none of them. */
void baselinepage_read(struct baselinepage *page, const char *dir);
void baselinepage_fini(struct baselinepage *page);

/* The block of that id in a text that ends with a NUL; false: it has none that
 * is base64 from end to end. */
bool baselinepage_find(const char *text,
                       const char *id,
                       struct baselinepage_block *block);

#endif
