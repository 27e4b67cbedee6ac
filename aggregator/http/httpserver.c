/* httpserver.c - a small HTTP server on loopback, for those who have its token
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a stranger can take is bounded: connections, memory of each, the time to
 * send a request, the time to take the answer. libmicrohttpd counts idle time
 * alone, which a byte now and then resets, so each connection has a deadline
 * here as well; at that time its socket is shut down.
 */
#include "aggregator/http/httpserver.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aggregator/http/microhttpd.h"
#include "aggregator/http/token.h"
#include "launch/loopback.h"
#include "launch/module.h"
#include "schema/auth.h"
#include "schema/fd.h"

#if MHD_VERSION < 0x00097002
#define MHD_Result int /* as it was before that was an enum */
#else
#define MHD_Result enum MHD_Result
#endif

#define BACKLOG 128
#define IDLE_S 20
#define BEARER "Bearer "
#define METRICS "/metrics"

/* The library, once the first server has loaded it. */
static const struct microhttpd *mhd;

struct visitor {
    int fd; /* -1 = unused; libmicrohttpd's */
    ck_time_t until;
    uint64_t number;  /* of the connection, in their order */
    bool is_known;    /* it has shown the token */
    bool is_shutdown; /* its end is under way */
};

struct httpserver {
    struct MHD_Daemon *daemon;
    httpserver_f *handler;
    void *context; /* borrowed */
    int socket;    /* -1 once it is the daemon's */
    int epoll;     /* the daemon's */
    ck_time_t now;
    char token[CK_ENDPOINT_TOKEN_BYTES];
    char url[HTTPSERVER_URL_BYTES];
    char host[64 + 2]; /* as in the URL */
    uint64_t connections;
    struct visitor visitors[HTTPSERVER_CONNECTIONS];
};

struct header {
    const char *name;
    const char *value;
};

/* Of each answer: it is kept nowhere, is no part of another page, and is of the
 * type that it is given. */
static const struct header headers_all[] = {
    {"Cache-Control", "no-store"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Referrer-Policy", "no-referrer"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
};

int httpserver_check(const char *address, struct ck_err *err)
{
    return ck_loopback_check(address, err);
}

/* The listening socket, or -1 with errno. */
static int socket_bind(const struct addrinfo *to)
{
    int fd =
        socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1;

    if (fd < 0) {
        return -1;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, to->ai_addr, to->ai_addrlen) != 0 ||
        listen(fd, BACKLOG) != 0) {
        ck_fd_close(fd);
        return -1;
    }
    return fd;
}

/* The address with the port that the socket got. */
static void url_make(struct httpserver *server)
{
    struct sockaddr_storage bound;
    socklen_t length = sizeof(bound);
    struct sockaddr *any = (struct sockaddr *)&bound;
    char host[64] = "";
    char port[16] = "";

    if (getsockname(server->socket, any, &length) == 0) {
        (void)getnameinfo(any, length, host, sizeof(host), port, sizeof(port),
                          NI_NUMERICHOST | NI_NUMERICSERV);
    }
    (void)snprintf(server->host, sizeof(server->host),
                   any->sa_family == AF_INET6 ? "[%s]" : "%s", host);
    (void)snprintf(server->url, sizeof(server->url), "http://%s:%s/%s/",
                   server->host, port, server->token);
}

static int
socket_open(struct httpserver *server, const char *address, struct ck_err *err)
{
    struct addrinfo *to = ck_loopback_resolve(address, err);

    if (to == NULL) {
        return -1;
    }
    server->socket = socket_bind(to);
    freeaddrinfo(to);
    if (server->socket < 0) {
        return ck_err_set(err, "--http: cannot listen on %s: %s", address,
                          strerror(errno));
    }
    url_make(server);
    return 0;
}

static void connection_note(void *context,
                            struct MHD_Connection *connection,
                            void **own,
                            enum MHD_ConnectionNotificationCode what)
{
    struct httpserver *server = context;
    const union MHD_ConnectionInfo *info;
    struct visitor *visitor = *own;

    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (visitor != NULL) {
            visitor->fd = -1;
        }
        return;
    }
    info =
        mhd->get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    for (size_t i = 0; info != NULL && i < HTTPSERVER_CONNECTIONS; i++) {
        visitor = &server->visitors[i];
        if (visitor->fd < 0) {
            *visitor = (struct visitor){
                .fd = info->connect_fd,
                .until = server->now + HTTPSERVER_REQUEST_TIME,
                .number = ++server->connections,
            };
            *own = visitor;
            return;
        }
    }
}

/* The visitor behind a connection; NULL = none. */
static struct visitor *visitor_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = mhd->get_connection_info(
        connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info == NULL ? NULL : info->socket_context;
}

/* One that has shown the token has so long from now on; the time of others is
 * that of their connection, whatever they ask for. */
