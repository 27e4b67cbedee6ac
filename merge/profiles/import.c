/* import.c - a foreign profile as a segment of ck
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/profiles/import.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/profiles/vocabulary.h"
#include "schema/batch/wire.h"
#include "schema/store/run.h"
#include "schema/store/segment.h"

#define INCARNATION 1
/* Buffered a thread; what does not belong to one comes in larger frames. */
#define THREAD_BYTES ((size_t)32 << 10)
#define DEVICE_BYTES ((size_t)768 << 10)

struct thread {
    int64_t pid, key; /* as the profile has them */
    uint32_t tid;     /* as records have it */
    uint64_t next;    /* position of the next unit */
    uint8_t *rows;    /* from its first record on */
    size_t used;
};

struct import {
    char path[PATH_MAX];
    char dir[PATH_MAX];
    struct ck_segment *segment;
    struct ck_batch_writer *writer;
    struct thread *threads; /* [0] is IMPORT_DEVICE */
    size_t threads_count, threads_room;
    size_t threads_used; /* those that have records */
    uint32_t tid_tried;  /* all up to there are taken */
    unsigned last;       /* thread that was asked for last */
    struct vocabulary words;
    struct import_state state;
    void *frame;
    size_t frame_room;
    struct ck_err err; /* the first failure */
};

static bool is_taken(const struct import *import, uint32_t tid)
{
    for (size_t i = 1; i < import->threads_count; i++) {
        if (import->threads[i].tid == tid) {
            return true;
        }
    }
    return false;
}

/* Two processes may have threads of one number: then one that none has. */
static uint32_t tid_free(struct import *import, uint32_t tid)
{
    while (is_taken(import, tid)) {
        tid = ++import->tid_tried;
    }
    return tid;
}

static int thread_add(struct import *import, int64_t pid, int64_t key)
{
    struct thread *thread;

    array_grow(&import->threads, &import->threads_room, import->threads_count,
               sizeof(*thread));
    thread = &import->threads[import->threads_count];
    memset(thread, 0, sizeof(*thread));
    thread->pid = pid;
    thread->key = key;
    thread->tid =
        import->threads_count == 0 ? 0 : tid_free(import, (uint32_t)key);
    return (int)import->threads_count++;
}

static int import_open(struct import *import, struct ck_err *err)
{
    char path[PATH_MAX];

    if (getrandom(import->state.id, sizeof(import->state.id), 0) !=
        (ssize_t)sizeof(import->state.id)) {
        return ck_err_set(err, "no random numbers: %s", strerror(errno));
    }
    if (ck_run_segment_path(path, import->dir, import->state.id, false) != 0) {
        return ck_err_set(err, "%s: the path is too long", import->dir);
    }
    import->segment = ck_segment_create(path, err);
    if (import->segment == NULL) {
        return -1;
    }
    import->writer = ck_batch_writer_create();
    if (import->writer == NULL || thread_add(import, 0, 0) < 0) {
        return ck_err_set(err, "out of memory");
    }
    return 0;
}

struct import *
import_create(const char *dir, const char *path, struct ck_err *err)
{
    struct import *import = xcalloc(1, sizeof(*import));

    (void)snprintf(import->path, sizeof(import->path), "%s", path);
    (void)snprintf(import->dir, sizeof(import->dir), "%s", dir);
    if (import_open(import, err) != 0) {
        import_destroy(import);
        return NULL;
    }
    return import;
}

/* What only records need. */
static void memory_free(struct import *import)
{
    for (size_t i = 0; i < import->threads_count; i++) {
        free(import->threads[i].rows);
    }
    ck_batch_writer_destroy(import->writer);
    free(import->threads);
    vocabulary_fini(&import->words);
    free(import->frame);
    import->threads_count = 0;
    import->writer = NULL;
    import->threads = NULL;
    import->frame = NULL;
    import->frame_room = 0;
}

void import_destroy(struct import *import)
{
    if (import == NULL) {
        return;
    }
    memory_free(import);
    ck_segment_destroy(import->segment);
    free(import);
}

void import_discard(struct import *import)
{
    char path[PATH_MAX];

    if (ck_run_segment_path(path, import->dir, import->state.id, false) == 0) {
        (void)unlink(path);
    }
}

