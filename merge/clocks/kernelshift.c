/* kernelshift.c - which collective kernels of two ranks are the same
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/clocks/kernelshift.h"

#include <stdlib.h>

/* Of a clock, that two estimates of an offset may differ by in between: one
 * part in so many. */
#define DRIFT 10000

bool kernelshift_is_close(ck_time_t change, ck_time_t over)
{
    return llabs(change) <= KERNELSHIFT_TOGETHER + over / DRIFT;
}

/* At one shift, a[k] and b[k + shift]. */
struct fit {
    size_t pairs;
    size_t close; /* of the changes from one pair to the next */
};

static struct fit
fit_at(struct kernelshift_ends a, struct kernelshift_ends b, int shift)
{
    size_t from = shift < 0 ? (size_t)-shift : 0;
    size_t skip = shift > 0 ? (size_t)shift : 0;
    struct fit fit = {0, 0};

    if (a.count <= from || b.count <= skip) {
        return fit;
    }
    a.ends += from;
    b.ends += skip;
    fit.pairs =
        a.count - from < b.count - skip ? a.count - from : b.count - skip;
    for (size_t k = 1; k < fit.pairs; k++) {
        ck_time_t over = a.ends[k] - a.ends[k - 1];

        fit.close +=
            kernelshift_is_close(b.ends[k] - b.ends[k - 1] - over, over);
    }
    return fit;
}

bool kernelshift_find(struct kernelshift_ends a,
                      struct kernelshift_ends b,
                      int *shift)
{
    size_t least = (a.count < b.count ? a.count : b.count) / 2;
    size_t found = 0, doubtful = 0;

    least = least > KERNELSHIFT_PAIRS ? least : KERNELSHIFT_PAIRS;
    for (int s = -KERNELSHIFT_MOST; s <= KERNELSHIFT_MOST; s++) {
        struct fit fit = fit_at(a, b, s);

        if (fit.pairs < least) {
            continue;
        }
        if (fit.pairs - 1 - fit.close <= fit.pairs / KERNELSHIFT_LOOSE) {
            *shift = s;
            found++;
        } else if (fit.close * 2 >= fit.pairs) {
            doubtful++;
        }
    }
    return found == 1 && doubtful == 0;
}
