/* listenaddress.h - what ckagg listens on: addresses and sockets of this
 * machine
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGGREGATOR_SOCKET_LISTENADDRESS_H
#define CK_AGGREGATOR_SOCKET_LISTENADDRESS_H

#include "schema/endpoint.h"
#include "schema/err.h"

/* Addresses that a wildcard becomes, loopback apart: the text has to fit a
 * ring's header (CK_RING_ENDPOINT_BYTES). */
#define LISTENADDRESS_ADDRESSES_MAX 8

/* Add what the bound URL (port known) is reached by: itself, or for a
 * wildcard each address of this machine, loopback last. */
void listenaddress_add(struct ck_endpoint *endpoint, const char *bound);

/* Remove the socket of an ipc URL that was listened on, and the lock beside
 * it by which an agent started this ckagg (docs/protocol.md): X.sock, X.lock.
 * Nothing for tcp. */
void listenaddress_remove(const char *url);

/* An ipc URL's socket: -1 with err when it has a listener already, when
 * something else is there, or when it or its directory belongs to another
 * user, 0 when it may be bound. */
int listenaddress_check_socket(const char *url, struct ck_err *err);

#endif
