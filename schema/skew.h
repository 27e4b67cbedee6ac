/* skew.h - CK_TEST_CLOCK: a RAW clock that is wrong in a known way (tests)
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   CK_TEST_CLOCK="off=NS,ppm=X,step=S:NS,slew=S-S:X,at=NS,clone"
 *
 * off   nanoseconds added
 * ppm   parts per million that it runs fast, from the origin on
 * step  at S seconds after the origin it jumps by NS (up to 8 of them)
 * slew  from the first to the second S it runs fast by X ppm (up to 8)
 * at    origin: the machine's RAW in ns (0: its zero)
 * clone the clock keeps the name of the machine's, as those of cloned machines
 *       do (without a value)
 *
 * Every reader of RAW goes through ck_time_raw(), so records, TSC pairs and
 * converted packet stamps follow; the truth can be computed from the text.
 */
#ifndef CK_SCHEMA_SKEW_H
#define CK_SCHEMA_SKEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CK_SKEW_VARIABLE "CK_TEST_CLOCK"
#define CK_SKEW_PARTS 8

struct ck_skew_part {
    int64_t from;   /* after the origin */
    int64_t to;     /* of a slew; a step: equal to from */
    int64_t amount; /* a step: ns; a slew: parts per billion */
};

struct ck_skew {
    int64_t origin;
    int64_t offset;
    int64_t rate_ppb;
    struct ck_skew_part steps[CK_SKEW_PARTS];
    struct ck_skew_part slews[CK_SKEW_PARTS];
    size_t steps_count;
    size_t slews_count;
    bool is_clone;
};

/* 0, or -1 with EINVAL and *skew untouched. */
int ck_skew_parse(const char *text, struct ck_skew *skew);
/* What that clock shows when the machine's shows `raw`. Exact to 1 ns. */
int64_t ck_skew_apply(const struct ck_skew *skew, int64_t raw);
/* The variable's text, or NULL: not set, or empty. */
const char *ck_skew_text(void);

#endif
