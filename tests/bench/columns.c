/* columns.c - what encoding and decoding of batches costs a record
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A synthetic stream of each class as a training loop makes it, and one of all
 * mixed. Prints ns of CPU time and bytes an event, the median of ROUNDS.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "schema/batch/pack.h"
#include "schema/batch/wire.h"

#define RECORDS 8192
#define ROUNDS 101

static uint64_t seed = 42;

static uint64_t noise(uint64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % below;
}

static int64_t now;
static uint32_t calls;

static size_t make_mark(uint8_t *at)
{
    struct ck_mark r = {.e = {CK_KIND_RANGE, 1, 0, (uint32_t)noise(3) + 1, 0}};

    now += 2000 + (int64_t)noise(2000);
    r.e.start = now;
    r.dur = 9000 + (int64_t)noise(500);
    r.value = 1;
    memcpy(at, &r, sizeof(r));
    return sizeof(r);
}

static size_t make_call(uint8_t *at)
{
    uint32_t which = (uint32_t)noise(4);
    struct ck_call r = {
        .e = {CK_KIND_API_OPENCL, 2, 0, 10 + which, 0},
        .site = 0x555555554000 + which * 0x40,
        .object = 1,
        .bytes = which == 0 ? 4096 : 0,
    };

    now += 5000 + (int64_t)noise(5000);
    r.e.start = now;
    r.dur = 3000 + (int64_t)noise(800);
    r.call = ++calls;
    memcpy(at, &r, sizeof(r));
    return sizeof(r);
}

static size_t make_message(uint8_t *at)
{
    uint32_t which = (uint32_t)noise(2);
    struct ck_message r = {
        .e = {(uint16_t)(which == 0 ? CK_KIND_SEND : CK_KIND_RECV), 2, 0,
              20 + which, 0},
        .site = 0x555555555000 + which * 0x80,
        .comm = 1,
        .peer = (int32_t)noise(4),
        .tag = 7,
        .bytes = 203560,
    };

    now += 20000 + (int64_t)noise(9000);
    r.e.start = now;
    r.dur = 30000 + (int64_t)noise(20000);
    r.call = ++calls;
    memcpy(at, &r, sizeof(r));
    return sizeof(r);
}

static size_t make_kernel(uint8_t *at)
{
    uint32_t which = (uint32_t)noise(5);
    struct ck_kernel r = {
        .e = {CK_KIND_KERNEL, 3, CK_FLAG_RAW, 30 + which, 0},
        .tid = 1234,
        .device = 1,
        .queue = 2,
        .global = {1024u << which, 1, 1},
        .local = {64, 1, 1},
    };

    now += 50000 + (int64_t)noise(30000);
    r.e.start = now;
    r.dur = 40000 + (int64_t)noise(4000);
    r.submitted = now - 3000 - (int64_t)noise(2000);
    r.queued = r.submitted - 1000 - (int64_t)noise(500);
    r.call = ++calls;
    r.correlation = calls;
    memcpy(at, &r, sizeof(r));
    return sizeof(r);
}

typedef size_t make_f(uint8_t *at);

static size_t make_mixed(uint8_t *at)
{
    static make_f *const makers[] = {make_call, make_call,    make_kernel,
                                     make_mark, make_message, make_call};
    static unsigned next;

    return makers[next++ % 6](at);
}

static double cpu_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof(*values), compare);
    return values[ROUNDS / 2];
}

static size_t packed_bytes(enum ck_pack pack, const void *payload, size_t bytes)
{
    size_t room = ck_pack_bound(pack, bytes);
    void *to = malloc(room);
    int64_t packed =
        to == NULL ? -1 : ck_pack(pack, payload, bytes, to, room, NULL);

    free(to);
    return packed < 0 ? 0 : (size_t)packed;
}

static int
measure(struct ck_batch_writer *writer, const char *name, make_f make)
{
    static uint8_t rows[RECORDS * 96] __attribute__((aligned(64)));
    static uint8_t back[RECORDS * 96] __attribute__((aligned(64)));
    double encode[ROUNDS], decode[ROUNDS];
    struct ck_batch_info info = {.clock = CK_CLOCK_RAW};
    const void *payload;
    size_t payload_bytes;
    size_t used = 0;
    struct ck_err err;

    for (int i = 0; i < RECORDS; i++) {
        used += make(rows + used);
    }
    for (int i = 0; i < ROUNDS; i++) {
        double t0 = cpu_ns();
        int rc = ck_batch_encode(writer, &info, rows, used, &payload,
                                 &payload_bytes, &err);
        double t1 = cpu_ns();

        rc |= ck_batch_decode(payload, payload_bytes, &info, back, used, &err);
        decode[i] = (cpu_ns() - t1) / RECORDS;
        encode[i] = (t1 - t0) / RECORDS;
        if (rc != 0 || memcmp(rows, back, used) != 0) {
            (void)fprintf(stderr, "bench_columns: %s: not an identity\n", name);
            return -1;
        }
    }
    (void)printf(
        "%-8s encode %5.2f ns  decode %5.2f ns  ring %5.1f B  "
        "packed %5.2f B  lz4 %5.2f B  zstd %5.2f B\n",
        name, median(encode), median(decode), (double)used / RECORDS,
        (double)payload_bytes / RECORDS,
        (double)packed_bytes(CK_PACK_LZ4, payload, payload_bytes) / RECORDS,
        (double)packed_bytes(CK_PACK_ZSTD, payload, payload_bytes) / RECORDS);
    return 0;
}

int main(void)
{
    struct ck_batch_writer *writer = ck_batch_writer_create();
    int rc = writer == NULL ? 1 : 0;

    if (rc == 0) {
        rc |= measure(writer, "mark", make_mark);
        rc |= measure(writer, "call", make_call);
        rc |= measure(writer, "message", make_message);
        rc |= measure(writer, "kernel", make_kernel);
        rc |= measure(writer, "mixed", make_mixed);
    }
    ck_batch_writer_destroy(writer);
    return rc == 0 ? 0 : 1;
}
