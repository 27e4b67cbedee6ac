/* counterevent.h - a hardware counter's event, by its name
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * counterevent.c is the only file that knows libpfm4. It is a module of its own
 * (launch/module.h): libckpfm.so, loaded where the machine has counters.
 */
#ifndef CK_AGENT_PERF_COUNTEREVENT_H
#define CK_AGENT_PERF_COUNTEREVENT_H

#include <linux/perf_event.h>

#define COUNTEREVENT_MODULE "libckpfm.so"
#define COUNTEREVENT_FIND "counterevent_find"

/* Type, config and what else names the event ("perf::cycles") go to `attr`,
 * which has its size and zeros. NULL, or why libpfm4 does not give it; static.
 */
typedef const char *counterevent_f(const char *name,
                                   struct perf_event_attr *attr);
counterevent_f counterevent_find;

#endif
