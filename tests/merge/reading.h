/* reading.h - a run of one agent, written by a case and then read
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * setup() and teardown() are cmocka's; *state is a struct reading that has
 * begun.
 */
#ifndef CK_TESTS_MERGE_READING_H
#define CK_TESTS_MERGE_READING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "merge/clocks/align.h"
#include "merge/input/rundir.h"
#include "merge/model/comm.h"
#include "tests/merge/synth.h"

static const struct synth_rank lone = {.rank = 0,
                                       .size = 1,
                                       .host = "h",
                                       .timens = "t",
                                       .clock = CK_CLOCK_RAW,
                                       .start_raw = 500,
                                       .start_realtime = 900};

struct reading {
    char *dir;
    struct synth *synth; /* the agent; NULL once the run is read */
    /* What the run gives when it is read. */
    struct defs *defs;
    struct align *align;
    struct rundir *store;
    struct ck_err err;
};

static inline void reading_begin(struct reading *reading)
{
    memset(reading, 0, sizeof(*reading));
    reading->dir = synth_dir();
    reading->synth = synth_create(reading->dir, 1, &lone);
}

/* Read what is in the directory. 0, or -1 with reading->err. */
static inline int reading_open(struct reading *reading, const char *dir)
{
    reading->defs = defs_create();
    reading->align = align_create();
    reading->store = rundir_create(dir, reading->defs,
                                   align_taker(reading->align), &reading->err);
    if (reading->store == NULL) {
        return -1;
    }
    defs_close(reading->defs);
    comm_close(reading->defs);
    align_close(reading->align, reading->defs);
    return 0;
}

static inline void reading_close(struct reading *reading)
{
    rundir_destroy(reading->store);
    align_destroy(reading->align);
    defs_destroy(reading->defs);
    reading->store = NULL;
    reading->align = NULL;
    reading->defs = NULL;
}

/* The agent has written all: read the run. */
static inline void reading_read(struct reading *reading)
{
    synth_destroy(reading->synth);
    reading->synth = NULL;
    assert_int_equal(reading_open(reading, reading->dir), 0);
}

static inline void reading_end(struct reading *reading)
{
    synth_destroy(reading->synth);
    reading_close(reading);
    synth_remove(reading->dir);
}

static inline int setup(void **state)
{
    static struct reading reading;

    reading_begin(&reading);
    *state = &reading;
    return 0;
}

static inline int teardown(void **state)
{
    reading_end(*state);
    return 0;
}

static inline void mark_put(struct synth *synth, int64_t start, int64_t value)
{
    struct ck_mark mark = {.e = {.kind = CK_KIND_MARK, .start = start},
                           .value = value};

    synth_put(synth, &mark);
}

/* The EXIT record of the collector: key=value lines. */
static inline void exit_put(struct synth *synth, const char *lines)
{
    synth_stream(synth, 0, CK_SLOT_COLLECTOR, 0);
    synth_text(synth, CK_KIND_EXIT, 0, 0, 0, lines, strlen(lines));
}

#endif
