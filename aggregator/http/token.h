/* token.h - a secret that a client has to show
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGGREGATOR_HTTP_TOKEN_H
#define CK_AGGREGATOR_HTTP_TOKEN_H

#include "schema/endpoint.h"

/* 128 random bits in hexadecimal digits. 0, or -1 with errno. */
int token_make(char token[CK_ENDPOINT_TOKEN_BYTES]);

#endif
