/* httpserver_none.c - the HTTP server of a build without libmicrohttpd: none
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/http/httpserver.h"

int httpserver_check(const char *address, struct ck_err *err)
{
    return ck_err_set(err,
                      "--http %s: this ckagg was built without libmicrohttpd "
                      "and serves no page",
                      address);
}

struct httpserver *httpserver_create(const char *address,
                                     httpserver_f *handler,
                                     void *context,
                                     struct ck_err *err)
{
    (void)handler;
    (void)context;
    (void)httpserver_check(address, err);
    return NULL;
}

void httpserver_destroy(struct httpserver *server)
{
    (void)server;
}

const char *httpserver_url(const struct httpserver *server)
{
    (void)server;
    return "";
}

int httpserver_fd(const struct httpserver *server)
{
    (void)server;
    return -1;
}

int httpserver_timeout(const struct httpserver *server, int most_ms)
{
    (void)server;
    return most_ms;
}

void httpserver_run(struct httpserver *server, ck_time_t now)
{
    (void)server;
    (void)now;
}
