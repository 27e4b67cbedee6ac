# aarch64.cmake - toolchain: Debian's cross compiler and its :arm64 libraries
#
# SPDX-License-Identifier: Apache-2.0
#
# cmake -DCMAKE_TOOLCHAIN_FILE=tests/aarch64.cmake. Built programs are run by
# the emulator that the kernel knows for them (binfmt_misc), as are their
# children; tests/platforms registers it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(ENV{PKG_CONFIG_LIBDIR}
  /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
