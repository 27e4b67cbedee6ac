/* posixlock.c - locks: free ones cost a try, taken ones are timed
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A lock that is free is taken by trylock and counted: no clock is read. Only
 * when that finds it taken is the wait timed, and who held it looked up in
 * the mutex (glibc keeps the holder's thread id there for all its kinds but
 * after an elided lock). Read-write locks and semaphores name no holder.
 *
 * The tries go to the next definitions, too: a sanitizer in the program comes
 * before all of them, and has seen this lock being taken once already.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

#include "agent/inject/posix/posixcall.h"

struct timespec;

typedef int (*wait_f)(void *);
typedef int (*timed_f)(void *, const struct timespec *);
typedef int (*clocked_f)(void *, int, const struct timespec *);

#define LOCK(symbol_, name) POSIX_SYMBOL(symbol_, POSIX_##name, POSIX_ADDRESS)
LOCK(pthread_mutex_lock, pthread_mutex_lock);
LOCK(pthread_mutex_timedlock, pthread_mutex_timedlock);
LOCK(pthread_mutex_clocklock, pthread_mutex_timedlock);
LOCK(pthread_rwlock_rdlock, pthread_rwlock_rdlock);
LOCK(pthread_rwlock_wrlock, pthread_rwlock_wrlock);
LOCK(pthread_rwlock_timedrdlock, pthread_rwlock_rdlock);
LOCK(pthread_rwlock_timedwrlock, pthread_rwlock_wrlock);
LOCK(sem_wait, sem_wait);
LOCK(sem_timedwait, sem_timedwait);
LOCK(pthread_mutex_trylock, pthread_mutex_lock);
LOCK(pthread_rwlock_tryrdlock, pthread_rwlock_rdlock);
LOCK(pthread_rwlock_trywrlock, pthread_rwlock_wrlock);
LOCK(sem_trywait, sem_wait);
LOCK(pthread_testcancel, sem_wait);

/* A lock that was free. */
static inline void count_free(enum posix_function function)
{
    struct posix_counts *mine = posix_mine;

    if (__builtin_expect(mine == NULL, 0)) {
        mine = posix_counts_claim();
    }
    if (mine != NULL) {
        mine->of[function].calls++;
    }
}

static uint32_t mutex_holder(const void *mutex)
{
#ifdef __GLIBC__
    return (uint32_t)((const pthread_mutex_t *)mutex)->__data.__owner;
#else
    (void)mutex;
    return 0;
#endif
}

/* EBUSY where there is no such function: before glibc 2.34 libc alone has
 * pthread_mutex_lock() and none of the tries. */
static inline int lock_try(posix_next_f next, void *lock)
{
    return __builtin_expect(next != NULL, 1) ? ((wait_f)next)(lock) : EBUSY;
}

/* For pthread_mutex_trylock and so on. */
#define TRY(symbol, lock) lock_try(POSIX_NEXT(symbol), lock)

/* Is the answer of a try that of the call? Then it is counted. */
static inline bool is_decided(int rc, enum posix_function function)
{
    if (__builtin_expect(rc != 0, 0) && (rc == EBUSY || rc == EAGAIN)) {
        return false;
    }
    if (!posix_is_inside()) {
        count_free(function);
    }
    return true;
}

/* One wait; which of the forms is called depends on what is given. */
struct lock_wait {
    const struct posix_entry *entry;
    posix_next_f next;
    void *lock;
    const struct timespec *limit; /* NULL = wait for ever */
    int clock;                    /* of a clock-lock, -1 = none */
    uint32_t holder;
    const void *site;
};

static int lock_call(const struct lock_wait *wait)
{
    posix_next_f next = wait->next;

    if (next == NULL) {
        return ENOSYS;
    }
    if (wait->limit == NULL) {
        return ((wait_f)next)(wait->lock);
    }
    return wait->clock < 0
               ? ((timed_f)next)(wait->lock, wait->limit)
               : ((clocked_f)next)(wait->lock, wait->clock, wait->limit);
}

