/* reporttraffic.h - what ranks sent each other, and the sizes of their messages
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A part of report.h.
 */
#ifndef CK_MERGE_REPORT_REPORTTRAFFIC_H
#define CK_MERGE_REPORT_REPORTTRAFFIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/time.h"

/* Bin 0 is of no bytes, bin k of 2^(k-1) to 2^k - 1. */
#define REPORT_BINS 65

static inline unsigned report_bin(uint64_t bytes)
{
    return bytes == 0 ? 0 : 64 - (unsigned)__builtin_clzll(bytes);
}

/* Messages from one rank to another. */
struct report_messages {
    uint64_t count;
    uint64_t bytes;
};

/* Calls of collectives, as single ranks made them. */
struct report_collectives {
    uint64_t count;
    uint64_t out; /* bytes that the ranks gave */
    uint64_t in;  /* bytes that the ranks got */
};

/* The smallest and the largest of so many sizes. */
struct report_extent {
    uint64_t count;
    uint64_t min; /* 0 without any */
    uint64_t max;
};

/* Add others' sizes. */
static inline void report_extent_join(struct report_extent *into,
                                      const struct report_extent *sizes)
{
    if (sizes->count == 0) {
        return;
    }
    if (into->count == 0 || sizes->min < into->min) {
        into->min = sizes->min;
    }
    if (sizes->max > into->max) {
        into->max = sizes->max;
    }
    into->count += sizes->count;
}

static inline void report_extent_add(struct report_extent *into, uint64_t bytes)
{
    const struct report_extent one = {1, bytes, bytes};

    report_extent_join(into, &one);
}

/* What calls moved. */
struct report_moved {
    struct report_messages sent;
    struct report_messages received;
    struct report_collectives collectives;
    struct report_extent sent_sizes; /* of messages */
    struct report_extent received_sizes;
    /* What a rank gave, and what it got, in a collective, where that is not
     * nothing. */
    struct report_extent collective_sizes;
};

/* What the two waited for each other. */
struct report_pair_waits {
    ck_time_t all; /* `to` for `from`, in any call */
    uint64_t count;
    ck_time_t sender;     /* of that, to receive what it sent late */
    ck_time_t collective; /* ... and in collectives, MPI_Init, MPI_Finalize */
    ck_time_t receiver;   /* `from` for `to`, that received late */
};

/* From one rank, or host, to another one. */
struct report_pair {
    int32_t from; /* rank; DEFS_RANK_UNKNOWN = not known, or of hosts */
    int32_t to;
    const char *from_host; /* of hosts; NULL = not known */
    const char *to_host;
    struct report_messages sent;     /* as the senders recorded them */
    struct report_messages received; /* as the receivers did */
    struct report_pair_waits waits;
};

/* Messages and collectives by size, of the communicators with one label. */
struct report_sizes {
    const char *comm; /* NULL = what had no room */
    uint64_t comms;   /* so many of them; 0 = not known */
    struct report_messages all;
    struct report_messages bins[REPORT_BINS]; /* as sent */
    struct report_collectives collectives;
    /* By the larger one of what the rank gave and got. */
    struct report_collectives collective_bins[REPORT_BINS];
};

/* What a rank waited for another one. */
struct report_rank_waits {
    int32_t rank;
    int32_t awaited;
    ck_time_t ns;
    uint64_t count;
};

struct report_traffic {
    bool is_by_host;             /* too many ranks for pairs of ranks */
    struct report_messages sent; /* sums over pairs */
    struct report_messages received;
    struct report_pair *pairs; /* most bytes first */
    size_t pairs_count;
    struct report_rank_waits *waits; /* by host: of ranks, longest first */
    size_t waits_count;
    ck_time_t waits_left_out; /* ... in none of these: too many of them */
    struct report_messages left_out; /* sent, in no pair: too many of them */
    struct report_sizes *sizes;      /* most bytes first */
    size_t sizes_count;
};

#endif
