/* posixsocket.c - which connection a descriptor is, and who sent what was read
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/posixsocket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/inject/posixpath.h"

#define END_BYTES (INET6_ADDRSTRLEN + 16)

INJECT_NEAR __thread bool posix_has_waited;

/* "127.0.0.1:80", "[::1]:80"; an IPv4 address in IPv6 is one of IPv4. */
static bool end_text(const struct sockaddr_storage *end, char text[END_BYTES])
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)end;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)end;
    char address[INET6_ADDRSTRLEN];
    const void *bytes = &four->sin_addr;
    bool is_six = false;

    if (end->ss_family == AF_INET6) {
        is_six = !IN6_IS_ADDR_V4MAPPED(&six->sin6_addr);
        bytes = is_six ? (const void *)&six->sin6_addr
                       : (const void *)&six->sin6_addr.s6_addr[12];
    } else if (end->ss_family != AF_INET) {
        return false;
    }
    /* The port lies at the same place in both. */
    return inet_ntop(is_six ? AF_INET6 : AF_INET, bytes, address,
                     sizeof(address)) != NULL &&
           snprintf(text, END_BYTES, is_six ? "[%s]:%u" : "%s:%u", address,
                    ntohs(four->sin_port)) < END_BYTES;
}

/* A pipe by its number on this host, and which end of it this is. */
static void pipe_find(int fd, char text[2 * END_BYTES + 8])
{
    char link[32], path[32] = "";
    unsigned long long number;
    int mode = fcntl(fd, F_GETFL);

    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    if (mode >= 0 && (mode & O_ACCMODE) != O_RDWR &&
        readlink(link, path, sizeof(path) - 1) > 0 &&
        sscanf(path, "pipe:[%llu]", &number) == 1) {
        (void)snprintf(text, 2 * END_BYTES + 8, "pipe %llu %c", number,
                       (mode & O_ACCMODE) == O_RDONLY ? 'r' : 'w');
    }
}

/* True when there is no more to be found out about it. */
static bool connection_find(int fd, char text[2 * END_BYTES + 8])
{
    struct sockaddr_storage ends[2];
    socklen_t lengths[2] = {sizeof(ends[0]), sizeof(ends[1])};
    char local[END_BYTES], peer[END_BYTES];
    int type = 0;
    socklen_t type_length = sizeof(type);

    text[0] = '\0';
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_length) != 0) {
        pipe_find(fd, text);
        return true;
    }
    if (type != SOCK_STREAM) {
        return true;
    }
    if (getpeername(fd, (struct sockaddr *)&ends[1], &lengths[1]) != 0) {
        return errno != ENOTCONN;
    }
    if (getsockname(fd, (struct sockaddr *)&ends[0], &lengths[0]) == 0 &&
        end_text(&ends[0], local) && end_text(&ends[1], peer)) {
        (void)snprintf(text, 2 * END_BYTES + 8, "tcp %s %s", local, peer);
    }
    return true;
}

void posix_socket_look(int fd)
{
    char text[2 * END_BYTES + 8];
    int saved = errno;

    if (fd < 0 || !posix_path_is_unknown(fd) || !inject_slow_enter()) {
        return;
    }
    if (connection_find(fd, text)) {
        posix_path_set(fd, text);
    }
    inject_slow_leave();
    errno = saved;
}

void posix_socket_read(const struct posix_call *call,
                       const struct posix_entry *entry,
                       const void *site,
                       const struct posix_object *object)
{
    int fd = (int)object->number - 1;
    int64_t end;

    posix_has_waited = false;
    posix_socket_look(fd);
    if (posix_path_is_socket(fd)) {
        (void)posix_elapsed(call, &end);
        posix_record(call, entry, end, site, object);
    }
}

void posix_socket_write(const struct posix_call *call,
                        const struct posix_entry *entry,
                        const void *site,
                        const struct posix_object *object)
{
    int fd = (int)object->number - 1;
    int64_t end;

    if (!posix_is_worth_it()) {
        return;
    }
    posix_socket_look(fd);
    if (posix_path_is_socket(fd)) {
        (void)posix_elapsed(call, &end);
        posix_record(call, entry, end, site, object);
    }
}
