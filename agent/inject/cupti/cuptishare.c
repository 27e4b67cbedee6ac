/* cuptishare.c - CUPTI as one of several subscribers
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/cupti/cuptishare.h"

#include <stddef.h>

#include "agent/inject/cupti/cuptiapi.h"

static void *owner;
static cupti_requested_f *requested_told;
static cupti_completed_f *completed_told;

bool share_is_possible(void)
{
    return cupti_api.version >= CUPTI_SINCE_SHARING &&
           cupti_api.cuptiSubscribe_v2 != NULL &&
           cupti_api.cuptiGetTimestamp_v2 != NULL &&
           cupti_api.cuptiActivityEnable_v2 != NULL &&
           cupti_api.cuptiActivityRegisterCallbacks_v2 != NULL &&
           cupti_api.cuptiActivityGetNextRecord_v2 != NULL &&
           cupti_api.cuptiActivityGetNumDroppedRecords_v2 != NULL;
}

static int timestamp(uint64_t *stamp)
{
    return cupti_api.cuptiGetTimestamp_v2(owner, stamp);
}

/* Without a configuration records are as those of the first set. */
static int enable(uint32_t kind)
{
    return cupti_api.cuptiActivityEnable_v2(owner, kind, NULL);
}

static void
requested(uint8_t **buffer, size_t *size, size_t *records, void *info)
{
    (void)info;
    requested_told(buffer, size, records);
}

static void completed(uint8_t *buffer, size_t size, size_t valid, void *info)
{
    (void)info;
    completed_told(NULL, 0, buffer, size, valid);
}

static int callbacks(cupti_requested_f *of_request, cupti_completed_f *of_end)
{
    requested_told = of_request;
    completed_told = of_end;
    return cupti_api.cuptiActivityRegisterCallbacks_v2(owner, requested,
                                                       completed);
}

/* CUPTI's own clock is mapped. */
static int clock_none(cupti_clock_f *unused)
{
    (void)unused;
    return CUPTI_OK;
}

static int next_record(uint8_t *bytes, size_t valid, struct cupti_record **at)
{
    return cupti_api.cuptiActivityGetNextRecord_v2(owner, bytes, valid, at);
}

static int dropped(void *context, uint32_t stream, size_t *count)
{
    return cupti_api.cuptiActivityGetNumDroppedRecords_v2(owner, context,
                                                          stream, count);
}

void share_begin(void *subscriber)
{
    owner = subscriber;
    cupti_api.cuptiGetTimestamp = timestamp;
    cupti_api.cuptiActivityEnable = enable;
    cupti_api.cuptiActivityRegisterCallbacks = callbacks;
    cupti_api.cuptiActivityRegisterTimestampCallback = clock_none;
    cupti_api.cuptiActivityGetNextRecord = next_record;
    cupti_api.cuptiActivityGetNumDroppedRecords = dropped;
    /* Attributes there, which ck leaves as they are. */
    cupti_api.cuptiActivityEnableAllSyncRecords = NULL;
    cupti_api.cuptiActivityEnableAndDump = NULL;
}
