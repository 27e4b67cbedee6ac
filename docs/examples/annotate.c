/* annotate.c - steps and ranges of a C program
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     gcc -I /opt/ck/include annotate.c -o annotate
 *     ckagent -- ./annotate
 */
#include <ck.h>
#include <math.h>
#include <stdio.h>

static double work(int rounds)
{
    double sum = 0;

    for (int i = 1; i < rounds; i++) {
        sum += sqrt((double)i);
    }
    return sum;
}

int main(void)
{
    double sum = 0;

    for (int step = 0; step < 20; step++) {
        ck_step_begin(step);
        ck_range_push("load");
        sum += work(100000);
        ck_range_pop();
        ck_range_push("train");
        sum += work(400000);
        ck_range_pop();
        ck_value("sum", (int64_t)sum);
        ck_step_end();
    }
    printf("%.0f\n", sum);
    return 0;
}
