/* intakefacts.h - what was taken of peers and clients, counted
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGGREGATOR_JOBS_INTAKEFACTS_H
#define CK_AGGREGATOR_JOBS_INTAKEFACTS_H

#include <stdint.h>

struct intake_facts {
    uint64_t goodbyes;
    uint64_t messages;
    uint64_t bytes;
    uint64_t refused;   /* damaged, foreign, not understood, no right */
    uint64_t strangers; /* from connections without a hello */
    uint64_t later;     /* hellos of a job behind the embedded one */
    uint64_t shut;      /* connections that held too much (admission.h) */
    uint64_t unwritten; /* frames that found no room on the disk */
};

#endif
