/* cupticall.c - which API calls are recorded, and how
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of calls change with CUPTI, their names do not: a call is
 * chosen when its name begins with one of the prefixes below.
 */
#include "agent/inject/cupti/cupticall.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/inject/cupti/cuptiflush.h"
#include "agent/inject/cupti/cuptigroup.h"
#include "agent/inject/cupti/cuptimemory.h"
#include "agent/inject/cupti/cuptitable.h"
#include "agent/inject/cupti/cuptitaken.h"
#include "agent/inject/inject.h"

#define CALLS_MAX 4096   /* ids looked at in a domain */
#define CALLS_UNKNOWN 64 /* so many ids without a name end a domain */

static const char *const chosen[] = {
    "cudaLaunch",
    "__cudaLaunchKernel",
    "cudaGraphLaunch",
    "cudaGraphInstantiate",
    "cudaMemcpy",
    "cudaMemset",
    "cudaMemPrefetch",
    "cudaDeviceSynchronize",
    "cudaStreamSynchronize",
    "cudaEventSynchronize",
    "cudaStreamWaitEvent",
    "cudaEventRecord",
    "cudaMalloc",
    "cudaFree",
    "cudaHostAlloc",
    "cudaHostRegister",
    "cudaDeviceReset",
    "cuLaunch",
    "cuGraphLaunch",
    "cuGraphInstantiate",
    "cuMemcpy",
    "cuMemset",
    "cuMemPrefetch",
    "cuCtxDestroy",
    "cuCtxSynchronize",
    "cuDevicePrimaryCtxRelease",
    "cuDevicePrimaryCtxReset",
    "cuStreamSynchronize",
    "cuEventSynchronize",
    "cuStreamWaitEvent",
    "cuEventRecord",
    "cuMemAlloc",
    "cuMemFree",
    "cuMemHostAlloc",
    "cuMemHostRegister",
    "cuModuleLoad",
    "cuLibraryLoad",
};

/* What a call means beside its record, by the beginning of its name. */
enum meaning {
    MEANS_NOTHING,
    MEANS_LAUNCH, /* of one kernel */
    MEANS_SYNC,   /* all work of the context is done */
    MEANS_END,    /* a context ends in it */
    MEANS_MEMORY, /* of the device is given in it */
};
static const struct {
    const char *name;
    enum meaning meaning;
} meanings[] = {
    {"cudaLaunchKernel", MEANS_LAUNCH},
    {"__cudaLaunchKernel", MEANS_LAUNCH},
    {"cudaLaunchCooperativeKernel", MEANS_LAUNCH},
    {"cuLaunchKernel", MEANS_LAUNCH},
    {"cuLaunchCooperativeKernel", MEANS_LAUNCH},
    {"cudaDeviceSynchronize", MEANS_SYNC},
    {"cuCtxSynchronize", MEANS_SYNC},
    {"cudaDeviceReset", MEANS_END},
    {"cuCtxDestroy", MEANS_END},
    {"cuDevicePrimaryCtxRelease", MEANS_END},
    {"cuDevicePrimaryCtxReset", MEANS_END},
    {"cudaMallocHost", MEANS_NOTHING}, /* before those that begin alike */
    {"cuMemAllocHost", MEANS_NOTHING},
    {"cudaMalloc", MEANS_MEMORY},
    {"cuMemAlloc", MEANS_MEMORY},
    {"cuModuleLoad", MEANS_MEMORY},
    {"cuLibraryLoad", MEANS_MEMORY},
};

/* Calls of the runtime with one of the driver's inside: only that one is
 * reported, and so are the driver's own launches. */
static const char *const outsides[] = {"cudaLaunchKernel", "__cudaLaunchKernel",
                                       "cudaLaunchCooperativeKernel",
                                       "cudaGraphLaunch"};

/* One domain's calls; text NULL: not chosen. */
struct domain {
    uint32_t id;
    enum ck_kind kind;
    struct inject_label calls[CALLS_MAX];
    uint8_t means[CALLS_MAX];
    bool is_outside[CALLS_MAX];
};
static struct domain runtime = {.id = CUPTI_DOMAIN_RUNTIME,
                                .kind = CK_KIND_API_CUDA_RUNTIME};
static struct domain driver = {.id = CUPTI_DOMAIN_DRIVER,
                               .kind = CK_KIND_API_CUDA_DRIVER};

/* With a subscription; and whether work came of launches not reported. */
static void *subscribed;
static _Atomic int is_mismatched;

/* The outermost call of this thread. */
static __thread struct inject_call outer;
static __thread uint32_t depth;

static bool is_chosen(const char *name)
{
    for (size_t i = 0; i < sizeof(chosen) / sizeof(chosen[0]); i++) {
        if (strncmp(name, chosen[i], strlen(chosen[i])) == 0) {
            return true;
        }
    }
    return false;
}

static enum meaning meaning_of(const char *name)
{
    for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
        if (strncmp(name, meanings[i].name, strlen(meanings[i].name)) == 0) {
            return meanings[i].meaning;
        }
    }
    return MEANS_NOTHING;
}

