/* beside.c - threads: which there may be, how they begin, work done in one
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/model/beside.h"

#include <malloc.h>
#include <sched.h>
#include <signal.h>

bool beside_has_cpu(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 1;
}

bool beside_start(pthread_t *thread,
                  void *(*f)(void *state),
                  void *state,
                  size_t stack_bytes)
{
    sigset_t all, before;
    pthread_attr_t attr;
    bool is_started;

    (void)mallopt(M_ARENA_MAX, 1);
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setstacksize(&attr, stack_bytes);
    (void)sigfillset(&all);
    (void)sigdelset(&all, SIGBUS);
    (void)sigdelset(&all, SIGSEGV);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    is_started = pthread_create(thread, &attr, f, state) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attr);
    return is_started;
}

static void *beside_work(void *state)
{
    struct beside *beside = state;

    beside->f(beside->state);
    return NULL;
}

void beside_begin(struct beside *beside,
                  void (*f)(void *state),
                  void *state,
                  bool is_allowed)
{
    beside->f = f;
    beside->state = state;
    beside->has_thread =
        is_allowed && beside_has_cpu() &&
        beside_start(&beside->thread, beside_work, beside, BESIDE_STACK);
}

void beside_end(struct beside *beside)
{
    if (beside->has_thread) {
        (void)pthread_join(beside->thread, NULL);
    } else {
        beside->f(beside->state);
    }
}
