/* kernelshift.h - which collective kernels of two ranks are the same
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that met end together, so the times between the ends of one rank's
 * kernels are those of the other's. Where profiles begin at different kernels
 * and do not number them, this shows by how many they are apart, wherever the
 * clocks are.
 */
#ifndef CK_MERGE_CLOCKS_KERNELSHIFT_H
#define CK_MERGE_CLOCKS_KERNELSHIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/time.h"

/* Ends of kernels that met are no farther apart, but for the clocks' error. */
#define KERNELSHIFT_TOGETHER (40 * CK_TIME_US)
/* One in so many may be farther apart. */
#define KERNELSHIFT_LOOSE 10
/* Profiles begin no farther apart than so many kernels; fewer pairs than those
 * prove nothing. */
#define KERNELSHIFT_MOST 32
#define KERNELSHIFT_PAIRS 8

/* May what one kernel ends later than the other's change by so much over that
 * time? */
bool kernelshift_is_close(ck_time_t change, ck_time_t over);
/* Kernels of a rank, in order. */
struct kernelshift_ends {
    const ck_time_t *ends;
    size_t count;
};
/* The shift at which a[k] and b[k + *shift] end together, half of the fewer
 * kernels or more; false: none, or there is another one at which half of them
 * do. */
bool kernelshift_find(struct kernelshift_ends a,
                      struct kernelshift_ends b,
                      int *shift);

#endif
