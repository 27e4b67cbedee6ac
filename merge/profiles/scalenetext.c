/* scalenetext.c - the JSON text of a scalene profile, alone or within HTML
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "merge/profiles/gzip.h"
#include "merge/profiles/scaleneprofile.h"

static const char marker[] = "const profile = ";

struct scalenetext {
    struct gzip *gzip;
    struct json *json;
    bool is_found;  /* the JSON's first byte */
    size_t matched; /* bytes of the marker */
};

/* Find the marker in an HTML page; what follows it in `bytes` is kept. */
static int64_t page_skip(struct scalenetext *text, char *bytes, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (bytes[i] == marker[text->matched]) {
            text->matched++;
        } else {
            text->matched = bytes[i] == marker[0];
        }
        if (marker[text->matched] == '\0') {
            text->is_found = true;
            memmove(bytes, bytes + i + 1, (size_t)(count - i - 1));
            return count - i - 1;
        }
    }
    return 0;
}

static int64_t text_read(void *state, void *to, size_t room)
{
    struct scalenetext *text = state;
    int64_t n = gzip_read(text->gzip, to, room);

    while (n > 0 && !text->is_found) {
        n = page_skip(text, to, n);
        if (!text->is_found || n == 0) {
            n = gzip_read(text->gzip, to, room);
        }
    }
    return n;
}

struct scalenetext *scalenetext_open(const char *path, struct ck_err *err)
{
    struct scalenetext *text = xcalloc(1, sizeof(*text));
    char first[] = {'{', 0, 0, 0};

    text->gzip = gzip_open(path, err);
    if (text->gzip == NULL) {
        free(text);
        return NULL;
    }
    (void)gzip_peek(text->gzip, first, sizeof(first));
    text->is_found =
        first[memcmp(first, "\xef\xbb\xbf", 3) == 0 ? 3 : 0] != '<';
    text->json = json_create(text_read, text);
    return text;
}

void scalenetext_close(struct scalenetext *text)
{
    if (text != NULL) {
        json_destroy(text->json);
        gzip_close(text->gzip);
        free(text);
    }
}

struct json *scalenetext_json(struct scalenetext *text)
{
    return text->json;
}
