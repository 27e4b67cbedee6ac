/* ck.h - mark steps, ranges, points and counters of a program for ck
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     #include <ck.h>
 *
 *     for (int i = 0; i < steps; i++) {
 *         ck_step_begin(i);
 *         ck_range_push("load");
 *         ...
 *         ck_range_pop();
 *         ck_step_end();
 *     }
 *
 * Nothing to link (before glibc 2.34: -ldl). Without ckagent every call is a
 * predicted branch; under ckagent the record goes to memory that the agent
 * reads, without a lock or a system call. Names are copied at first sight, so
 * they may be freed or changed afterwards; at most 4096 different names a
 * process are kept. Any thread; ranges and steps nest within their thread.
 * C11 and C++11.
 */
#ifndef CK_H
#define CK_H

#include <dlfcn.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CK_H_VERSION 1

/* Functions of the tracer, found at run time. Users call the ones below. */
struct ck_api {
    uint32_t version;
    uint32_t is_on; /* 0: no agent reads */
    void (*mark)(const char *name, int64_t value);
    void (*value)(const char *name, int64_t value);
    void (*range_push)(const char *name);
    void (*range_pop)(void);
    void (*step_begin)(int64_t number);
    void (*step_end)(void);
};

typedef const struct ck_api *(*ck_api_get_f)(uint32_t version);

static const struct ck_api *ck_api_found;

static inline const struct ck_api *ck_api_find(void)
{
    static const struct ck_api nobody = {CK_H_VERSION, 0, 0, 0, 0, 0, 0, 0};
    union {
        void *object;
        ck_api_get_f get;
    } symbol;
    const struct ck_api *api = 0;

    symbol.object = dlsym(RTLD_DEFAULT, "ck_api_get");
    if (symbol.object != 0) {
        api = symbol.get(CK_H_VERSION);
    }
    if (api == 0) {
        api = &nobody;
    }
    /* Threads may come here at the same time: all find the same. */
    __atomic_store_n(&ck_api_found, api, __ATOMIC_RELEASE);
    return api;
}

static inline const struct ck_api *ck_api_current(void)
{
    const struct ck_api *api = __atomic_load_n(&ck_api_found, __ATOMIC_ACQUIRE);

    return api != 0 ? api : ck_api_find();
}

/* A point in time with a number of the program's choice. */
static inline void ck_mark(const char *name, int64_t value)
{
    const struct ck_api *api = ck_api_current();

    if (api->is_on) {
        api->mark(name, value);
    }
}

/* The value of a quantity now (loss x 1e6, bytes, queue length ...). */
static inline void ck_value(const char *name, int64_t value)
{
    const struct ck_api *api = ck_api_current();

    if (api->is_on) {
        api->value(name, value);
    }
}

static inline void ck_range_push(const char *name)
{
    const struct ck_api *api = ck_api_current();

    if (api->is_on) {
        api->range_push(name);
    }
}

static inline void ck_range_pop(void)
{
    const struct ck_api *api = ck_api_current();

    if (api->is_on) {
        api->range_pop();
    }
}

/* One iteration of the job. Steps are what reports compare and count. */
static inline void ck_step_begin(int64_t number)
{
    const struct ck_api *api = ck_api_current();

    if (api->is_on) {
        api->step_begin(number);
    }
}

static inline void ck_step_end(void)
{
    const struct ck_api *api = ck_api_current();

    if (api->is_on) {
        api->step_end();
    }
}

#ifdef __cplusplus
}
#endif

#endif
