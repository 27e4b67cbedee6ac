/* profile.c - any bytes as a profile: all readers, to a segment
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* The same bytes as a file, for readers that take no JSON. */
static struct gzip *file_of(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char path[64];
    struct gzip *gzip;

    if (fd < 0) {
        fd = memfd_create("profile", MFD_CLOEXEC);
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    }
    if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size) {
        abort();
    }
    gzip = gzip_open(path, NULL);
    if (gzip == NULL) {
        abort();
    }
    return gzip;
}

static void
read_as(const uint8_t *data, size_t size, unsigned reader, bool is_again)
{
    struct text text = {data, size};
    struct json *json = json_create(text_read, &text);
    struct import *import = import_create(dir_make(), "input", NULL);
    struct import_facts facts = {.rank = -1};
    struct gzip *gzip = file_of(data, size);
    const struct profile_source source = {.gzip = gzip, .is_again = is_again};
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
    gzip_close(gzip);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (unsigned reader = 0; reader < profile_readers(); reader++) {
        read_as(data, size, reader, false);
        read_as(data, size, reader, true);
    }
    return 0;
}
