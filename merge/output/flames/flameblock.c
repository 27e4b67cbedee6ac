/* flameblock.c - flames as two blocks of bytes: what there is, and its numbers
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/flames/flameblock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/names.h"
#include "merge/model/table.h"
#include "schema/json.h"
#include "schema/order.h"

#define VERSION 1
/* Steps of a cell's time as the page has it. */
#define SHADES 255
/* Bytes of a frame's text; the middle of a longer one is left out. */
#define FRAME_MOST 400
#define FRAME_ENDS 190
#define NO_PATH UINT32_MAX

/* A path of one kind on its way into the block. */
struct path {
    uint32_t number; /* of the flames */
    uint32_t shown;  /* in the block */
    ck_time_t ns;
};

struct kind {
    struct flame_sum *sums;
    size_t sums_count;
    struct path *paths; /* by number */
    size_t paths_count;
    uint32_t *nodes; /* by number in the block */
    size_t shown;
    size_t left;
    ck_time_t total;
};

/* The tree of all paths. */
struct tree {
    struct texts *texts;
    struct table *frames; /* by address of the kept text */
    struct table *nodes;  /* node around it and 1, frame */
    uint64_t at;          /* node that the next frame goes into, and 1 */
};

struct writer {
    const struct flames *flames;
    const struct flamecells *cells;
    struct tree tree;
    struct kind kinds[FLAME_KINDS];
    struct numbers *numbers;
};

static const char *const kind_names[FLAME_KINDS] = {
    [FLAME_CPU] = "cpu",
    [FLAME_OFFCPU] = "offcpu",
    [FLAME_DEVICE] = "device",
    [FLAME_IDLE] = "idle",
};

/* The kept copy of a frame's text. */
static const char *frame_keep(struct tree *tree, const char *frame)
{
    size_t length = strlen(frame);
    char text[FRAME_MOST + 1];

    if (length <= FRAME_MOST) {
        return texts_keep(tree->texts, frame, length);
    }
    (void)snprintf(text, sizeof(text), "%.*s ... %s", FRAME_ENDS, frame,
                   frame + length - FRAME_ENDS);
    return texts_keep(tree->texts, text, strlen(text));
}

/* A flames_frame_f. */
static void frame_take(void *state, const char *frame)
{
    struct tree *tree = state;
    const char *kept = frame_keep(tree, frame);
    int64_t number, node;

    number = table_number_of(tree->frames, (uint64_t)(uintptr_t)kept, 0, 0);
    node = table_number_of(tree->nodes, tree->at, (uint64_t)number, 0);
    tree->at = (uint64_t)node + 1;
}

CK_ORDER(by_time, struct path, CK_DOWN(ns) ?: CK_UP(number))

CK_ORDER(by_number, struct path, CK_UP(number))

/* The longest paths are shown, the others are one. */
static void paths_choose(struct kind *kind, size_t most)
{
    qsort(kind->paths, kind->paths_count, sizeof(*kind->paths), by_time);
    kind->shown = kind->paths_count < most ? kind->paths_count : most;
    kind->left = kind->paths_count - kind->shown;
    for (size_t i = 0; i < kind->paths_count; i++) {
        kind->paths[i].shown = i < kind->shown ? (uint32_t)i : NO_PATH;
    }
}

/* Nodes of the paths that are shown. */
static void
nodes_make(struct writer *writer, enum flame_kind which, struct kind *kind)
{
    kind->nodes = xcalloc(kind->shown + 1, sizeof(*kind->nodes));
    for (size_t i = 0; i < kind->shown; i++) {
        writer->tree.at = 0;
        flames_frames(writer->flames, which, kind->paths[i].number, frame_take,
                      &writer->tree);
        kind->nodes[i] = (uint32_t)(writer->tree.at - 1);
    }
    if (kind->left > 0) {
        writer->tree.at = 0;
        frame_take(&writer->tree, "other stacks");
        kind->nodes[kind->shown] = (uint32_t)(writer->tree.at - 1);
    }
}

static void
kind_make(struct writer *writer, enum flame_kind which, size_t paths)
{
    struct kind *kind = &writer->kinds[which];

    kind->sums = flamecells_sums(writer->cells, which, &kind->sums_count);
    kind->paths_count = flamecells_paths(writer->cells, which);
    kind->paths = xcalloc(kind->paths_count + 1, sizeof(*kind->paths));
    for (size_t i = 0; i < kind->paths_count; i++) {
        kind->paths[i].number = (uint32_t)i;
    }
    for (size_t i = 0; i < kind->sums_count; i++) {
        kind->paths[kind->sums[i].path].ns += kind->sums[i].ns;
        kind->total += kind->sums[i].ns;
    }
    paths_choose(kind, paths);
    nodes_make(writer, which, kind);
    qsort(kind->paths, kind->paths_count, sizeof(*kind->paths), by_number);
}

/* Sums of paths that are not shown, of one cell, are one. */
static void sums_join(struct kind *kind)
{
    size_t kept = 0, other = 0;
    bool has_other = false;

    for (size_t i = 0; i < kind->sums_count; i++) {
        struct flame_sum sum = kind->sums[i];
        uint32_t shown = kind->paths[sum.path].shown;

        if (kept > 0 && has_other && kind->sums[other].cell != sum.cell) {
            has_other = false;
        }
        sum.path = shown == NO_PATH ? (uint32_t)kind->shown : shown;
        if (shown == NO_PATH && has_other) {
            kind->sums[other].ns += sum.ns;
            continue;
        }
        if (shown == NO_PATH) {
            has_other = true;
            other = kept;
        }
        kind->sums[kept++] = sum;
    }
    kind->sums_count = kept;
}