const char *import_path(const struct import *import)
{
    return import->path;
}

const char *import_dir(const struct import *import)
{
    return import->dir;
}

int import_failed(const struct import *import, struct ck_err *err)
{
    if (errno == ENOMEM || errno == 0) {
        return ck_err_set(err, "%s: out of memory", import->path);
    }
    return ck_err_set(err,
                      "%s: cannot write what was read to %s: %s (TMPDIR names "
                      "another place)",
                      import->path, import->dir, strerror(errno));
}

uint32_t import_name(struct import *import, const char *text, size_t length)
{
    char shown[CK_TEXT_BYTES_MAX];
    struct ck_text head = {.e = {.kind = CK_KIND_NAME}};
    uint32_t known = import->words.count;
    uint32_t id;

    if (length > CK_TEXT_BYTES_MAX) {
        length = CK_TEXT_BYTES_MAX;
    }
    if (length == 0) {
        return 0;
    }
    if (memchr(text, '\0', length) != NULL) {
        length = vocabulary_show(shown, sizeof(shown), text, length);
        text = shown;
    }
    id = vocabulary_find(&import->words, text, length);
    head.e.name = id;
    if (id > known && import_text(import, &head, text, length) != 0) {
        return 0;
    }
    return id;
}

const char *
import_name_text(const struct import *import, uint32_t id, size_t *length)
{
    return vocabulary_text(&import->words, id, length);
}

static bool is_thread(const struct thread *thread, int64_t pid, int64_t key)
{
    return thread->pid == pid && thread->key == key;
}

int import_thread(struct import *import, int64_t pid, int64_t tid)
{
    bool is_full = import->threads_used > IMPORT_THREADS_MAX;

    if (import->last != IMPORT_DEVICE &&
        is_thread(&import->threads[import->last], pid, tid)) {
        return (int)import->last;
    }
    for (size_t i = 1; i < import->threads_count; i++) {
        const struct thread *thread = &import->threads[i];

        if (!is_thread(thread, pid, tid)) {
            continue;
        }
        if (is_full && thread->rows == NULL) {
            return -1;
        }
        import->last = (unsigned)i;
        return (int)i;
    }
    if (is_full || import->threads_count > IMPORT_NAMED_MAX) {
        return -1;
    }
    return thread_add(import, pid, tid);
}

uint32_t import_tid(const struct import *import, unsigned thread)
{
    return import->threads[thread].tid;
}

static int fail(struct import *import, const char *what)
{
    if (import->err.text[0] == '\0') {
        (void)ck_err_set(&import->err, "%s", what);
    }
    return -1;
}

static int frame_write(struct import *import,
                       const struct ck_frame_header *like,
                       const void *payload)
{
    struct ck_frame_header header = *like;
    size_t bytes;

    memcpy(header.agent, import->state.id, sizeof(header.agent));
    ck_frame_seal(&header, payload);
    bytes = ck_frame_bytes(&header);
    if (import->frame_room < bytes) {
        free(import->frame);
        import->frame = xmalloc(bytes);
        import->frame_room = bytes;
    }
    memset((uint8_t *)import->frame + bytes - 8, 0, 8);
    memcpy(import->frame, &header, sizeof(header));
    memcpy((uint8_t *)import->frame + sizeof(header), payload, header.length);
    if (ck_segment_append(import->segment, import->frame, bytes) != 0) {
        (void)ck_err_set(&import->err, "cannot write to %s: %s", import->dir,
                         strerror(errno));
        return -1;
    }
    return 0;
}

/* Write a thread's records as frames. `slot` and incarnation as in a run. */
static int rows_write(struct import *import,
                      struct thread *thread,
                      struct ck_stream stream,
                      uint32_t pid)
{
    size_t done = 0;

    while (done < thread->used) {
        struct ck_batch_info info = {
            .clock = CK_CLOCK_RAW, .pid = pid, .tid = thread->tid};
        struct ck_frame_header header = {.stream = stream};
        const void *payload;
        size_t length;

        if (ck_batch_encode(import->writer, &info, thread->rows + done,
                            thread->used - done, &payload, &length,
                            &import->err) != 0) {
            return -1;
        }
        header.first = thread->next;
        header.units = info.units;
        header.records = info.records;
        header.length = header.raw = (uint32_t)length;
        if (frame_write(import, &header, payload) != 0) {
            return -1;
        }
        thread->next += info.units;
        done += (size_t)info.units * CK_UNIT_BYTES;
    }
    thread->used = 0;
    return 0;
}