static __attribute__((noinline)) int lock_wait(const struct lock_wait *wait)
{
    struct posix_object object = {.address = (uint64_t)(uintptr_t)wait->lock,
                                  .related = wait->holder};
    struct posix_call call;
    int rc;

    if (posix_is_inside()) {
        return lock_call(wait);
    }
    posix_begin(&call);
    rc = lock_call(wait);
    object.is_failed = rc != 0;
    posix_end(&call, wait->entry, wait->site, &object);
    return rc;
}

#define WAIT(symbol, lock_, limit_, clock_, holder_)                           \
    lock_wait(&(struct lock_wait){                                             \
        .entry = &data_##symbol,                                               \
        .next = POSIX_NEXT(symbol),                                            \
        .lock = (lock_),                                                       \
        .limit = (limit_),                                                     \
        .clock = (clock_),                                                     \
        .holder = (holder_),                                                   \
        .site = __builtin_return_address(0),                                   \
    })

INJECT_ENTRY(int, pthread_mutex_lock, void *mutex)
{
    int rc = TRY(pthread_mutex_trylock, mutex);

    if (is_decided(rc, POSIX_pthread_mutex_lock)) {
        return rc;
    }
    return WAIT(pthread_mutex_lock, mutex, NULL, -1, mutex_holder(mutex));
}

INJECT_ENTRY(int,
             pthread_mutex_timedlock,
             void *mutex,
             const struct timespec *limit)
{
    int rc = TRY(pthread_mutex_trylock, mutex);

    if (is_decided(rc, POSIX_pthread_mutex_timedlock)) {
        return rc;
    }
    return WAIT(pthread_mutex_timedlock, mutex, limit, -1, mutex_holder(mutex));
}

INJECT_ENTRY(int,
             pthread_mutex_clocklock,
             void *mutex,
             int clock,
             const struct timespec *limit)
{
    return WAIT(pthread_mutex_clocklock, mutex, limit, clock,
                mutex_holder(mutex));
}

INJECT_ENTRY(int, pthread_rwlock_rdlock, void *lock)
{
    int rc = TRY(pthread_rwlock_tryrdlock, lock);

    if (is_decided(rc, POSIX_pthread_rwlock_rdlock)) {
        return rc;
    }
    return WAIT(pthread_rwlock_rdlock, lock, NULL, -1, 0);
}

INJECT_ENTRY(int, pthread_rwlock_wrlock, void *lock)
{
    int rc = TRY(pthread_rwlock_trywrlock, lock);

    if (is_decided(rc, POSIX_pthread_rwlock_wrlock)) {
        return rc;
    }
    /* A thread that holds it gets an error from the real one. */
    return WAIT(pthread_rwlock_wrlock, lock, NULL, -1, 0);
}

INJECT_ENTRY(int,
             pthread_rwlock_timedrdlock,
             void *lock,
             const struct timespec *limit)
{
    return WAIT(pthread_rwlock_timedrdlock, lock, limit, -1, 0);
}

INJECT_ENTRY(int,
             pthread_rwlock_timedwrlock,
             void *lock,
             const struct timespec *limit)
{
    return WAIT(pthread_rwlock_timedwrlock, lock, limit, -1, 0);
}

INJECT_ENTRY(int, sem_wait, void *semaphore)
{
    posix_next_f cancel = POSIX_NEXT(pthread_testcancel);
    int saved = errno;

    /* sem_wait() is a point of cancellation, sem_trywait() is none. */
    if (cancel != NULL) {
        cancel();
    }
    if (is_decided(TRY(sem_trywait, semaphore) == 0 ? 0 : EBUSY,
                   POSIX_sem_wait)) {
        return 0;
    }
    errno = saved;
    return WAIT(sem_wait, semaphore, NULL, -1, 0);
}

INJECT_ENTRY(int, sem_timedwait, void *semaphore, const struct timespec *limit)
{
    return WAIT(sem_timedwait, semaphore, limit, -1, 0);
}
