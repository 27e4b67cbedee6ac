/* chance.c - random worlds, and seeds that repeat them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/merge/chance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "schema/time.h"

static unsigned long long chance = CHANCE_SEED;

void chance_seed(unsigned long long seed)
{
    chance = seed;
}

int64_t chance_below(int64_t limit)
{
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    return (int64_t)(chance % (unsigned long long)limit);
}

void chance_worlds(long count, chance_world_f *is_wrong, void *state)
{
    const char *seed = getenv("CK_SEED");
    const char *worlds = getenv("CK_WORLDS");

    count = worlds != NULL ? atol(worlds) : count;
    chance_seed(seed != NULL ? strtoull(seed, NULL, 10) : CHANCE_SEED);
    for (long i = 0; i < count; i++) {
        unsigned long long before = chance;

        if (is_wrong(state)) {
            fail_msg("world %ld: CK_SEED=%llu CK_WORLDS=1", i, before);
        }
    }
}

unsigned chance_rand_seed(void)
{
    const char *text = getenv("CK_SEED");
    unsigned seed = text != NULL ? (unsigned)strtoul(text, NULL, 10)
                                 : (unsigned)ck_time_raw();

    print_message("CK_SEED=%u\n", seed);
    return seed;
}
