/* ncclabi.h - NCCL's profiler plug-in: what is used of versions 1 to 6
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Written from the layouts of nccl_profiler.h, NCCL 2.23 (1), 2.24 (2), 2.26
 * (3), 2.27 (4), 2.28 (5) and 2.30 (6). An event is a head and what is
 * particular to its type; from version 2 on functions, types and algorithms are
 * texts.
 */
#ifndef CK_AGENT_INJECT_NCCL_NCCLABI_H
#define CK_AGENT_INJECT_NCCL_NCCLABI_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Types of events, bits of a mask. */
enum nccl_type {
    NCCL_GROUP = 1 << 0,
    NCCL_COLL = 1 << 1,
    NCCL_P2P = 1 << 2,
    NCCL_GROUP_API = 1 << 8, /* from version 5 on, as what follows */
    NCCL_COLL_API = 1 << 9,
    NCCL_P2P_API = 1 << 10,
    NCCL_KERNEL_LAUNCH = 1 << 11,
    NCCL_CE_COLL = 1 << 12, /* from version 6 on */
};

struct nccl_coll_1 {
    const char *name;
    uint64_t hash, number;
    uint8_t function;
    const void *send;
    void *receive;
    size_t count;
    int root;
    uint8_t type;
    uint32_t operation;
    size_t traffic;
    uint8_t channels, warps, algorithm, protocol;
    int is_collnet, is_nvls;
};
struct nccl_p2p_1 {
    const char *name;
    uint64_t hash;
    uint8_t function;
    void *buffer;
    uint8_t type;
    size_t count;
    int peer;
};

struct nccl_coll_2 {
    const char *name;
    uint64_t hash, number;
    const char *function;
    const void *send;
    void *receive;
    size_t count;
    int root;
    const char *type;
    size_t traffic;
    uint8_t channels, warps;
    const char *algorithm, *protocol;
};
struct nccl_p2p_2 { /* and 3 */
    const char *name;
    uint64_t hash;
    const char *function;
    void *buffer;
    const char *type;
    size_t count;
    int peer;
};

struct nccl_coll_3 {
    const char *name;
    uint64_t hash, number;
    const char *function;
    const void *send;
    void *receive;
    size_t count;
    int root;
    const char *type;
    uint8_t channels, warps;
    const char *algorithm, *protocol;
};

struct nccl_coll_4 { /* and the beginning of 5 and 6; of CE_COLL up to type */
    uint64_t number;
    const char *function;
    const void *send;
    void *receive;
    size_t count;
    int root;
    const char *type;
    uint8_t channels, warps;
    const char *algorithm, *protocol;
};
struct nccl_p2p_4 {
    const char *function;
    void *buffer;
    const char *type;
    size_t count;
    int peer;
};

struct nccl_coll_api { /* of 5 and 6 */
    const char *function;
    size_t count;
    const char *type;
    int root;
    void *stream;
    bool is_captured;
};

struct nccl_event {
    uint64_t type; /* before version 5 a byte */
    void *parent;
    int rank;
    union {
        struct nccl_coll_1 coll_1;
        struct nccl_p2p_1 p2p_1;
        struct nccl_coll_2 coll_2;
        struct nccl_p2p_2 p2p_2;
        struct nccl_coll_3 coll_3;
        struct nccl_coll_4 coll_4;
        struct nccl_p2p_4 p2p_4;
        struct nccl_coll_api coll_api;
        struct nccl_coll_4 coll_ce;
    };
};
static_assert(offsetof(struct nccl_event, coll_1) == 24, "head of an event");
static_assert(sizeof(struct nccl_coll_1) == 96, "version 1");
static_assert(sizeof(struct nccl_coll_2) == 104, "version 2");
static_assert(sizeof(struct nccl_coll_3) == 96, "version 3");
static_assert(sizeof(struct nccl_coll_4) == 80, "version 4");
static_assert(offsetof(struct nccl_coll_api, is_captured) == 40, "version 5");

/* All return an ncclResult_t, 0 = success. */
typedef int nccl_init_1_f(void **context, int *mask);
typedef int nccl_init_4_f(void **context,
                          int *mask,
                          const char *name,
                          uint64_t hash,
                          int nodes,
                          int ranks,
                          int rank,
                          void *log);
typedef int nccl_init_5_f(void **context,
                          uint64_t hash,
                          int *mask,
                          const char *name,
                          int nodes,
                          int ranks,
                          int rank,
                          void *log);
typedef int
nccl_start_f(void *context, void **handle, const struct nccl_event *event);
typedef int nccl_stop_f(void *handle);
typedef int nccl_state_f(void *handle, int state, void *arguments);
typedef int nccl_finalize_f(void *context);

/* What is exported; the versions differ in init. */
#define NCCL_PROFILER(init_f)                                                  \
    {                                                                          \
        const char *name;                                                      \
        init_f *init;                                                          \
        nccl_start_f *start;                                                   \
        nccl_stop_f *stop;                                                     \
        nccl_state_f *state;                                                   \
        nccl_finalize_f *finalize;                                             \
    }
struct nccl_profiler_1 NCCL_PROFILER(nccl_init_1_f); /* to 3 */
struct nccl_profiler_4 NCCL_PROFILER(nccl_init_4_f);
struct nccl_profiler_5 NCCL_PROFILER(nccl_init_5_f); /* and 6 */

#endif
