#!/usr/bin/python3
"""delayproxy.py - a network with delay, asymmetry, jitter, reordering and loss

SPDX-License-Identifier: Apache-2.0

delayproxy.py FROM TO TCP_PORT UDP_PORT [--there MS] [--back MS] [--jitter MS]
[--lose N]
What comes to the address FROM goes on to the same port of TO: TCP as it is,
datagrams after --there milliseconds and up to --jitter more, each for itself,
so that they overtake each other; answers after --back. Each N-th datagram is
lost. Prints "ready" and ends with SIGTERM, with a line of what it did.
"""
import argparse
import heapq
import random
import selectors
import signal
import socket
import sys
import time

BYTES = 65536


class Proxy:
    """One loop over all sockets and all datagrams that are under way."""

    def __init__(self, args):
        self.args = args
        self.ready = selectors.DefaultSelector()
        self.under_way = []  # when, number, socket, address, bytes
        self.clients = {}    # address of a client: our socket towards TO
        self.count = self.lost = 0
        self.random = random.Random(1)
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind((args.FROM, args.UDP_PORT))
        self.watch(self.udp, self.there)
        self.tcp = socket.create_server((args.FROM, args.TCP_PORT))
        self.watch(self.tcp, self.accept)

    def watch(self, sock, action):
        sock.setblocking(False)
        self.ready.register(sock, selectors.EVENT_READ, action)

    def delay(self, sock, address, data, milliseconds):
        self.count += 1
        if self.args.lose and self.count % self.args.lose == 0:
            self.lost += 1
            return
        wait = milliseconds + self.random.uniform(0, self.args.jitter)
        heapq.heappush(self.under_way, (time.monotonic() + wait / 1e3,
                                        self.count, sock, address, data))

    def there(self, sock):
        data, client = sock.recvfrom(BYTES)
        if client not in self.clients:
            own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.clients[client] = own
            self.watch(own, lambda own: self.back(own, client))
        self.delay(self.clients[client], (self.args.TO, self.args.UDP_PORT),
                   data, self.args.there)

    def back(self, own, client):
        self.delay(self.udp, client, own.recv(BYTES), self.args.back)

    def accept(self, sock):
        client, _ = sock.accept()
        server = socket.create_connection((self.args.TO, self.args.TCP_PORT))
        self.watch(client, lambda one: self.carry(one, server))
        self.watch(server, lambda one: self.carry(one, client))

    def carry(self, one, other):
        try:
            data = one.recv(BYTES)
            other.setblocking(True)
            other.sendall(data)
            other.setblocking(False)
        except OSError:
            data = b""
        if not data:
            for end in (one, other):
                if end.fileno() >= 0:
                    self.ready.unregister(end)
                    end.close()

    def turn(self):
        wait = 0.5
        if self.under_way:
            wait = max(0, self.under_way[0][0] - time.monotonic())
        for key, _ in self.ready.select(wait):
            if key.fileobj.fileno() >= 0:
                try:
                    key.data(key.fileobj)
                except OSError:
                    pass  # as a network does
        while self.under_way and self.under_way[0][0] <= time.monotonic():
            _, _, sock, address, data = heapq.heappop(self.under_way)
            sock.sendto(data, address)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("FROM")
    parser.add_argument("TO")
    parser.add_argument("TCP_PORT", type=int)
    parser.add_argument("UDP_PORT", type=int)
    for name in "there", "back", "jitter":
        parser.add_argument("--" + name, type=float, default=0)
    parser.add_argument("--lose", type=int, default=0)
    proxy = Proxy(parser.parse_args())

    def end(*_):
        print("%d datagrams, %d lost" % (proxy.count, proxy.lost), flush=True)
        sys.exit(0)
    signal.signal(signal.SIGTERM, end)
    print("ready", flush=True)
    while True:
        proxy.turn()


main()
