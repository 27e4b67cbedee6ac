/* figure.h - one line of a benchmark: figure | measured | target | verdict
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_TESTS_BENCH_FIGURE_H
#define CK_TESTS_BENCH_FIGURE_H

/* `looked`: how many times the value was looked at. A value that was never
 * looked at, or that is no number or below 0, was not measured: that is no
 * target met. */
static inline const char *
figure_verdict(double value, double target, double looked)
{
    if (!(looked > 0) || !(value >= 0)) {
        return "not measured";
    }
    return value <= target ? "met" : "MISSED";
}

#endif
