/* cudacall.c - the driver's functions, by the table in cuda.def
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/cuda/cudacall.h"

#include <stdatomic.h>
#include <string.h>

#include "agent/inject/cuda/cudahook.h"
#include "agent/inject/inject.h"

/* CUresult of a driver that is not there. */
#define CUDA_NO_DRIVER 999
/* Threads that launch share this many counters. */
#define CALL_SHARDS 16
#define CALL_LINE 64

enum meaning { OTHER, LAUNCH };

static const char *const sonames[] = {"libcuda.so.1", NULL};
static _Atomic int recorder; /* enum cuda_recorder */
static _Atomic int is_said;
static struct {
    _Atomic uint64_t count;
    char rest[CALL_LINE - sizeof(uint64_t)];
} shards[CALL_SHARDS];

void cudacall_decide(enum cuda_recorder decided)
{
    atomic_store(&recorder, (int)decided);
}

uint64_t cudacall_launches(void)
{
    uint64_t sum = 0;

    for (int i = 0; i < CALL_SHARDS; i++) {
        sum += atomic_load_explicit(&shards[i].count, memory_order_relaxed);
    }
    return sum;
}

/* A thread that launches has initialised the driver, which loaded ckcupti. If
 * ckcupti has not reported itself, another library was loaded in its place. */
static bool is_ours(void)
{
    int now = atomic_load_explicit(&recorder, memory_order_relaxed);
    int no = 0;

    if (now != CUDA_BY_DRIVER && now != CUDA_UNDECIDED) {
        return false;
    }
    if (atomic_load_explicit(&is_said, memory_order_relaxed) == 0 &&
        atomic_compare_exchange_strong(&is_said, &no, 1)) {
        (void)inject_say(CK_KIND_NOTE, 0, 0, 0,
                         "CUDA calls are recorded from the driver's API: "
                         "what the devices did, and when, is unknown");
    }
    return true;
}

static void call_leave(struct inject_call *call, enum meaning meaning, int rc)
{
    int64_t end = call->writer == NULL ? 0 : inject_now();
    struct ck_call *record = inject_call_leave(call, 2);

    if (meaning == LAUNCH && rc == 0) {
        uint32_t shard = call->slot == NULL ? 0 : call->slot->tid;

        atomic_fetch_add_explicit(&shards[shard % CALL_SHARDS].count, 1,
                                  memory_order_relaxed);
    }
    if (record == NULL) {
        return;
    }
    memset(record, 0, sizeof(*record));
    record->e = inject_call_head(call, CK_KIND_API_CUDA_DRIVER, 2);
    record->e.flags = rc == 0 ? 0 : CK_FLAG_FAILED;
    record->dur = end - call->start;
    record->site = call->site;
    record->call = call->number;
    inject_call_commit(call, 2);
}

#define TYPES_0 void
#define TYPES_1 long a
#define TYPES_2 TYPES_1, long b
#define TYPES_3 TYPES_2, long c
#define TYPES_4 TYPES_3, long d
#define TYPES_5 TYPES_4, long e
#define TYPES_6 TYPES_5, long f
#define TYPES_10 TYPES_6, long g, long h, long i, long j
#define TYPES_11 TYPES_10, long k
#define WORDS_0
#define WORDS_1 a
#define WORDS_2 WORDS_1, b
#define WORDS_3 WORDS_2, c
#define WORDS_4 WORDS_3, d
#define WORDS_5 WORDS_4, e
#define WORDS_6 WORDS_5, f
#define WORDS_10 WORDS_6, g, h, i, j
#define WORDS_11 WORDS_10, k

enum number {
#define CUDA_FUNCTION(symbol, text, n, MEANING) NUMBER_##symbol,
#include "agent/inject/cuda/cuda.def"
    NUMBER_LIMIT
};

#define CUDA_FUNCTION(symbol, text, n, MEANING)                                \
    CUDA_EXPORT int symbol(TYPES_##n);
#include "agent/inject/cuda/cuda.def"

static struct cuda_hook hooks[NUMBER_LIMIT] = {
#define CUDA_FUNCTION(symbol, text, n, MEANING)                                \
    [NUMBER_##symbol] = {#symbol, (void *)symbol, NULL},
#include "agent/inject/cuda/cuda.def"
};

static struct inject_label labels[NUMBER_LIMIT] = {
#define CUDA_FUNCTION(symbol, text, n, MEANING)                                \
    [NUMBER_##symbol] = INJECT_LABEL(text),
#include "agent/inject/cuda/cuda.def"
};

/* The return address is that of the program's call. */
#define CUDA_FUNCTION(symbol, text, n, MEANING)                                \
    CUDA_EXPORT int symbol(TYPES_##n)                                          \
    {                                                                          \
        void *at = cudahook_real(&hooks[NUMBER_##symbol], sonames);            \
        int (*real)(TYPES_##n);                                                \
        struct inject_call call = {0};                                         \
        int rc;                                                                \
                                                                               \
        if (at == NULL) {                                                      \
            return CUDA_NO_DRIVER;                                             \
        }                                                                      \
        memcpy(&real, &at, sizeof(real));                                      \
        if (!is_ours()) {                                                      \
            return real(WORDS_##n);                                            \
        }                                                                      \
        inject_call_enter(&call, &labels[NUMBER_##symbol],                     \
                          CK_KIND_API_CUDA_DRIVER,                             \
                          __builtin_return_address(0), 0, 0);                  \
        rc = real(WORDS_##n);                                                  \
        call_leave(&call, MEANING, rc);                                        \
        return rc;                                                             \
    }
#include "agent/inject/cuda/cuda.def"

struct cuda_hook *cudacall_hook(const char *symbol)
{
    return cudahook_find(hooks, NUMBER_LIMIT, symbol);
}

/* The driver knows a function by its name without a number, and gives one of
 * its forms. */
void *cudacall_replace(const char *name, void *real)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < NUMBER_LIMIT; i++) {
        if (strncmp(hooks[i].symbol, name, length) == 0 &&
            cudahook_real(&hooks[i], sonames) == real) {
            return hooks[i].ours;
        }
    }
    return real;
}

void *cudacall_driver(const char *symbol)
{
    struct cuda_hook hook = {symbol, NULL, NULL};

    return cudahook_real(&hook, sonames);
}