static ck_time_t largest_of(const ck_time_t *times, size_t count)
{
    ck_time_t largest = 0;

    for (size_t i = 0; times != NULL && i < count; i++) {
        largest = times[i] > largest ? times[i] : largest;
    }
    return largest;
}

/* The columns of a kind. */
static void
kind_put(const struct writer *writer, enum flame_kind which, struct kind *kind)
{
    struct numbers *to = writer->numbers;
    const ck_time_t *times = flamecells_times(writer->cells, which);
    size_t cells = flamecells_count(writer->cells);
    ck_time_t largest = largest_of(times, cells);
    uint32_t before = 0;

    sums_join(kind);
    numbers_reserve(to, kind->shown + 1 + cells + kind->sums_count);
    for (size_t i = 0; i < kind->shown + (kind->left > 0); i++) {
        numbers_put(to, kind->nodes[i]);
    }
    for (size_t i = 0; largest > 0 && i < cells; i++) {
        numbers_put(to, (uint64_t)(((__int128)times[i] * SHADES + largest - 1) /
                                   largest));
    }
    for (size_t i = 0; i < kind->sums_count; i++) {
        numbers_put(to, kind->sums[i].cell - before);
        before = kind->sums[i].cell;
    }
    numbers_reserve(to, kind->sums_count);
    for (size_t i = 0; i < kind->sums_count; i++) {
        numbers_put(to, kind->sums[i].path);
    }
    numbers_reserve(to, kind->sums_count);
    for (size_t i = 0; i < kind->sums_count; i++) {
        numbers_put(to, (uint64_t)kind->sums[i].ns);
    }
}

static void nodes_put(const struct writer *writer)
{
    const struct table *nodes = writer->tree.nodes;
    size_t count = table_count(nodes);

    numbers_reserve(writer->numbers, 2 * count);
    for (size_t i = 0; i < count; i++) {
        numbers_put(writer->numbers, i + 1 - table_key(nodes, i).a);
    }
    for (size_t i = 0; i < count; i++) {
        numbers_put(writer->numbers, table_key(nodes, i).b);
    }
}

static void
index_put(const struct writer *writer, struct ck_json *json, ck_time_t zero)
{
    const struct flamecells *cells = writer->cells;
    const struct table *frames = writer->tree.frames;

    ck_json_object(json, NULL);
    ck_json_int(json, "version", VERSION);
    ck_json_int(json, "start_ns", flamecells_start(cells) - zero);
    ck_json_int(json, "column_ns", flamecells_column(cells));
    ck_json_int(json, "width_ns", flamecells_width(cells));
    ck_json_uint(json, "cells", flamecells_count(cells));
    ck_json_uint(json, "wide", flamecells_wide(cells));
    ck_json_uint(json, "nodes", table_count(writer->tree.nodes));
    ck_json_array(json, "kinds");
    for (int i = 0; i < FLAME_KINDS; i++) {
        const struct kind *kind = &writer->kinds[i];

        ck_json_object(json, NULL);
        ck_json_string(json, "name", kind_names[i]);
        ck_json_int(json, "total_ns", kind->total);
        ck_json_int(json, "largest_ns",
                    largest_of(flamecells_times(cells, (enum flame_kind)i),
                               flamecells_count(cells)));
        ck_json_uint(json, "paths", kind->shown + (kind->left > 0));
        ck_json_uint(json, "paths_left", kind->left);
        ck_json_uint(json, "sums", kind->sums_count);
        ck_json_end(json);
    }
    ck_json_end(json);
    ck_json_array(json, "frames");
    for (size_t i = 0; i < table_count(frames); i++) {
        ck_json_string(json, NULL,
                       (const char *)(uintptr_t)table_key(frames, i).a);
    }
    ck_json_end(json);
    ck_json_end(json);
}

static void all_put(struct writer *writer, size_t paths)
{
    struct tree *tree = &writer->tree;

    tree->texts = texts_create();
    tree->frames = table_create();
    tree->nodes = table_create();
    for (int i = 0; i < FLAME_KINDS; i++) {
        kind_make(writer, (enum flame_kind)i, paths);
    }
    nodes_put(writer);
    for (int i = 0; i < FLAME_KINDS; i++) {
        kind_put(writer, (enum flame_kind)i, &writer->kinds[i]);
    }
}

static void writer_fini(struct writer *writer)
{
    for (int i = 0; i < FLAME_KINDS; i++) {
        free(writer->kinds[i].sums);
        free(writer->kinds[i].paths);
        free(writer->kinds[i].nodes);
    }
    table_destroy(writer->tree.nodes);
    table_destroy(writer->tree.frames);
    texts_destroy(writer->tree.texts);
}

int flameblock_make(struct flameblock *block,
                    const struct flames *flames,
                    size_t paths,
                    ck_time_t zero)
{
    struct writer writer = {.flames = flames,
                            .cells = flames_cells(flames),
                            .numbers = &block->numbers};
    struct ck_json *json = ck_json_create(NULL, false);

    *block = (struct flameblock){0};
    if (json != NULL) {
        all_put(&writer, paths);
        index_put(&writer, json, zero);
        block->index = ck_json_take(json);
        block->index_length = block->index == NULL ? 0 : strlen(block->index);
    } else {
        ck_json_destroy(json);
    }
    writer_fini(&writer);
    if (block->index == NULL) {
        errno = ENOMEM;
        return -1;
    }
    return 0;
}

void flameblock_fini(struct flameblock *block)
{
    free(block->index);
    free(block->numbers.at);
    *block = (struct flameblock){0};
}
