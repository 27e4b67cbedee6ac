/* nvtx_host.c - a program that gives ranges, steps and marks to NVTX
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     nvtx_host [THREADS]
 *
 * In steps 0 to 9 (ranges "step 0" ...): "iter 3", "load", and in it "read" as
 * a wide text, and "NCCL: ncclAllReduce", a registered text of a domain; a mark
 * "loss" of step * 10. A range "epoch" is started and ended by two threads
 * around all that. Then each of THREADS pushes and pops 1000 ranges.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

#define STEPS 10
#define RANGES 1000
#define THREADS 64

static nvtxDomainHandle_t nccl;
static nvtxStringHandle_t registered;

static void *thread_main(void *unused)
{
    for (int i = 0; i < RANGES; i++) {
        (void)nvtxRangePushA("work");
        (void)nvtxRangePop();
    }
    return unused;
}

static void *end_main(void *id)
{
    nvtxRangeEnd(*(nvtxRangeId_t *)id);
    return NULL;
}

static void attributes_set(nvtxEventAttributes_t *what)
{
    *what = (nvtxEventAttributes_t){.version = NVTX_VERSION,
                                    .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
}

/* Marks with values of other types, and with none; a number that is too long.
 */
static void values_mark(void)
{
    nvtxEventAttributes_t what;

    attributes_set(&what);
    what.messageType = NVTX_MESSAGE_TYPE_ASCII;
    what.message.ascii = "mean";
    what.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    what.payload.dValue = -2.75;
    nvtxMarkEx(&what);
    what.message.ascii = "below";
    what.payload.ullValue = UINT64_MAX;
    what.payload.iValue = -7;
    what.payloadType = NVTX_PAYLOAD_TYPE_INT32;
    nvtxMarkEx(&what);
    what.message.ascii = "none";
    what.payloadType = NVTX_PAYLOAD_UNKNOWN;
    nvtxMarkEx(&what);
    errno = 0;
    (void)nvtxRangePushA("step 99999999999999999999");
    (void)nvtxRangePop();
    if (errno != 0) {
        exit(6);
    }
}

static void step(int number)
{
    nvtxEventAttributes_t what;
    char text[32];

    (void)snprintf(text, sizeof(text), "step %d", number);
    if (nvtxRangePushA(text) != 0) {
        exit(3);
    }
    (void)nvtxRangePushA("iter 3"); /* within a step: a range */
    (void)nvtxRangePop();
    (void)nvtxRangePushA("load");
    if (nvtxRangePushW(L"read") != 2 || nvtxRangePop() != 2) {
        exit(4);
    }
    (void)nvtxRangePop();
    attributes_set(&what);
    what.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    what.message.registered = registered;
    (void)nvtxDomainRangePushEx(nccl, &what);
    (void)usleep(1000);
    (void)nvtxDomainRangePop(nccl);
    attributes_set(&what);
    what.messageType = NVTX_MESSAGE_TYPE_ASCII;
    what.message.ascii = "loss";
    what.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    what.payload.llValue = 10 * number;
    nvtxMarkEx(&what);
    (void)nvtxRangePop();
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t all[THREADS], ender;
    nvtxRangeId_t id = nvtxRangeStartA("epoch");

    nccl = nvtxDomainCreateA("NCCL");
    registered = nvtxDomainRegisterStringA(nccl, "ncclAllReduce");
    for (int i = 0; i < STEPS; i++) {
        step(i);
    }
    values_mark();
    if (pthread_create(&ender, NULL, end_main, &id) != 0 ||
        pthread_join(ender, NULL) != 0) {
        return 5;
    }
    for (int i = 0; i < threads && i < THREADS; i++) {
        if (pthread_create(&all[i], NULL, thread_main, NULL) != 0) {
            return 5;
        }
    }
    for (int i = 0; i < threads && i < THREADS; i++) {
        (void)pthread_join(all[i], NULL);
    }
    return 0;
}
