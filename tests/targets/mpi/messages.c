/* messages.c - messages of known number and size, from many places
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     messages        all of it; at least 3 ranks
 *
 * Counts by itself what goes where, and each rank prints it in lines of words:
 *
 *     sent FROM TO MESSAGES BYTES        what FROM sent
 *     received FROM TO MESSAGES BYTES    what TO received
 *     size COMM BIN MESSAGES BYTES       what was sent; bin 0 = no bytes, bin k
 *                                        = 2^(k-1) .. 2^k - 1
 *     collective COMM CALLS OUT IN
 *     function NAME CALLS
 */
#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RANKS_MAX 64
#define HALO_BYTES 24
#define SITES 91
#define ROUNDS 5

enum which { WORLD, PAIRS, TWIN, COMMS };
static const char *const comm_names[] = {"MPI_COMM_WORLD", "pairs", "twin"};

static int rank, size;
static MPI_Comm comms[COMMS];
static long sent[RANKS_MAX][2], received[RANKS_MAX][2];
static long bins[COMMS][65][2];
static long collectives[COMMS][3];
static char out[1 << 20], in[1 << 20];

#define FUNCTIONS_MAX 64
static struct {
    const char *name;
    long calls;
} functions[FUNCTIONS_MAX];

static void called(const char *name)
{
    int i = 0;

    while (functions[i].name != NULL && strcmp(functions[i].name, name) != 0) {
        i++;
    }
    functions[i].name = name;
    functions[i].calls++;
}

/* Make the call and count it. */
#define DO(name, ...) (called(#name), name(__VA_ARGS__))

/* A message goes to, or came from, a rank in the world. */
static void to(enum which comm, int peer, long bytes)
{
    int bin = 0;

    while (bytes >> bin != 0) {
        bin++;
    }
    sent[peer][0]++;
    sent[peer][1] += bytes;
    bins[comm][bin][0]++;
    bins[comm][bin][1] += bytes;
}

static void from(int peer, long bytes)
{
    received[peer][0]++;
    received[peer][1] += bytes;
}

static void all(enum which comm, long bytes_out, long bytes_in)
{
    collectives[comm][0]++;
    collectives[comm][1] += bytes_out;
    collectives[comm][2] += bytes_in;
}

static int right(void)
{
    return (rank + 1) % size;
}

static int left(void)
{
    return (rank + size - 1) % size;
}

/* Round in the world, of doubles; then of no bytes, and synchronous. */
static void ring(void)
{
    for (int i = 0; i < 3; i++) {
        const int counts[] = {1000, 0, 3};
        MPI_Request request;

        DO(MPI_Irecv, in, counts[i], MPI_DOUBLE, left(), 1, MPI_COMM_WORLD,
           &request);
        if (i == 2) {
            DO(MPI_Ssend, out, counts[i], MPI_DOUBLE, right(), 1,
               MPI_COMM_WORLD);
        } else {
            DO(MPI_Send, out, counts[i], MPI_DOUBLE, right(), 1,
               MPI_COMM_WORLD);
        }
        DO(MPI_Wait, &request, MPI_STATUS_IGNORE);
        to(WORLD, right(), counts[i] * 8);
        from(left(), counts[i] * 8);
    }
}

/* To rank 0, each another size; it takes them from anyone, with room for more,
 * half of them posted before. */
