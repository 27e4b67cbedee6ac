/* watch.h - what ZeroMQ reports about the connections of a socket
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Connections that are made and that end go to the gate. Used from the loop
 * only.
 */
#ifndef CK_AGGREGATOR_SOCKET_WATCH_H
#define CK_AGGREGATOR_SOCKET_WATCH_H

#include <stdbool.h>

#include "aggregator/socket/admission.h"

struct watch;

/* Watch the ZeroMQ socket, before any peer can connect; all borrowed. NULL
 * with errno. */
struct watch *watch_create(void *context, void *socket, struct admission *gate);
/* Before the socket is closed. */
void watch_destroy(struct watch *watch);

/* The ZeroMQ socket that has something to read when there are reports. */
void *watch_socket(const struct watch *watch);
/* Read all reports. True, once in a life: a peer's keys are not ours. */
bool watch_take(struct watch *watch, ck_time_t now);

#endif
