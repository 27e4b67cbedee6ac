/* endpoint.h - where an aggregator listens, as text and taken apart
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * `URL[,URL...] [curve=Z85KEY] [token=HEX]` (docs/protocol.md).
 */
#ifndef CK_AGENT_ENDPOINT_H
#define CK_AGENT_ENDPOINT_H

#include <stddef.h>

#include "schema/err.h"

#define ENDPOINT_URLS 8
#define ENDPOINT_TEXT 1024 /* CK_RING_ENDPOINT_BYTES */

struct endpoint {
    char urls[ENDPOINT_URLS][256];
    size_t count;
    char curve[41];  /* "" = no encryption */
    char token[129]; /* "" = none */
};

/* 0, or -1 with err: no URL, unknown scheme, a word that means nothing. URLs
 * beyond ENDPOINT_URLS are left out. */
int endpoint_parse(const char *text,
                   struct endpoint *endpoint,
                   struct ck_err *err);

#endif
