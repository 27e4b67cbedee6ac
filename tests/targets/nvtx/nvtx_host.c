/* nvtx_host.c - a program that gives ranges, steps and marks to NVTX
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     nvtx_host [THREADS | HOW]
 *
 * In steps 0 to 9 (ranges "step 0" ...): "iter 3", "load", and in it "read" as
 * a wide text, and "NCCL: ncclAllReduce", a registered text of a domain; a mark
 * "loss" of step * 10. A range "epoch" is started and ended by two threads
 * around all that. Then each of THREADS pushes and pops 1000 ranges. HOW:
 *     domains    ranges of three domains that begin and end out of order
 *     deep       100 ranges in each other, of two domains by turns
 *     fork       a range of the parent's, and one of its child's
 *     long       200 ranges with names of 1 MB
 *     libraries  this program and a library, each with an NVTX of its own,
 *                begin with it at once
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

void nvtx_library_work(int ranges);

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

static void domain_push(nvtxDomainHandle_t domain, const char *text, int level)
{
    nvtxEventAttributes_t what;

    attributes_set(&what);
    what.messageType = NVTX_MESSAGE_TYPE_ASCII;
    what.message.ascii = text;
    if (nvtxDomainRangePushEx(domain, &what) != level) {
        exit(7);
    }
}

static void domain_pop(nvtxDomainHandle_t domain, int level)
{
    (void)usleep(2000);
    if (nvtxDomainRangePop(domain) != level) {
        exit(8);
    }
}

static void domains(void)
{
    nvtxDomainHandle_t a = nvtxDomainCreateA("A"), b = nvtxDomainCreateA("B");

    domain_push(a, "outer", 0);
    domain_push(b, "step 7", 0);
    domain_push(a, "inner", 1);
    (void)nvtxRangePushA("plain");
    domain_pop(b, 0);
    domain_pop(a, 1);
    domain_pop(a, 0);
    if (nvtxDomainRangePop(a) >= 0 || nvtxDomainRangePop(b) >= 0) {
        exit(9);
    }
    (void)nvtxRangePop();
}

static void deep(void)
{
    nvtxDomainHandle_t two[2] = {nvtxDomainCreateA("A"),
                                 nvtxDomainCreateA("B")};

    for (int i = 0; i < 100; i++) {
        nvtxEventAttributes_t what;

        attributes_set(&what);
        what.messageType = NVTX_MESSAGE_TYPE_ASCII;
        what.message.ascii = "level";
        (void)nvtxDomainRangePushEx(two[i % 2], &what);
    }
    for (int i = 0; i < 100; i++) {
        (void)nvtxDomainRangePop(two[i % 2]);
    }
    (void)nvtxRangePushA("behind");
    (void)nvtxRangePop();
}

static void forked(void)
{
    nvtxRangeId_t id, own;
    int status = 1;
    pid_t child;

    for (int i = 0; i < 40; i++) { /* ids that the child has not */
        char text[16];

        (void)snprintf(text, sizeof(text), "name %d", i);
        (void)nvtxRangePushA(text);
        (void)nvtxRangePop();
    }
    id = nvtxRangeStartA("parent's");
    child = fork();
    if (child == 0) {
        (void)nvtxRangePushA("first");
        (void)nvtxRangePop();
        own = nvtxRangeStartA("child's");
        nvtxRangeEnd(id);
        nvtxRangeEnd(own);
        exit(0);
    }
    if (waitpid(child, &status, 0) != child || status != 0) {
        exit(10);
    }
    nvtxRangeEnd(id);
}

static void named_long(void)
{
    size_t length = (size_t)1 << 20;
    char *text = malloc(length + 1);

    if (text == NULL) {
        exit(11);
    }
    memset(text, 'x', length);
    text[length] = '\0';
    for (int i = 0; i < 200; i++) {
        (void)nvtxRangePushA(text);
        (void)nvtxRangePop();
        nvtxRangeEnd(nvtxRangeStartA(text));
    }
    free(text);
}

static void *library_main(void *unused)
{
    nvtx_library_work(RANGES);
    return unused;
}

static void libraries(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, library_main, NULL) != 0) {
        exit(5);
    }
    (void)thread_main(NULL);
    (void)pthread_join(thread, NULL);
}

static const struct {
    const char *how;
    void (*play)(void);
} plays[] = {{"domains", domains},
             {"deep", deep},
             {"fork", forked},
             {"long", named_long},
             {"libraries", libraries}};

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t all[THREADS], ender;
    nvtxRangeId_t id;

    for (size_t i = 0; argc > 1 && i < sizeof(plays) / sizeof(plays[0]); i++) {
        if (strcmp(argv[1], plays[i].how) == 0) {
            plays[i].play();
            return 0;
        }
    }
    id = nvtxRangeStartA("epoch");
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
