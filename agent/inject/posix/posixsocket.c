/* posixsocket.c - which connection a descriptor is, and who sent what was read
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/posix/posixsocket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/inject/posix/posixpath.h"

#define END_BYTES (INET6_ADDRSTRLEN + 16)
#define PAIRS 64
#define TEXT_BYTES (2 * END_BYTES + 8)

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
    /* The port is at the same place in both. */
    return inet_ntop(is_six ? AF_INET6 : AF_INET, bytes, address,
                     sizeof(address)) != NULL &&
           snprintf(text, END_BYTES, is_six ? "[%s]:%u" : "%s:%u", address,
                    ntohs(four->sin_port)) < END_BYTES;
}

/* The other end of a pair of sockets that this process image made, or a process
 * that it was forked from, by descriptor: number of the one << 32 | of the
 * other. */
static INJECT_ROOM _Atomic(uint64_t) partners[POSIX_PATHS];
/* The same of the latest pairs that this process made. */
static INJECT_ROOM _Atomic(uint64_t) made[PAIRS];
static _Atomic uint32_t made_count;

/* Of glibc before 2.33 no fstat() can be had. */
static bool file_of(int fd, struct stat *file)
{
    return syscall(SYS_fstat, fd, file) == 0;
}

/* A pipe by its number and that of its file system on this host, and which end
 * of it this is. */
static void pipe_find(int fd, char text[TEXT_BYTES])
{
    struct stat file;
    int mode = fcntl(fd, F_GETFL);

    if (mode >= 0 && (mode & O_ACCMODE) != O_RDWR && file_of(fd, &file) &&
        S_ISFIFO(file.st_mode)) {
        (void)snprintf(text, TEXT_BYTES, "pipe %llx:%llu %c",
                       (unsigned long long)file.st_dev,
                       (unsigned long long)file.st_ino,
                       (mode & O_ACCMODE) == O_RDONLY ? 'r' : 'w');
    }
}

/* Number of a socket on this host; 0 = not known. */
static uint32_t socket_number(int fd)
{
    struct stat file;

    return file_of(fd, &file) && file.st_ino <= UINT32_MAX
               ? (uint32_t)file.st_ino
               : 0;
}

/* A descriptor may have been duplicated since, and its number be another one's
 * by now. */
static uint32_t partner_find(uint32_t number)
{
    for (int fd = 0; fd < POSIX_PATHS; fd++) {
        uint64_t pair =
            atomic_load_explicit(&partners[fd], memory_order_relaxed);

        if (pair >> 32 == number) {
            return (uint32_t)pair;
        }
    }
    return 0;
}

/* A UNIX socket by its number, and its other end: by number, or, where another
 * process made the pair or it was connected, the process that had it then. */
static void unix_find(int fd, char text[TEXT_BYTES])
{
    struct ucred peer = {.pid = 0};
    socklen_t length = sizeof(peer);
    uint32_t number = socket_number(fd);
    uint32_t partner = number == 0 ? 0 : partner_find(number);

    if (partner != 0) {
        (void)snprintf(text, TEXT_BYTES, "unix %u %u", number, partner);
    } else if (number != 0 &&
               getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
               peer.pid > 0) {
        (void)snprintf(text, TEXT_BYTES, "unix %u pid %d", number,
                       (int)peer.pid);
    }
}

void posix_socket_pair(const int fds[2])
{
    int saved = errno;
    uint64_t first = socket_number(fds[0]);
    uint64_t second = socket_number(fds[1]);

    if (first == 0 || second == 0) {
        errno = saved;
        return;
    }
    atomic_store(&made[atomic_fetch_add(&made_count, 1) % PAIRS],
                 first << 32 | second);
    if (fds[0] < POSIX_PATHS && fds[1] < POSIX_PATHS) {
        atomic_store_explicit(&partners[fds[0]], first << 32 | second,
                              memory_order_relaxed);
        atomic_store_explicit(&partners[fds[1]], second << 32 | first,
                              memory_order_relaxed);
    }
    errno = saved;
}

/* Programs that the ends were handed to do not know of each other. */
void posix_pairs_say(void)
{
    uint32_t count = atomic_load(&made_count);

    for (uint32_t i = 0; i < PAIRS && i < count; i++) {
        uint64_t pair = atomic_load(&made[i]);
        char text[TEXT_BYTES];

        (void)snprintf(text, sizeof(text), "pair %u %u", (unsigned)(pair >> 32),
                       (unsigned)(uint32_t)pair);
        (void)inject_say(CK_KIND_NAME, ck_ring_name_id(&inject_ring), 0, 0,
                         text);
    }
}

/* True when there is no more to be found out about it. */
static bool connection_find(int fd, char text[TEXT_BYTES])
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
    if (type != SOCK_STREAM && type != SOCK_SEQPACKET) {
        return true;
    }
    if (getpeername(fd, (struct sockaddr *)&ends[1], &lengths[1]) != 0) {
        return errno != ENOTCONN;
    }
    if (getsockname(fd, (struct sockaddr *)&ends[0], &lengths[0]) != 0) {
        return true;
    }
    if (ends[0].ss_family == AF_UNIX) {
        unix_find(fd, text);
    } else if (type == SOCK_STREAM && end_text(&ends[0], local) &&
               end_text(&ends[1], peer)) {
        (void)snprintf(text, TEXT_BYTES, "tcp %s %s", local, peer);
    }
    return true;
}

/* What was opened keeps its path, unless it is a pipe with a name. */
void posix_socket_look(int fd)
{
    char text[TEXT_BYTES];
    int saved = errno;

    if (fd < 0 || !posix_path_is_unknown(fd) || !inject_slow_enter()) {
        return;
    }
    if (connection_find(fd, text)) {
        if (text[0] != '\0' || !posix_path_is_fresh(fd)) {
            posix_path_set(fd, text);
        }
        posix_path_settle(fd);
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
