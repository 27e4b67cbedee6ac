/* filter.h - what is done before the program forbids system calls
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_INJECT_FILTER_H
#define CK_AGENT_INJECT_FILTER_H

#include "agent/inject/inject.h"

typedef void (*filter_close_f)(enum inject_closing how);

/* Have `close` called in the thread that sets a filter, before it does. In
 * ckannotate, which is in every program that is recorded; NULL elsewhere. */
__attribute__((weak, visibility("default"))) void
ck_filter_join(filter_close_f close);

#endif
