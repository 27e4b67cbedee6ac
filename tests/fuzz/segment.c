/* segment.c - any bytes as a frame, as a segment to read and to append to
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/fuzz/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "schema/batch/pack.h"
#include "schema/store/segment.h"

#define RAW_MAX ((size_t)1 << 20)

static void check_frame(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + 1);
    struct ck_frame_header header;
    int64_t bytes;

    memcpy(copy, data, size);
    bytes = ck_frame_check(copy, size, &header, NULL);
    if (bytes > 0 && (size_t)bytes > size) {
        abort();
    }
    free(copy);
}

static void unpack(const struct ck_frame_header *header, const void *payload)
{
    uint8_t *raw = header->raw > RAW_MAX ? NULL : malloc(header->raw + 1);

    if (raw != NULL) {
        (void)ck_unpack((enum ck_pack)header->pack, payload, header->length,
                        raw, header->raw, NULL);
    }
    free(raw);
}

/* Frames and damaged bytes must cover the file exactly. */
static void walk(const char *path, size_t size)
{
    struct ck_segment_reader *reader = ck_segment_reader_create(path, NULL);
    struct ck_frame_header header;
    const void *payload;
    uint64_t covered = 0;

    while (ck_segment_next(reader, &header, &payload) == 1) {
        covered += ck_frame_bytes(&header);
        unpack(&header, payload);
    }
    if (covered + ck_segment_damage(reader).bytes != size) {
        abort();
    }
    ck_segment_reader_destroy(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("segment", MFD_CLOEXEC);
    char path[64];

    check_frame(data, size);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
        abort();
    }
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    walk(path, size);
    (void)close(fd);
    return 0;
}
