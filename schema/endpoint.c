/* endpoint.c - the text by which a ckagg is found, taken apart
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "schema/endpoint.h"

#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#define TCP "tcp://"
#define IPC "ipc://"
#define READY "ckagg ready "
#define BLANKS " \t\r\n"
#define SHOWN 60 /* of a wrong text, in a message */
#define PORT_MAX 65535

static const char z85[] = "0123456789abcdefghijklmnopqrstuvwxyz"
                          "ABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
static const char hex[] = "0123456789abcdefABCDEF";

static bool begins(const char *text, const char *head)
{
    return strncmp(text, head, strlen(head)) == 0;
}

bool ck_endpoint_is_tcp(const char *url)
{
    return begins(url, TCP);
}

bool ck_endpoint_is_loopback(const char *url)
{
    return begins(url, TCP "127.") || begins(url, TCP "[::1]:");
}

static int ipc_check(const char *url, struct ck_err *err)
{
    struct sockaddr_un address;
    size_t length = strlen(url + strlen(IPC));

    if (length == 0 || length >= sizeof(address.sun_path)) {
        return ck_err_set(err, "%s: the path of a socket has 1 to %zu bytes",
                          url, sizeof(address.sun_path) - 1);
    }
    return 0;
}

/* A decimal number up to PORT_MAX, else -1. */
static int port_parse(const char *text)
{
    int port = 0;

    if (*text == '\0') {
        return -1;
    }
    for (; *text; text++) {
        if (*text < '0' || *text > '9') {
            return -1;
        }
        port = port * 10 + (*text - '0');
        if (port > PORT_MAX) {
            return -1;
        }
    }
    return port;
}

/* What both kinds of URL share. 1 it is ipc and done, 0 tcp: *port is its
 * text; -1 with err. */
static int url_check(const char *url, const char **port, struct ck_err *err)
{
    const char *colon = strrchr(url, ':');

    if (strlen(url) >= CK_ENDPOINT_URL_BYTES || strpbrk(url, BLANKS ",")) {
        return ck_err_set(err,
                          "'%.*s...' is no endpoint: too long, or with a "
                          "blank or comma",
                          SHOWN, url);
    }
    if (begins(url, IPC)) {
        return ipc_check(url, err) == 0 ? 1 : -1;
    }
    if (!begins(url, TCP) || colon <= url + strlen(TCP)) {
        return ck_err_set(err,
                          "'%s' is no endpoint: give tcp://HOST:PORT or "
                          "ipc://PATH",
                          url);
    }
    *port = colon + 1;
    return 0;
}

int ck_endpoint_check_url(const char *url, struct ck_err *err)
{
    const char *port;
    int rc = url_check(url, &port, err);

    if (rc != 0) {
        return rc < 0 ? -1 : 0;
    }
    if (port_parse(port) < 1) {
        return ck_err_set(err, "%s: the port is a number from 1 to %d", url,
                          PORT_MAX);
    }
    if (begins(url, TCP "*:")) {
        return ck_err_set(err, "%s: give the host on which ckagg listens", url);
    }
    return 0;
}

int ck_endpoint_check_listen(const char *url, struct ck_err *err)
{
    const char *port;
    int rc = url_check(url, &port, err);

    if (rc != 0) {
        return rc < 0 ? -1 : 0;
    }
    if (strcmp(port, "*") != 0 && port_parse(port) < 0) {
        return ck_err_set(err,
                          "%s: the port is a number up to %d; 0 takes a "
                          "free one",
                          url, PORT_MAX);
    }
    return 0;
}

/* `url,url...` of one word. */
static int urls_parse(char *word, struct ck_endpoint *to, struct ck_err *err)
{
    char *next;

    if (to->count > 0) {
        return ck_err_set(err,
                          "endpoint: '%.*s' is a second word of URLs; part "
                          "URLs by commas, without blanks",
                          SHOWN, word);
    }
    for (char *url = word; url; url = next) {
        next = strchr(url, ',');
        if (next) {
            *next++ = '\0';
        }
        if (to->count == CK_ENDPOINT_URLS) {
            return ck_err_set(err, "endpoint: more than %d URLs",
                              CK_ENDPOINT_URLS);
        }
        if (ck_endpoint_check_url(url, err) != 0) {
            return -1;
        }
        strcpy(to->urls[to->count++], url);
    }
    return 0;
}

static int
curve_parse(const char *key, struct ck_endpoint *to, struct ck_err *e)
{
    if (to->curve[0] || strlen(key) != CK_ENDPOINT_CURVE_BYTES - 1 ||
        strspn(key, z85) != strlen(key)) {
        return ck_err_set(e,
                          "endpoint: curve= wants a key of %d characters "
                          "(Z85), once",
                          CK_ENDPOINT_CURVE_BYTES - 1);
    }
    strcpy(to->curve, key);
    return 0;
}

static int
token_parse(const char *key, struct ck_endpoint *to, struct ck_err *e)
{
    size_t length = strlen(key);

    if (to->token[0] || length == 0 || length >= CK_ENDPOINT_TOKEN_BYTES ||
        strspn(key, hex) != length) {
        return ck_err_set(e, "endpoint: token= wants 1 to %d hex digits, once",
                          CK_ENDPOINT_TOKEN_BYTES - 1);
    }
    strcpy(to->token, key);
    return 0;
}

static int word_parse(char *word, struct ck_endpoint *to, struct ck_err *err)
{
    if (begins(word, "curve=")) {
        return curve_parse(word + 6, to, err);
    }
    if (begins(word, "token=")) {
        return token_parse(word + 6, to, err);
    }
    return urls_parse(word, to, err);
}

/* Of the line of an embedded ckagg (and of older ones), "ckagg ready ENDPOINT
 * run=DIR", the endpoint: *text is moved to it. */
static size_t endpoint_length(const char **text)
{
    const char *run;

    *text += strspn(*text, BLANKS);
    if (begins(*text, READY)) {
        *text += strlen(READY);
        run = strstr(*text, " run=");
        return run != NULL ? (size_t)(run - *text) : strlen(*text);
    }
    return strlen(*text);
}

int ck_endpoint_parse(const char *text,
                      struct ck_endpoint *endpoint,
                      struct ck_err *err)
{
    struct ck_endpoint found = {.count = 0};
    char copy[CK_ENDPOINT_TEXT_BYTES];
    size_t length = endpoint_length(&text);
    char *rest;

    if (length >= sizeof(copy)) {
        return ck_err_set(err, "endpoint: longer than %zu bytes",
                          sizeof(copy) - 1);
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    for (char *word = strtok_r(copy, BLANKS, &rest); word;
         word = strtok_r(NULL, BLANKS, &rest)) {
        if (word_parse(word, &found, err) != 0) {
            return -1;
        }
    }
    if (found.count == 0) {
        return ck_err_set(err, "no endpoint: give tcp://HOST:PORT or "
                               "ipc://PATH, and curve= and token= where "
                               "ckagg printed them");
    }
    *endpoint = found;
    return 0;
}

void ck_endpoint_text(const struct ck_endpoint *endpoint,
                      char *text,
                      size_t room)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < endpoint->count && used < room; i++) {
        used += (size_t)snprintf(text + used, room - used, "%s%s", i ? "," : "",
                                 endpoint->urls[i]);
    }
    if (endpoint->curve[0] && used < room) {
        used += (size_t)snprintf(text + used, room - used, " curve=%s",
                                 endpoint->curve);
    }
    if (endpoint->token[0] && used < room) {
        (void)snprintf(text + used, room - used, " token=%s", endpoint->token);
    }
}
