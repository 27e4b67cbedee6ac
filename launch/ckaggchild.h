/* ckaggchild.h - a ckagg of our own, for a job on several hosts
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_LAUNCH_CKAGGCHILD_H
#define CK_LAUNCH_CKAGGCHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "schema/err.h"

struct ckaggchild {
    pid_t pid;
    int fd;         /* its stdout: up to the ready line, then nothing */
    char *endpoint; /* for CKAGENT_AGGREGATOR; holds the job's key */
    char *dir;      /* the run directory */
    char *pages;    /* where the running job is shown, or NULL, */
    char *nopages;  /* and why it is not, though that was asked for */
};

/* Start `program` (ckagg) with these arguments and wait for its ready line
 * (docs/protocol.md). 0, or -1 with err: it ended, or printed nothing in time.
 */
int ckaggchild_start(struct ckaggchild *service,
                     char *const *argv,
                     struct ck_err *err);
/* Take "ckagg ready ENDPOINT... run=DIR" apart, in place. 0 or -1. */
int ckaggchild_read_line(char *line, char **endpoint, char **dir);
/* Wait for work_ns that it ends by itself, then ask it to and wait for
 * stop_ns; forget it. The wait status, or -1 when it had to be left running.
 */
int ckaggchild_stop(struct ckaggchild *service,
                    long long work_ns,
                    long long stop_ns);

#endif
