"""Projects of users, one for each build system: found, built and run against an installed LCI."""

import os
import re
import shutil
import unittest

from installed import BUILD, HERE, SOURCE, InstalledCase, run


VERSION = re.search(r"version: '([\d.]+)'", (SOURCE / "meson.build").read_text()).group(1)


class Consumers(InstalledCase):
    def project(self, kind, copy=None):
        """A copy of the project in its own folder, with the programs that all of them share."""
        folder = self.folder / (copy or kind)
        shutil.copytree(HERE / kind, folder)
        for program in ("consumer.cpp", "lct_consumer.c", "v1_consumer.c", "both_consumer.cpp"):
            shutil.copy(HERE / program, folder)
        return folder

    def do(self, *command, **kwargs):
        done = run(*command, env=kwargs.pop("env", self.env), **kwargs)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def runs_on_two_ranks(self, program):
        ran = self.launch(2, program)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(sorted(ran.stdout.splitlines()),
                         ["rank 0 of 2 got 101 from 1", "rank 1 of 2 got 100 from 0"])

    def lct_works(self, c_program, both):
        """A program in C with LCT alone, and one in C++ with LCI and LCT."""
        ran = self.launch(2, c_program)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(sorted(ran.stdout.splitlines()),
                         ["rank 0 of 2 reads: I am 1", "rank 1 of 2 reads: I am 0"])
        ran = self.launch(2, both)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(sorted(ran.stdout.splitlines()), ["rank 0 of 2: right", "rank 1 of 2: right"])

    def v1_works(self, program):
        """A program in C for LCI v1.7."""
        ran = self.launch(2, program)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(sorted(ran.stdout.splitlines()), ["rank 0 of 2 got 101 from 1", "rank 1 of 2 got 100 from 0"])

    def cmake_program_in_c(self, source, target, version="2.0.0"):
        """The program that a CMake project in C builds from one source and one target of LCI."""
        folder = self.folder / f"cmake_{source.stem}_{target.replace(':', '_')}"
        folder.mkdir()
        shutil.copy(source, folder)
        (folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.16)\nproject(consumer C)\nfind_package(Threads REQUIRED)\n"
            f"find_package(LCI {version} REQUIRED)\nadd_executable(program {source.name})\n"
            f"target_link_libraries(program PRIVATE {target})\n")
        self.do("cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={self.root}")
        self.do("cmake", "--build", folder / "build")
        return folder / "build" / "program"

    def test_pkg_config_finds_lci_v1(self):
        folder = self.project("pkg_config", "pkg_config_v1")
        for name in ("lci-v1", "liblci-v1"):
            with self.subTest(name=name):
                self.do("sh", "v1.sh", name, cwd=folder)
                self.v1_works(folder / "v1_consumer")

    @unittest.skipUnless(shutil.which("cmake"), "cmake is not installed")
    def test_a_cmake_project_in_c_finds_lci_v1(self):
        self.v1_works(self.cmake_program_in_c(HERE / "v1_consumer.c", "LCI::v1"))

    def test_a_program_that_names_only_a_layer_finds_the_core_beside_it(self):
        """Neither the linker nor the program is told where liblci is."""
        here = {name: value for name, value in self.env.items() if name != "LD_LIBRARY_PATH"}
        for package, source in (("lct", HERE / "lct_consumer.c"), ("lci-v1", HERE / "v1_consumer.c"),
                                ("armci", SOURCE / "tests/layers/armci/c_caller.c"),
                                ("ccs", SOURCE / "tests/layers/ccs/figure.c"),
                                ("na", SOURCE / "tests/layers/na/figure.c"),
                                ("mercury", SOURCE / "tests/layers/mercury/v082.c"),
                                ("lci-rpc", HERE / "rpc_consumer.cpp")):
            with self.subTest(package=package):
                program = self.folder / f"only_{package}"
                flags = self.do("pkg-config", "--cflags", "--libs", package, env=here).split()
                if package != "lci-rpc":  # whose headers call the core's functions
                    self.assertNotIn("-llci", flags)
                # As the linkers of distributions that keep all libraries that are named.
                compiler = "g++" if source.suffix == ".cpp" else "gcc"
                self.do(compiler, source, "-o", program, "-Wl,--no-as-needed", *flags,
                        f"-Wl,-rpath,{self.library.parent}", "-Wl,--enable-new-dtags", env=here)
                self.do(self.root / "bin" / "lcirun", "-n", 1, program, env=here)

    def v1_folder(self):
        """Where the names are that build files of LCI v1.7 use."""
        return self.library.parent / "lci-v1"

    def test_a_makefile_of_lci_v1_links_with_its_old_library_names(self):
        for name in ("lci", "LCI"):
            program = self.folder / f"old_name_{name}"
            self.do("gcc", "-I", self.root / "include", HERE / "v1_consumer.c", "-L", self.v1_folder(), "-l" + name,
                    "-o", program)
            self.v1_works(program)

    def test_a_makefile_of_lci_v1_finds_its_old_package_and_log(self):
        """As the tests of LCI v1.7 include the header of the log."""
        folder = self.folder / "old_package"
        folder.mkdir()
        text = (HERE / "v1_consumer.c").read_text()
        call = "  while (LCI_recvs("
        self.assertIn(call, text)
        (folder / "program.c").write_text('#include <stdio.h>\n#include "../../src/log/lcm_log.h"\n' + text.replace(
            call, '  LCM_Log_default(LCM_LOG_INFO, "number %d\\n", value);\n'
                  '  LCM_Log(LCM_LOG_INFO, "quiet", "other %d\\n", value);\n'
                  '  LCM_DBG_Assert(value == 0, "not compiled\\n");\n'
                  '  LCM_Assert(value >= 100, "value %d\\n", value);\n' + call))
        env = dict(self.env, PKG_CONFIG_PATH=f"{self.v1_folder() / 'pkgconfig'}:{self.env['PKG_CONFIG_LIBDIR']}")
        flags = self.do("pkg-config", "--cflags", "--libs", "liblci", env=env).split()
        self.assertIn("-llci", flags)
        self.do("pkg-config", "--atleast-version=1.7", "--max-version=1.8", "liblci", env=env)
        self.do("gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", folder / "program.c", *flags, "-o",
                folder / "program")
        self.v1_works(folder / "program")
        ran = run(self.root / "bin" / "lcrun", "-n", 2, folder / "program",
                  env=dict(self.env, LCM_LOG_LEVEL="info", LCM_LOG_BLACKLIST="quiet"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(sorted(re.findall(r":(\d):\d+:lcm:info:.*number (\d+)", ran.stderr)), [("0", "100"), ("1", "101")],
                         ran.stderr)
        self.assertNotIn("other", ran.stderr)

    @unittest.skipUnless(shutil.which("cmake"), "cmake is not installed")
    def test_a_cmake_project_of_lci_v1_finds_it_by_its_version(self):
        for target in ("LCI::LCI", "LCI::Shared"):
            with self.subTest(target=target):
                self.v1_works(self.cmake_program_in_c(HERE / "v1_consumer.c", target, "1.7"))
        for version, major in (("", "2"), (" 2.0", "2"), (" 1.7.5", "1")):
            with self.subTest(version=version):
                self.assertIn(f"found {major}.", self.cmake_finds("LCI" + version))

    @unittest.skipUnless(shutil.which("cmake"), "cmake is not installed")
    def test_a_cmake_project_finds_the_components_that_there_are(self):
        self.assertIn("found 2.", self.cmake_finds("LCI COMPONENTS lci armci mercury_util"))
        self.assertIn("found 2.", self.cmake_finds("LCI COMPONENTS rpc OPTIONAL_COMPONENTS nonsense"))
        for package, words in (("LCI COMPONENTS ccs nonsense", "LCI has no component nonsense. Its components are lci, "),
                               ("LCI 1.7 COMPONENTS nonsense", "LCI 1.7 has no component nonsense, ")):
            for found_before in ("", package.split(" COMPONENTS")[0]):
                with self.subTest(package=package, found_before=found_before):
                    done = self.cmake_configures(package, found_before)
                    self.assertNotEqual(done.returncode, 0, done.stdout)
                    self.assertIn(words, " ".join(done.stderr.split()))

    @unittest.skipUnless(shutil.which("cmake"), "cmake is not installed")
    def test_a_cmake_project_finds_lci_v1_beside_mercury_and_beside_lci_2(self):
        """In either order, but LCI 2 after v1.7: the names LCI::LCI and LCI::Shared are those of v1.7."""
        for packages in (("LCI 1.7", "mercury"), ("mercury", "LCI 1.7"), ("LCI 1.7", "LCI 2.0.0", "mercury"),
                         ("mercury", "LCI 1.7", "LCI 2.0.0")):
            with self.subTest(packages=packages):
                folder = self.project("cmake_lct", "cmake_v1_" + re.sub("[^A-Za-z0-9]", "", "".join(packages)))
                shutil.copy(SOURCE / "tests/layers/mercury/v082.c", folder)
                (folder / "CMakeLists.txt").write_text(
                    "cmake_minimum_required(VERSION 3.16)\nproject(consumer C CXX)\n"
                    + "".join(f"find_package({package} REQUIRED)\n" for package in packages)
                    + "add_executable(v1 v1_consumer.c)\ntarget_link_libraries(v1 PRIVATE LCI::LCI)\n"
                    + "add_executable(shared v1_consumer.c)\ntarget_link_libraries(shared PRIVATE LCI::Shared)\n"
                    + "add_executable(hg v082.c)\ntarget_link_libraries(hg PRIVATE mercury)\n"
                    + "add_executable(v2 consumer.cpp)\ntarget_link_libraries(v2 PRIVATE LCI::lci)\n")
                self.do("cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build",
                        f"-DCMAKE_PREFIX_PATH={self.root}")
                self.do("cmake", "--build", folder / "build")
                self.v1_works(folder / "build" / "v1")
                self.v1_works(folder / "build" / "shared")
                self.runs_on_two_ranks(folder / "build" / "v2")
                self.do(folder / "build" / "hg")

    def cmake_configures(self, package, found_before=""):
        folder = self.folder / re.sub("[^A-Za-z0-9.]", "_", f"find_{found_before}_{package}")
        folder.mkdir()
        before = f"find_package({found_before} REQUIRED)\n" if found_before else ""
        (folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.16)\nproject(consumer C)\n"
            f"{before}find_package({package} REQUIRED)\nmessage(STATUS \"found ${{LCI_VERSION}}\")\n")
        return run("cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={self.root}",
                   env=self.env)

    def cmake_finds(self, package):
        done = self.cmake_configures(package)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_pkg_config_finds_each_library_by_both_names(self):
        folder = self.project("pkg_config", "pkg_config_names")
        for names in (("lci", "lct"), ("liblci", "liblct")):
            with self.subTest(names=names):
                self.do("sh", "lct.sh", *names, cwd=folder)
                self.lct_works(folder / "lct_consumer", folder / "both_consumer")
                versions = {self.do("pkg-config", "--modversion", name) for name in names}
                self.assertEqual(len(versions), 1)

    def armci_works(self, program):
        for n in (1, 3):
            ran = self.launch(n, program)
            self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_pkg_config_finds_armci_whose_headers_are_in_a_folder_of_their_own(self):
        folder = self.project("pkg_config", "pkg_config_armci")
        shutil.copy(SOURCE / "tests/layers/armci/c_caller.c", folder)
        for package in ("armci", "libarmci"):
            flags = self.do("pkg-config", "--cflags", "--libs", package).split()
            self.do("gcc", "-std=c99", "-Wall", "-Wextra", "-Wno-missing-braces", "-Werror", folder / "c_caller.c",
                    *flags, "-o", folder / package)
            self.armci_works(folder / package)
        self.assertFalse((self.root / "include" / "message.h").exists())

    def test_armci_has_the_names_that_programs_of_global_arrays_are_linked_with(self):
        folder = self.project("pkg_config", "pkg_config_ga")
        shutil.copy(SOURCE / "tests/layers/armci/c_caller.c", folder)
        flags = self.do("pkg-config", "--cflags", "--libs", "lci").split()
        for name in ("armci-mpich", "armci-openmpi"):
            self.do("gcc", "-I", self.root / "include/armci", folder / "c_caller.c", *flags, "-l" + name, "-o",
                    folder / name)
            self.armci_works(folder / name)

    def ccs_works(self, program):
        for n in (1, 2):
            ran = self.launch(n, program)
            self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_pkg_config_finds_ccs(self):
        folder = self.project("pkg_config", "pkg_config_ccs")
        for package in ("ccs", "libccs"):
            flags = self.do("pkg-config", "--cflags", "--libs", package).split()
            self.do("gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", SOURCE / "tests/layers/ccs/figure.c", *flags, "-o",
                    folder / package)
            self.ccs_works(folder / package)

    def test_pkg_config_finds_na(self):
        folder = self.project("pkg_config", "pkg_config_na")
        for package in ("na", "libna"):
            flags = self.do("pkg-config", "--cflags", "--libs", package).split()
            self.do("gcc", "-std=gnu99", "-Wall", "-Wextra", "-Werror", SOURCE / "tests/layers/na/figure.c", *flags,
                    "-o", folder / package)
            self.do(folder / package)

    @unittest.skipUnless(shutil.which("cmake"), "cmake is not installed")
    def test_a_cmake_project_finds_ccs(self):
        self.ccs_works(self.cmake_program_in_c(SOURCE / "tests/layers/ccs/figure.c", "LCI::ccs"))

    def test_pkg_config_finds_mercury(self):
        program = self.folder / "pkg_config_mercury"
        flags = self.do("pkg-config", "--cflags", "--libs", "mercury >= 0.8.2").split()
        self.do("gcc", "-std=gnu99", "-Wall", "-Wextra", "-Werror", SOURCE / "tests/layers/mercury/v082.c", *flags,
                "-o", program)
        self.do(program, env=self.env)

    def rpc_works(self, program):
        self.do(program, env=self.env)

    def test_pkg_config_finds_typed_calls(self):
        folder = self.project("pkg_config", "pkg_config_rpc")
        for package in ("lci-rpc", "liblci-rpc"):
            flags = self.do("pkg-config", "--cflags", "--libs", package).split()
            self.do("g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", HERE / "rpc_consumer.cpp", *flags, "-o",
                    folder / package)
            self.rpc_works(folder / package)

    @unittest.skipUnless(shutil.which("cmake"), "cmake is not installed")
    def test_a_cmake_project_finds_typed_calls(self):
        folder = self.folder / "cmake_rpc"
        folder.mkdir()
        shutil.copy(HERE / "rpc_consumer.cpp", folder)
        (folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.16)\nproject(consumer CXX)\nfind_package(LCI REQUIRED)\n"
            "add_executable(program rpc_consumer.cpp)\ntarget_link_libraries(program PRIVATE LCI::rpc)\n")
        self.do("cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={self.root}")
        self.do("cmake", "--build", folder / "build")
        self.rpc_works(folder / "build" / "program")

    @unittest.skipUnless(shutil.which("cmake"), "cmake is not installed")
    def test_a_cmake_project_in_c_finds_mercury_by_each_name(self):
        for package, targets in (("mercury", "mercury"), ("mercury 0.8", "${MERCURY_LIBRARIES}"),
                                 ("LCI", "LCI::mercury")):
            with self.subTest(package=package):
                folder = self.folder / f"cmake_{re.sub('[^A-Za-z]', '', package + targets)}"
                folder.mkdir()
                shutil.copy(SOURCE / "tests/layers/mercury/v082.c", folder)
                (folder / "CMakeLists.txt").write_text(
                    "cmake_minimum_required(VERSION 3.16)\nproject(consumer C)\n"
                    f"find_package({package} REQUIRED)\nadd_executable(program v082.c)\n"
                    f"target_link_libraries(program PRIVATE {targets})\n")
                self.do("cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build",
                        f"-DCMAKE_PREFIX_PATH={self.root}")
                self.do("cmake", "--build", folder / "build")
                self.do(folder / "build" / "program", env=self.env)

    @unittest.skipUnless(shutil.which("cmake"), "cmake is not installed")
    def test_a_cmake_project_finds_armci(self):
        self.armci_works(self.cmake_program_in_c(SOURCE / "tests/layers/armci/c_caller.c", "LCI::armci"))

    @unittest.skipUnless(shutil.which("cmake"), "cmake is not installed")
    def test_a_cmake_project_finds_lct_by_every_name(self):
        folder = self.project("cmake_lct")
        for lci, lct in (("LCI::LCI", "LCI::LCT"), ("LCI::lci", "LCI::lct")):
            with self.subTest(lci=lci, lct=lct):
                build = folder / f"build-{lct[-1]}"
                output = self.do("cmake", "-G", "Ninja", "-S", folder, "-B", build, f"-DCMAKE_PREFIX_PATH={self.root}",
                                 f"-DLCI={lci}", f"-DLCT={lct}")
                self.assertRegex(output, r"-- LCI_FOUND is 1, LCI_VERSION is 2\.\d+\.\d+\n")
                self.do("cmake", "--build", build)
                self.lct_works(build / "lct_consumer", build / "both_consumer")
                self.assertEqual(run(build / "header_consumer", env=self.env).returncode, 0)

    @unittest.skipUnless(shutil.which("cmake"), "cmake is not installed")
    def test_a_cmake_project_in_c_builds_and_runs(self):
        program = self.cmake_program_in_c(HERE / "lct_consumer.c", "LCI::LCT")
        self.assertEqual(run(program, env=self.env).returncode, 0)

    def test_a_pkg_config_project_builds_and_runs(self):
        folder = self.project("pkg_config")
        self.do("sh", "build.sh", cwd=folder)
        self.runs_on_two_ranks(folder / "consumer")

    @unittest.skipUnless(shutil.which("cmake"), "cmake is not installed")
    def test_pkg_config_finds_what_was_built_without_installing_it(self):
        env = dict(os.environ, PKG_CONFIG_PATH=f"{BUILD}/meson-uninstalled", LD_LIBRARY_PATH=BUILD)
        flags = self.do("pkg-config", "--cflags", "--libs", "lci", env=env).split()
        program = self.folder / "uninstalled"
        self.do("g++", "-std=c++17", HERE / "consumer.cpp", *flags, "-o", program)
        ran = run(f"{BUILD}/lib/tools/lcirun/lcirun", "-n", 2, program, env=env)
        self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_a_cmake_project_builds_and_runs(self):
        folder = self.project("cmake")
        self.do("cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build",
                f"-DCMAKE_PREFIX_PATH={self.root}")
        self.do("cmake", "--build", folder / "build")
        self.runs_on_two_ranks(folder / "build" / "consumer")

    def test_a_meson_project_builds_with_the_installed_library(self):
        folder = self.project("meson", "meson_installed")
        output = self.do("meson", "setup", folder / "build", folder, "--wrap-mode=nofallback")
        self.assertIn("dependency lci found: YES", output)
        self.assertIn("dependency lct found: YES", output)
        self.do("meson", "compile", "-C", folder / "build")
        self.runs_on_two_ranks(folder / "build" / "consumer")
        self.lct_works(folder / "build" / "lct_consumer", folder / "build" / "both_consumer")
        self.v1_works(folder / "build" / "v1_consumer")

    @unittest.skipUnless(os.environ.get("LCI_TESTS_LONG", "0") != "0",
                         "builds the library once more, which takes minutes: with --long")
    def test_a_meson_project_builds_with_a_subproject(self):
        folder = self.project("meson", "meson_subproject")
        (folder / "subprojects").mkdir()
        (folder / "subprojects" / "lci").symlink_to(SOURCE, target_is_directory=True)
        # Without optimization, which takes less time to build; with all that the system has.
        self.do("meson", "setup", folder / "build", folder, "--wrap-mode=forcefallback", "-Dbuildtype=plain",
                env={name: value for name, value in self.env.items() if name != "PKG_CONFIG_LIBDIR"})
        self.do("ninja", "-C", folder / "build", "consumer", "lct_consumer", "v1_consumer", "both_consumer",
                timeout=600)
        self.runs_on_two_ranks(folder / "build" / "consumer")
        self.lct_works(folder / "build" / "lct_consumer", folder / "build" / "both_consumer")
        self.v1_works(folder / "build" / "v1_consumer")
        targets = self.do("meson", "introspect", "--targets", folder / "build")
        self.assertIn('"name": "lcirun"', targets)
        for ours in ("conformance", "lci_perf", "irpclib"):
            self.assertNotIn(f'"name": "{ours}"', targets)

    @unittest.skipUnless(os.environ.get("LCI_TESTS_LONG", "0") != "0",
                         "builds the libraries once more, which takes minutes: with --long")
    def test_programs_in_c_link_with_static_libraries(self):
        """The linker of a C program does not add the run-time library of C++."""
        build = self.folder / "static"
        env = {name: value for name, value in self.env.items() if name != "PKG_CONFIG_LIBDIR"}
        self.do("meson", "setup", build, SOURCE, "-Ddefault_library=static", "-Dbuildtype=plain", "-Dtests=false",
                "-Dpeers=disabled", "-Dofi=disabled", "-Dibv=disabled", env=env)
        self.do("ninja", "-C", build, "liblci.a",
                *(f"lib/layers/{folder}/lib{name}.a" for folder, name in (
                    ("lct", "lct"), ("v1", "lci-v1"), ("na", "na"), ("mercury", "mercury"),
                    ("mercury_util", "mercury_util"))), env=env, timeout=900)
        for package, source, check in (("lci-v1", HERE / "v1_consumer.c", self.v1_works),
                                       ("mercury", SOURCE / "tests/layers/mercury/v082.c", self.do)):
            with self.subTest(package=package):
                flags = self.do("pkg-config", "--cflags", "--libs", package,
                                env=dict(env, PKG_CONFIG_PATH=str(build / "meson-uninstalled"))).split()
                program = self.folder / f"static_{package}"
                self.do("gcc", "-std=gnu99", source, *flags, "-o", program, env=env)
                check(program)
        for config in ("LCIConfig.cmake", "v1/LCIConfig.cmake"):
            self.assertRegex((build / "lib/cmake" / config).read_text(),
                             r'"Threads::Threads;\$\{CMAKE_DL_LIBS\};-l(std)?c\+\+;-lm"')

    @unittest.skipUnless(shutil.which("cmake"), "cmake is not installed")
    def test_cmake_finds_only_compatible_versions(self):
        answers = {"": True, "2.0.0": True, "2": True, "2.0...<3": True, f"{VERSION} EXACT": True,
                   "1.7": False, "2.99": False, "3": False, "3.0...4": False, "2.0...2.0.5": False}
        folder = self.folder / "cmake_versions"
        folder.mkdir()
        (folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.19)\nproject(versions CXX)\n" +
            "".join(f"find_package(LCI {v} QUIET)\nmessage(STATUS \"asked '{v}': ${{LCI_FOUND}}\")\n"
                    "unset(LCI_DIR CACHE)\n" for v in answers))
        output = self.do("cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build",
                         f"-DCMAKE_PREFIX_PATH={self.root}")
        found = {v: answer == "1" for v, answer in re.findall(r"-- asked '(.*)': (\d)", output)}
        self.assertEqual(found, answers)

    def test_the_readme_shows_these_projects(self):
        text = (SOURCE / "README.md").read_text()
        for language, project in (("cmake", "cmake/CMakeLists.txt"), ("meson", "meson/meson.build")):
            with self.subTest(language=language):
                shown = re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)
                self.assertEqual(len(shown), 1)
                self.assertIn(shown[0], (HERE / project).read_text())


if __name__ == "__main__":
    unittest.main()
