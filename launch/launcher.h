/* launcher.h - the programs that place ranks: how each is asked
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_LAUNCH_LAUNCHER_H
#define CK_LAUNCH_LAUNCHER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "launch/cli.h"
#include "launch/argv.h"
#include "schema/err.h"

/* Those of the table in launcher.c. */
#define LAUNCHER_NAMES "mpirun|hydra|srun|torchrun"

/* A row of the table in launcher.c. */
struct launcher;

/* One that was found on this machine. */
struct launcher_found {
    const struct launcher *launcher; /* borrowed from the table */
    char path[PATH_MAX];
};

/* What it is asked to do. */
struct launch_plan {
    int64_t count;                   /* ranks */
    const char *const *hosts;        /* "a" or "a:2"; NULL-terminated */
    int host_count;                  /* 0 = here */
    const char *const *variables;    /* names to hand on; NULL-terminated */
    const struct ck_cli_list *extra; /* further options for the launcher */
    const char *program;             /* what it will run; NULL = not known */
};

/* The launcher of that name, or (NULL) the first of the table in PATH; inside
 * a Slurm allocation srun comes first. 0, or -1 with err, which has the cure.
 */
int launcher_find(const char *name,
                  struct launcher_found *found,
                  struct ck_err *err);
/* Begin a command line: the launcher with its own options. What it is to run
 * is the caller's to add. srun is given the --mpi= of the program's MPI, where
 * neither an option nor SLURM_MPI_TYPE names one. 0, or -1 with err: the plan
 * is not possible with this launcher. */
int launcher_command(const struct launcher_found *found,
                     const struct launch_plan *plan,
                     struct argv *words,
                     struct ck_err *err);

/* A condition under which Open MPI refuses to start, and the variables that
 * cure it, of all its versions: one that it does not know is ignored. */
struct launcher_setting {
    const char *name;
    const char *value;
};
struct launcher_cure {
    const char *reason;                 /* "mpirun refuses to run as root" */
    struct launcher_setting setting[3]; /* the last name is NULL */
};
/* Cures that this launcher needs for this plan now, NULL-terminated; borrowed,
 * valid until the next call. */
const struct launcher_cure *const *
launcher_cures(const struct launcher *launcher, const struct launch_plan *plan);

#endif
