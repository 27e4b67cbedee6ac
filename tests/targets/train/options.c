/* options.c - command line of train
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/targets/train/options.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: mpirun -n RANKS train [OPTION]...\n"
    "Train a small network on Fashion-MNIST, data-parallel over MPI, with its\n"
    "kernels on an OpenCL (or CUDA) device, and print the held-out accuracy.\n"
    "\n"
    "  --steps N            steps (600)\n"
    "  --batch N            images a rank a step (32)\n"
    "  --rate R             step of the gradient descent (0.1)\n"
    "  --overlap            reduce layer by layer with MPI_Iallreduce\n"
    "  --time               print the time of a step on rank 0\n"
    "  --times FILE         write when each step of rank 0 began and ended\n"
    "  --data DIR           Fashion-MNIST (/usr/share/datasets/fashion-mnist)\n"
    "  --checkpoint FILE    write the weights there (no checkpoint)\n"
    "  --checkpoint-every N every N steps (200)\n"
    "  --inject KIND[:RANK[:AMOUNT]]  slow down one rank (last rank; --ill is "
    "the same):\n"
    "      late        host work of AMOUNT ms a step (20)\n"
    "      early       the same at the begin of a step, before the work of all "
    "(20)\n"
    "      mixed       half of it there, half of it late (20)\n"
    "      loader      reads AMOUNT times the images (8)\n"
    "      copy        copies the batch AMOUNT times, image by image (8)\n"
    "      sync        waits for the device after each kernel, of which one\n"
    "                  runs AMOUNT times (1)\n"
    "      unbalanced  runs each kernel AMOUNT times (3)\n"
    "      queue       its device begins AMOUNT ms late in each step (20)\n"
    "      lock        waits AMOUNT ms a step for a lock (20)\n"
    "      io          writes and syncs AMOUNT MiB a step (4)\n"
    "      crash       store to address 0 in step AMOUNT (half way)\n"
    "      exit        leaves without MPI_Finalize\n"
    "  --inject-steps A-B   only in these steps\n"
    "  --help\n";

static const struct {
    const char *name;
    enum ill ill;
    double amount;
} ills[] = {
    {"late", ILL_LATE, 20},
    {"early", ILL_EARLY, 20},
    {"mixed", ILL_MIXED, 20},
    {"loader", ILL_LOADER, 8},
    {"copy", ILL_COPY, 8},
    {"sync", ILL_SYNC, 1},
    {"unbalanced", ILL_UNBALANCED, 3},
    {"queue", ILL_QUEUE, 20},
    {"lock", ILL_LOCK, 20},
    {"io", ILL_IO, 4},
    {"crash", ILL_CRASH, -1},
    {"exit", ILL_EXIT, 0},
};

/* KIND[:RANK[:AMOUNT]] */
static int ill_parse(struct options *options, const char *text)
{
    size_t length = strcspn(text, ":");

    for (size_t i = 0; i < sizeof(ills) / sizeof(ills[0]); i++) {
        if (strlen(ills[i].name) != length ||
            strncmp(ills[i].name, text, length) != 0) {
            continue;
        }
        options->ill = ills[i].ill;
        options->ill_amount = ills[i].amount;
        if (text[length] == ':') {
            char *end;

            options->ill_rank = (int)strtol(text + length + 1, &end, 10);
            if (*end == ':') {
                options->ill_amount = strtod(end + 1, &end);
            }
            return *end == '\0' ? 0 : -1;
        }
        return 0;
    }
    return -1;
}

static int option_take(struct options *options, int letter)
{
    switch (letter) {
    case 's':
        options->steps = atoi(optarg);
        return options->steps > 0 ? 0 : -1;
    case 'b':
        options->batch = atoi(optarg);
        return options->batch > 0 ? 0 : -1;
    case 'r':
        options->rate = (float)atof(optarg);
        return options->rate > 0 ? 0 : -1;
    case 'o':
        options->is_overlapped = 1;
        return 0;
    case 't':
        options->is_timed = 1;
        return 0;
    case 'T':
        options->times = optarg;
        return 0;
    case 'd':
        options->data = optarg;
        return 0;
    case 'c':
        options->checkpoint = optarg;
        return 0;
    case 'e':
        options->checkpoint_every = atoi(optarg);
        return options->checkpoint_every > 0 ? 0 : -1;
    case 'i':
        return ill_parse(options, optarg);
    case 'I':
        return sscanf(optarg, "%d-%d", &options->ill_first,
                      &options->ill_last) == 2
                   ? 0
                   : -1;
    default:
        return -1;
    }
}

int options_parse(struct options *options,
                  int argc,
                  char **argv,
                  int is_speaker)
{
    static const struct option table[] = {
        {"steps", required_argument, NULL, 's'},
        {"batch", required_argument, NULL, 'b'},
        {"rate", required_argument, NULL, 'r'},
        {"overlap", no_argument, NULL, 'o'},
        {"time", no_argument, NULL, 't'},
        {"times", required_argument, NULL, 'T'},
        {"data", required_argument, NULL, 'd'},
        {"checkpoint", required_argument, NULL, 'c'},
        {"checkpoint-every", required_argument, NULL, 'e'},
        {"inject", required_argument, NULL, 'i'},
        {"ill", required_argument, NULL, 'i'}, /* as it was called before */
        {"inject-steps", required_argument, NULL, 'I'},
        {"ill-steps", required_argument, NULL, 'I'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int letter;

    *options = (struct options){
        .steps = 600,
        .batch = 32,
        .rate = 0.1f,
        .data = "/usr/share/datasets/fashion-mnist",
        .checkpoint_every = 200,
        .ill_rank = -1,
        .ill_last = INT_MAX,
    };
    opterr = is_speaker;
    while ((letter = getopt_long(argc, argv, "", table, NULL)) != -1) {
        if (letter == 'h') {
            if (is_speaker) {
                fputs(help, stdout);
            }
            return 1;
        }
        if (option_take(options, letter) != 0) {
            if (is_speaker && letter != '?') {
                fprintf(stderr, "train: wrong value %s: see train --help\n",
                        optarg);
            }
            return 2;
        }
    }
    return 0;
}
