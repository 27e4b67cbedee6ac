/* gzip.c - the bytes of a file, plain or gzip, from its first to its last
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/profiles/gzip.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/model/memory.h"
#include "merge/profiles/inflate.h"

#define RAW_BYTES ((size_t)256 << 10)

struct gzip {
    int fd;
    struct inflater *inflater; /* NULL = plain */
    bool is_eof;               /* of the file */
    bool is_between;           /* two members, or before the first */
    size_t at;
    size_t used;
    struct ck_err err;
    uint8_t raw[RAW_BYTES];
};

/* Read more of the file behind what is left. 0, or -1 with err. */
static int raw_fill(struct gzip *gzip)
{
    memmove(gzip->raw, gzip->raw + gzip->at, gzip->used - gzip->at);
    gzip->used -= gzip->at;
    gzip->at = 0;
    while (!gzip->is_eof && gzip->used < RAW_BYTES) {
        ssize_t n =
            read(gzip->fd, gzip->raw + gzip->used, RAW_BYTES - gzip->used);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return ck_err_set(&gzip->err, "cannot be read: %s",
                              strerror(errno));
        }
        gzip->is_eof = n == 0;
        gzip->used += (size_t)n;
    }
    return 0;
}

static bool has_magic(const struct gzip *gzip)
{
    return gzip->used - gzip->at >= 2 && gzip->raw[gzip->at] == 0x1f &&
           gzip->raw[gzip->at + 1] == 0x8b;
}

struct gzip *gzip_open(const char *path, struct ck_err *err)
{
    struct gzip *gzip = xmalloc(sizeof(*gzip));

    memset(gzip, 0, offsetof(struct gzip, raw));
    gzip->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (gzip->fd < 0 || raw_fill(gzip) != 0) {
        (void)ck_err_set(err, "cannot read %s: %s", path, strerror(errno));
        gzip_close(gzip);
        return NULL;
    }
    if (has_magic(gzip)) {
        gzip->inflater = inflater_create();
        if (gzip->inflater == NULL) {
            (void)ck_err_set(err, "out of memory");
            gzip_close(gzip);
            return NULL;
        }
    }
    return gzip;
}

void gzip_close(struct gzip *gzip)
{
    if (gzip == NULL) {
        return;
    }
    if (gzip->fd >= 0) {
        (void)close(gzip->fd);
    }
    inflater_destroy(gzip->inflater);
    free(gzip);
}

/* What was read to find the kind, then the file itself without a copy. */
static int64_t plain_read(struct gzip *gzip, void *to, size_t room)
{
    size_t left = gzip->used - gzip->at;
    ssize_t n;

    if (left > 0) {
        left = left < room ? left : room;
        memcpy(to, gzip->raw + gzip->at, left);
        gzip->at += left;
        return (int64_t)left;
    }
    do {
        n = read(gzip->fd, to, room);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return ck_err_set(&gzip->err, "cannot be read: %s", strerror(errno));
    }
    return n;
}

/* One step. 1 = the data is over, 0 = go on, -1 with err. */
static int member_step(struct gzip *gzip, struct inflate_io *io)
{
    int rc;

    if (gzip->is_between) {
        if (!has_magic(gzip)) {
            return 1; /* zeros or rubbish behind the last member */
        }
        inflater_reset(gzip->inflater);
        gzip->is_between = false;
    }
    io->in = gzip->raw + gzip->at;
    io->in_bytes = gzip->used - gzip->at;
    rc = inflater_step(gzip->inflater, io);
    gzip->at = gzip->used - io->in_bytes;
    gzip->is_between = rc == 1;
    return rc < 0 ? ck_err_set(&gzip->err, "the gzip data is damaged") : 0;
}

int64_t gzip_read(void *source, void *to, size_t room)
{
    struct gzip *gzip = source;
    struct inflate_io io = {NULL, 0, to, room};

    if (gzip->inflater == NULL) {
        return plain_read(gzip, to, room);
    }
    while (io.out_bytes == room) {
        bool was_at_end;
        int rc;

        if (gzip->used - gzip->at < 2 && raw_fill(gzip) != 0) {
            return -1;
        }
        was_at_end = gzip->is_eof && gzip->at == gzip->used;
        rc = member_step(gzip, &io);
        if (rc != 0) {
            return rc < 0 ? -1 : 0;
        }
        if (was_at_end && io.out_bytes == room && !gzip->is_between) {
            return ck_err_set(&gzip->err, "the gzip data is cut off");
        }
    }
    return (int64_t)(room - io.out_bytes);
}

bool gzip_peek(const struct gzip *gzip, void *to, size_t bytes)
{
    if (gzip->inflater != NULL || gzip->at != 0 || gzip->used < bytes) {
        return false;
    }
    memcpy(to, gzip->raw, bytes);
    return true;
}

int gzip_plain(const struct gzip *gzip, uint64_t *bytes)
{
    struct stat status;

    if (gzip->inflater != NULL || fstat(gzip->fd, &status) != 0 ||
        !S_ISREG(status.st_mode)) {
        return -1;
    }
    *bytes = (uint64_t)status.st_size;
    return gzip->fd;
}

int gzip_seek(struct gzip *gzip, uint64_t offset)
{
    gzip->at = gzip->used = 0;
    return lseek(gzip->fd, (off_t)offset, SEEK_SET) < 0 ? -1 : 0;
}

const char *gzip_error(const struct gzip *gzip)
{
    return gzip->err.text;
}
