/* rank0substitute.c - rank 0 is not recorded: its ckagg is started all the same
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * There is no ring to publish an endpoint in: agents of other hosts find this
 * ckagg by a run directory that they share, or not at all.
 */
#include "agent/front/rank0substitute.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/process/detach.h"

#define TRIES 50 /* of 100 ms */

static void rank0substitute_run(const struct agent_config *config)
{
    static const struct timespec pause = {.tv_nsec = 100000000};
    struct ck_endpoint endpoint;
    struct rendezvous *rendezvous = rendezvous_create(config, NULL);
    size_t url;

    for (int i = 0; rendezvous != NULL && i < TRIES; i++) {
        (void)rendezvous_step(rendezvous, ck_time_raw(), i > 0, &endpoint, &url,
                              NULL);
        (void)nanosleep(&pause, NULL);
    }
    rendezvous_destroy(rendezvous);
}

void rank0substitute_start(const struct agent_config *config)
{
    struct detach_cpus home;
    pid_t pid = fork();

    if (pid == 0) {
        if (fork() == 0) {
            detach_go(false, &home);
            rank0substitute_run(config);
        }
        _exit(0);
    }
    if (pid > 0) {
        (void)waitpid(pid, NULL, 0);
    }
}
