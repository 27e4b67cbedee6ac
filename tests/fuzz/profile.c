/* profile.c - any bytes as a profile: all readers, to a segment
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/profiles/profile.h"
#include "tests/fuzz/target.h"

struct text {
    const uint8_t *at;
    size_t left;
};

static int64_t text_read(void *state, void *to, size_t room)
{
    struct text *text = state;
    size_t n = text->left < room ? text->left : room;

    memcpy(to, text->at, n);
    text->at += n;
    text->left -= n;
    return (int64_t)n;
}

static char dir[] = "/tmp/ck-fuzz-XXXXXX";

static void dir_remove(void)
{
    (void)remove(dir);
}

static const char *dir_make(void)
{
    static const char *made;

    if (made == NULL) {
        made = mkdtemp(dir);
        (void)atexit(dir_remove);
    }
    return made;
}

static void
read_as(const uint8_t *data, size_t size, unsigned reader, bool is_again)
{
    struct text text = {data, size};
    struct json *json = json_create(text_read, &text);
    struct import *import = import_create(dir_make(), "input", NULL);
    struct import_facts facts = {.rank = -1};
    const struct profile_source source = {.is_again = is_again};
    int rc;

    if (import == NULL) {
        abort();
    }
    rc = profile_reader_read(reader, json, &source, import, &facts, NULL);
    if (rc == 0 && facts.by_id + facts.by_order > facts.operations) {
        abort();
    }
    if (rc == 0 && import_finish(import, &facts, NULL, NULL) != 0) {
        abort();
    }
    import_discard(import);
    import_destroy(import);
    json_destroy(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (unsigned reader = 0; reader < profile_readers(); reader++) {
        read_as(data, size, reader, false);
        read_as(data, size, reader, true);
    }
    return 0;
}
