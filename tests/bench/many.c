/* many.c - runs of very many ranks, and the least that merging them costs
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     bench_many --write DIR RANKS TURNS
 *     bench_many --bare DIR
 *
 * Each turn a rank launches a kernel, computes, meets all others in a
 * collective that it comes to earlier or later than they, and computes again:
 * three events. --write leaves such a run in DIR and prints for each rank what
 * its idle times and its waits are, from the times alone. --bare decodes the
 * frames of a run a piece at a time through a tree of losers, and nothing
 * else. ranks.py compares both with ckmerge.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "merge/clocks/align.h"
#include "merge/input/pieces.h"
#include "merge/input/rundir.h"
#include "merge/model/defs.h"
#include "merge/timeline/kway.h"
#include "tests/merge/synth.h"

/* ns */
#define BEGIN 100000
#define PERIOD 10000
#define LATENCY 1000
#define ENTER 3000
#define LEAVE 8000
#define SKEW 997
/* Turns in a frame. */
#define TURNS 2000

static int64_t skew_of(int rank, int64_t turn)
{
    return (rank * INT64_C(7919) + turn * 104729) % SKEW;
}

static int64_t kernel_dur(int64_t skew)
{
    return 2200 + skew / 2;
}

static void
turns_write(struct synth *synth, int rank, int64_t first, int64_t end)
{
    struct ck_collective collective = {
        .e = {.kind = CK_KIND_COLLECTIVE, .name = 2},
        .site = 0x1040,
        .comm = 1,
        .root = -1,
        .bytes_out = 8,
        .bytes_in = 8};

    synth_stream(synth, 1, 0, 100);
    for (int64_t turn = first; turn < end; turn++) {
        int64_t at = BEGIN + turn * PERIOD;
        int64_t skew = skew_of(rank, turn);
        uint32_t call = (uint32_t)turn * 2 + 1;

        synth_call(synth, CK_KIND_API_OPENCL, 1, at, 800, 0x1000, call);
        collective.e.start = at + ENTER + skew;
        collective.dur = LEAVE - ENTER - skew;
        collective.call = call + 1;
        collective.seq = (uint32_t)turn + 1;
        synth_put(synth, &collective);
    }
    synth_stream(synth, 1, 1, 101);
    for (int64_t turn = first; turn < end; turn++) {
        synth_kernel(synth, 3, BEGIN + turn * PERIOD + LATENCY,
                     kernel_dur(skew_of(rank, turn)), 100,
                     (uint32_t)turn * 2 + 1);
    }
}

