/* conjugate.c - conjugate gradients on a grid: halos and sums of all ranks
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     conjugate [SIDE [SOLVES [ITERATIONS]]]
 *
 * A matrix of 27 points a row, as HPCG's, on SIDE planes of SIDE times SIDE
 * points a rank. Each product exchanges a plane with both neighbours, each
 * iteration has three sums over all ranks, and each solve begins with a norm.
 * Prints the square of the last residual: it depends on the number of ranks
 * alone.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, ranks, side;
static size_t plane, points;

static double dot(const double *a, const double *b)
{
    double selfstream = 0, all;

    for (size_t i = plane; i < plane + points; i++) {
        selfstream += a[i] * b[i];
    }
    MPI_Allreduce(&selfstream, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/* The planes beside this rank's own. */
static void halo(double *x)
{
    int below = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    int above = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
    MPI_Request requests[4];

    MPI_Irecv(x, (int)plane, MPI_DOUBLE, below, 0, MPI_COMM_WORLD,
              &requests[0]);
    MPI_Irecv(x + plane + points, (int)plane, MPI_DOUBLE, above, 0,
              MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(x + plane, (int)plane, MPI_DOUBLE, below, 0, MPI_COMM_WORLD,
              &requests[2]);
    MPI_Isend(x + points, (int)plane, MPI_DOUBLE, above, 0, MPI_COMM_WORLD,
              &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

/* 26 x less the neighbours, and a little more, so that it is definite. */
static double row(const double *x, int z, int j, int i)
{
    double sum = 27.1 * x[(size_t)(z + 1) * plane + (size_t)(j * side + i)];

    for (int dz = -1; dz <= 1; dz++) {
        for (int dj = j > 0 ? -1 : 0; dj <= (j + 1 < side); dj++) {
            const double *line =
                x + (size_t)(z + 1 + dz) * plane + (size_t)((j + dj) * side);

            for (int di = i > 0 ? -1 : 0; di <= (i + 1 < side); di++) {
                sum -= line[i + di];
            }
        }
    }
    return sum;
}

static void product(double *x, double *y)
{
    halo(x);
    for (int z = 0; z < side; z++) {
        for (int j = 0; j < side; j++) {
            for (int i = 0; i < side; i++) {
                y[(size_t)(z + 1) * plane + (size_t)(j * side + i)] =
                    row(x, z, j, i);
            }
        }
    }
}

/* y = x + a z */
static void sum(double *y, const double *x, double a, const double *z)
{
    for (size_t i = plane; i < plane + points; i++) {
        y[i] = x[i] + a * z[i];
    }
}

static double solve(double *v[4], int iterations)
{
    double *x = v[0], *r = v[1], *p = v[2], *q = v[3];
    double rr, last;

    for (size_t i = plane; i < plane + points; i++) {
        x[i] = 0;
        r[i] = p[i] = 1.0 + (double)(i % 7);
    }
    rr = dot(r, r);
    for (int k = 0; k < iterations; k++) {
        double step;

        product(p, q);
        step = rr / dot(p, q);
        sum(x, x, step, p);
        sum(r, r, -step, q);
        last = rr;
        rr = dot(r, r);
        sum(p, r, rr / last, p);
    }
    return dot(r, r);
}

int main(int argc, char **argv)
{
    int solves = argc > 2 ? atoi(argv[2]) : 3;
    int iterations = argc > 3 ? atoi(argv[3]) : 50;
    double *v[4], residual = 0;

    side = argc > 1 ? atoi(argv[1]) : 48;
    plane = (size_t)side * (size_t)side;
    points = plane * (size_t)side;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < 4; i++) {
        v[i] = calloc(points + 2 * plane, sizeof(double));
    }
    for (int i = 0; i < solves; i++) {
        residual = solve(v, iterations);
    }
    if (rank == 0) {
        printf("residual squared %.10e\n", residual);
    }
    for (int i = 0; i < 4; i++) {
        free(v[i]);
    }
    MPI_Finalize();
    return 0;
}
