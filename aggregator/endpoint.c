/* endpoint.c - the text by which ckagg is found, and its URLs
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/endpoint.h"

#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define TCP "tcp://"
#define IPC "ipc://"

static bool begins(const char *text, const char *head)
{
    return strncmp(text, head, strlen(head)) == 0;
}

bool endpoint_is_tcp(const char *url)
{
    return begins(url, TCP);
}

bool endpoint_is_loopback(const char *url)
{
    return begins(url, TCP "127.") || begins(url, TCP "[::1]:");
}

int endpoint_check_url(const char *url, struct ck_err *err)
{
    struct sockaddr_un address;
    const char *colon = strrchr(url, ':');

    if (strlen(url) >= ENDPOINT_URL_BYTES || strpbrk(url, " ,\t\n")) {
        return ck_err_set(err,
                          "'%.40s...' is no endpoint: too long, or with "
                          "a blank or comma",
                          url);
    }
    if (begins(url, IPC)) {
        size_t length = strlen(url + strlen(IPC));

        if (length == 0 || length >= sizeof(address.sun_path)) {
            return ck_err_set(err,
                              "%s: the path of a socket has 1 to %zu "
                              "bytes",
                              url, sizeof(address.sun_path) - 1);
        }
        return 0;
    }
    if (!begins(url, TCP) || colon < url + strlen(TCP) || !colon[1] ||
        strspn(colon + 1, "0123456789*") != strlen(colon + 1)) {
        return ck_err_set(err,
                          "'%s' is no endpoint: give tcp://HOST:PORT or "
                          "ipc://PATH",
                          url);
    }
    return 0;
}

/* Copy a value of known length; -1 when it does not fit. */
static int value_copy(char *to, size_t room, const char *from, size_t length)
{
    if (length >= room) {
        return -1;
    }
    memcpy(to, from, length);
    to[length] = '\0';
    return 0;
}

static int
urls_parse(const char *text, size_t length, struct endpoint *endpoint)
{
    while (length > 0) {
        size_t n = strcspn(text, ",");

        if (n > length) {
            n = length;
        }
        if (endpoint->urls_count == ENDPOINT_URLS_MAX ||
            value_copy(endpoint->urls[endpoint->urls_count], ENDPOINT_URL_BYTES,
                       text, n) != 0) {
            return -1;
        }
        endpoint->urls_count++;
        n += n < length; /* the comma */
        text += n;
        length -= n;
    }
    return 0;
}

int endpoint_parse(const char *text,
                   struct endpoint *endpoint,
                   struct ck_err *err)
{
    struct endpoint found = {.urls_count = 0};
    int bad = 0;

    while (*text) {
        size_t n = strcspn(text, " \t\r\n");

        if (begins(text, "curve=")) {
            bad |=
                value_copy(found.curve, sizeof(found.curve), text + 6, n - 6);
        } else if (begins(text, "token=")) {
            bad |=
                value_copy(found.token, sizeof(found.token), text + 6, n - 6);
        } else if (found.urls_count == 0) {
            bad |= urls_parse(text, n, &found);
        }
        text += n;
        text += strspn(text, " \t\r\n");
    }
    if (bad || found.urls_count == 0) {
        return ck_err_set(err, "no endpoint text: URL[,URL...] "
                               "[curve=KEY] [token=HEX]");
    }
    for (size_t i = 0; i < found.urls_count; i++) {
        if (endpoint_check_url(found.urls[i], err) != 0) {
            return -1;
        }
    }
    *endpoint = found;
    return 0;
}

