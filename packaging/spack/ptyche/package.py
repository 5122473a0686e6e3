"""Ptyche for Spack. In a repository of packages of your own:

    spack repo create ptyche-repo; cp -r packaging/spack/ptyche ptyche-repo/packages/; spack repo add ptyche-repo
    PTYCHE_GIT=URL spack install ptyche        URL of a clone; Spack's libraries are taken, none is copied
"""
import os

from spack.package import *


class Ptyche(CMakePackage):
    """Images from ptychography scans: iterative solvers, and networks that learn through the physics."""

    git = os.environ.get("PTYCHE_GIT", "")
    license("BSD-3-Clause")
    version("main", branch="main")

    variant("mpi", default=True, description="Several processes that share a scan")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-numpy@1.23:", type="run")
    depends_on("py-torch@2.11~cuda~distributed")
    depends_on("c-blosc")
    depends_on("cairo+ft+fc+png")
    depends_on("cpp-httplib")
    depends_on("cppzmq")
    depends_on("fmt")
    depends_on("fontconfig")
    depends_on("googletest")
    depends_on("hdf5~mpi")
    depends_on("libcbor")
    depends_on("libdeflate")
    depends_on("libpng")
    depends_on("libtiff")
    depends_on("libzip")
    depends_on("libzmq")
    depends_on("lz4")
    depends_on("matio")
    depends_on("nanoflann")
    depends_on("nlohmann-json")
    depends_on("openssl")
    depends_on("tomlplusplus")
    depends_on("yaml-cpp")
    depends_on("zlib-api")
    depends_on("zstd")
    depends_on("mpi", when="+mpi")

    generator("ninja")
    build_targets = ["ptyche"]

    def cmake_args(self):
        torch = join_path(self.spec["py-torch"].package.module.python_platlib, "torch")
        return [
            self.define("PTYCHE_LIBTORCH", torch),
            self.define("PTYCHE_BUNDLE", False),
            self.define("PTYCHE_ARCHIVES", False),
            self.define_from_variant("PTYCHE_MPI", "mpi"),
        ]
