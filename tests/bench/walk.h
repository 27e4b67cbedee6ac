/* walk.h - all frames of a stored run, for the benchmarks of its size
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_TESTS_BENCH_WALK_H
#define CK_TESTS_BENCH_WALK_H

#include <stddef.h>

#include "schema/batch/wire.h"
#include "schema/frame.h"

struct walk_frame {
    struct ck_frame_header header;
    struct ck_batch_info info;
    const void *payload; /* unpacked */
    const void *rows;    /* the records, one after the other */
    size_t rows_bytes;
};

/* Called for each frame; what it points to is borrowed until it returns. */
typedef void walk_f(const struct walk_frame *frame, void *arg);

/* Segments and spools of the run in order. 0, or -1 with a line on stderr. */
int walk_run(const char *dir, walk_f *visit, void *arg);

#endif
