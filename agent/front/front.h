/* front.h - the process in front: starts the target, waits, ends as it ended
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_FRONT_FRONT_H
#define CK_AGENT_FRONT_FRONT_H

#include <stdbool.h>

#include "agent/collector/collector.h"
#include "agent/perf/sampler.h"

enum front_report {
    FRONT_REPORT_NOW,   /* wait for it and print it */
    FRONT_REPORT_LATER, /* log where it will be */
    FRONT_REPORT_NONE,
};

struct front_wish {
    char *const *argv;          /* the target's */
    char *const *env;           /* the target's, with the injection */
    struct agent_config config; /* complete but for target, channel and
                                        counters and sampler */
    enum front_report report;
    int64_t sample_hz;    /* 0 = no samples */
    uint32_t stack_bytes; /* of sampled stacks, to unwind them */
    ck_time_t off_cpu;    /* waits that long have a stack; 0 = none */
    enum sampler_python python;
    bool is_speaker; /* of all ranks: logs where the run is */
    bool is_waiting; /* --strict: no start before an aggregator answered */
};

/* Start target and collector, wait, and end this process as the target
 * ended: returns the exit status, or does not return (a signal). -1 with errno:
 * no process can be started, nothing has begun. */
int front_run(struct front_wish *wish);

#endif
