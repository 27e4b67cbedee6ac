/* frameindex.c - which frames of a running job show what is now
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "schema/store/frameindex.h"

#include <string.h>

/* crc32c of all, as if its own field were 0. */
static uint32_t crc_of(const void *index, size_t bytes)
{
    struct ck_frameindex_head head;
    uint32_t crc;

    memcpy(&head, index, sizeof(head));
    head.crc = 0;
    crc = ck_crc32c(0, &head, sizeof(head));
    return ck_crc32c(crc, (const uint8_t *)index + sizeof(head),
                     bytes - sizeof(head));
}

void ck_frameindex_seal(void *index, size_t bytes, uint32_t files)
{
    struct ck_frameindex_head *head = index;

    *head = (struct ck_frameindex_head){
        .magic = CK_FRAMEINDEX_MAGIC, .files = files, .bytes = bytes};
    head->crc = crc_of(index, bytes);
}

const struct ck_frameindex_stream *
ck_frameindex_streams(const struct ck_frameindex_file *file)
{
    return (const void *)(file + 1);
}

const struct ck_frameindex_row *
ck_frameindex_rows(const struct ck_frameindex_file *file)
{
    return (const void *)(ck_frameindex_streams(file) + file->streams);
}

static size_t file_bytes(const struct ck_frameindex_file *file)
{
    return sizeof(*file) + file->streams * sizeof(struct ck_frameindex_stream) +
           file->rows * sizeof(struct ck_frameindex_row);
}

/* Whole frames of known streams, one behind the other. */
static bool is_file_true(const struct ck_frameindex_file *file)
{
    const struct ck_frameindex_row *rows = ck_frameindex_rows(file);
    uint64_t next = 0;

    for (uint32_t i = 0; i < file->rows; i++) {
        const struct ck_frame_header header = {.length = rows[i].length};

        if (rows[i].stream >= file->streams || rows[i].offset < next ||
            rows[i].offset > file->end || rows[i].is_joined > 1 ||
            rows[i].length > CK_FRAME_PAYLOAD_MAX ||
            rows[i].first > UINT64_MAX - rows[i].units) {
            return false;
        }
        next = rows[i].offset + ck_frame_bytes(&header);
    }
    return next <= file->end && file->tail <= file->end;
}

int ck_frameindex_check(const void *index, size_t bytes, struct ck_err *err)
{
    const struct ck_frameindex_head *head = index;
    const uint8_t *at = (const uint8_t *)index + sizeof(*head);
    size_t left = bytes - sizeof(*head);

    if (bytes < sizeof(*head) || head->magic != CK_FRAMEINDEX_MAGIC ||
        head->bytes != bytes || head->crc != crc_of(index, bytes)) {
        return ck_err_set(err, "it is damaged, or no index of frames");
    }
    for (uint32_t i = 0; i < head->files; i++) {
        const struct ck_frameindex_file *file = (const void *)at;

        if (left < sizeof(*file) || left < file_bytes(file) ||
            !is_file_true(file)) {
            return ck_err_set(err, "its part %u contradicts itself", i);
        }
        left -= file_bytes(file);
        at += file_bytes(file);
    }
    return left == 0 ? 0 : ck_err_set(err, "%zu bytes are too many", left);
}

/* The next file, the first one for NULL; NULL behind the last one. */
static const struct ck_frameindex_file *
file_next(const void *index, const struct ck_frameindex_file *file)
{
    const struct ck_frameindex_head *head = index;
    const uint8_t *at = file == NULL ? (const uint8_t *)index + sizeof(*head)
                                     : (const uint8_t *)file + file_bytes(file);

    return at < (const uint8_t *)index + head->bytes ? (const void *)at : NULL;
}

const struct ck_frameindex_file *ck_frameindex_find(const void *index,
                                                    const uint8_t agent[16])
{
    const struct ck_frameindex_file *file = NULL;

    while ((file = file_next(index, file)) != NULL &&
           memcmp(file->agent, agent, sizeof(file->agent)) != 0) {
    }
    return file;
}

bool ck_frameindex_is_cut(const void *index)
{
    const struct ck_frameindex_file *file = NULL;
    bool is_cut = false;

    while ((file = file_next(index, file)) != NULL) {
        is_cut = is_cut || file->tail > 0;
    }
    return is_cut;
}