static int thread_flush(struct import *import, unsigned thread)
{
    struct ck_stream stream = {INCARNATION, thread};

    return rows_write(import, &import->threads[thread], stream, 0);
}

static uint8_t *
thread_room(struct import *import, unsigned number, size_t bytes)
{
    struct thread *thread = &import->threads[number];
    size_t room = number == IMPORT_DEVICE ? DEVICE_BYTES : THREAD_BYTES;

    if (thread->rows == NULL) {
        thread->rows = xmalloc(room);
        import->threads_used++; /* the device's, too */
    }
    if (thread->rows == NULL || import->err.text[0] != '\0' ||
        (thread->used + bytes > room && thread_flush(import, number) != 0)) {
        return NULL;
    }
    thread->used += bytes;
    return thread->rows + thread->used - bytes;
}

int import_put(struct import *import, unsigned thread, void *record)
{
    struct ck_event *event = record;
    size_t bytes;
    uint8_t *to;

    event->units =
        (uint8_t)ck_class_units((unsigned)ck_kind_class(event->kind));
    bytes = (size_t)event->units * CK_UNIT_BYTES;
    to = thread_room(import, thread, bytes);
    if (to == NULL) {
        return -1;
    }
    memcpy(to, record, bytes);
    return 0;
}

int import_text(struct import *import,
                const struct ck_text *head,
                const char *bytes,
                size_t length)
{
    struct ck_text text = *head;
    uint8_t *to;

    if (length > CK_TEXT_BYTES_MAX) {
        length = CK_TEXT_BYTES_MAX;
    }
    text.e.units = (uint8_t)ck_text_units(length);
    text.e.flags |= CK_FLAG_RAW;
    text.length = (uint32_t)length;
    to = thread_room(import, IMPORT_DEVICE,
                     (size_t)text.e.units * CK_UNIT_BYTES);
    if (to == NULL) {
        return -1;
    }
    memset(to, 0, (size_t)text.e.units * CK_UNIT_BYTES);
    memcpy(to, &text, sizeof(text));
    memcpy(to + sizeof(text), bytes, length);
    return 0;
}

void import_complain(struct import *import, uint64_t offset, const char *what)
{
    struct import_complaint *complaint;

    for (size_t i = 0; i < import->state.complaints_count; i++) {
        if (strcmp(import->state.complaints[i].what, what) == 0) {
            import->state.complaints[i].count++;
            return;
        }
    }
    if (import->state.complaints_count == IMPORT_COMPLAINTS_MAX) {
        import->state.complaints[IMPORT_COMPLAINTS_MAX - 1].count++;
        return;
    }
    complaint = &import->state.complaints[import->state.complaints_count++];
    *complaint = (struct import_complaint){what, 1, offset};
}

void import_cut(struct import *import, uint64_t offset, const char *what)
{
    import->state.is_cut = true;
    import_complain(import, offset, what);
}

void import_unclosed(struct import *import)
{
    import->state.is_unclosed = true;
}

bool import_complaint(const struct import *import,
                      size_t index,
                      char *line,
                      size_t room)
{
    const struct import_complaint *complaint = &import->state.complaints[index];

    if (index >= import->state.complaints_count) {
        return false;
    }
    if (complaint->count == 1) {
        (void)snprintf(line, room, "%s: %s (byte %llu)", import->path,
                       complaint->what, (unsigned long long)complaint->offset);
    } else {
        (void)snprintf(line, room, "%s: %s (%llu times, first at byte %llu)",
                       import->path, complaint->what,
                       (unsigned long long)complaint->count,
                       (unsigned long long)complaint->offset);
    }
    return true;
}

