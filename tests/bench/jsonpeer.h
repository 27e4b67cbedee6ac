/* jsonpeer.h - the same sums by another reader (yajl), for comparison
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_TESTS_BENCH_JSONPEER_H
#define CK_TESTS_BENCH_JSONPEER_H

#include <stdint.h>

struct json_sums {
    uint64_t events;
    uint64_t bytes; /* of names */
    int64_t time;   /* of ts and dur, ns */
};

/* 0, or -1: not built in, or not readable. */
int json_peer(const char *path, struct json_sums *sums);

#endif
