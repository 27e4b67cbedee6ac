/* symbols_target.c - prints where it calls from, then waits for end of input
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>

#include "tests/agent/symbols_library.h"

static volatile int calls;

/* It counts last: a call at its end could be a jump, which has no place. */
static __attribute__((noinline)) int caller(int number)
{
    symbols_here(__func__, __LINE__);
    calls++;
    return number + 1;
}

int main(void)
{
    int number = caller(1);

    symbols_here(__func__, __LINE__);
    symbols_inside();
    return getchar() == EOF ? number - 2 : 1;
}
