/* train.c - data-parallel training of a small network: MPI and a device
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each rank decodes the images, keeps its share of every global batch, runs
 * forward and backward on its device, sums gradients with the others and
 * updates its copy of the weights:
 *
 *   load -> copy -> forward -> backward -> read gradient -> MPI -> update
 *
 * The result does not depend on whether it is traced.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

#include "agent/inject/ck.h"
#include "tests/targets/train/device.h"
#include "tests/targets/train/ill.h"
#include "tests/targets/train/images.h"
#include "tests/targets/train/options.h"
#include "tests/targets/train/shape.h"

#define TEST_IMAGES 10000

struct train {
    struct options options;
    int rank;
    int size;
    enum ill planted;  /* of this rank */
    enum ill ill;      /* of this step */
    double ill_us;     /* time that it took so far */
    double forward_us; /* when the last forward began */
    struct device *device;
    struct images *images;
    float *pixels;
    float *labels;
    float *result;
    float gradient[PARAMETERS];
    float summed[PARAMETERS];
};

/* The weights' start: the same on every rank, small and not symmetric. */
static int weights_init(struct train *train)
{
    float *weights = train->gradient;
    uint32_t state = 12345;

    for (int i = 0; i < PARAMETERS; i++) {
        int is_bias = (i >= PIXELS * HIDDEN && i < LAYER1) ||
                      i >= LAYER1 + HIDDEN * CLASSES;

        state = state * 1664525u + 1013904223u;
        weights[i] = is_bias ? 0.0f
                             : ((float)(state >> 8) / 16777216.0f - 0.5f) *
                                   (i < LAYER1 ? 0.1f : 0.3f);
    }
    return device_write(train->device, BUFFER_WEIGHTS, weights,
                        sizeof(train->gradient), 1);
}

/* Read the set from its start as far as the fault asks for. */
static int load_again(struct train *train)
{
    struct images *again = images_create(train->options.data, "train");
    int rc = -1;

    if (again != NULL) {
        rc = images_skip(again, (int)train->options.ill_amount *
                                    train->options.batch * train->size);
    }
    images_destroy(again);
    return rc;
}

/* This rank's share of the next global batch. */
static int batch_load(struct train *train)
{
    int batch = train->options.batch;
    double begin = ill_now_us();
    int rc = 0;

    ck_range_push("load");
    if (train->ill == ILL_LOADER) {
        rc = load_again(train);
    }
    if (rc == 0) {
        rc = images_skip(train->images, train->rank * batch);
    }
    if (rc == 0) {
        rc = images_next(train->images, batch, train->pixels, train->labels);
    }
    if (rc == 0) {
        rc =
            images_skip(train->images, (train->size - 1 - train->rank) * batch);
    }
    ck_range_pop();
    if (train->ill == ILL_LOADER) {
        train->ill_us += ill_now_us() - begin;
    }
    return rc;
}

static int batch_copy(struct train *train)
{
    size_t batch = (size_t)train->options.batch;
    int rc = 0;

    ck_range_push("copy");
    if (train->ill == ILL_COPY) {
        size_t copies = (size_t)train->options.ill_amount * batch;
        double begin = ill_now_us();

        for (size_t i = 0; rc == 0 && i < copies; i++) {
            rc = device_write(train->device, BUFFER_IMAGES, train->pixels,
                              PIXELS * sizeof(float), 1);
        }
        train->ill_us += ill_now_us() - begin;
    }
    if (rc == 0) {
        rc = device_write(train->device, BUFFER_IMAGES, train->pixels,
                          batch * PIXELS * sizeof(float), 0);
    }
    if (rc == 0) {
        rc = device_write(train->device, BUFFER_LABELS, train->labels,
                          batch * sizeof(float), 0);
    }
    ck_range_pop();
    return rc;
}

static int kernel_launch(struct train *train, enum kernel kernel, float rate)
{
    int is_repeated =
        (train->ill == ILL_UNBALANCED && kernel != KERNEL_UPDATE) ||
        (train->ill == ILL_SYNC && kernel == KERNEL_BACKWARD_HIDDEN);
    int times = is_repeated ? (int)train->options.ill_amount : 1;
    int rc = 0;

    for (int i = 0; rc == 0 && i < times; i++) {
        rc = device_run(train->device, kernel, train->options.batch, rate);
        if (rc == 0 && train->ill == ILL_SYNC) {
            rc = device_finish(train->device);
        }
    }
    return rc;
}