static bool is_outside(const char *name)
{
    for (size_t i = 0; i < sizeof(outsides) / sizeof(outsides[0]); i++) {
        if (strncmp(name, outsides[i], strlen(outsides[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* "cudaLaunchKernel_v7000" -> "cudaLaunchKernel": a copy that stays. */
static const char *name_trim(const char *name)
{
    char *copy = strdup(name);
    char *version = copy == NULL ? NULL : strrchr(copy, '_');

    if (version != NULL && version[1] == 'v' && version > copy &&
        strspn(version + 2, "0123456789") == strlen(version + 2)) {
        *version = '\0';
    }
    return copy;
}

static void domain_load(struct domain *domain)
{
    unsigned unknown = 0;

    for (uint32_t id = 1; id < CALLS_MAX && unknown < CALLS_UNKNOWN; id++) {
        const char *name = NULL;

        if (cupti_api.cuptiGetCallbackName(domain->id, id, &name) != CUPTI_OK ||
            name == NULL) {
            unknown++;
            continue;
        }
        unknown = 0;
        if (is_chosen(name)) {
            domain->calls[id].text = name_trim(name);
            domain->means[id] = (uint8_t)meaning_of(name);
            domain->is_outside[id] = is_outside(name);
        }
    }
}

void call_names_load(void)
{
    domain_load(&runtime);
    domain_load(&driver);
}

static int call_enable_one(void *subscriber, uint32_t domain, uint32_t id)
{
    if (subscriber != NULL) {
        return cupti_api.cuptiEnableCallback(1, subscriber, domain, id);
    }
    return domain == CUPTI_DOMAIN_RUNTIME
               ? cupti_api.cuptiActivityEnableRuntimeApi(id, 1)
               : cupti_api.cuptiActivityEnableDriverApi(id, 1);
}

static unsigned domain_enable(void *subscriber, const struct domain *domain)
{
    unsigned enabled = 0;

    for (uint32_t id = 1; id < CALLS_MAX; id++) {
        if (domain->calls[id].text != NULL &&
            (subscriber == NULL || !domain->is_outside[id])) {
            enabled += call_enable_one(subscriber, domain->id, id) == CUPTI_OK;
        }
    }
    return enabled;
}

unsigned call_enable(void *subscriber)
{
    if (subscriber == NULL &&
        (cupti_api.cuptiActivityEnableRuntimeApi == NULL ||
         cupti_api.cuptiActivityEnableDriverApi == NULL)) {
        return 0;
    }
    subscribed = subscriber;
    return domain_enable(subscriber, &runtime) +
           domain_enable(subscriber, &driver);
}

void call_mismatched(void)
{
    atomic_store(&is_mismatched, 1);
}

/* A CUPTI that numbers the driver's call apart from the runtime's: kernels have
 * the number of the outer one, so that one must be reported as well. */
static void outsides_enable(void)
{
    int yes = 1;

    if (!atomic_compare_exchange_strong(&is_mismatched, &yes, 0)) {
        return;
    }
    for (uint32_t id = 1; id < CALLS_MAX; id++) {
        if (runtime.is_outside[id]) {
            (void)call_enable_one(subscribed, runtime.id, id);
        }
    }
    (void)inject_say(CK_KIND_NOTE, 0, 0, 0,
                     "CUPTI numbers launches of the driver and the runtime "
                     "apart: both are recorded, earlier kernels have no "
                     "launch");
}

static struct domain *domain_find(uint32_t domain)
{
    return domain == CUPTI_DOMAIN_RUNTIME ? &runtime : &driver;
}

uint32_t call_name(uint32_t domain, uint32_t id)
{
    struct domain *of = domain_find(domain);

    if (id >= CALLS_MAX || of->calls[id].text == NULL ||
        inject_writer() == NULL) {
        return 0;
    }
    return inject_label_id(&of->calls[id]);
}

static void call_enter(struct domain *domain,
                       uint32_t id,
                       uint32_t correlation,
                       const void *from)
{
    if (depth++ > 0) {
        return;
    }
    if (atomic_load_explicit(&is_mismatched, memory_order_relaxed) != 0) {
        outsides_enable();
    }
    if (domain->means[id] == MEANS_END) {
        flush_now(); /* records of the context go with it */
    }
    if (domain->means[id] == MEANS_LAUNCH) {
        group_launch(correlation);
    }
    inject_call_enter(&outer, &domain->calls[id], domain->kind, NULL, 0, 0);
    if (outer.writer != NULL) {
        struct table_launch launch = {outer.writer->slot->tid, outer.number,
                                      outer.start};

        table_launch_set(correlation, launch);
        if (domain->means[id] == MEANS_MEMORY) {
            memory_called(correlation, from);
        }
    }
}

/* What the call did is done. */
static void call_meant(enum meaning meaning)
{
    if (meaning == MEANS_LAUNCH) {
        taken_launched();
    } else if (meaning == MEANS_SYNC) {
        taken_synced();
    }
}

static void
call_leave(struct domain *domain, uint32_t id, const struct cupti_call *data)
{
    struct ck_call *record;
    int64_t end;
    int result = 0;

    if (depth == 0 || --depth > 0) {
        return;
    }
    /* cudaError_t and CUresult: 0 is success in both. */
    if (data->result != NULL) {
        memcpy(&result, data->result, sizeof(result));
    }
    if (result == 0) {
        call_meant(domain->means[id]);
    }
    if (outer.writer == NULL) {
        return;
    }
    end = inject_now();
    record = inject_call_leave(&outer, 2);
    if (record == NULL) {
        return;
    }
    memset(record, 0, sizeof(*record));
    record->e = inject_call_head(&outer, domain->kind, 2);
    record->e.flags = result == 0 ? 0 : CK_FLAG_FAILED;
    record->dur = end - outer.start;
    record->site = outer.site;
    record->call = outer.number;
    record->arg = data->correlation;
    inject_call_commit(&outer, 2);
}

void call_observed(uint32_t domain,
                   uint32_t id,
                   const struct cupti_call *data,
                   const void *from)
{
    struct domain *of = domain_find(domain);

    if (id >= CALLS_MAX || of->calls[id].text == NULL) {
        return;
    }
    if (data->site == CUPTI_ENTER) {
        call_enter(of, id, data->correlation, from);
    } else {
        call_leave(of, id, data);
    }
}
