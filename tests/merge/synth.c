/* synth.c - runs made by hand, with a known truth
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/merge/synth.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "schema/batch/wire.h"
#include "schema/store/run.h"
#include "schema/store/segment.h"

#define STREAMS_MAX 64
#define ROWS_BYTES ((size_t)CK_FRAME_UNITS_MAX * CK_UNIT_BYTES)
/* So much later the collector has stored the rest. */
#define EXIT_LATE 700000

struct position {
    struct ck_stream name;
    uint64_t next;
};

struct synth {
    struct synth_rank rank;
    uint8_t id[16];
    struct ck_segment *segment;
    struct ck_batch_writer *writer;
    struct position streams[STREAMS_MAX];
    size_t streams_count;
    struct position *current;
    uint32_t tid;
    size_t used;
    void *last; /* frame flushed last */
    size_t last_bytes;
    _Alignas(8) uint8_t rows[ROWS_BYTES];
};

/* Also in a build without assertions. */
static void must(int is_true, const char *what)
{
    if (!is_true) {
        fprintf(stderr, "synth: %s\n", what);
        abort();
    }
}

char *synth_dir(void)
{
    const char *tmp = getenv("TMPDIR");
    char *dir = NULL;

    must(asprintf(&dir, "%s/ck-synth-XXXXXX", tmp != NULL ? tmp : "/tmp") > 0,
         "no memory");
    must(mkdtemp(dir) != NULL, "mkdtemp");
    return dir;
}

void synth_remove(char *dir)
{
    DIR *stream = opendir(dir);
    struct dirent *entry;

    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        (void)unlinkat(dirfd(stream), entry->d_name, 0);
    }
    if (stream != NULL) {
        (void)closedir(stream);
    }
    (void)rmdir(dir);
    free(dir);
}

void synth_manifest(const char *dir, const char *agents)
{
    char path[PATH_MAX];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/" CK_RUN_MANIFEST, dir);
    file = fopen(path, "we");
    must(file != NULL, "no manifest");
    fprintf(file,
            "{\n  \"version\": 1,\n  \"state\": \"done\",\n"
            "  \"agents\": [%s]\n}\n",
            agents);
    must(fclose(file) == 0, "no manifest");
}

static void manifest_ensure(const char *dir)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/" CK_RUN_MANIFEST, dir);
    if (access(path, F_OK) != 0) {
        synth_manifest(dir, "");
    }
}

struct synth *
synth_create(const char *dir, unsigned number, const struct synth_rank *rank)
{
    struct synth *synth = calloc(1, sizeof(*synth));
    struct ck_err err;
    char path[PATH_MAX];
    char lines[1024];
    int length;

    must(synth != NULL, "no memory");
    synth->rank = *rank;
    manifest_ensure(dir);
    (void)snprintf((char *)synth->id, sizeof(synth->id), "agent-%u", number);
    must(ck_run_segment_path(path, dir, synth->id, false) == 0, "path");
    synth->segment = ck_segment_create(path, &err);
    synth->writer = ck_batch_writer_create();
    must(synth->segment != NULL && synth->writer != NULL, "no segment");
    synth_stream(synth, 0, CK_SLOT_COLLECTOR, 0);
    length = snprintf(
        lines, sizeof(lines),
        "version=0.1.0\njob=synth\njob_key=k\nrank=%d\nsize=%d\nhost=%s\n"
        "boot_id=b\ntimens=%s\nuid=0\npid=%u\ncommand=/opt/synth/train -x\n"
        "start_raw=%lld\nstart_realtime=%lld\n",
        rank->rank, rank->size, rank->host, rank->timens, 1000 + number,
        (long long)rank->start_raw, (long long)rank->start_realtime);
    synth_text(synth, CK_KIND_IDENTITY, 0, 0, 0, lines, (size_t)length);
    return synth;
}

void synth_destroy(struct synth *synth)
{
    if (synth == NULL) {
        return;
    }
    synth_flush(synth);
    ck_segment_destroy(synth->segment);
    ck_batch_writer_destroy(synth->writer);
    free(synth->last);
    free(synth);
}