static int forward(struct train *train)
{
    int rc;

    train->forward_us = ill_now_us();
    ck_range_push("forward");
    rc = kernel_launch(train, KERNEL_FORWARD_HIDDEN, 0);
    if (rc == 0) {
        rc = kernel_launch(train, KERNEL_FORWARD_OUTPUT, 0);
    }
    ck_range_pop();
    return rc;
}

/* The part of the ill that comes behind the work of all. */
static void late_compute(struct train *train)
{
    double begin = ill_now_us();

    if (train->ill == ILL_LATE || train->ill == ILL_MIXED) {
        ill_compute(train->options.ill_amount /
                    (train->ill == ILL_MIXED ? 2 : 1));
        train->ill_us += ill_now_us() - begin;
    }
}

/* Gradients of both layers, then their sum over the ranks in one call. */
static int backward_blocking(struct train *train)
{
    int rc = kernel_launch(train, KERNEL_GRADIENT_OUTPUT, 0);

    if (rc == 0) {
        rc = kernel_launch(train, KERNEL_BACKWARD_HIDDEN, 0);
    }
    if (rc == 0) {
        rc = kernel_launch(train, KERNEL_GRADIENT_HIDDEN, 0);
    }
    if (rc == 0) {
        rc = device_read(train->device, BUFFER_GRADIENT, 0, train->gradient,
                         sizeof(train->gradient));
    }
    if (train->ill == ILL_SYNC || train->ill == ILL_UNBALANCED) {
        train->ill_us += ill_now_us() - train->forward_us;
    }
    if (rc == 0) {
        late_compute(train);
    }
    if (rc == 0) {
        (void)MPI_Allreduce(train->gradient, train->summed, PARAMETERS,
                            MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
    return rc;
}

/* The output layer's sum travels while the hidden layer's is computed. */
static int backward_overlapped(struct train *train)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int rc = kernel_launch(train, KERNEL_GRADIENT_OUTPUT, 0);

    if (rc == 0) {
        rc = device_read(train->device, BUFFER_GRADIENT, LAYER1 * sizeof(float),
                         train->gradient + LAYER1, LAYER2 * sizeof(float));
    }
    if (rc == 0) {
        (void)MPI_Iallreduce(train->gradient + LAYER1, train->summed + LAYER1,
                             LAYER2, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD,
                             &requests[0]);
        rc = kernel_launch(train, KERNEL_BACKWARD_HIDDEN, 0);
    }
    if (rc == 0) {
        rc = kernel_launch(train, KERNEL_GRADIENT_HIDDEN, 0);
    }
    if (rc == 0) {
        rc = device_read(train->device, BUFFER_GRADIENT, 0, train->gradient,
                         LAYER1 * sizeof(float));
    }
    if (rc == 0) {
        late_compute(train);
    }
    if (rc == 0) {
        (void)MPI_Iallreduce(train->gradient, train->summed, LAYER1, MPI_FLOAT,
                             MPI_SUM, MPI_COMM_WORLD, &requests[1]);
    }
    (void)MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    return rc;
}

/* The rate falls to 0 over the run, as usual for so short a training. */
static int update(struct train *train, int step)
{
    float left = 1.0f - (float)step / (float)train->options.steps;
    int rc;

    ck_range_push("update");
    rc = device_write(train->device, BUFFER_GRADIENT, train->summed,
                      sizeof(train->summed), 0);
    if (rc == 0) {
        rc = kernel_launch(train, KERNEL_UPDATE,
                           train->options.rate * left / (float)train->size);
    }
    if (rc == 0) {
        rc = device_finish(train->device);
    }
    ck_range_pop();
    return rc;
}

/* Write the weights beside the file, sync, rename: rank 0 only. */
static int checkpoint_write(struct train *train)
{
    const char *path = train->options.checkpoint;
    char name[4096];
    FILE *file;
    int rc = device_read(train->device, BUFFER_WEIGHTS, 0, train->gradient,
                         sizeof(train->gradient));

    (void)snprintf(name, sizeof(name), "%s.tmp", path);
    file = rc == 0 ? fopen(name, "wb") : NULL;
    if (file == NULL) {
        fprintf(stderr, "train: cannot write %s\n", name);
        return -1;
    }
    ck_range_push("checkpoint");
    if (fwrite(train->gradient, sizeof(float), PARAMETERS, file) !=
            PARAMETERS ||
        fflush(file) != 0 || fsync(fileno(file)) != 0) {
        rc = -1;
    }
    if (fclose(file) != 0 || rc != 0 || rename(name, path) != 0) {
        fprintf(stderr, "train: cannot write %s\n", path);
        rc = -1;
    }
    ck_range_pop();
    return rc;
}

static void ill_in_step(struct train *train, int step)
{
    double begin = ill_now_us();

    switch (train->ill) {
    case ILL_EARLY:
        ill_prepare(train->options.ill_amount);
        break;
    case ILL_MIXED:
        ill_prepare(train->options.ill_amount / 2);
        break;
    case ILL_LOCK:
        ill_lock(train->options.ill_amount);
        break;
    case ILL_IO:
        ill_write(train->options.ill_amount);
        break;
    case ILL_CRASH:
        if (step == (int)train->options.ill_amount) {
            ill_crash();
        }
        break;
    default:
        return;
    }
    train->ill_us += ill_now_us() - begin;
}

/* Mean loss of this rank's last batch. */
static double batch_loss(struct train *train)
{
    int batch = train->options.batch;
    double loss = 0;

    (void)device_read(train->device, BUFFER_RESULT, 0, train->result,
                      sizeof(float) * 2 * (size_t)batch);
    for (int i = 0; i < batch; i++) {
        loss += (double)train->result[2 * i];
    }
    return loss / batch;
}

static int step_run(struct train *train, int step)
{
    int rc;

    ck_step_begin(step);
    train->ill =
        step >= train->options.ill_first && step <= train->options.ill_last
            ? train->planted
            : ILL_NONE;
    ill_in_step(train, step);
    rc = batch_load(train);
    if (rc == 0) {
        rc = batch_copy(train);
    }
    if (rc == 0 && train->ill == ILL_QUEUE) {
        rc = device_hold(train->device, train->options.ill_amount,
                         &train->ill_us);
    }
    if (rc == 0) {
        rc = forward(train);
    }
    if (rc == 0) {
        ck_range_push("backward");
        rc = train->options.is_overlapped ? backward_overlapped(train)
                                          : backward_blocking(train);
        ck_range_pop();
    }
    if (rc == 0) {
        rc = update(train, step);
    }
    if (rc == 0 && train->rank == 0 && train->options.checkpoint != NULL &&
        (step + 1) % train->options.checkpoint_every == 0) {
        rc = checkpoint_write(train);
    }
    ck_step_end();
    return rc;
}

static int double_compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Mean and median of the steps but the first, which warms the device up. */
static void steps_time_print(double *steps_us, int steps)
{
    double sum = 0;

    for (int step = 1; step < steps; step++) {
        sum += steps_us[step];
    }
    qsort(steps_us + 1, (size_t)(steps - 1), sizeof(*steps_us), double_compare);
    printf("step time mean %.3f us median %.3f us\n", sum / (steps - 1),
           steps_us[1 + (steps - 1) / 2]);
}

/* A line a step: when it began and ended, ns of CLOCK_MONOTONIC. */
static FILE *times_open(const struct train *train)
{
    FILE *file = NULL;

    if (train->options.times != NULL && train->rank == 0) {
        file = fopen(train->options.times, "w");
        if (file == NULL) {
            perror(train->options.times);
        }
    }
    return file;
}

static int steps_run(struct train *train)
{
    int steps = train->options.steps;
    double *steps_us = calloc((size_t)steps, sizeof(*steps_us));
    FILE *times = times_open(train);
    int rc = 0;

    for (int step = 0; step < steps; step++) {
        double begin = ill_now_us();
        double end;

        rc = step_run(train, step);
        if (rc != 0) {
            break;
        }
        end = ill_now_us();
        if (steps_us != NULL) {
            steps_us[step] = end - begin;
        }
        if (times != NULL) {
            fprintf(times, "%.0f %.0f\n", begin * 1e3, end * 1e3);
        }
        if ((step + 1) % (steps < 5 ? 1 : steps / 5) == 0) {
            double loss = batch_loss(train);

            ck_value("loss_millionths", (int64_t)(loss * 1e6));
            if (train->rank == 0) {
                printf("step %d loss %.6f\n", step + 1, loss);
                (void)fflush(stdout);
            }
        }
    }
    if (rc == 0 && train->options.is_timed && train->rank == 0 && steps > 1 &&
        steps_us != NULL) {
        steps_time_print(steps_us, steps);
    }
    if (train->ill_us > 0) {
        printf("the ill took %.0f us\n", train->ill_us);
        (void)fflush(stdout);
    }
    if (times != NULL) {
        (void)fclose(times);
    }
    free(steps_us);
    return rc;
}

/* Right answers of this rank's share of the held-out images. */
static int test_count(struct train *train, int *right, int *seen)
{
    int batch = train->options.batch;
    int share = TEST_IMAGES / train->size;
    struct images *images = images_create(train->options.data, "t10k");
    int rc = images == NULL ? -1 : images_skip(images, train->rank * share);

    *right = 0;
    *seen = 0;
    for (int at = 0; rc == 0 && at + batch <= share; at += batch) {
        rc = images_next(images, batch, train->pixels, train->labels);
        if (rc == 0) {
            rc = batch_copy(train);
        }
        if (rc == 0) {
            rc = forward(train);
        }
        if (rc == 0) {
            rc = device_read(train->device, BUFFER_RESULT, 0, train->result,
                             sizeof(float) * 2 * (size_t)batch);
        }
        for (int i = 0; rc == 0 && i < batch; i++) {
            *right += train->result[2 * i + 1] > 0.5f;
            *seen += 1;
        }
    }
    images_destroy(images);
    return rc;
}

/* FNV-1a over the bits of the weights: equal runs print equal digests. */
static uint64_t weights_digest(struct train *train)
{
    uint64_t digest = 14695981039346656037ull;
    const uint8_t *bytes = (const uint8_t *)train->gradient;

    if (device_read(train->device, BUFFER_WEIGHTS, 0, train->gradient,
                    sizeof(train->gradient)) != 0) {
        return 0;
    }
    for (size_t i = 0; i < sizeof(train->gradient); i++) {
        digest = (digest ^ bytes[i]) * 1099511628211ull;
    }
    return digest;
}

static int test_run(struct train *train)
{
    int mine[2];
    int all[2] = {0, 0};
    int rc = test_count(train, &mine[0], &mine[1]);
    uint64_t digest = weights_digest(train);

    if (rc != 0) {
        return rc;
    }
    (void)MPI_Reduce(mine, all, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (train->rank == 0) {
        printf("accuracy %.2f %% (%d of %d held-out images)\n",
               100.0 * all[0] / (all[1] > 0 ? all[1] : 1), all[0], all[1]);
        printf("weights %016llx\n", (unsigned long long)digest);
        (void)fflush(stdout);
    }
    return 0;
}

static int train_init(struct train *train, int local_rank)
{
    size_t batch = (size_t)train->options.batch;

    train->pixels = calloc(batch * PIXELS, sizeof(float));
    train->labels = calloc(batch, sizeof(float));
    train->result = calloc(batch * 2, sizeof(float));
    if (train->pixels == NULL || train->labels == NULL ||
        train->result == NULL) {
        fprintf(stderr, "train: out of memory\n");
        return -1;
    }
    train->images = images_create(train->options.data, "train");
    if (train->images == NULL) {
        return -1;
    }
    train->device = device_create(local_rank, train->options.batch);
    if (train->device == NULL || weights_init(train) != 0) {
        fprintf(stderr, "train: rank %d: %s\n", train->rank, device_error());
        return -1;
    }
    if (train->rank == 0) {
        printf("train: %d ranks, batch %d each, %d steps, device %s\n",
               train->size, train->options.batch, train->options.steps,
               device_name(train->device));
    }
    return 0;
}

static void train_fini(struct train *train)
{
    device_destroy(train->device);
    images_destroy(train->images);
    free(train->pixels);
    free(train->labels);
    free(train->result);
}

/* Rank within this machine, to spread ranks over its devices. */
static int local_rank_find(int rank)
{
    MPI_Comm node;
    int local = 0;

    (void)MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank,
                              MPI_INFO_NULL, &node);
    (void)MPI_Comm_rank(node, &local);
    (void)MPI_Comm_free(&node);
    return local;
}

static void ill_choose(struct train *train)
{
    struct options *options = &train->options;

    if (options->ill_rank < 0) {
        options->ill_rank = train->size - 1;
    }
    if (options->ill == ILL_CRASH && options->ill_amount < 0) {
        options->ill_amount = options->steps / 2;
    }
    train->planted = train->rank == options->ill_rank ? options->ill : ILL_NONE;
}

int main(int argc, char **argv)
{
    static struct train train;
    int rc;

    (void)MPI_Init(&argc, &argv);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &train.rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &train.size);
    rc = options_parse(&train.options, argc, argv, train.rank == 0);
    if (rc != 0) {
        (void)MPI_Finalize();
        return rc == 1 ? 0 : 2;
    }
    ill_choose(&train);
    rc = train_init(&train, local_rank_find(train.rank));
    if (rc == 0) {
        rc = steps_run(&train);
    }
    if (rc == 0) {
        rc = test_run(&train);
    }
    if (rc != 0) {
        fprintf(stderr, "train: rank %d stopped: %s\n", train.rank,
                device_error());
        (void)MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (train.planted == ILL_EXIT) {
        _exit(0);
    }
    train_fini(&train);
    (void)MPI_Finalize();
    return 0;
}
