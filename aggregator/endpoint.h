/* endpoint.h - the text by which ckagg is found, and its URLs
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * URL[,URL...] [curve=Z85KEY] [token=HEX]
 */
#ifndef CK_AGGREGATOR_ENDPOINT_H
#define CK_AGGREGATOR_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>

#include "schema/err.h"

#define ENDPOINT_URLS_MAX 16
/* Addresses that a wildcard becomes, loopback apart: the text has to fit a
 * ring's header (CK_RING_ENDPOINT_BYTES). */
#define ENDPOINT_ADDRESSES_MAX 8
#define ENDPOINT_URL_BYTES 256
#define ENDPOINT_CURVE_BYTES 41 /* Z85 of 32 bytes and NUL */
#define ENDPOINT_TOKEN_BYTES 65
#define ENDPOINT_TEXT_BYTES 4608

struct endpoint {
    char urls[ENDPOINT_URLS_MAX][ENDPOINT_URL_BYTES];
    size_t urls_count;
    char curve[ENDPOINT_CURVE_BYTES]; /* "" = none */
    char token[ENDPOINT_TOKEN_BYTES];
};

/* Take the text apart. 0, or -1 with err. */
int endpoint_parse(const char *text,
                   struct endpoint *endpoint,
                   struct ck_err *err);
/* The text of an endpoint (ENDPOINT_TEXT_BYTES are enough). */
void endpoint_text(const struct endpoint *endpoint, char *text, size_t room);

/* 0 when the URL is one to listen on or connect to: tcp://HOST:PORT, or
 * ipc://PATH that fits a socket address; else -1 with err. */
int endpoint_check_url(const char *url, struct ck_err *err);
bool endpoint_is_tcp(const char *url);
/* True for tcp on 127.0.0.0/8 or [::1]. */
bool endpoint_is_loopback(const char *url);

/* Add what the bound URL (port known) is reached by: itself, or for a
 * wildcard each address of this machine, loopback last. */
void endpoint_add(struct endpoint *endpoint, const char *bound);

/* An ipc URL's socket: -1 with err when somebody listens on it already or
 * its directory belongs to someone else, 0 when it may be bound. */
int endpoint_check_socket(const char *url, struct ck_err *err);

#endif