void synth_stream(struct synth *synth,
                  uint32_t incarnation,
                  uint32_t slot,
                  uint32_t tid)
{
    struct position *stream = NULL;

    synth_flush(synth);
    for (size_t i = 0; i < synth->streams_count; i++) {
        if (synth->streams[i].name.slot == slot &&
            synth->streams[i].name.incarnation == incarnation) {
            stream = &synth->streams[i];
        }
    }
    if (stream == NULL) {
        must(synth->streams_count < STREAMS_MAX, "too many streams");
        stream = &synth->streams[synth->streams_count++];
        stream->name.incarnation = incarnation;
        stream->name.slot = slot;
        stream->next = 0;
    }
    synth->current = stream;
    synth->tid = tid;
}

static void rows_put(struct synth *synth, const void *bytes, size_t length)
{
    size_t room = (length + CK_UNIT_BYTES - 1) / CK_UNIT_BYTES * CK_UNIT_BYTES;

    if (synth->used + room > ROWS_BYTES) {
        synth_flush(synth);
    }
    memset(synth->rows + synth->used, 0, room);
    memcpy(synth->rows + synth->used, bytes, length);
    synth->used += room;
}

void synth_put(struct synth *synth, void *record)
{
    struct ck_event *event = record;

    event->units =
        (uint8_t)ck_class_units((unsigned)ck_kind_class(event->kind));
    rows_put(synth, record, (size_t)event->units * CK_UNIT_BYTES);
}

void synth_text(struct synth *synth,
                enum ck_kind kind,
                uint32_t name,
                uint64_t object,
                uint32_t extra,
                const char *bytes,
                size_t length)
{
    _Alignas(8) uint8_t room[sizeof(struct ck_text) + 8192] = {0};
    struct ck_text *text = (struct ck_text *)room;

    must(length <= 4096, "text too long");
    text->e.kind = (uint16_t)kind;
    text->e.units = (uint8_t)ck_text_units(length);
    text->e.name = name;
    text->object = object;
    text->extra = extra;
    text->length = (uint32_t)length;
    memcpy(text + 1, bytes, length);
    rows_put(synth, room, (size_t)text->e.units * CK_UNIT_BYTES);
}

static void frame_write(struct synth *synth,
                        const struct ck_batch_info *info,
                        const void *payload,
                        size_t length)
{
    struct ck_frame_header header = {
        .stream = synth->current->name,
        .first = synth->current->next,
        .units = info->units,
        .records = info->records,
        .length = (uint32_t)length,
        .raw = (uint32_t)length,
        .classes = info->classes,
    };

    memcpy(header.agent, synth->id, sizeof(header.agent));
    ck_frame_seal(&header, payload);
    free(synth->last);
    synth->last_bytes = ck_frame_bytes(&header);
    synth->last = calloc(1, synth->last_bytes);
    must(synth->last != NULL, "no memory");
    memcpy(synth->last, &header, sizeof(header));
    memcpy((uint8_t *)synth->last + sizeof(header), payload, length);
    must(ck_segment_append(synth->segment, synth->last, synth->last_bytes) == 0,
         "append");
    synth->current->next += info->units;
}

void synth_flush(struct synth *synth)
{
    size_t done = 0;

    while (done < synth->used) {
        struct ck_batch_info info = {
            .clock = synth->rank.clock, .pid = 1, .tid = synth->tid};
        struct ck_err err = {""};
        const void *payload;
        size_t length;

        if (ck_batch_encode(synth->writer, &info, synth->rows + done,
                            synth->used - done, &payload, &length, &err) != 0) {
            must(0, err.text);
        }
        frame_write(synth, &info, payload, length);
        done += (size_t)info.units * CK_UNIT_BYTES;
    }
    synth->used = 0;
}

void synth_repeat(struct synth *synth)
{
    synth_flush(synth);
    must(ck_segment_append(synth->segment, synth->last, synth->last_bytes) == 0,
         "append");
}

void synth_skip(struct synth *synth, uint32_t units)
{
    synth_flush(synth);
    synth->current->next += units;
}