static void connection_allow(const struct httpserver *server,
                             struct MHD_Connection *connection,
                             ck_time_t time)
{
    struct visitor *visitor = visitor_of(connection);

    if (visitor != NULL && visitor->is_known) {
        visitor->until = server->now + time;
    }
}

/* An answer is out: the next request of the connection may come. */
static void request_note(void *context,
                         struct MHD_Connection *connection,
                         void **own,
                         enum MHD_RequestTerminationCode why)
{
    (void)own;
    (void)why;
    connection_allow(context, connection, HTTPSERVER_REQUEST_TIME);
}

/* Is the request's Host a name of loopback? A forwarded port has another
 * number. */
static bool is_local(const struct httpserver *server,
                     struct MHD_Connection *connection)
{
    const char *const names[] = {"127.0.0.1", "localhost", "[::1]",
                                 server->host};
    const char *host =
        mhd->lookup_connection_value(connection, MHD_HEADER_KIND, "Host");

    for (size_t i = 0; host != NULL && i < sizeof(names) / sizeof(names[0]);
         i++) {
        size_t length = strlen(names[i]);

        if (strncasecmp(host, names[i], length) == 0 &&
            (host[length] == ':' || host[length] == '\0')) {
            return true;
        }
    }
    return false;
}

/* The path that a visitor with the token asks for; NULL of others. */
static const char *path_wanted(const struct httpserver *server,
                               struct MHD_Connection *connection,
                               const char *url)
{
    const char *shown = mhd->lookup_connection_value(
        connection, MHD_HEADER_KIND, "Authorization");
    char word[CK_ENDPOINT_TOKEN_BYTES];
    size_t length = url[0] == '/' ? strcspn(url + 1, "/") : 0;

    if (strcmp(url, METRICS) == 0) {
        bool has_shown = shown != NULL &&
                         strncmp(shown, BEARER, strlen(BEARER)) == 0 &&
                         ck_auth_equal(server->token, shown + strlen(BEARER));

        return has_shown ? url + 1 : NULL;
    }
    if (length == 0 || length >= sizeof(word) || url[1 + length] != '/') {
        return NULL;
    }
    memcpy(word, url + 1, length);
    word[length] = '\0';
    return ck_auth_equal(server->token, word) ? url + length + 2 : NULL;
}

/* The answer as libmicrohttpd's, which owns text and file then. */
static struct MHD_Response *response_make(struct httpanswer *answer)
{
    static char nothing[] = "Not found.\n", moved[] = "See Location.\n";
    struct MHD_Response *response;

    if (answer->text == NULL && answer->fd >= 0) {
        response = mhd->create_response_from_fd(answer->length, answer->fd);
        if (response == NULL) {
            (void)close(answer->fd);
        }
        return response;
    }
    if (answer->text == NULL) {
        char *text = answer->location[0] != '\0' ? moved : nothing;

        return mhd->create_response_from_buffer(strlen(text), text,
                                                MHD_RESPMEM_PERSISTENT);
    }
    response = mhd->create_response_from_buffer(answer->length, answer->text,
                                                MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        free(answer->text);
    }
    return response;
}

static MHD_Result response_send(struct MHD_Connection *connection,
                                struct httpanswer *answer,
                                bool is_last)
{
    struct MHD_Response *response = response_make(answer);
    MHD_Result rc;

    if (response == NULL) {
        return MHD_NO;
    }
    for (size_t i = 0; i < sizeof(headers_all) / sizeof(headers_all[0]); i++) {
        (void)mhd->add_response_header(response, headers_all[i].name,
                                       headers_all[i].value);
    }
    (void)mhd->add_response_header(
        response, "Content-Type",
        answer->type == NULL ? "text/plain; charset=utf-8" : answer->type);
    if (answer->policy != NULL) {
        (void)mhd->add_response_header(response, "Content-Security-Policy",
                                       answer->policy);
    }
    if (answer->location[0] != '\0') {
        (void)mhd->add_response_header(response, "Location", answer->location);
    }
    if (is_last) {
        (void)mhd->add_response_header(response, "Connection", "close");
    }
    rc = mhd->queue_response(connection, (unsigned)answer->status, response);
    mhd->destroy_response(response);
    return rc;
}

/* Called when the headers are complete; a body is not waited for. */
static MHD_Result request_take(void *context,
                               struct MHD_Connection *connection,
                               const char *url,
                               const char *method,
                               const char *version,
                               const char *upload,
                               size_t *upload_length,
                               void **own)
{
    struct httpserver *server = context;
    struct httpanswer answer = {.status = MHD_HTTP_NOT_FOUND, .fd = -1};
    struct visitor *visitor = visitor_of(connection);
    const char *path;

    (void)version;
    (void)upload;
    (void)upload_length;
    (void)own;
    path = is_local(server, connection) ? path_wanted(server, connection, url)
                                        : NULL;
    if (visitor != NULL && path != NULL) {
        visitor->is_known = true;
    }
    if (path != NULL && (strcmp(method, MHD_HTTP_METHOD_GET) == 0 ||
                         strcmp(method, MHD_HTTP_METHOD_HEAD) == 0)) {
        server->handler(server->context, path, &answer);
    }
    connection_allow(server, connection, HTTPSERVER_ANSWER_TIME);
    return response_send(connection, &answer,
                         answer.status == MHD_HTTP_NOT_FOUND);
}

