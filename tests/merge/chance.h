/* chance.h - random worlds, and seeds that repeat them
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * CK_SEED repeats a run, CK_WORLDS is how many worlds. One generator a
 * program; it begins with CHANCE_SEED.
 */
#ifndef CK_TESTS_MERGE_CHANCE_H
#define CK_TESTS_MERGE_CHANCE_H

#include <stdbool.h>
#include <stdint.h>

#define CHANCE_SEED 20261121

void chance_seed(unsigned long long seed);
/* From 0, below the limit. */
int64_t chance_below(int64_t limit);

/* Makes the next world and looks at it; true when it is not as it should be. */
typedef bool chance_world_f(void *state);
/* So many worlds; one that is wrong ends the test, which prints its seed. */
void chance_worlds(long count, chance_world_f *is_wrong, void *state);

/* A seed for rand_r(): CK_SEED or another one each time; it is printed. */
unsigned chance_rand_seed(void);

#endif
