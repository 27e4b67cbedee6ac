# package.py - ck as a package of Spack
#
# SPDX-License-Identifier: Apache-2.0
#
# In a clone of ck:
#     spack repo add docs/examples/spack
#     spack install ck
import os

from spack.package import *

try:  # Spack 1.0 and later
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:  # before, spack.package has it
    pass


class Ck(CMakePackage):
    """Trace collector and merger for jobs of many ranks: why devices are
    idle, on which rank, at which line of code, and which rank they wait for."""

    # The clone that this file is in.
    git = "file://" + os.path.abspath(
        os.path.join(os.path.dirname(__file__), *[os.pardir] * 5)
    )
    license("Apache-2.0")
    version("main", branch="main")

    variant("opencl", default=True, description="Record OpenCL")
    variant("isal", default=True, description="CRC and inflate by ISA-L")
    variant("lz4", default=True, description="Compress frames by lz4")
    variant("zstd", default=True, description="Compress runs by zstd")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.18:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("libzmq@4.2: +libsodium")
    depends_on("libsodium")
    depends_on("flatbuffers@1.12:")
    depends_on("libpfm4")
    depends_on("elfutils")
    depends_on("zlib-api")
    depends_on("sqlite")
    depends_on("isa-l", when="+isal")
    depends_on("lz4", when="+lz4")
    depends_on("zstd", when="+zstd")
    depends_on("opencl-c-headers", when="+opencl", type="build")

    generator("ninja")

    def cmake_args(self):
        # MPI is needed neither to build nor to run ck: it records the
        # program's. Tests and manual pages need packages that Spack lacks.
        return [self.define("CK_TESTS", False)]
