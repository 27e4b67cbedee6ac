/* token.c - a secret that a client has to show
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/http/token.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>

int token_make(char token[CK_ENDPOINT_TOKEN_BYTES])
{
    uint8_t bytes[16];

    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        return -1;
    }
    for (size_t i = 0; i < sizeof(bytes); i++) {
        (void)snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    }
    return 0;
}
