/* httpserver.h - a small HTTP server on loopback, for those who have its token
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * httpserver.c is the only file that knows libmicrohttpd; without the library
 * httpserver_none.c refuses. It has no thread: the loop waits for its
 * descriptor, and calls httpserver_run().
 *
 * A request is answered when its first word is the token (/TOKEN/REST), or when
 * it asks for /metrics and shows the token as `Authorization: Bearer TOKEN`.
 * Whoever lacks it gets 404 with the same bytes, whatever it asks for, and the
 * connection is closed. So does a request whose Host is no name of loopback,
 * nor the address that the server listens on: a page of another site that had
 * its name resolved to 127.0.0.1 (DNS rebinding) sends its own name there.
 */
#ifndef CK_AGGREGATOR_HTTP_HTTPSERVER_H
#define CK_AGGREGATOR_HTTP_HTTPSERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "schema/err.h"
#include "schema/time.h"

/* Connections at once; the next ones wait in the kernel's queue. */
#define HTTPSERVER_CONNECTIONS 64
/* Of them without a request that shows the token: where more come, the oldest
 * of them are closed. */
#define HTTPSERVER_STRANGERS 32
/* Memory of a connection, and with it the longest request. */
#define HTTPSERVER_REQUEST_BYTES 16384
/* A connection sends each request in this time, or is closed. */
#define HTTPSERVER_REQUEST_TIME (10 * CK_TIME_S)
/* It takes each answer in this time, or is closed. */
#define HTTPSERVER_ANSWER_TIME (300 * CK_TIME_S)
#define HTTPSERVER_URL_BYTES 256

/* What a handler answers. */
struct httpanswer {
    int status;         /* 200, 302, 404 */
    const char *type;   /* static: "text/html; charset=utf-8" */
    const char *policy; /* static: Content-Security-Policy, or NULL */
    char *text;         /* taken and freed; NULL = the file: */
    int fd;             /* taken and closed */
    size_t length;
    char location[64]; /* of 302, relative */
};

/* Answer the request for the path behind "/TOKEN/"; `answer` is 404 at the
 * call. */
typedef void
httpserver_f(void *context, const char *path, struct httpanswer *answer);

struct httpserver;

/* "HOST:PORT" with a host of loopback. 0, or -1 with err. */
int httpserver_check(const char *address, struct ck_err *err);
/* Listen there; port 0 takes a free one. `context` is borrowed. NULL with
 * err. */
struct httpserver *httpserver_create(const char *address,
                                     httpserver_f *handler,
                                     void *context,
                                     struct ck_err *err);
void httpserver_destroy(struct httpserver *server);
/* "http://127.0.0.1:7701/TOKEN/"; borrowed. */
const char *httpserver_url(const struct httpserver *server);

/* The descriptor to wait for, and the longest time to wait, of at most
 * `most_ms`. */
int httpserver_fd(const struct httpserver *server);
int httpserver_timeout(const struct httpserver *server, int most_ms);
/* Take and answer what can be without waiting; close late connections. */
void httpserver_run(struct httpserver *server, ck_time_t now);

#endif
