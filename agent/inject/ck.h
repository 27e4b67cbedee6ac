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
 * Nothing to link (before glibc 2.34: -ldl); C11 and C++11. Without ckagent
 * every call is a predicted branch. Under ckagent a call writes one record into
 * memory that the agent reads: no lock, no allocation, no system call, so that
 * handlers of signals may call, too. No call fails or waits; what finds no room
 * is counted, and the report has the count. Each thread has its own steps and
 * ranges; a child of fork() begins with copies of its parent's that it may end.
 *
 * A name is a text, usually UTF-8, or NULL. It is copied at its first use, so
 * it may be freed or changed afterwards. At most 4096 different names of a
 * process are kept; records with further ones have no name.
 */
#ifndef CK_H
#define CK_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

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

/* The dynamic linker has it, or 0, before the program begins. Of a program with
 * a fixed address the linker has decided that there is none. */
#if defined(__PIC__) || defined(__PIE__)
static const struct ck_api *ck_api_linked(uint32_t version)
    __attribute__((weakref("ck_api_get")));
#define CK_API_LINKED ck_api_linked
#else
#define CK_API_LINKED ((ck_api_get_f)0)
#endif

static const struct ck_api *ck_api_found;

static inline const struct ck_api *ck_api_find(void)
{
    static const struct ck_api nobody = {CK_H_VERSION, 0, 0, 0, 0, 0, 0, 0};
    union {
        void *object;
        ck_api_get_f get;
    } symbol;
    const struct ck_api *api = 0;

    symbol.get = CK_API_LINKED;
    /* Not without ckagent: a search in vain allocates, which the handler of a
     * signal must not do. */
    if (symbol.get == 0 && getenv("CKAGENT_RING") != 0) {
        symbol.object = dlsym(RTLD_DEFAULT, "ck_api_get");
    }
    if (symbol.get != 0) {
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

/* Record an instant: `value` is a number of the program's choice, for example
 * of a request. */
static inline void ck_mark(const char *name, int64_t value)
{
    const struct ck_api *api = ck_api_current();

    if (api->is_on) {
        api->mark(name, value);
    }
}

/* Record the value that a quantity has from now on (loss x 1e6, bytes, length
 * of a queue ...). */
static inline void ck_value(const char *name, int64_t value)
{
    const struct ck_api *api = ck_api_current();

    if (api->is_on) {
        api->value(name, value);
    }
}

/* Begin a range: a piece of work with a name. Ranges nest within their thread;
 * at most 64 ranges and steps of a thread are open at once, further ones are
 * counted as lost. */
static inline void ck_range_push(const char *name)
{
    const struct ck_api *api = ck_api_current();

    if (api->is_on) {
        api->range_push(name);
    }
}

/* End the thread's innermost open range; without one nothing happens. A range
 * that is never ended is reported as open at its thread's end. */
static inline void ck_range_pop(void)
{
    const struct ck_api *api = ck_api_current();

    if (api->is_on) {
        api->range_pop();
    }
}

/* Begin step `number`, one iteration of the job. Reports compare steps by their
 * numbers across ranks, and cover the time from the first step to the last. */
static inline void ck_step_begin(int64_t number)
{
    const struct ck_api *api = ck_api_current();

    if (api->is_on) {
        api->step_begin(number);
    }
}

/* End the thread's innermost open step; without one nothing happens. */
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
