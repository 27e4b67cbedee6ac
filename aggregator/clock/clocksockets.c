/* clocksockets.c - the sockets that clock probes come to
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/clock/clocksockets.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <netinet/in.h>
#include <sys/socket.h>

#include "schema/clock/stamp.h"

/* Room for datagrams that wait while the machine is busy, some 1300 (the kernel
 * doubles it): the kernel has stamped them, so waiting costs no accuracy, but
 * an agent waits no longer than 200 ms. */
#define WAITING_BYTES (512 << 10)
/* Ports that are tried until one is free for TCP, too. */
#define PORT_TRIES 16

static int address_make(const struct clocksockets_options *options,
                        int family,
                        struct sockaddr_storage *address)
{
    memset(address, 0, sizeof(*address));
    if (family == AF_INET6) {
        struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;

        six->sin6_family = AF_INET6;
        six->sin6_addr = in6addr_any;
        six->sin6_port = htons((uint16_t)options->port);
        return (int)sizeof(*six);
    }
    struct sockaddr_in *four = (struct sockaddr_in *)address;

    four->sin_family = AF_INET;
    four->sin_addr.s_addr =
        htonl(options->is_wide ? INADDR_ANY : INADDR_LOOPBACK);
    four->sin_port = htons((uint16_t)options->port);
    return (int)sizeof(*four);
}

/* A bound socket of the family, -1 with errno. */
static int
socket_bind(const struct clocksockets_options *options, int family, int type)
{
    struct sockaddr_storage address;
    int length = address_make(options, family, &address);
    int off = 0;
    int on = 1;
    int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int saved;

    if (fd < 0) {
        return -1;
    }
    if (family == AF_INET6) {
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    }
    if (type == SOCK_STREAM) {
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    }
    if (bind(fd, (struct sockaddr *)&address, (socklen_t)length) == 0) {
        return fd;
    }
    saved = errno;
    (void)close(fd);
    errno = saved;
    return -1;
}

static int port_of(int fd)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);

    if (getsockname(fd, (struct sockaddr *)&address, &length) != 0) {
        return -1;
    }
    return ntohs(address.ss_family == AF_INET6
                     ? ((struct sockaddr_in6 *)&address)->sin6_port
                     : ((struct sockaddr_in *)&address)->sin_port);
}

/* Both at one port. 0; 1: TCP has none of that number; -1 with errno. */
static int pair_bind(struct clocksockets *sockets,
                     const struct clocksockets_options *options,
                     int family)
{
    struct clocksockets_options same = *options;

    sockets->tcp = -1;
    sockets->udp = socket_bind(options, family, SOCK_DGRAM);
    if (sockets->udp < 0) {
        return -1;
    }
    same.port = sockets->port = port_of(sockets->udp);
    sockets->tcp = socket_bind(&same, family, SOCK_STREAM);
    if (sockets->tcp >= 0 && listen(sockets->tcp, 64) != 0) {
        (void)close(sockets->tcp);
        sockets->tcp = -1;
    }
    return sockets->tcp < 0;
}

/* The same, and where any port will do one that both have. */
static int pair_find(struct clocksockets *sockets,
                     const struct clocksockets_options *options,
                     int family)
{
    int refused[PORT_TRIES];
    int count = 0;
    int rc = pair_bind(sockets, options, family);

    /* A port that is held open is not handed out again. */
    while (rc == 1 && options->port == 0 && count < PORT_TRIES) {
        refused[count++] = sockets->udp;
        rc = pair_bind(sockets, options, family);
    }
    if (rc < 0 && count > 0) {
        sockets->udp = refused[--count];
        sockets->port = port_of(sockets->udp);
        rc = 1;
    }
    while (count > 0) {
        (void)close(refused[--count]);
    }
    return rc;
}

int clocksockets_open(struct clocksockets *sockets,
                      const struct clocksockets_options *options,
                      struct ck_err *err)
{
    int waiting = WAITING_BYTES; /* or what is permitted */
    /* Without TCP there is one way less, and that is all. */
    int rc = pair_find(sockets, options, options->is_wide ? AF_INET6 : AF_INET);

    if (rc < 0 && options->is_wide) {
        rc = pair_find(sockets, options, AF_INET);
    }
    if (rc < 0) {
        return ck_err_set(err, "cannot answer clock probes at UDP port %d: %s",
                          options->port, strerror(errno));
    }
    (void)setsockopt(sockets->udp, SOL_SOCKET, SO_RCVBUF, &waiting,
                     sizeof(waiting));
    sockets->is_stamped = ck_stamp_enable(sockets->udp) == 0;
    return 0;
}