static void all_to_one(void)
{
    MPI_Request requests[RANKS_MAX];
    int posted = 0;

    if (rank > 0) {
        DO(MPI_Send, out, 100 * rank, MPI_BYTE, 0, 7 + rank, MPI_COMM_WORLD);
        to(WORLD, 0, 100 * rank);
        return;
    }
    for (; posted < (size - 1) / 2; posted++) {
        DO(MPI_Irecv, in + posted * 65536, 65536, MPI_BYTE, MPI_ANY_SOURCE,
           MPI_ANY_TAG, MPI_COMM_WORLD, &requests[posted]);
    }
    for (int i = posted; i < size - 1; i++) {
        MPI_Status status;

        DO(MPI_Recv, in + i * 65536, 65536, MPI_BYTE, MPI_ANY_SOURCE,
           MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        from(status.MPI_SOURCE, 100 * status.MPI_SOURCE);
    }
    for (int i = 0; i < posted; i++) {
        MPI_Status status;
        int index;

        DO(MPI_Waitany, posted, requests, &index, &status);
        from(status.MPI_SOURCE, 100 * status.MPI_SOURCE);
    }
}

/* 91 places that send, each in a function of its own. */
static MPI_Request halo_requests[2 * SITES];
static int halo_count;

static void halo_receive(int tag)
{
    DO(MPI_Irecv, in + tag * HALO_BYTES, HALO_BYTES, MPI_BYTE, left(), tag,
       MPI_COMM_WORLD, &halo_requests[halo_count++]);
    from(left(), HALO_BYTES);
}

#define SITE(n)                                                                \
    static void __attribute__((noinline)) halo_##n(void)                       \
    {                                                                          \
        DO(MPI_Isend, out, HALO_BYTES, MPI_BYTE, right(), n, MPI_COMM_WORLD,   \
           &halo_requests[halo_count++]);                                      \
        to(WORLD, right(), HALO_BYTES);                                        \
    }
/* Two places on one line, then one on each. */
#define TWO(a, b) SITE(a) SITE(b)
TWO(10, 11)
SITE(12)
SITE(13)
SITE(14)
SITE(15)
SITE(16)
SITE(17)
SITE(18)
SITE(19)
SITE(20)
SITE(21)
SITE(22)
SITE(23)
SITE(24)
SITE(25)
SITE(26)
SITE(27)
SITE(28)
SITE(29)
SITE(30)
SITE(31)
SITE(32)
SITE(33)
SITE(34)
SITE(35)
SITE(36)
SITE(37)
SITE(38)
SITE(39)
SITE(40)
SITE(41)
SITE(42)
SITE(43)
SITE(44)
SITE(45)
SITE(46)
SITE(47)
SITE(48)
SITE(49)
SITE(50)
SITE(51)
SITE(52)
SITE(53)
SITE(54)
SITE(55)
SITE(56)
SITE(57)
SITE(58)
SITE(59)
SITE(60)
SITE(61)
SITE(62)
SITE(63)
SITE(64)
SITE(65)
SITE(66)
SITE(67)
SITE(68)
SITE(69)
SITE(70)
SITE(71)
SITE(72)
SITE(73)
SITE(74)
SITE(75)
SITE(76)
SITE(77)
SITE(78)
SITE(79)
SITE(80)
SITE(81)
SITE(82)
SITE(83)
SITE(84)
SITE(85)
SITE(86)
SITE(87)
SITE(88)
SITE(89)
SITE(90)
SITE(91)
SITE(92)
SITE(93)
SITE(94)
SITE(95)
SITE(96)
SITE(97)
SITE(98)
SITE(99)
SITE(100)

#define TEN_CALLED(t)                                                          \
    halo_##t##0(), halo_##t##1(), halo_##t##2(), halo_##t##3(), halo_##t##4(), \
        halo_##t##5(), halo_##t##6(), halo_##t##7(), halo_##t##8(),            \
        halo_##t##9()

static void halo(void)
{
    for (int tag = 10; tag <= 100; tag++) {
        halo_receive(tag);
    }
    TEN_CALLED(1);
    TEN_CALLED(2);
    TEN_CALLED(3);
    TEN_CALLED(4);
    TEN_CALLED(5);
    TEN_CALLED(6);
    TEN_CALLED(7);
    TEN_CALLED(8);
    TEN_CALLED(9);
    halo_100();
    DO(MPI_Waitall, halo_count, halo_requests, MPI_STATUSES_IGNORE);
}

/* Of two ranks each (the last one may be alone): named, and a copy of it, which
 * gets a name of its own. */
static void groups(void)
{
    int selfstream, members, peer;

    DO(MPI_Comm_split, MPI_COMM_WORLD, rank / 2, rank, &comms[PAIRS]);
    all(WORLD, 0, 0);
    MPI_Comm_set_name(comms[PAIRS], "pairs");
    DO(MPI_Comm_dup, comms[PAIRS], &comms[TWIN]);
    all(PAIRS, 0, 0);
    MPI_Comm_set_name(comms[TWIN], "twin");
    MPI_Comm_rank(comms[PAIRS], &selfstream);
    MPI_Comm_size(comms[PAIRS], &members);
    peer = members == 2 ? 1 - selfstream : selfstream;
    DO(MPI_Sendrecv, out, 10 + rank, MPI_INT, peer, 3, in, 1000, MPI_INT, peer,
       3, comms[PAIRS], MPI_STATUS_IGNORE);
    peer = rank / 2 * 2 + peer;
    to(PAIRS, peer, 4L * (10 + rank));
    from(peer, 4L * (10 + peer));
    DO(MPI_Sendrecv_replace, out, 5, MPI_CHAR,
       peer % 2 < members ? peer % 2 : 0, 4, peer % 2 < members ? peer % 2 : 0,
       4, comms[TWIN], MPI_STATUS_IGNORE);
    to(TWIN, peer, 5);
    from(peer, 5);
    DO(MPI_Allreduce, MPI_IN_PLACE, in, 6, MPI_INT, MPI_SUM, comms[TWIN]);
    all(TWIN, 24, 24);
}

static void persistent(void)
{
    MPI_Request requests[2];

    DO(MPI_Send_init, out, 200, MPI_SHORT, right(), 5, MPI_COMM_WORLD,
       &requests[0]);
    DO(MPI_Recv_init, in, 5000, MPI_SHORT, left(), 5, MPI_COMM_WORLD,
       &requests[1]);
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 2 == 0) {
            DO(MPI_Startall, 2, requests);
        } else {
            DO(MPI_Start, &requests[1]);
            DO(MPI_Start, &requests[0]);
        }
        DO(MPI_Waitall, 2, requests, MPI_STATUSES_IGNORE);
        to(WORLD, right(), 400);
        from(left(), 400);
    }
    DO(MPI_Request_free, &requests[0]);
    DO(MPI_Request_free, &requests[1]);
}

