/* baselinepage.c - the stacks of another run, out of its HTML page
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/baselinepage.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/model/memory.h"

static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "abcdefghijklmnopqrstuvwxyz0123456789+/=";

bool baselinepage_find(const char *text,
                       const char *id,
                       struct baselinepage_block *block)
{
    char begin[96];
    const char *found;
    size_t length;

    (void)snprintf(begin, sizeof(begin),
                   "<script type=\"text/plain\" id=\"block-%s\">", id);
    found = strstr(text, begin);
    if (found == NULL) {
        return false;
    }
    found += strlen(begin);
    length = strspn(found, base64);
    if (length == 0 || length % 4 != 0 ||
        strncmp(found + length, "</script>", 9) != 0) {
        return false;
    }
    *block = (struct baselinepage_block){found, length};
    return true;
}

/* The whole of a plain file with a NUL behind it, malloc'ed; NULL = none. */
static char *text_read(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat facts;
    char *text = NULL;
    size_t used = 0;
    ssize_t n = 1;

    if (fd >= 0 && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) &&
        (size_t)facts.st_size <= BASELINEPAGE_BYTES) {
        text = xcalloc(1, (size_t)facts.st_size + 1);
    }
    while (text != NULL && n > 0 && used < (size_t)facts.st_size) {
        n = read(fd, text + used, (size_t)facts.st_size - used);
        used += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return text;
}

void baselinepage_read(struct baselinepage *page, const char *dir)
{
    char path[PATH_MAX];

    *page = (struct baselinepage){NULL, {NULL, 0}, {NULL, 0}};
    if (snprintf(path, sizeof(path), "%s/report.html", dir) >= PATH_MAX) {
        return;
    }
    page->text = text_read(path);
    if (page->text == NULL ||
        !baselinepage_find(page->text, "flames", &page->flames) ||
        !baselinepage_find(page->text, "stacks", &page->stacks) ||
        page->flames.length + page->stacks.length > BASELINEPAGE_STACKS) {
        baselinepage_fini(page);
    }
}

void baselinepage_fini(struct baselinepage *page)
{
    free(page->text);
    *page = (struct baselinepage){NULL, {NULL, 0}, {NULL, 0}};
}
