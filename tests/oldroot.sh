#!/usr/bin/env bash
# oldroot.sh - in the root of tests/platforms archive: build and pack ck
#
# SPDX-License-Identifier: Apache-2.0
#
# Two of Debian 11's libraries need a newer glibc for what ck does not use; they
# are built from Debian's sources: libzmq without PGM, NORM, Kerberos, and with
# conditions of libpthread (those of libstdc++ need glibc 2.30), SQLite without
# mathematics and full-text search.
set -euo pipefail
own=/opt/ck-libraries

# source_of PACKAGE: its source in ./src, the text of its license in the prefix.
source_of() {
    rm -rf "/var/tmp/$1" && mkdir -p "/var/tmp/$1/src" && cd "/var/tmp/$1"
    apt-get -q source --download-only --only-source "$1/bookworm"
    tar -x -f "$(ls ./*.orig.tar.*)" -C src --strip-components=1
    mkdir -p "$own/share/doc/$2"
    tar -x -f "$(ls ./*.debian.tar.*)" -O debian/copyright \
        >"$own/share/doc/$2/copyright"
}

if ! [ -e "$own/made" ]; then
    echo "deb-src $1 bookworm main" >/etc/apt/sources.list.d/source.list
    apt-get -q update
    source_of zeromq3 libzmq
    cmake -S src -B build -G Ninja -DCMAKE_INSTALL_PREFIX=$own \
        -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_BUILD_TYPE=Release \
        -DWITH_LIBSODIUM=ON -DENABLE_CURVE=ON -DWITH_OPENPGM=OFF \
        -DWITH_NORM=OFF -DWITH_LIBBSD=OFF -DWITH_TLS=OFF -DENABLE_DRAFTS=OFF \
        -DZMQ_CV_IMPL=pthreads -DBUILD_TESTS=OFF -DBUILD_STATIC=OFF \
        -DWITH_PERF_TOOL=OFF -DWITH_DOCS=OFF -DENABLE_CPACK=OFF
    nice ninja -C build install
    apt-get -q -y install --no-install-recommends tcl # makes one file of it
    source_of sqlite3 libsqlite3
    (cd src && ./configure --prefix=$own --disable-tcl --disable-readline \
        --disable-math --disable-static && nice make libsqlite3.la sqlite3.h \
        sqlite3.pc lib_install && install -D -m 644 -t $own/include sqlite3.h &&
        install -D -m 644 -t $own/lib/pkgconfig sqlite3.pc)
    touch $own/made
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
export PKG_CONFIG_PATH=$own/lib/pkgconfig LD_LIBRARY_PATH=$own/lib
cmake -S . -B build-archive -G Ninja -DCK_TESTS=OFF \
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_C_COMPILER_LAUNCHER=ccache \
    -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
nice ninja -C build-archive -j "${JOBS:-1}"
rm -f ../ck-*.tar.gz
launch/archive --floor 2.28 --out .. build-archive
