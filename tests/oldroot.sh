#!/usr/bin/env bash
# oldroot.sh - in the root of tests/platforms archive: build and pack ck
#
# SPDX-License-Identifier: Apache-2.0
#
# Debian's libzmq brings PGM, NORM and Kerberos, which ck does not use and
# which need a newer glibc; it is built from Debian's source without them, and
# with conditions of libpthread (those of libstdc++ need glibc 2.30).
set -euo pipefail
zmq=/opt/zmq
if ! [ -e "$zmq/lib/pkgconfig/libzmq.pc" ]; then
    echo "deb-src $1 bookworm main" >/etc/apt/sources.list.d/source.list
    apt-get -q update
    rm -rf /var/tmp/zmq && mkdir -p /var/tmp/zmq/src && cd /var/tmp/zmq
    apt-get -q source --download-only --only-source zeromq3/bookworm
    tar -x -f zeromq3_*.orig.tar.gz -C src --strip-components=1
    cmake -S src -B build -G Ninja -DCMAKE_INSTALL_PREFIX=$zmq \
        -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_BUILD_TYPE=Release \
        -DWITH_LIBSODIUM=ON -DENABLE_CURVE=ON -DWITH_OPENPGM=OFF \
        -DWITH_NORM=OFF -DWITH_LIBBSD=OFF -DWITH_TLS=OFF -DENABLE_DRAFTS=OFF \
        -DZMQ_CV_IMPL=pthreads -DBUILD_TESTS=OFF -DBUILD_STATIC=OFF \
        -DWITH_PERF_TOOL=OFF -DWITH_DOCS=OFF -DENABLE_CPACK=OFF
    nice ninja -C build install
    mkdir -p $zmq/share/doc/libzmq
    cp src/COPYING* $zmq/share/doc/libzmq/
fi
# The OpenCL layer's header came after Debian 11: of Debian 12, and headers alone.
if ! grep -rqs . /usr/include/CL/cl_layer.h; then
    echo "deb $1 bookworm main" >/etc/apt/sources.list.d/headers.list
    printf 'Package: *\nPin: release n=bookworm\nPin-Priority: -10\n' \
        >/etc/apt/preferences.d/headers
    apt-get -q update
    apt-get -q -y install --no-install-recommends opencl-c-headers/bookworm
fi
cd ~/ck
export PKG_CONFIG_PATH=$zmq/lib/pkgconfig LD_LIBRARY_PATH=$zmq/lib
cmake -S . -B build-archive -G Ninja -DCK_TESTS=OFF \
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_C_COMPILER_LAUNCHER=ccache \
    -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
nice ninja -C build-archive -j "${JOBS:-1}"
rm -f ../ck-*.tar.gz
launch/archive --floor 2.28 --out .. build-archive
