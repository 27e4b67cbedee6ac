/* listenaddress.c - what ckagg listens on: addresses and sockets of this
 * machine
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/socket/listenaddress.h"

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

static void url_add(struct ck_endpoint *endpoint, const char *url)
{
    if (endpoint->count < CK_ENDPOINT_URLS &&
        strlen(url) < CK_ENDPOINT_URL_BYTES) {
        strcpy(endpoint->urls[endpoint->count++], url);
    }
}

/* One address of an interface, when it is one that others can name: not
 * link-local (those need the interface's name). */
static void address_add(struct ck_endpoint *endpoint,
                        const struct sockaddr *address,
                        const char *port)
{
    char host[INET6_ADDRSTRLEN + IF_NAMESIZE];
    char url[CK_ENDPOINT_URL_BYTES];
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
static void interfaces_add(struct ck_endpoint *endpoint,
                           const char *port,
                           unsigned want,
                           bool has_six)
{
    size_t limit = endpoint->count + LISTENADDRESS_ADDRESSES_MAX;
    struct ifaddrs *list;

    if (getifaddrs(&list) != 0) {
        return;
    }
    for (const struct ifaddrs *item = list; item && endpoint->count < limit;
         item = item->ifa_next) {
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

void listenaddress_add(struct ck_endpoint *endpoint, const char *bound)
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

/* ZeroMQ removes whatever is there: it may only be a socket of ours. */
static int socket_check_own(const char *path, struct ck_err *err)
{
    struct stat facts;

    if (lstat(path, &facts) != 0) {
        return 0;
    }
    if (!S_ISSOCK(facts.st_mode)) {
        return ck_err_set(err,
                          "cannot listen on ipc://%s: there is a file there "
                          "which is no socket; give a path that is free",
                          path);
    }
    if (facts.st_uid != geteuid()) {
        return ck_err_set(err,
                          "cannot listen on ipc://%s: this socket belongs to "
                          "user %u; give a path that is free",
                          path, (unsigned)facts.st_uid);
    }
    return 0;
}

int listenaddress_check_socket(const char *url, struct ck_err *err)
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
    if (socket_check_dir(path, err) != 0 || socket_check_own(path, err) != 0) {
        return -1;
    }
    /* One that is in use, too. */
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return ck_err_set(err, "cannot make a socket: %s", strerror(errno));
    }
    strcpy(address.sun_path, path);
    result = connect(fd, (struct sockaddr *)&address, sizeof(address));
    if (result == 0 || errno == EAGAIN || errno == EINPROGRESS) {
        (void)close(fd);
        errno = EADDRINUSE;
        return ck_err_set(
            err, "cannot listen on %s: another process does already", url);
    }
    (void)close(fd);
    return 0;
}

void listenaddress_remove(const char *url)
{
    const char *path = url + strlen(IPC);
    size_t length = strlen(url);
    char lock[CK_ENDPOINT_URL_BYTES];

    if (!begins(url, IPC)) {
        return;
    }
    (void)unlink(path);
    length -= strlen(IPC);
    if (length > 5 && strcmp(path + length - 5, ".sock") == 0) {
        (void)snprintf(lock, sizeof(lock), "%.*s.lock", (int)(length - 5),
                       path);
        (void)unlink(lock);
    }
}
