/* endpoint.c - where an aggregator listens, as text and taken apart
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/endpoint.h"

#include <string.h>

#define CURVE_CHARS 40

static int url_add(struct endpoint *endpoint,
                   const char *url,
                   size_t length,
                   struct ck_err *err)
{
    if ((strncmp(url, "tcp://", 6) != 0 && strncmp(url, "ipc://", 6) != 0) ||
        length <= 6 || length >= sizeof(endpoint->urls[0])) {
        return ck_err_set(err,
                          "aggregator '%.*s': write tcp://HOST:PORT or "
                          "ipc:///PATH",
                          (int)(length > 200 ? 200 : length), url);
    }
    if (endpoint->count < ENDPOINT_URLS) {
        memcpy(endpoint->urls[endpoint->count], url, length);
        endpoint->urls[endpoint->count][length] = '\0';
        endpoint->count++;
    }
    return 0;
}

static int urls_parse(struct endpoint *endpoint,
                      const char *word,
                      size_t length,
                      struct ck_err *err)
{
    const char *end = word + length;

    while (word < end) {
        size_t one = strcspn(word, ",");

        if (one > (size_t)(end - word)) {
            one = (size_t)(end - word);
        }
        if (url_add(endpoint, word, one, err) != 0) {
            return -1;
        }
        word += one < (size_t)(end - word) ? one + 1 : one;
    }
    return 0;
}

static int word_parse(struct endpoint *endpoint,
                      const char *word,
                      size_t length,
                      struct ck_err *err)
{
    if (strncmp(word, "curve=", 6) == 0) {
        if (length - 6 != CURVE_CHARS) {
            return ck_err_set(err, "aggregator: curve= wants %d characters",
                              CURVE_CHARS);
        }
        memcpy(endpoint->curve, word + 6, CURVE_CHARS);
        endpoint->curve[CURVE_CHARS] = '\0';
        return 0;
    }
    if (strncmp(word, "token=", 6) == 0) {
        if (length - 6 >= sizeof(endpoint->token)) {
            return ck_err_set(err, "aggregator: token= is too long");
        }
        memcpy(endpoint->token, word + 6, length - 6);
        endpoint->token[length - 6] = '\0';
        return 0;
    }
    return urls_parse(endpoint, word, length, err);
}

int endpoint_parse(const char *text,
                   struct endpoint *endpoint,
                   struct ck_err *err)
{
    struct endpoint parsed;

    memset(&parsed, 0, sizeof(parsed));
    while (*text != '\0') {
        size_t length = strcspn(text, " \n");

        if (length > 0 && word_parse(&parsed, text, length, err) != 0) {
            return -1;
        }
        text += length;
        text += *text != '\0';
    }
    if (parsed.count == 0) {
        return ck_err_set(err, "aggregator: no tcp:// or ipc:// URL given");
    }
    *endpoint = parsed;
    return 0;
}