/* Seen before it is received, once by its place in the queue and once by its
 * handle. */
static void probed(void)
{
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;

    for (int i = 0; i < 2; i++) {
        DO(MPI_Isend, out, 33 + i, MPI_BYTE, right(), 6, MPI_COMM_WORLD,
           &request);
        to(WORLD, right(), 33 + i);
        if (i == 0) {
            DO(MPI_Probe, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &status);
            DO(MPI_Recv, in, 100, MPI_BYTE, status.MPI_SOURCE, 6,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            DO(MPI_Mprobe, left(), MPI_ANY_TAG, MPI_COMM_WORLD, &message,
               &status);
            DO(MPI_Mrecv, in, 100, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        }
        from(left(), 33 + i);
        DO(MPI_Wait, &request, MPI_STATUS_IGNORE);
    }
}

/* Three ints of every four. */
static void derived(void)
{
    MPI_Request request;
    MPI_Datatype type;

    MPI_Type_vector(10, 3, 4, MPI_INT, &type);
    MPI_Type_commit(&type);
    DO(MPI_Irecv, in, 2, type, left(), 8, MPI_COMM_WORLD, &request);
    DO(MPI_Bsend, out, 2, type, right(), 8, MPI_COMM_WORLD);
    DO(MPI_Wait, &request, MPI_STATUS_IGNORE);
    to(WORLD, right(), 240);
    from(left(), 240);
    MPI_Type_free(&type);
}

/* What goes to or comes from MPI_PROC_NULL, or never came, is no message. */
static void nobody(void)
{
    MPI_Request request;

    DO(MPI_Send, out, 100, MPI_BYTE, MPI_PROC_NULL, 9, MPI_COMM_WORLD);
    DO(MPI_Recv, in, 100, MPI_BYTE, MPI_PROC_NULL, 9, MPI_COMM_WORLD,
       MPI_STATUS_IGNORE);
    DO(MPI_Irecv, in, 100, MPI_BYTE, MPI_PROC_NULL, 9, MPI_COMM_WORLD,
       &request);
    DO(MPI_Wait, &request, MPI_STATUS_IGNORE);
    DO(MPI_Irecv, in, 100, MPI_BYTE, left(), 99, MPI_COMM_WORLD, &request);
    DO(MPI_Cancel, &request);
    DO(MPI_Wait, &request, MPI_STATUS_IGNORE);
    DO(MPI_Sendrecv, out, 17, MPI_BYTE,
       rank + 1 < size ? rank + 1 : MPI_PROC_NULL, 9, in, 17, MPI_BYTE,
       rank > 0 ? rank - 1 : MPI_PROC_NULL, 9, MPI_COMM_WORLD,
       MPI_STATUS_IGNORE);
    if (rank + 1 < size) {
        to(WORLD, rank + 1, 17);
    }
    if (rank > 0) {
        from(rank - 1, 17);
    }
}

/* To itself, and tests until it is there. */
static void itself(void)
{
    MPI_Request request;
    int is_done = 0;

    DO(MPI_Isend, out, 5000, MPI_BYTE, rank, 10, MPI_COMM_WORLD, &request);
    DO(MPI_Recv, in, 5000, MPI_BYTE, rank, 10, MPI_COMM_WORLD,
       MPI_STATUS_IGNORE);
    to(WORLD, rank, 5000);
    from(rank, 5000);
    while (!is_done) {
        DO(MPI_Test, &request, &is_done, MPI_STATUS_IGNORE);
    }
}

static void together(void)
{
    int root = size - 1;

    DO(MPI_Barrier, MPI_COMM_WORLD);
    all(WORLD, 0, 0);
    DO(MPI_Bcast, out, 1000, MPI_DOUBLE, root, MPI_COMM_WORLD);
    all(WORLD, rank == root ? 8000 : 0, rank == root ? 0 : 8000);
    DO(MPI_Allreduce, out, in, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    all(WORLD, 12, 12);
    DO(MPI_Allreduce, MPI_IN_PLACE, in, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    all(WORLD, 8, 8);
    DO(MPI_Allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 7, MPI_INT,
       MPI_COMM_WORLD);
    all(WORLD, 28, 28L * size);
    if (rank == 0) {
        DO(MPI_Gather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 9, MPI_INT, 0,
           MPI_COMM_WORLD);
    } else {
        DO(MPI_Gather, out, 9, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, 0,
           MPI_COMM_WORLD);
    }
    all(WORLD, rank == 0 ? 0 : 36, rank == 0 ? 36L * size : 0);
    DO(MPI_Alltoall, out, 11, MPI_INT, in, 11, MPI_INT, MPI_COMM_WORLD);
    all(WORLD, 44L * size, 44L * size);
}

static size_t put(char *text, size_t room, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static size_t put(char *text, size_t room, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(text, room, format, arguments);
    va_end(arguments);
    return (size_t)length;
}

/* In one piece: its fwrite and fflush are counted. */
static void truth(void)
{
    char text[32768];
    size_t at = 0;

    for (int i = 0; i < size; i++) {
        at += put(text + at, sizeof(text) - at,
                  "sent %d %d %ld %ld\nreceived %d %d %ld %ld\n", rank, i,
                  sent[i][0], sent[i][1], i, rank, received[i][0],
                  received[i][1]);
    }
    for (int c = 0; c < COMMS; c++) {
        for (int k = 0; k < 65; k++) {
            if (bins[c][k][0] > 0) {
                at += put(text + at, sizeof(text) - at, "size %s %d %ld %ld\n",
                          comm_names[c], k, bins[c][k][0], bins[c][k][1]);
            }
        }
        at += put(text + at, sizeof(text) - at, "collective %s %ld %ld %ld\n",
                  comm_names[c], collectives[c][0], collectives[c][1],
                  collectives[c][2]);
    }
    for (int i = 0; functions[i].name != NULL; i++) {
        at += put(text + at, sizeof(text) - at, "function %s %ld\n",
                  functions[i].name, functions[i].calls);
    }
    fwrite(text, 1, at, stdout);
    fflush(stdout);
}

/* usleep before, between and after the library's own calls of it, and in exit
 * handlers before and behind its own: 3 + 5 + 7 + 11 + 13. */
static void nap(int times)
{
    while (times-- > 0) {
        usleep(1);
    }
}

static void nap_last(void)
{
    nap(11);
}

static void nap_first(void)
{
    nap(13);
}

int main(int argc, char **argv)
{
    static char buffer[65536];
    int length = sizeof(buffer);
    void *kept;

    nap(3);
    atexit(nap_last);
    MPI_Init(&argc, &argv);
    atexit(nap_first);
    nap(5);
    comms[WORLD] = MPI_COMM_WORLD;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Buffer_attach(buffer, length);
    ring();
    all_to_one();
    /* A receive from any source may take what comes now. */
    DO(MPI_Barrier, MPI_COMM_WORLD);
    all(WORLD, 0, 0);
    halo();
    groups();
    persistent();
    probed();
    derived();
    nobody();
    itself();
    together();
    MPI_Buffer_detach(&kept, &length);
    truth();
    MPI_Finalize();
    nap(7);
    return 0;
}
