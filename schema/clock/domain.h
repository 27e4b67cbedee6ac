/* domain.h - which clock a process reads: the name of its clock domain
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * All processes of one boot and one time namespace read one RAW clock (cloned
 * machines may share both names: the merge compares their probes). The
 * agent sends its domain in its identity, ckagg its own in WELCOME.
 */
#ifndef CK_SCHEMA_CLOCK_DOMAIN_H
#define CK_SCHEMA_CLOCK_DOMAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/err.h"
#include "schema/time.h"

struct ck_domain {
    char boot_id[40];
    /* As /proc shows it; "/skew-HASH" follows where CK_TEST_CLOCK makes the
     * clock another one, "/alone-HEX" with --clock-shortcut=off. */
    char timens[64];
};

/* This process's. 0, or -1 with err: CK_TEST_CLOCK cannot be understood. */
int ck_domain_read(struct ck_domain *domain, struct ck_err *err);
/* Whether they have one name; of a boot id that could not be read nothing is
 * equal. Cloned machines may have one name and two clocks: a reason to look. */
bool ck_domain_equal(const struct ck_domain *a, const struct ck_domain *b);
/* Is a boot id that of this machine? One that could not be read is not. */
bool ck_domain_is_here(const char *boot_id);
/* Text of CK_TEST_CLOCK, or NULL: this clock is the machine's. */
const char *ck_domain_skew(void);
/* This process's RAW at a RAW time of the machine, as perf_event gives it. From
 * one thread. */
ck_time_t ck_domain_raw(ck_time_t machine);
/* A number for it; never 0. */
uint64_t ck_domain_hash(const struct ck_domain *domain);

#endif
