/* owner.c - whose run is in a directory
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "schema/store/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "schema/batch/pack.h"
#include "schema/batch/wire.h"
#include "schema/event.h"
#include "schema/store/run.h"
#include "schema/store/segment.h"

/* What is looked for is at the head of a manifest, before the agents. */
#define HEAD_BYTES 8192
/* The identity is in the first frame of a spool, and near it in a segment,
 * where the threads' streams come between. */
#define FRAMES_MAX 256

/* A string of the manifest's own writer: only \" and \\ are taken apart. */
static void
json_string(const char *head, const char *name, char *text, size_t room)
{
    char pattern[48];
    const char *at;
    size_t used = 0;

    (void)snprintf(pattern, sizeof(pattern), "\"%s\": \"", name);
    at = strstr(head, pattern);
    at = at ? at + strlen(pattern) : "";
    for (; *at && *at != '"' && used < room - 1; at++) {
        at += *at == '\\' && (at[1] == '"' || at[1] == '\\');
        text[used++] = *at;
    }
    text[used] = '\0';
}

/* 0 = it is not there. */
static int64_t json_number(const char *head, const char *name)
{
    char pattern[48];
    const char *at;

    (void)snprintf(pattern, sizeof(pattern), "\"%s\": ", name);
    at = strstr(head, pattern);
    return at ? strtoll(at + strlen(pattern), NULL, 10) : 0;
}

static bool manifest_read(const char *dir, struct ck_owner *owner)
{
    char path[PATH_MAX];
    char head[HEAD_BYTES];
    char state[16];
    char *agents;
    ssize_t n = -1;
    int fd;

    if (snprintf(path, sizeof(path), "%s/" CK_RUN_MANIFEST, dir) >= PATH_MAX) {
        return false;
    }
    /* A FIFO of that name must not keep us. */
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0) {
        n = read(fd, head, sizeof(head) - 1);
        (void)close(fd);
    }
    if (n <= 0) {
        return false;
    }
    head[n] = '\0';
    agents = strstr(head, "\"agents\":");
    if (agents) {
        *agents = '\0';
    }
    json_string(head, "job_key", owner->job_key, sizeof(owner->job_key));
    json_string(head, "endpoint", owner->endpoint, sizeof(owner->endpoint));
    json_string(head, "state", state, sizeof(state));
    json_string(head, "boot_id", owner->started.boot_id,
                sizeof(owner->started.boot_id));
    owner->is_done = strcmp(state, "done") == 0;
    owner->is_over = owner->is_done || strcmp(state, "merge") == 0;
    owner->started.realtime = json_number(head, "started_realtime");
    owner->started.boottime = json_number(head, "started_boottime");
    return true;
}

/* Identity lines among decoded texts. True when they are there. */
static bool
texts_read(const uint8_t *rows, size_t rows_bytes, struct ck_owner *owner)
{
    size_t at = 0;

    while (at + CK_UNIT_BYTES <= rows_bytes) {
        const struct ck_text *text = (const void *)(rows + at);
        size_t bytes = (size_t)text->e.units * CK_UNIT_BYTES;
        char number[24] = "";

        if (bytes == 0 || bytes > rows_bytes - at ||
            text->length > bytes - sizeof(*text)) {
            return false;
        }
        if (text->e.kind == CK_KIND_IDENTITY && text->object == 0) {
            (void)ck_lines_get(ck_text_bytes(text), text->length, "job_key",
                               owner->job_key, sizeof(owner->job_key));
            (void)ck_lines_get(ck_text_bytes(text), text->length,
                               "start_realtime", number, sizeof(number));
            owner->started.realtime = strtoll(number, NULL, 10);
            return true;
        }
        at += bytes;
    }
    return false;
}

static bool frame_read(const struct ck_frame_header *header,
                       const void *payload,
                       struct ck_owner *owner)
{
    size_t room = (size_t)header->units * CK_UNIT_BYTES;
    struct ck_batch_info info = {0};
    bool is_found = false;
    size_t used = 0;
    uint8_t *rows;
    void *raw;

    if (header->stream.slot != CK_SLOT_COLLECTOR || header->units == 0 ||
        header->units > CK_FRAME_UNITS_MAX || header->raw > CK_FRAME_RAW_MAX) {
        return false;
    }
    rows = malloc(room);
    raw = malloc(header->raw + (size_t)8);
    if (rows && raw &&
        ck_unpack(header->pack, payload, header->length, raw, header->raw,
                  NULL) == 0 &&
        ck_batch_decode_classes(raw, header->raw, 1u << CK_CLASS_TEXT, &info,
                                rows, room, &used, NULL) == 0) {
        is_found = texts_read(rows, used, owner);
    }
    free(raw);
    free(rows);
    return is_found;
}

static bool segment_read(const char *path, struct ck_owner *owner)
{
    struct ck_segment_reader *reader = ck_segment_reader_create(path, NULL);
    struct ck_frame_header header;
    const void *payload;
    bool is_found = false;

    for (int i = 0; reader && !is_found && i < FRAMES_MAX; i++) {
        if (ck_segment_next(reader, &header, &payload) != 1) {
            break;
        }
        is_found = frame_read(&header, payload, owner);
    }
    ck_segment_reader_destroy(reader);
    return is_found;
}

bool ck_owner_read(const char *dir, struct ck_owner *owner)
{
    struct ck_owner found = {.job_key = ""};
    struct ck_run_files files;
    bool is_there = manifest_read(dir, &found);

    if (found.job_key[0] == '\0' && ck_run_files(dir, &files, NULL) == 0) {
        is_there |= files.count > 0;
        for (size_t i = 0; i < files.count; i++) {
            if (segment_read(files.paths[i], &found)) {
                break;
            }
        }
        ck_run_files_free(&files);
    }
    *owner = found;
    return is_there;
}

bool ck_owner_is_earlier(bool is_over,
                         const struct ck_begin *started,
                         const struct ck_begin *launcher,
                         bool is_one_clock)
{
    if (!is_over) {
        return false;
    }
    if (started->boottime > 0 && launcher->boottime > 0 &&
        started->boot_id[0] != '\0' &&
        strcmp(started->boot_id, launcher->boot_id) == 0) {
        return started->boottime < launcher->boottime;
    }
    return started->realtime > 0 && launcher->realtime > 0 &&
           started->realtime <
               launcher->realtime -
                   (is_one_clock ? CK_OWNER_EARLIER_HERE : CK_OWNER_EARLIER);
}