static int library_load(struct ck_err *err)
{
    struct ck_err why;

    mhd = ck_module_symbol(MICROHTTPD_MODULE, MICROHTTPD_TABLE, &why);
    return mhd == NULL ? ck_err_set(err, "--http: %s", why.text) : 0;
}

static int daemon_start(struct httpserver *server, struct ck_err *err)
{
    const union MHD_DaemonInfo *info;

    server->daemon = mhd->start_daemon(
        MHD_USE_EPOLL, 0, NULL, NULL, request_take, server,
        MHD_OPTION_LISTEN_SOCKET, server->socket, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)HTTPSERVER_CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)HTTPSERVER_REQUEST_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_S, MHD_OPTION_NOTIFY_CONNECTION, connection_note, server,
        MHD_OPTION_NOTIFY_COMPLETED, request_note, server, MHD_OPTION_END);
    if (server->daemon == NULL) {
        return ck_err_set(err, "--http: libmicrohttpd does not start: %s",
                          strerror(errno));
    }
    server->socket = -1;
    info = mhd->get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (info == NULL) {
        return ck_err_set(err, "--http: this libmicrohttpd has no epoll");
    }
    server->epoll = info->epoll_fd;
    return 0;
}

struct httpserver *httpserver_create(const char *address,
                                     httpserver_f *handler,
                                     void *context,
                                     struct ck_err *err)
{
    struct httpserver *server = calloc(1, sizeof(*server));

    if (server == NULL || token_make(server->token) != 0) {
        (void)ck_err_set(err, "--http: %s", strerror(errno));
        free(server);
        return NULL;
    }
    server->handler = handler;
    server->context = context;
    server->socket = -1;
    server->now = ck_time_raw();
    for (size_t i = 0; i < HTTPSERVER_CONNECTIONS; i++) {
        server->visitors[i].fd = -1;
    }
    if (library_load(err) != 0 || socket_open(server, address, err) != 0 ||
        daemon_start(server, err) != 0) {
        httpserver_destroy(server);
        return NULL;
    }
    return server;
}

void httpserver_destroy(struct httpserver *server)
{
    int saved = errno;

    if (server == NULL) {
        return;
    }
    if (server->daemon != NULL) {
        mhd->stop_daemon(server->daemon);
    }
    ck_fd_close(server->socket);
    explicit_bzero(server->token, sizeof(server->token));
    explicit_bzero(server->url, sizeof(server->url));
    free(server);
    errno = saved;
}

const char *httpserver_url(const struct httpserver *server)
{
    return server->url;
}

int httpserver_fd(const struct httpserver *server)
{
    return server->epoll;
}

int httpserver_timeout(const struct httpserver *server, int most_ms)
{
    MHD_UNSIGNED_LONG_LONG ms;

    return mhd->get_timeout(server->daemon, &ms) == MHD_YES &&
                   ms < (MHD_UNSIGNED_LONG_LONG)most_ms
               ? (int)ms
               : most_ms;
}

/* libmicrohttpd closes it when it looks at it next. */
static void visitor_end(struct visitor *visitor)
{
    visitor->is_shutdown = true;
    (void)shutdown(visitor->fd, SHUT_RDWR);
}

/* The oldest connection without the token, where there are more of them than
 * may be; NULL = there are not. */
static struct visitor *stranger_find(struct httpserver *server)
{
    struct visitor *oldest = NULL;
    size_t count = 0;

    for (size_t i = 0; i < HTTPSERVER_CONNECTIONS; i++) {
        struct visitor *visitor = &server->visitors[i];

        if (visitor->fd < 0 || visitor->is_known || visitor->is_shutdown) {
            continue;
        }
        count++;
        if (oldest == NULL || visitor->number < oldest->number) {
            oldest = visitor;
        }
    }
    return count > HTTPSERVER_STRANGERS ? oldest : NULL;
}

void httpserver_run(struct httpserver *server, ck_time_t now)
{
    struct visitor *stranger;

    server->now = now;
    for (size_t i = 0; i < HTTPSERVER_CONNECTIONS; i++) {
        struct visitor *visitor = &server->visitors[i];

        if (visitor->fd >= 0 && !visitor->is_shutdown &&
            now >= visitor->until) {
            visitor_end(visitor);
        }
    }
    (void)mhd->run(server->daemon);
    while ((stranger = stranger_find(server)) != NULL) {
        visitor_end(stranger);
    }
}