/* Notes and the identity are the collector's, as in a run. */
static int own_text(struct import *import,
                    struct thread *own,
                    enum ck_kind kind,
                    const char *bytes)
{
    size_t length = strlen(bytes);
    struct ck_text text = {.e = {.kind = (uint16_t)kind,
                                 .units = (uint8_t)ck_text_units(length),
                                 .flags = CK_FLAG_RAW},
                           .length = (uint32_t)length};
    size_t size = (size_t)text.e.units * CK_UNIT_BYTES;

    if (own->used + size > THREAD_BYTES) {
        return fail(import, "too many notes");
    }
    memset(own->rows + own->used, 0, size);
    memcpy(own->rows + own->used, &text, sizeof(text));
    memcpy(own->rows + own->used + sizeof(text), bytes, length);
    own->used += size;
    return 0;
}

static int identity_write(struct import *import,
                          struct thread *own,
                          const struct import_facts *facts,
                          const int64_t *realtime)
{
    char text[PATH_MAX + 1024];
    char hex[CK_AGENT_HEX];
    struct ck_lines lines = ck_lines_in(text, sizeof(text));

    ck_run_agent_hex(import->state.id, hex);
    ck_lines_put(&lines, "source", import->path);
    ck_lines_put_number(&lines, "rank", facts->rank);
    ck_lines_put_number(&lines, "size", facts->size);
    ck_lines_put(&lines, "host", facts->host);
    ck_lines_put(&lines, "boot_id", hex);
    ck_lines_put_number(&lines, "pid", facts->pid);
    ck_lines_put_number(&lines, "start_raw", facts->start);
    ck_lines_put_number(&lines, "stop_raw", facts->stop);
    if (import->state.is_cut) {
        ck_lines_put_number(&lines, "cut", 1);
    } else if (import->state.is_unclosed) {
        ck_lines_put_number(&lines, "unclosed", 1);
    }
    if (realtime != NULL) {
        ck_lines_put_number(&lines, "start_realtime", facts->start + *realtime);
    }
    if (lines.is_cut) {
        return fail(import, "the path is too long");
    }
    return own_text(import, own, CK_KIND_IDENTITY, text);
}

int import_park(struct import *import, struct ck_err *err)
{
    int rc = 0;

    for (unsigned i = 0; rc == 0 && i < import->threads_count; i++) {
        rc = thread_flush(import, i);
    }
    memory_free(import);
    return rc == 0 ? 0
                   : ck_err_set(err, "%s: %s", import->path, import->err.text);
}

void import_give(const struct import *import, struct import_state *state)
{
    *state = import->state;
}

/* Its first segment is another process's: records of the end go to a
 * file beside it, of the same agent. */
struct import *import_adopt(const char *dir,
                            const char *path,
                            const struct import_state *state,
                            struct ck_err *err)
{
    struct import *import = xcalloc(1, sizeof(*import));
    char file[PATH_MAX];

    (void)snprintf(import->path, sizeof(import->path), "%s", path);
    (void)snprintf(import->dir, sizeof(import->dir), "%s", dir);
    import->state = *state;
    if (ck_run_segment_path(file, dir, state->id, true) != 0) {
        (void)ck_err_set(err, "%s: the path is too long", dir);
    } else {
        import->segment = ck_segment_create(file, err);
    }
    if (import->segment == NULL) {
        import_destroy(import);
        return NULL;
    }
    return import;
}

int import_finish(struct import *import,
                  const struct import_facts *facts,
                  const int64_t *realtime,
                  struct ck_err *err)
{
    struct ck_stream stream = {0, CK_SLOT_COLLECTOR};
    struct thread own = {.rows = xmalloc(THREAD_BYTES)};
    char line[PATH_MAX + 256];
    int rc = import_park(import, err);

    import->writer = ck_batch_writer_create();
    if (import->writer == NULL) {
        rc = fail(import, "out of memory");
    }
    if (rc == 0) {
        rc = identity_write(import, &own, facts, realtime);
    }
    for (size_t i = 0;
         rc == 0 && import_complaint(import, i, line, sizeof(line)); i++) {
        rc = own_text(import, &own, CK_KIND_NOTE, line);
    }
    if (rc == 0) {
        rc = rows_write(import, &own, stream, 0);
    }
    free(own.rows);
    return rc == 0 ? 0
                   : ck_err_set(err, "%s: %s", import->path, import->err.text);
}
