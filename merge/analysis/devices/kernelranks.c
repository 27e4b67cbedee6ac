/* kernelranks.c - a kernel that takes longer on one rank than on the others
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Means of its calls are compared: ranks may have recorded for different
 * times.
 */
#include "merge/analysis/devices/kernelranks.h"

#include <stdlib.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "schema/order.h"

/* Worth a word is a mean a tenth above the others', if that makes a twentieth
 * of the rank's time in kernels. */
#define WORTH_MEAN 1.1
#define WORTH_PART 0.05

struct sum {
    uint64_t calls;
    ck_time_t ns;
};

struct kernelranks {
    const struct defs *defs; /* borrowed */
    struct sum **kernels;    /* of each, by rank */
    size_t count;
    size_t room;
};

/* A rank's calls of one kernel. */
struct mean {
    double ns;
    size_t rank;
};

CK_ORDER(by_ns, struct mean, CK_UP(ns) ?: CK_UP(rank))

struct kernelranks *kernelranks_create(const struct defs *defs)
{
    struct kernelranks *ranks = xcalloc(1, sizeof(*ranks));

    ranks->defs = defs;
    return ranks;
}

void kernelranks_destroy(struct kernelranks *ranks)
{
    if (ranks == NULL) {
        return;
    }
    for (size_t i = 0; i < ranks->count; i++) {
        free(ranks->kernels[i]);
    }
    free((void *)ranks->kernels);
    free(ranks);
}

void kernelranks_add(struct kernelranks *ranks,
                     size_t kernel,
                     uint32_t rank,
                     ck_time_t ns,
                     unsigned calls)
{
    struct sum *sum;

    if (ranks->defs->ranks_count > KERNELRANKS_MAX ||
        kernel >= KERNELRANKS_SUMS / ranks->defs->ranks_count) {
        return;
    }
    while (ranks->count <= kernel) {
        array_grow(&ranks->kernels, &ranks->room, ranks->count,
                   sizeof(struct sum *));
        ranks->kernels[ranks->count++] =
            xcalloc(ranks->defs->ranks_count, sizeof(**ranks->kernels));
    }
    sum = &ranks->kernels[kernel][rank];
    sum->calls += calls;
    sum->ns += ns;
}

/* What the rank's devices did in kernels. */
static ck_time_t rank_total(const struct kernelranks *ranks, size_t rank)
{
    ck_time_t total = 0;

    for (size_t i = 0; i < ranks->count; i++) {
        total += ranks->kernels[i][rank].ns;
    }
    return total;
}

/* The ranks' means of the kernel, ascending; how many. */
static size_t means_sort(const struct kernelranks *ranks,
                         const struct sum *sums,
                         struct mean *means)
{
    size_t count = 0;

    for (size_t i = 0; i < ranks->defs->ranks_count; i++) {
        if (sums[i].calls > 0) {
            means[count++] =
                (struct mean){(double)sums[i].ns / (double)sums[i].calls, i};
        }
    }
    qsort(means, count, sizeof(*means), by_ns);
    return count;
}

/* The slowest rank of the kernel against the median of the others. False: it is
 * not slower by much. */
static bool kernel_compare(const struct kernelranks *ranks,
                           size_t kernel,
                           struct mean *means,
                           struct report_uneven_kernel *row)
{
    const struct sum *sums = ranks->kernels[kernel];
    size_t count = means_sort(ranks, sums, means);
    const struct mean *slowest;
    double others;

    if (count < 2) {
        return false;
    }
    slowest = &means[count - 1];
    others = (means[(count - 2) / 2].ns + means[(count - 1) / 2].ns) / 2;
    if (slowest->ns < others * WORTH_MEAN) {
        return false;
    }
    *row = (struct report_uneven_kernel){
        .rank = ranks->defs->ranks[slowest->rank].number,
        .calls = sums[slowest->rank].calls,
        .mean = (ck_time_t)(slowest->ns + 0.5),
        .others_mean = (ck_time_t)(others + 0.5),
        .excess = (ck_time_t)((slowest->ns - others) *
                                  (double)sums[slowest->rank].calls +
                              0.5),
        .rank_total = rank_total(ranks, slowest->rank),
        .ranks = (uint32_t)count,
    };
    return (double)row->excess >= WORTH_PART * (double)row->rank_total;
}

int64_t kernelranks_worst(const struct kernelranks *ranks,
                          struct report_uneven_kernel *row)
{
    struct mean *means = xcalloc(ranks->defs->ranks_count + 1, sizeof(*means));
    int64_t worst = -1;

    for (size_t i = 0; i < ranks->count; i++) {
        struct report_uneven_kernel found;

        if (kernel_compare(ranks, i, means, &found) &&
            (worst < 0 || found.excess > row->excess)) {
            *row = found;
            worst = (int64_t)i;
        }
    }
    free(means);
    return worst;
}