static void rank_write(const char *dir, int rank, int ranks, int64_t turns)
{
    struct synth_rank who = {.rank = rank,
                             .size = ranks,
                             .host = "node",
                             .timens = "t",
                             .clock = CK_CLOCK_RAW,
                             .start_raw = 1};
    struct synth *synth = synth_create(dir, (unsigned)rank, &who);

    synth_stream(synth, 1, 0, 100);
    synth_text(synth, CK_KIND_NAME, 1, 0, 0, "clEnqueueNDRangeKernel", 22);
    synth_text(synth, CK_KIND_NAME, 2, 0, 0, "MPI_Allreduce", 13);
    synth_text(synth, CK_KIND_NAME, 3, 0, 0, "forward", 7);
    for (int64_t turn = 0; turn < turns; turn += TURNS) {
        int64_t end = turn + TURNS < turns ? turn + TURNS : turns;

        turns_write(synth, rank, turn, end);
    }
    synth_exit(synth, 0, BEGIN + turns * PERIOD, 1);
    synth_destroy(synth);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* What follows for a rank from the times above; last[] = when the last rank
 * came to each turn's collective. */
static void rank_expect(int rank, const int64_t *last, int64_t turns)
{
    int64_t compute = 0, wait = 0, transfer = 0, waited = 0, busy = 0;

    for (int64_t turn = 0; turn < turns; turn++) {
        int64_t skew = skew_of(rank, turn);
        int64_t enter = ENTER + skew;
        int64_t idle = LATENCY + kernel_dur(skew); /* from here on */
        int64_t from = larger(enter, idle);

        busy += kernel_dur(skew);
        waited += last[turn] - enter;
        wait += larger(last[turn] - from, 0);
        if (turn + 1 == turns) {
            continue; /* behind that wait there is no work */
        }
        compute += larger(enter - idle, 0) + PERIOD - LEAVE;
        transfer += LEAVE - larger(last[turn], from);
    }
    printf("%d %lld %lld %lld %lld %lld %lld\n", rank, (long long)busy,
           (long long)compute, (long long)wait, (long long)transfer,
           (long long)(turns - 1) * LATENCY, (long long)waited);
}

static int run_write(const char *dir, int ranks, int64_t turns)
{
    int64_t *last = calloc((size_t)turns, sizeof(*last));

    if (last == NULL) {
        return 1;
    }
    for (int rank = 0; rank < ranks; rank++) {
        rank_write(dir, rank, ranks, turns);
        for (int64_t turn = 0; turn < turns; turn++) {
            last[turn] = larger(last[turn], ENTER + skew_of(rank, turn));
        }
    }
    for (int rank = 0; rank < ranks; rank++) {
        rank_expect(rank, last, turns);
    }
    free(last);
    return 0;
}

/* A stream on its way through the bare loop. */
struct bare {
    const struct rundir_stream *stream;
    size_t frame;
    struct pieces *pieces;
    struct store_rows rows;
    size_t at;
    bool is_over; /* the frame */
};

static const struct ck_event *bare_row(const struct bare *bare)
{
    return bare->at < bare->rows.used
               ? (const struct ck_event *)((const uint8_t *)bare->rows.bytes +
                                           bare->at)
               : NULL;
}

/* Go on to the next record; its start is the key. */
static int64_t bare_key(struct rundir *store, struct bare *bare)
{
    struct ck_err err;
    int64_t done;

    while (bare_row(bare) == NULL) {
        if (bare->is_over) {
            if (bare->frame == bare->stream->frames_count) {
                return KWAY_END;
            }
            if (rundir_pieces_open(store, bare->pieces,
                                   &bare->stream->frames[bare->frame++],
                                   UINT32_MAX, &err) != 0) {
                return KWAY_END;
            }
        }
        bare->rows.used = bare->at = 0;
        done = pieces_next(bare->pieces, 1, &bare->rows, &err);
        if (done < 0) {
            return KWAY_END;
        }
        bare->is_over = done == UINT32_MAX;
    }
    return bare_row(bare)->start;
}

static void bare_merge(struct rundir *store, struct bare *bare, size_t count)
{
    int64_t *keys = calloc(count, sizeof(*keys));
    clock_t start = clock();
    uint64_t events = 0;
    int64_t sum = 0;
    int64_t key;
    struct kway *kway;
    double seconds;

    for (size_t i = 0; i < count; i++) {
        keys[i] = bare_key(store, &bare[i]);
    }
    kway = kway_create(keys, count);
    for (size_t top = kway_top(kway, &key); key != KWAY_END;
         top = kway_top(kway, &key)) {
        const struct ck_event *row = bare_row(&bare[top]);

        sum += row->start;
        events++;
        bare[top].at += (size_t)row->units * CK_UNIT_BYTES;
        kway_replace(kway, bare_key(store, &bare[top]));
    }
    seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    printf("bare %llu events %.3f s (%llx)\n", (unsigned long long)events,
           seconds, (unsigned long long)sum);
    kway_destroy(kway);
    free(keys);
}

static int run_bare(const char *dir)
{
    struct defs *defs = defs_create();
    struct align *align = align_create();
    struct ck_err err = {"out of memory"};
    struct rundir *store = rundir_create(dir, defs, align_taker(align), &err);
    size_t count = store == NULL ? 0 : rundir_streams(store);
    struct bare *bare = calloc(count + 1, sizeof(*bare));

    if (store == NULL || bare == NULL) {
        (void)fprintf(stderr, "bench_many: %s\n", err.text);
        return 1;
    }
    for (size_t i = 0; i < count; i++) {
        bare[i].stream = rundir_stream(store, i);
        bare[i].pieces = pieces_create();
        bare[i].is_over = true;
    }
    bare_merge(store, bare, count);
    for (size_t i = 0; i < count; i++) {
        pieces_destroy(bare[i].pieces);
        free(bare[i].rows.bytes);
    }
    free(bare);
    rundir_destroy(store);
    align_destroy(align);
    defs_destroy(defs);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--bare") == 0) {
        return run_bare(argv[2]);
    }
    if (argc == 5 && strcmp(argv[1], "--write") == 0 && atoi(argv[3]) > 0 &&
        atoll(argv[4]) > 0) {
        return run_write(argv[2], atoi(argv[3]), atoll(argv[4]));
    }
    (void)fprintf(stderr, "usage: bench_many --write DIR RANKS TURNS\n"
                          "       bench_many --bare DIR\n");
    return 2;
}
