"""LCI for Spack. See README.md beside this file."""

from spack.package import *


class Lci(MesonPackage):
    """A lightweight communication interface for asynchronous multithreaded runtimes: active messages, sends and
    receives, puts and gets, collectives, over shared memory, libibverbs, libfabric and TCP."""

    license("MIT")

    # No release has been published yet: give the sources by `spack develop --path <folder> lci@2.1.0`.
    version("2.1.0")

    variant("ofi", default=True, description="Networks that libfabric reaches")
    variant("ibv", default=True, description="InfiniBand and RoCE")
    variant("pmix", default=False, description="Ranks from launchers that speak PMIx")
    variant("mpi", default=False, description="Ranks from an MPI in the same process (MPICH or Open MPI)")
    variant("crypto", default=True, description="A key for jobs that meet over TCP")
    variant("munge", default=False, description="Peers that prove their user by munge")
    variant("hwloc", default=True, description="lcirun --bind")
    variant("peers", default=False, description="The programs with which the benchmarks compare LCI")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("meson@1.0:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3:", type=("build", "test"))
    depends_on("py-jinja2", type="build")
    depends_on("cli11", type="build")
    depends_on("zlib-api")
    depends_on("catch2@2.13:2", type="test")

    # Loaded when they are used; their headers serve to build.
    depends_on("libfabric@1.17:", when="+ofi")
    depends_on("rdma-core", when="+ibv")
    depends_on("pmix@3:", when="+pmix")
    depends_on("mpi", when="+mpi")
    depends_on("openssl@3:", when="+crypto")
    depends_on("munge", when="+munge")
    depends_on("hwloc@2:", when="+hwloc")

    # What LCI is compared with.
    depends_on("ucx", when="+peers")
    depends_on("nlohmann-json", when="+peers")
    conflicts("+peers", when="~ofi")
    conflicts("+peers", when="~ibv")

    requires("^[virtuals=mpi] mpich", "^[virtuals=mpi] openmpi", policy="one_of", when="+mpi")
    conflicts("platform=darwin", msg="LCI uses Linux's memory files, futexes and epoll")
    conflicts("platform=windows", msg="LCI uses Linux's memory files, futexes and epoll")
    conflicts("%gcc@:11", msg="LCI needs C++20")
    conflicts("%clang@:13", msg="LCI needs C++20")

    def meson_args(self):
        features = ("ofi", "ibv", "pmix", "mpi", "crypto", "munge", "hwloc", "peers")
        arguments = [f"-D{name}={'enabled' if f'+{name}' in self.spec else 'disabled'}" for name in features]
        return arguments + [f"-Dtests={str(self.run_tests).lower()}"]
