/* worker.c - the process that torchrun started for a rank
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * It is the last one on the way up that has the rank. Who has lost its parent
 * has another one, which has not the program's ring among its variables.
 */
#include "agent/process/worker.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/process/identity.h"
#include "agent/process/procfile.h"
#include "schema/ring/ring.h"

#define ABOVE_MAX 64

static bool is_same(const char *one, const char *other)
{
    return one != NULL && other != NULL && strcmp(one, other) == 0;
}

/* Has a process of these variables that rank? */
static bool
has_place(char *const *env, char *const *words, const struct identity_place *at)
{
    struct identity_place place;

    return identity_place_differs(env, words, &place) &&
           place.rank == at->rank && place.size == at->size &&
           strcmp(place.launcher, at->launcher) == 0;
}

static int stat_read(pid_t pid, int64_t fields[PROCFILE_STAT])
{
    char text[1024];

    (void)procfile_read(text, sizeof(text), "/proc/%d/stat", (int)pid);
    return procfile_stat(text, fields);
}

/* Up from `pid`, whose variables are `words`. */
static void climb(char *const *env,
                  char *const *words,
                  const struct identity_place *place,
                  pid_t pid,
                  struct worker *worker)
{
    const char *ring = identity_variable(words, CK_RING_ENV);
    int64_t fields[PROCFILE_STAT];
    bool is_below = true;

    for (int i = 0; i < ABOVE_MAX && is_below; i++) {
        char **above;

        if (stat_read(pid, fields) != 0) {
            return;
        }
        above = procfile_words("/proc/%d/environ", (int)fields[4]);
        is_below = has_place(env, above, place);
        if (!is_below && is_same(identity_variable(above, CK_RING_ENV), ring)) {
            *worker = (struct worker){pid, fields[22], (pid_t)fields[4]};
        }
        free(above);
        pid = (pid_t)fields[4];
    }
}

void worker_find(char *const *env, pid_t pid, struct worker *worker)
{
    char **words = procfile_words("/proc/%d/environ", (int)pid);
    struct identity_place place;

    *worker = (struct worker){0};
    if (identity_variable(words, "TORCHELASTIC_RESTART_COUNT") != NULL &&
        identity_place_differs(env, words, &place)) {
        climb(env, words, &place, pid, worker);
    }
    free(words);
}
