/* advice.c - what to try, where a rule supports it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rules of docs/analysis.md, "What to try". The first one that fits counts.
 */
#include "merge/output/text/advice.h"

#include <ctype.h>
#include <string.h>

#include "schema/event.h"

/* More than an n-th of the time without a CPU is that, whatever was done. */
#define WORTH_PREEMPTED 2
/* So many page faults that read are a reason to be blocked. */
#define MANY_MAJORS 50
/* Pieces of that length are many small ones. */
#define SMALL (200 * CK_TIME_US)

enum who { WHO_ANY, WHO_LATE, WHO_OWN };
enum size { SIZE_ANY, SIZE_SMALL };

struct rule {
    enum cause kind;
    enum who who;
    enum size size;
    const char *text;
};

static const struct rule rules[] = {
    {CAUSE_HOST_COMPUTE, WHO_LATE, SIZE_ANY,
     "give this rank less of the work, or make this place faster: the others "
     "were there before it."},
    {CAUSE_HOST_COMPUTE, WHO_OWN, SIZE_ANY,
     "queue the next kernel before this host work, or do this work in another "
     "thread."},
    {CAUSE_IO, WHO_ANY, SIZE_SMALL,
     "read or write in larger pieces, or ahead of time in another thread."},
    {CAUSE_IO, WHO_ANY, SIZE_ANY,
     "read or write ahead of time in another thread, or from a faster place."},
    {CAUSE_SLEEP, WHO_ANY, SIZE_ANY,
     "wait for the event itself: this is an explicit sleep in your code."},
    {CAUSE_KERNEL, WHO_LATE, SIZE_ANY,
     "give this rank's device less of the work, or see why its kernel takes "
     "longer than the others'."},
    {CAUSE_KERNEL_GAP, WHO_ANY, SIZE_SMALL,
     "fewer and longer kernels, or a graph of them: the device pauses between "
     "many short ones."},
    {CAUSE_KERNEL_GAP, WHO_ANY, SIZE_ANY,
     "see what else used the device, or what its queue waited for: the work "
     "was launched."},
    {CAUSE_DEP_REMOTE, WHO_ANY, SIZE_ANY,
     "give this device work that does not depend on the other one, or split "
     "the other one's work so that this one can begin earlier."},
    {CAUSE_LAUNCH_LATENCY, WHO_ANY, SIZE_ANY,
     "fewer and larger launches, or a graph of them, or launch ahead of the "
     "device."},
    {CAUSE_GPU_SYNC, WHO_ANY, SIZE_ANY,
     "wait for the device once a step and not behind each kernel."},
    {CAUSE_H2D, WHO_ANY, SIZE_ANY,
     "copy in one piece, and while the device computes."},
    {CAUSE_D2H, WHO_ANY, SIZE_ANY,
     "read back less often, in one piece, and while the device computes."},
    {CAUSE_MEM_MGMT, WHO_ANY, SIZE_ANY,
     "allocate once, and use it again in each step."},
    {CAUSE_NO_HOST_DATA, WHO_ANY, SIZE_ANY,
     "record the host too, so that this time can be explained."},
    {CAUSE_MPI_TRANSFER, WHO_ANY, SIZE_ANY,
     "send less, or compute while it is under way (non-blocking calls)."},
};

/* Any of them, where the thread was ready and had no CPU. */
static const char *const no_cpu[] = {
    [REPORT_LOAD_UNKNOWN] =
        "see what else runs on its CPUs, and start no more ranks and threads "
        "than there are CPUs: it was ready to run and had none.",
    [REPORT_LOAD_NONE] = /* of the run as a whole */
    "see what else ran on its CPUs then: it was ready to run and had none.",
    [REPORT_LOAD_OWN] =
        "start no more ranks and threads than the CPUs that they may use: it "
        "was ready to run and had none.",
    [REPORT_LOAD_QUOTA] = "raise the cgroup's CPU quota, or start fewer ranks "
                          "and threads: it was ready to run and stopped.",
    [REPORT_LOAD_OTHERS] =
        "run it on CPUs that no other program uses: it was ready to run and "
        "had none.",
    [REPORT_LOAD_UNCLEAR] = "bind ranks and threads to CPUs of their own: it "
                            "was ready to run and had none.",
};

static const char lock_held[] =
    "hold the lock for a shorter time where its holder was.";

static const char fault_less[] =
    "keep buffers and use them again in each step (glibc returns large ones: "
    "mallopt M_MMAP_THRESHOLD, M_TRIM_THRESHOLD), touch new memory before it "
    "counts, or ask for huge pages (madvise MADV_HUGEPAGE).";
static const char read_ahead[] =
    "read the file ahead (MAP_POPULATE, madvise MADV_WILLNEED) or with read(), "
    "and see whether memory is short: its pages came from a disk.";

static const char other_end[] =
    "see why the other end of the connection answers late, do this in another "
    "thread, or with a shorter time limit.";

static const char build_once[] =
    "build each program once, for the devices that use it, and keep the binary "
    "(clGetProgramInfo, clCreateProgramWithBinary), or compile it offline.";