void synth_seek(struct synth *synth, uint64_t position)
{
    synth_flush(synth);
    synth->current->next = position;
}

void synth_garbage(struct synth *synth, const char *dir)
{
    char path[PATH_MAX];
    FILE *file;

    synth_flush(synth);
    must(ck_run_segment_path(path, dir, synth->id, false) == 0, "path");
    ck_segment_destroy(synth->segment);
    file = fopen(path, "ae");
    must(file != NULL, "open");
    for (int i = 0; i < 640; i++) {
        fputc('x', file);
    }
    must(fclose(file) == 0, "close");
    file = fopen(path, "ae");
    must(file != NULL && fwrite(synth->last, 1, synth->last_bytes, file) ==
                             synth->last_bytes,
         "write");
    must(fclose(file) == 0, "close");
    synth->segment = NULL;
}

void synth_call(struct synth *synth,
                enum ck_kind kind,
                uint32_t name,
                int64_t start,
                int64_t dur,
                uint64_t site,
                uint32_t call)
{
    union {
        struct ck_call call;
        struct ck_message message;
        struct ck_collective collective;
    } record;

    memset(&record, 0, sizeof(record));
    record.call.e.kind = (uint16_t)kind;
    record.call.e.name = name;
    record.call.e.start = start;
    record.call.dur = dur;
    record.call.site = site;
    record.call.call = call;
    synth_put(synth, &record);
}

void synth_kernel(struct synth *synth,
                  uint32_t name,
                  int64_t start,
                  int64_t dur,
                  uint32_t tid,
                  uint32_t call)
{
    struct ck_kernel kernel = {
        .e = {.kind = CK_KIND_KERNEL, .name = name, .start = start},
        .dur = dur,
        .queued = start - 100,
        .submitted = start - 50,
        .tid = tid,
        .call = call,
        .device = 1,
        .queue = 1,
        .global = {64, 1, 1},
    };

    synth_put(synth, &kernel);
}

void synth_step(struct synth *synth, int64_t start, int64_t dur, int64_t number)
{
    struct ck_mark mark = {.e = {.kind = CK_KIND_STEP, .start = start},
                           .dur = dur,
                           .value = number};

    synth_put(synth, &mark);
}

void synth_exit_unseen(struct synth *synth, const char *lines)
{
    _Alignas(8) uint8_t room[sizeof(struct ck_text) + 256] = {0};
    struct ck_text *text = (struct ck_text *)room;

    must(strlen(lines) <= 255, "text too long");
    synth_stream(synth, 0, CK_SLOT_COLLECTOR, 0);
    text->e.kind = CK_KIND_EXIT;
    text->e.units = (uint8_t)ck_text_units(strlen(lines));
    text->e.flags = CK_FLAG_CUT;
    text->length = (uint32_t)strlen(lines);
    memcpy(text + 1, lines, strlen(lines));
    rows_put(synth, room, (size_t)text->e.units * CK_UNIT_BYTES);
}

void synth_exit(struct synth *synth, int status, int64_t raw, int64_t cpu_ns)
{
    char lines[128];
    int length = snprintf(lines, sizeof(lines),
                          "status=%d\nended=%lld\nevents=0\nlost=0\n"
                          "agent_cpu_ns=%lld\n",
                          status, (long long)raw, (long long)cpu_ns);
    _Alignas(8) uint8_t room[sizeof(struct ck_text) + 256] = {0};
    struct ck_text *text = (struct ck_text *)room;

    synth_stream(synth, 0, CK_SLOT_COLLECTOR, 0);
    text->e.kind = CK_KIND_EXIT;
    text->e.units = (uint8_t)ck_text_units((size_t)length);
    text->e.flags = CK_FLAG_RAW;
    text->e.start = raw + EXIT_LATE;
    text->object = (uint64_t)status;
    text->length = (uint32_t)length;
    memcpy(text + 1, lines, (size_t)length);
    rows_put(synth, room, (size_t)text->e.units * CK_UNIT_BYTES);
}
