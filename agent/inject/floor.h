/* floor.h - bind to the oldest version of each libc symbol that moved
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Included before everything else in each source of an injected library
 * (agent/inject/CMakeLists.txt), so that a library built against a new glibc
 * also loads into a container with glibc 2.17. A symbol that glibc moved from
 * libdl or libpthread into libc, or changed, has its old version named here;
 * tests/lint/floor.sh fails when one is missing. Functions that older
 * libraries do not have at all (stat and its kin before 2.33, gettid before
 * 2.30) must not be used.
 */
#ifndef CK_AGENT_INJECT_FLOOR_H
#define CK_AGENT_INJECT_FLOOR_H

#include <features.h>

/* strtol() and its kin, and scanf(), are other functions in glibc >= 2.38
 * where 0b... is to be understood; they would be needed by that name. Its
 * switch had this first name until 2.39. */
#ifdef __GLIBC_USE_C2X_STRTOL
#undef __GLIBC_USE_C2X_STRTOL
#define __GLIBC_USE_C2X_STRTOL 0
#endif
#ifdef __GLIBC_USE_C23_STRTOL
#undef __GLIBC_USE_C23_STRTOL
#define __GLIBC_USE_C23_STRTOL 0
#endif

#if defined(__x86_64__) && defined(__linux__)
#define FLOOR_BASE "GLIBC_2.2.5"
#elif defined(__aarch64__) && defined(__linux__)
#define FLOOR_BASE "GLIBC_2.17"
#endif

#ifdef FLOOR_BASE
#define FLOOR(symbol) __asm__(".symver " #symbol "," #symbol "@" FLOOR_BASE);
FLOOR(memcpy)
/* Built where libc has none of the weak ones below, a preloaded library names
 * no version of them (ld would want a library to take it from); the loader
 * takes the oldest, which is this one. */
#if !defined(FLOOR_IS_PRELOADED) || __GLIBC_PREREQ(2, 34)
#ifndef FLOOR_OF_CUDA /* ckcuda defines it */
FLOOR(dlsym)
#endif
FLOOR(dlopen)
FLOOR(dlclose)
FLOOR(dladdr)
FLOOR(pthread_key_create)
FLOOR(pthread_setspecific)
#endif
FLOOR(dlvsym)
FLOOR(dlerror)
FLOOR(pthread_key_delete)
FLOOR(pthread_getspecific)
FLOOR(pthread_once)
FLOOR(pthread_sigmask)
FLOOR(pthread_create)
FLOOR(pthread_detach)
FLOOR(pthread_mutex_trylock)
FLOOR(pthread_rwlock_tryrdlock)
FLOOR(pthread_rwlock_trywrlock)
FLOOR(sem_init)
FLOOR(sem_post)
FLOOR(sem_trywait)
#ifndef FLOOR_OF_POSIX /* ckposix defines these */
FLOOR(pthread_join)
FLOOR(sem_wait)
#endif
#undef FLOOR
#endif

/* A preloaded library names no library but libc. Before glibc 2.34 a program
 * may have none of these: the loader is not to refuse it for that. They are
 * called where MPI is, which has them, for threads, or after a look. */
#ifdef FLOOR_IS_PRELOADED
#ifndef FLOOR_OF_CUDA
__asm__(".weak dlsym");
#endif
__asm__(".weak dlopen");
__asm__(".weak dlclose");
__asm__(".weak dladdr");
__asm__(".weak pthread_key_create");
__asm__(".weak pthread_setspecific");
#endif

#endif
