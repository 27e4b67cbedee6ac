/* segment.c - append frames to a file
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Writes go to a known offset, never to "the end": what a failed write left
 * behind is cut off, and where even that fails, overwritten by the next.
 */
#include "schema/store/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/fd.h"

struct ck_segment {
    int fd;
    uint64_t bytes; /* whole frames */
};

/* Where the last whole frame of an existing file ends. A file that does not
 * look like ours is refused: it would be cut to nothing. 0 or -1.
 */
static int find_end(const char *path, uint64_t *end, struct ck_err *err)
{
    struct ck_segment_reader *reader = ck_segment_reader_create(path, err);
    struct ck_frame_header header;
    const void *payload;
    uint64_t found = 0;
    int rc;

    if (reader == NULL) {
        return -1;
    }
    while ((rc = ck_segment_next(reader, &header, &payload)) > 0) {
        found = ck_segment_offset(reader) + ck_frame_bytes(&header);
    }
    ck_segment_reader_destroy(reader);
    if (rc < 0) {
        return ck_err_set(err, "cannot read %s: %s", path, strerror(errno));
    }
    *end = found;
    return 0;
}

static bool is_ours(int fd)
{
    uint32_t magic = 0;
    ssize_t n = pread(fd, &magic, sizeof(magic), 0);

    /* Zeros: a first write whose data never reached the disk. */
    return n < (ssize_t)sizeof(magic) || magic == CK_FRAME_MAGIC || magic == 0;
}

static int
cut_tail(struct ck_segment *segment, const char *path, struct ck_err *err)
{
    struct stat st;

    if (fstat(segment->fd, &st) != 0) {
        return ck_err_set(err, "cannot look at %s: %s", path, strerror(errno));
    }
    if (!S_ISREG(st.st_mode)) {
        errno = EINVAL;
        return ck_err_set(err, "%s is not a regular file", path);
    }
    if (st.st_size == 0) {
        return 0;
    }
    if (find_end(path, &segment->bytes, err) != 0) {
        return -1;
    }
    if (segment->bytes == 0 && !is_ours(segment->fd)) {
        errno = EPROTO;
        return ck_err_set(err, "%s is no segment file; move it away", path);
    }
    if ((uint64_t)st.st_size > segment->bytes &&
        ftruncate(segment->fd, (off_t)segment->bytes) != 0) {
        return ck_err_set(err, "cannot cut the torn tail of %s: %s", path,
                          strerror(errno));
    }
    return 0;
}

struct ck_segment *ck_segment_create(const char *path, struct ck_err *err)
{
    struct ck_segment *segment = calloc(1, sizeof(*segment));

    if (segment == NULL) {
        return ck_err_null(err, "no memory for segment %s", path);
    }
    segment->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (segment->fd < 0) {
        (void)ck_err_set(err, "cannot open %s: %s", path, strerror(errno));
        goto error;
    }
    if (cut_tail(segment, path, err) != 0) {
        goto error;
    }
    return segment;

error:
    ck_segment_destroy(segment);
    return NULL;
}

void ck_segment_destroy(struct ck_segment *segment)
{
    int saved = errno;

    if (segment == NULL) {
        return;
    }
    ck_fd_close(segment->fd);
    free(segment);
    errno = saved;
}

int ck_segment_append(struct ck_segment *segment,
                      const void *frame,
                      size_t bytes)
{
    const char *from = frame;
    size_t done = 0;

    if (bytes < sizeof(struct ck_frame_header) || bytes % 8 != 0) {
        errno = EINVAL;
        return -1;
    }
    while (done < bytes) {
        ssize_t n = pwrite(segment->fd, from + done, bytes - done,
                           (off_t)(segment->bytes + done));

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            int saved = n == 0 ? ENOSPC : errno;

            (void)ftruncate(segment->fd, (off_t)segment->bytes);
            errno = saved;
            return -1;
        }
        done += (size_t)n;
    }
    segment->bytes += bytes;
    return 0;
}

int ck_segment_reserve(struct ck_segment *segment, uint64_t bytes)
{
    if (fallocate(segment->fd, FALLOC_FL_KEEP_SIZE, (off_t)segment->bytes,
                  (off_t)bytes) == 0) {
        return 0;
    }
    return errno == ENOSPC || errno == EDQUOT ? -1 : 0;
}

uint64_t ck_segment_bytes(const struct ck_segment *segment)
{
    return segment->bytes;
}

int ck_segment_sync(struct ck_segment *segment)
{
    return fdatasync(segment->fd);
}