void endpoint_text(const struct endpoint *endpoint, char *text, size_t room)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < endpoint->urls_count && used < room; i++) {
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

static void url_add(struct endpoint *endpoint, const char *url)
{
    if (endpoint->urls_count < ENDPOINT_URLS_MAX &&
        strlen(url) < ENDPOINT_URL_BYTES) {
        strcpy(endpoint->urls[endpoint->urls_count++], url);
    }
}

/* One address of an interface, when it is one that others can name: not
 * link-local (those need the interface's name). */
static void address_add(struct endpoint *endpoint,
                        const struct sockaddr *address,
                        const char *port)
{
    char host[INET6_ADDRSTRLEN + IF_NAMESIZE];
    char url[ENDPOINT_URL_BYTES];
    bool is_six = address->sa_family == AF_INET6;
    socklen_t length =
        is_six ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);

    if (is_six && IN6_IS_ADDR_LINKLOCAL(
                      &((const struct sockaddr_in6 *)address)->sin6_addr)) {
        return;
    }
    if (getnameinfo(address, length, host, sizeof(host), NULL, 0,
                    NI_NUMERICHOST) != 0) {
        return;
    }
    (void)snprintf(url, sizeof(url), is_six ? TCP "[%s]:%s" : TCP "%s:%s", host,
                   port);
    url_add(endpoint, url);
}

/* The interfaces' addresses; `want` is IFF_LOOPBACK or 0. */
static void interfaces_add(struct endpoint *endpoint,
                           const char *port,
                           unsigned want,
                           bool has_six)
{
    size_t limit = endpoint->urls_count + ENDPOINT_ADDRESSES_MAX;
    struct ifaddrs *list;

    if (getifaddrs(&list) != 0) {
        return;
    }
    for (const struct ifaddrs *item = list;
         item && endpoint->urls_count < limit; item = item->ifa_next) {
        if (!item->ifa_addr || !(item->ifa_flags & IFF_UP) ||
            (item->ifa_flags & IFF_LOOPBACK) != want) {
            continue;
        }
        if (item->ifa_addr->sa_family == AF_INET ||
            (has_six && item->ifa_addr->sa_family == AF_INET6)) {
            address_add(endpoint, item->ifa_addr, port);
        }
    }
    freeifaddrs(list);
}

void endpoint_add(struct endpoint *endpoint, const char *bound)
{
    const char *port = strrchr(bound, ':');
    bool has_six = begins(bound, TCP "[::]:") || begins(bound, TCP "*:");

    if (!has_six && !begins(bound, TCP "0.0.0.0:")) {
        url_add(endpoint, bound);
        return;
    }
    interfaces_add(endpoint, port + 1, 0, has_six);
    interfaces_add(endpoint, port + 1, IFF_LOOPBACK, has_six);
}

/* The directory of a socket must be ours (or root's, as /tmp is, where the
 * socket's own mode keeps others out). */
static int socket_check_dir(const char *path, struct ck_err *err)
{
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    struct stat facts;

    (void)snprintf(dir, sizeof(dir), "%.*s", (int)length, path);
    if (length == 0) {
        strcpy(dir, slash ? "/" : ".");
    }
    if (stat(dir, &facts) != 0) {
        return ck_err_set(err, "cannot listen on ipc://%s: %s: %s", path, dir,
                          strerror(errno));
    }
    if (facts.st_uid != geteuid() && facts.st_uid != 0) {
        return ck_err_set(err,
                          "cannot listen on ipc://%s: %s belongs to user "
                          "%u",
                          path, dir, (unsigned)facts.st_uid);
    }
    return 0;
}

int endpoint_check_socket(const char *url, struct ck_err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = url + strlen(IPC);
    int fd;
    int result;

    if (path[0] == '@') {
        return ck_err_set(err,
                          "%s: an abstract socket has no owner; give a "
                          "path",
                          url);
    }
    if (socket_check_dir(path, err) != 0) {
        return -1;
    }
    /* ZeroMQ removes a socket that is there, also one that is in use. */
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return ck_err_set(err, "cannot make a socket: %s", strerror(errno));
    }
    strcpy(address.sun_path, path);
    result = connect(fd, (struct sockaddr *)&address, sizeof(address));
    if (result == 0 || errno == EAGAIN || errno == EINPROGRESS) {
        (void)close(fd);
        errno = EADDRINUSE;
        return ck_err_set(err, "cannot listen on %s: somebody does already",
                          url);
    }
    (void)close(fd);
    return 0;
}
