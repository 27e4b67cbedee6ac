/* counterevent.c - a hardware counter's event, by its name, by libpfm4
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/perf/counterevent.h"

#include <perfmon/pfmlib_perf_event.h>

__attribute__((visibility("default"))) const char *
counterevent_find(const char *name, struct perf_event_attr *attr)
{
    pfm_perf_encode_arg_t arg = {.attr = attr, .size = sizeof(arg)};
    int rc = pfm_initialize(); /* the first call alone does something */

    if (rc == PFM_SUCCESS) {
        rc = pfm_get_os_event_encoding(name, PFM_PLM3 | PFM_PLM0,
                                       PFM_OS_PERF_EVENT_EXT, &arg);
    }
    return rc == PFM_SUCCESS ? NULL : pfm_strerror(rc);
}
