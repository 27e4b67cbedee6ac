/* endpoint.h - the text by which a ckagg is found, taken apart
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   URL[,URL...] [curve=Z85KEY] [token=HEX]        (docs/protocol.md)
 *
 * ckagg prints it, agents and clients take it.
 */
#ifndef CK_SCHEMA_ENDPOINT_H
#define CK_SCHEMA_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>

#include "schema/err.h"

#define CK_ENDPOINT_URLS 16
#define CK_ENDPOINT_URL_BYTES 256
#define CK_ENDPOINT_CURVE_BYTES 41 /* Z85 of 32 bytes and NUL */
#define CK_ENDPOINT_TOKEN_BYTES 65
/* Enough for the text of any endpoint. */
#define CK_ENDPOINT_TEXT_BYTES 4608

struct ck_endpoint {
    char urls[CK_ENDPOINT_URLS][CK_ENDPOINT_URL_BYTES];
    size_t count;
    char curve[CK_ENDPOINT_CURVE_BYTES]; /* "" = no encryption */
    char token[CK_ENDPOINT_TOKEN_BYTES]; /* "" = none */
};

/* Take the text, or the whole ready line of ckagg, apart. 0, or -1 with err,
 * which names the wrong word and what is wanted; *endpoint is untouched
 * then. */
int ck_endpoint_parse(const char *text,
                      struct ck_endpoint *endpoint,
                      struct ck_err *err);
/* The text of an endpoint (CK_ENDPOINT_TEXT_BYTES are enough). */
void ck_endpoint_text(const struct ck_endpoint *endpoint,
                      char *text,
                      size_t room);

/* One URL to connect to: tcp://HOST:PORT with a port of 1 to 65535, or
 * ipc://PATH that fits a socket's address. 0, or -1 with err. */
int ck_endpoint_check_url(const char *url, struct ck_err *err);
/* The same for a URL to listen on: port 0 or * takes a free one, host * all
 * addresses. */
int ck_endpoint_check_listen(const char *url, struct ck_err *err);

bool ck_endpoint_is_tcp(const char *url);
/* tcp on 127.0.0.0/8 or [::1]. */
bool ck_endpoint_is_loopback(const char *url);

#endif
