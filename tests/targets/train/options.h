/* options.h - command line of train
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_TESTS_TARGETS_TRAIN_OPTIONS_H
#define CK_TESTS_TARGETS_TRAIN_OPTIONS_H

/* What can be planted on one rank. */
enum ill {
    ILL_NONE,
    ILL_LATE,       /* computes on the host for `amount` ms a step */
    ILL_EARLY,      /* the same at the begin of the step */
    ILL_MIXED,      /* half of it there, half of it late */
    ILL_LOADER,     /* reads and decodes `amount` times the images */
    ILL_COPY,       /* copies the batch `amount` times, image by image */
    ILL_SYNC,       /* waits for the device after each kernel */
    ILL_UNBALANCED, /* runs the forward and backward kernels `amount` times */
    ILL_QUEUE,      /* its device begins `amount` ms late in each step */
    ILL_LOCK,       /* waits `amount` ms a step for a lock held elsewhere */
    ILL_IO,         /* writes `amount` MiB to disk and syncs, each step */
    ILL_CRASH,      /* stores to address 0 in step `amount` */
    ILL_EXIT,       /* leaves without MPI_Finalize at the end */
};

struct options {
    int steps;
    int batch; /* images a rank a step */
    float rate;
    int is_overlapped; /* MPI_Iallreduce by layer instead of MPI_Allreduce */
    int is_timed;      /* print how long a step took */
    const char *times; /* file for ns (CLOCK_MONOTONIC) of steps, NULL = none */
    const char *data;
    const char *checkpoint; /* file, NULL = none */
    int checkpoint_every;   /* steps */
    enum ill ill;
    int ill_rank;
    int ill_first; /* steps that have it */
    int ill_last;
    double ill_amount;
};

/* 0 go on; 1 help was printed; 2 wrong (message printed when is_speaker). */
int options_parse(struct options *options,
                  int argc,
                  char **argv,
                  int is_speaker);

#endif
