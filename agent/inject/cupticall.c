/* cupticall.c - which API calls are recorded, and how
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of calls change with CUPTI, their names do not: a call is
 * chosen when its name begins with one of the prefixes below.
 */
#include "agent/inject/cupticall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/inject/cuptitable.h"
#include "agent/inject/inject.h"

#define CALLS_MAX 1024   /* ids looked at in a domain */
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
    "cuCtxSynchronize",
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

/* One domain's calls; text NULL: not chosen. */
struct domain {
    CUpti_CallbackDomain id;
    enum ck_kind kind;
    struct inject_label calls[CALLS_MAX];
};
static struct domain runtime = {.id = CUPTI_CB_DOMAIN_RUNTIME_API,
                                .kind = CK_KIND_API_CUDA_RUNTIME};
static struct domain driver = {.id = CUPTI_CB_DOMAIN_DRIVER_API,
                               .kind = CK_KIND_API_CUDA_DRIVER};

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

        if (cupti_api.cuptiGetCallbackName(domain->id, id, &name) !=
                CUPTI_SUCCESS ||
            name == NULL) {
            unknown++;
            continue;
        }
        unknown = 0;
        if (is_chosen(name)) {
            domain->calls[id].text = name_trim(name);
        }
    }
}

void call_names_load(void)
{
    domain_load(&runtime);
    domain_load(&driver);
}

static CUptiResult call_enable_one(CUpti_SubscriberHandle subscriber,
                                   CUpti_CallbackDomain domain,
                                   uint32_t id)
{
    if (subscriber != NULL) {
        return cupti_api.cuptiEnableCallback(1, subscriber, domain, id);
    }
    return domain == CUPTI_CB_DOMAIN_RUNTIME_API
               ? cupti_api.cuptiActivityEnableRuntimeApi(id, 1)
               : cupti_api.cuptiActivityEnableDriverApi(id, 1);
}

static unsigned domain_enable(CUpti_SubscriberHandle subscriber,
                              const struct domain *domain)
{
    unsigned enabled = 0;

    for (uint32_t id = 1; id < CALLS_MAX; id++) {
        if (domain->calls[id].text != NULL) {
            enabled +=
                call_enable_one(subscriber, domain->id, id) == CUPTI_SUCCESS;
        }
    }
    return enabled;
}

unsigned call_enable(CUpti_SubscriberHandle subscriber)
{
    if (subscriber == NULL &&
        (cupti_api.cuptiActivityEnableRuntimeApi == NULL ||
         cupti_api.cuptiActivityEnableDriverApi == NULL)) {
        return 0;
    }
    return domain_enable(subscriber, &runtime) +
           domain_enable(subscriber, &driver);
}

static struct domain *domain_find(CUpti_CallbackDomain domain)
{
    return domain == CUPTI_CB_DOMAIN_RUNTIME_API ? &runtime : &driver;
}

uint32_t call_name(CUpti_CallbackDomain domain, uint32_t id)
{
    struct domain *of = domain_find(domain);

    if (id >= CALLS_MAX || of->calls[id].text == NULL ||
        inject_writer() == NULL) {
        return 0;
    }
    return inject_label_id(&of->calls[id]);
}

static void
call_enter(struct domain *domain, CUpti_CallbackId id, uint32_t correlation)
{
    if (depth++ > 0) {
        return;
    }
    inject_call_enter(&outer, &domain->calls[id], domain->kind, NULL, 0, 0);
    if (outer.writer != NULL) {
        struct table_launch launch = {outer.writer->slot->tid, outer.number};

        table_launch_set(correlation, launch);
    }
}

static void call_leave(struct domain *domain, const CUpti_CallbackData *data)
{
    struct ck_call *record;
    int64_t end;
    int result = 0;

    if (depth == 0 || --depth > 0 || outer.writer == NULL) {
        return;
    }
    end = inject_now();
    record = inject_call_leave(&outer, 2);
    if (record == NULL) {
        return;
    }
    /* cudaError_t and CUresult: 0 is success in both. */
    if (data->functionReturnValue != NULL) {
        memcpy(&result, data->functionReturnValue, sizeof(result));
    }
    memset(record, 0, sizeof(*record));
    record->e = inject_call_head(&outer, domain->kind, 2);
    record->e.flags = result == 0 ? 0 : CK_FLAG_FAILED;
    record->dur = end - outer.start;
    record->site = outer.site;
    record->call = outer.number;
    record->arg = data->correlationId;
    inject_call_commit(&outer, 2);
}

void call_observed(CUpti_CallbackDomain domain,
                   CUpti_CallbackId id,
                   const CUpti_CallbackData *data)
{
    struct domain *of = domain_find(domain);

    if (id >= CALLS_MAX || of->calls[id].text == NULL) {
        return;
    }
    if (data->callbackSite == CUPTI_API_ENTER) {
        call_enter(of, id, data->correlationId);
    } else {
        call_leave(of, data);
    }
}
