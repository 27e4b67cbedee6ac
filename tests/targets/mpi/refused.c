/* refused.c - valid and wrong calls whose arguments MPI must not be asked of
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Prints what each call returned (a class of errors) and how often the
 * program's error handlers ran. MPI_COMM_WORLD's handler counts; it would be
 * called once more for each question about an argument that is none.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int handled[2]; /* by MPI_COMM_WORLD's handler, by the copy's */

static void world_handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    handled[0]++;
}

static void copy_handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    handled[1]++;
}

static void print(const char *what, int code)
{
    int cls = MPI_SUCCESS;

    if (code != MPI_SUCCESS) {
        (void)MPI_Error_class(code, &cls);
    }
    printf("%s: class %d, handlers %d and %d\n", what, cls, handled[0],
           handled[1]);
    handled[0] = handled[1] = 0;
}

static void one_sided(void)
{
    int result = 0;
    int *words;
    MPI_Win win;

    (void)MPI_Win_allocate(sizeof(*words), sizeof(*words), MPI_INFO_NULL,
                           MPI_COMM_WORLD, &words, &win);
    words[0] = 5;
    (void)MPI_Win_fence(0, win);
    print("MPI_NO_OP without a type",
          MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, &result, 1, MPI_INT, 0,
                             0, 1, MPI_INT, MPI_NO_OP, win));
    (void)MPI_Win_fence(0, win);
    printf("result %d\n", result);
    print("MPI_NO_OP with a count without a type",
          MPI_Get_accumulate(NULL, 3, MPI_DATATYPE_NULL, &result, 1, MPI_INT, 0,
                             0, 1, MPI_INT, MPI_NO_OP, win));
    (void)MPI_Win_fence(0, win);
    (void)MPI_Win_free(&win);
}

static void wrong_calls(MPI_Comm copy)
{
    int word = 0, all[8];
    MPI_Comm freed;
    MPI_Request request = MPI_REQUEST_NULL;

    print("send without a type",
          MPI_Send(&word, 1, MPI_DATATYPE_NULL, 0, 1, copy));
    print("isend without a type",
          MPI_Isend(&word, 1, MPI_DATATYPE_NULL, 0, 1, copy, &request));
    print("receive without a type",
          MPI_Recv(&word, 1, MPI_DATATYPE_NULL, 0, 1, copy, MPI_STATUS_IGNORE));
    print("broadcast without a type",
          MPI_Bcast(&word, 1, MPI_DATATYPE_NULL, 0, copy));
    print("gather without a type",
          MPI_Gather(&word, 1, MPI_INT, all, 1, MPI_DATATYPE_NULL, 0, copy));
    print("reduce without a type",
          MPI_Allreduce(&word, all, 1, MPI_DATATYPE_NULL, MPI_SUM, copy));
    print("send to nobody known", MPI_Send(&word, 1, MPI_INT, 1000, 1, copy));
    print("send without a communicator",
          MPI_Send(&word, 1, MPI_INT, 0, 1, MPI_COMM_NULL));
    (void)MPI_Comm_dup(copy, &freed);
    (void)memcpy(&all, &freed, sizeof(freed));
    (void)MPI_Comm_free(&freed);
    print("freed", freed == MPI_COMM_NULL ? MPI_SUCCESS : MPI_ERR_OTHER);
}

/* No array, no request, no handle: refused, or nothing to do. */
static void wrong_places(MPI_Comm copy)
{
    int word = 0, index = 0, count = 0;
    MPI_Status status;

    print("wait for nowhere", MPI_Wait(NULL, &status));
    print("wait for all of nothing", MPI_Waitall(0, NULL, NULL));
    print("wait for all of nowhere", MPI_Waitall(2, NULL, &status));
    print("wait for any of nowhere", MPI_Waitany(2, NULL, &index, &status));
    print("wait for some of nowhere",
          MPI_Waitsome(2, NULL, &count, &index, &status));
    print("test all of nowhere", MPI_Testall(2, NULL, &index, &status));
    print("start nowhere", MPI_Start(NULL));
    print("start all of nowhere", MPI_Startall(2, NULL));
    print("give back nowhere", MPI_Request_free(NULL));
    print("isend to no request",
          MPI_Isend(&word, 1, MPI_INT, 0, 1, copy, NULL));
}

static void right_calls(MPI_Comm copy)
{
    int sent = 7, got = 0, counts[1] = {0}, places[1] = {0};
    MPI_Datatype types[1] = {MPI_INT};
    MPI_Datatype pair;

    print("nothing to all", MPI_Alltoallw(&sent, counts, places, types, &got,
                                          counts, places, types, copy));
    (void)MPI_Type_contiguous(2, MPI_INT, &pair);
    (void)MPI_Type_commit(&pair);
    print("to nobody", MPI_Send(&sent, 1, MPI_INT, MPI_PROC_NULL, 1, copy));
    print("derived", MPI_Send(NULL, 0, pair, MPI_PROC_NULL, 1, copy));
    (void)MPI_Type_free(&pair);
    print("in place",
          MPI_Allreduce(MPI_IN_PLACE, &sent, 1, MPI_INT, MPI_SUM, copy));
}

int main(int argc, char **argv)
{
    MPI_Errhandler world, copy_errors;
    MPI_Comm copy;

    (void)MPI_Init(&argc, &argv);
    (void)MPI_Comm_create_errhandler(world_handler, &world);
    (void)MPI_Comm_create_errhandler(copy_handler, &copy_errors);
    (void)MPI_Comm_set_errhandler(MPI_COMM_WORLD, world);
    (void)MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    (void)MPI_Comm_set_errhandler(copy, copy_errors);
    one_sided();
    wrong_calls(copy);
    wrong_places(copy);
    right_calls(copy);
    (void)MPI_Comm_free(&copy);
    (void)MPI_Errhandler_free(&world);
    (void)MPI_Errhandler_free(&copy_errors);
    (void)MPI_Finalize();
    return 0;
}
