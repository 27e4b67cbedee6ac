/* wide_x86.c - which of the faster loops an x86-64 processor can run
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "schema/batch/wide.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vbmi") &&
           __builtin_cpu_supports("avx512vbmi2") &&
           __builtin_cpu_supports("popcnt");
}

/* The first two Zen have the instruction, and take hundreds of cycles. BMI2
 * came with LZCNT wherever there is AVX2. */
static bool has_bmi2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2") && !__builtin_cpu_is("znver1") &&
           !__builtin_cpu_is("znver2");
}

static enum wide level_find(void)
{
    const char *most = getenv("CK_TEST_WIDE");
    int level;

    if (!has_bmi2()) {
        level = WIDE_NONE;
    } else if (has_avx512()) {
        level = WIDE_AVX512;
    } else {
        level = WIDE_BMI2;
    }

    return most != NULL && atoi(most) < level ? (enum wide)atoi(most)
                                              : (enum wide)level;
}

/* Asked once; threads that do so at the same time find the same. */
enum wide wide_level(void)
{
    static _Atomic int known; /* level + 1, 0 = not yet */
    int level = atomic_load_explicit(&known, memory_order_relaxed);

    if (level == 0) {
        level = (int)level_find() + 1;
        atomic_store_explicit(&known, level, memory_order_relaxed);
    }
    return (enum wide)(level - 1);
}
