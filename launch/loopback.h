/* loopback.h - an address of this machine alone, HOST:PORT
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The value of --http, which cklaunch and ckagent hand to ckagg.
 */
#ifndef CK_LAUNCH_LOOPBACK_H
#define CK_LAUNCH_LOOPBACK_H

#include "schema/err.h"

struct addrinfo;

/* What to bind to; the caller's, for freeaddrinfo(). NULL with err: it is no
 * address of loopback with a port. */
struct addrinfo *ck_loopback_resolve(const char *address, struct ck_err *err);
/* 0, or -1 with err. */
int ck_loopback_check(const char *address, struct ck_err *err);

#endif
