/* ill.h - what goes wrong on purpose on one rank, step by step
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_TESTS_TARGETS_TRAIN_ILL_H
#define CK_TESTS_TARGETS_TRAIN_ILL_H

/* A clock that goes on. */
double ill_now_us(void);
/* Let so much time pass. */
void ill_pause(double ms);
/* Host work for so many milliseconds of CPU time. */
void ill_compute(double ms);
/* The same in a function of its own. */
void ill_prepare(double ms);
/* A thread that holds the lock for `ms` in each round; wait for it. */
void ill_lock(double ms);
/* Write mib MiB to a file in the temporary folder and sync it. */
void ill_write(double mib);
/* End by SIGSEGV. */
void ill_crash(void);

#endif