/* Calls that compile for a device. */
static bool is_build(const char *call)
{
    return call != NULL && (strcmp(call, "clBuildProgram") == 0 ||
                            strcmp(call, "clCompileProgram") == 0 ||
                            strcmp(call, "clLinkProgram") == 0);
}

/* Calls that wait for what is at the other end of a connection. */
static bool is_connection(const char *call)
{
    static const char *const names[] = {"connect", "accept", "accept4"};

    for (size_t i = 0; call != NULL && i < sizeof(names) / sizeof(names[0]);
         i++) {
        if (strcmp(call, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

double page_usual_ready(const struct report *report)
{
    const struct report_outside *outside = &report->efficiency.outside;
    double ready = (double)outside->ns[REPORT_OUTSIDE_READY];
    double wanted = ready + (double)outside->ns[REPORT_OUTSIDE_CPU];

    return wanted > 0 ? ready / wanted : 0;
}

bool page_is_without_cpu(const struct report_running *running,
                         double usual_ready)
{
    double wanted = (double)(running->total - running->blocked);
    double had = wanted - (double)running->preempted;

    return running->preempted > running->total / WORTH_PREEMPTED &&
           had * WORTH_PREEMPTED < (1 - usual_ready) * wanted;
}

/* What a late rank's other threads computed while it waited for them is its
 * computation. */
static enum cause kind_of(const struct advice_case *of)
{
    bool is_waiting =
        of->kind == CAUSE_OFFCPU_BLOCKED || of->kind == CAUSE_LOCK;

    if (of->kind == CAUSE_OFFCPU_RUNNABLE) {
        return advice_kind(of->did);
    }
    return of->is_late && is_waiting && of->did->sampled.is_others
               ? CAUSE_HOST_COMPUTE
               : of->kind;
}

/* More than half of it was handling page faults. Where none were sampled it may
 * have been interrupts. */
static bool is_faulting(const struct report_sampled *sampled)
{
    return sampled->faulting * 2 > sampled->total &&
           (sampled->minor > 0 || sampled->major > 0);
}

static bool is_fit(const struct rule *rule, const struct advice_case *of)
{
    bool is_small = of->count > 0 && of->ns / (ck_time_t)of->count < SMALL;

    return rule->kind == kind_of(of) &&
           (rule->who == WHO_ANY || (rule->who == WHO_LATE) == of->is_late) &&
           (rule->size == SIZE_ANY || is_small);
}

/* Was it without a CPU? A transfer is no work: where all ranks lack CPUs, it is
 * not longer because there is more of it. */
static bool is_without_cpu(const struct advice_case *of)
{
    const struct report_running *running = &of->did->running;

    if (running->total == 0) {
        return of->kind == CAUSE_OFFCPU_RUNNABLE;
    }
    return page_is_without_cpu(
        running, of->kind == CAUSE_MPI_TRANSFER ? 0 : of->usual_ready);
}

const char *advice_find(const struct advice_case *of)
{
    if (of->kind == CAUSE_STARTUP) {
        return is_build(of->did->call) ? build_once : NULL;
    }
    if (is_without_cpu(of)) {
        return no_cpu[of->load];
    }
    if (of->kind == CAUSE_LOCK && of->did->holder.tid != 0) {
        return lock_held;
    }
    if (is_build(of->did->call)) {
        return build_once;
    }
    if (of->kind == CAUSE_IO && is_connection(of->did->call)) {
        return other_end;
    }
    if (of->did->call == NULL && of->did->running.majors >= MANY_MAJORS) {
        return read_ahead;
    }
    if (of->did->call == NULL && is_faulting(&of->did->sampled)) {
        return of->did->sampled.major > 0 ? read_ahead : fault_less;
    }
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (is_fit(&rules[i], of)) {
            return rules[i].text;
        }
    }
    return NULL;
}

/* "clFinish", "cuCtxSynchronize", "cudaFree"; not "close". */
static bool is_device_api(const char *call)
{
    return (strncmp(call, "cl", 2) == 0 || strncmp(call, "cu", 2) == 0) &&
           (isupper((unsigned char)call[2]) || strncmp(call, "cuda", 4) == 0);
}

enum cause advice_kind(const struct report_activity *did)
{
    if (did->kernel != NULL) {
        return did->is_kernel_queued ? CAUSE_KERNEL_GAP : CAUSE_KERNEL;
    }
    if (did->call == NULL) {
        return CAUSE_HOST_COMPUTE;
    }
    if (strncmp(did->call, "MPI_", 4) == 0) {
        return CAUSES; /* as long as it takes */
    }
    return cause_of_call(is_device_api(did->call) ? CK_KIND_API_OPENCL
                                                  : CK_KIND_POSIX,
                         did->call);
}

void page_advice(const struct page *page, const char *text)
{
    struct page_given *given = page->given;

    for (size_t i = 0; given != NULL && i < given->count; i++) {
        if (given->texts[i] == text) {
            return;
        }
    }
    if (given != NULL && given->count < PAGE_ADVICE_MAX) {
        given->texts[given->count++] = text;
    }
    fprintf(page->file, "    %sTry:%s ", page_bold(page), page_normal(page));
    page_wrap(page, text, 9, 9);
    fputc('\n', page->file);
}
