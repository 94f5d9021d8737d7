"""Who may include what: the table of docs/ARCHITECTURE.md, enforced."""

import unittest

import tree

# folder -> what its files may include of this project, besides their own folder
PUBLIC = ("lci/", "lci.hpp", "lci.h", "lci_config.h", "ccs.h", "ccs.hpp", "ccs/", "lct.h", "lct_config.h", "armci/",
          "na.h", "na_config.h", "na_error.h")
RULES = {
    "include": PUBLIC,
    "lib/base": ("lci/config.hpp", "lci/errors.hpp"),
    "lib/concurrent": PUBLIC + ("lib/base/",),
    "lib/comp": PUBLIC + ("lib/base/", "lib/concurrent/", "generated/"),
    "lib/coll": PUBLIC + ("lib/base/", "lib/core/device/barrier_rounds.hpp", "lib/core/device/device.hpp",
                          "lib/core/device/in_progress.hpp", "lib/core/device/kept_exceptions.hpp", "generated/"),
    # Of the blocks below the core those that are headers: liblci shows none of their functions.
    "lib/layers": PUBLIC + ("lib/base/callback_scope.hpp", "lib/base/copy_large.hpp", "lib/base/cpu.hpp", "lib/base/error_line.hpp",
                            "lib/base/insist_on_memory.hpp", "lib/base/own_counter.hpp", "lib/base/quiet_thread.hpp",
                            "lib/concurrent/"),
    "lib/tools": PUBLIC + ("lib/base/", "network/fabric.hpp", "lib/bootstrap/"),
    "lib/bootstrap": PUBLIC + ("lib/base/",),
    "lib/tools/lcirun": PUBLIC + ("lib/base/", "lib/bootstrap/"),
    "tests/conformance": PUBLIC + ("tests/support/",),
    "tests/stress": PUBLIC + ("tests/support/", "tests/conformance/"),
    "bench": PUBLIC,
    "examples": PUBLIC,
}
FABRIC = PUBLIC + ("lib/base/", "lib/concurrent/", "network/fabric.hpp", "network/common/")

# The layers of the core, from the lowest to the highest: a header takes layers below its own. Sources may, besides, take
# the headers of higher layers listed here: the device on which their functions work, or what they call. See
# lib/core/README.md.
CORE = PUBLIC + ("lib/base/", "lib/concurrent/", "lib/comp/", "network/fabric.hpp", "generated/")
LAYERS = ("wire", "memory", "match", "operation", "observe", "transfer", "stream", "checking", "runtime", "device",
          "post", "raw", "api")
OPENS_NETWORKS = ("network/open.hpp", "lib/bootstrap/bootstrap.hpp", "lib/bootstrap/meanwhile.hpp")
OPENERS = ("runtime", "api")  # layers that open networks, and ask where ranks come from
MORE_OF_SOURCES = {
    "operation": ("device/device.hpp", "device/sending.hpp", "device/signals.hpp"),
    "transfer": ("device/device.hpp", "device/device_visit.hpp", "device/gates.hpp", "device/in_progress.hpp",
                 "device/internal_ids.hpp", "device/receive.hpp", "device/sending.hpp", "device/signals.hpp", "device/unexpected_messages.hpp"),
    "stream": ("device/device.hpp", "device/device_visit.hpp", "device/receive.hpp", "device/sending.hpp",
               "device/signals.hpp"),
    "checking": ("device/argument_checks.hpp", "device/device.hpp", "device/endpoint.hpp", "device/net_context.hpp",
                 "post/post_layout.hpp", "runtime/runtime.hpp"),
    "runtime": ("device/device.hpp", "device/device_visit.hpp", "device/direct_paths.hpp", "device/in_progress.hpp",
                "device/long_sleep.hpp", "device/net_context.hpp", "device/queued_messages.hpp",
                "device/unexpected_messages.hpp"),
}
# Headers of a vendor's network or of a launcher: for the one folder that wraps them.
VENDOR = ("infiniband/", "rdma/", "ucp/", "uct/", "ucs/", "mpi.h", "pmi.h", "pmi2.h", "pmix")


def rules():
    table = dict(RULES)
    network = tree.SOURCE / "network"
    if network.is_dir():
        for folder in network.iterdir():
            if folder.is_dir():
                table[f"network/{folder.name}"] = FABRIC
    return table


def own_project(name):
    return name.startswith(("lci", "LCI", "lct", "ccs", "na.h", "na_", "lib/", "network/", "tests/", "generated/", "bench/",
                            "examples/"))


class Includes(unittest.TestCase):
    def test_a_layer_takes_no_block_that_the_core_has_compiled(self):
        """A header with a source file beside it: its functions are hidden in liblci."""
        wrong, seen = [], 0
        for path in tree.files("lib/layers"):
            for _, name in tree.includes(path):
                if name.startswith(("lib/base/", "lib/concurrent/")):
                    seen += 1
                    if (tree.SOURCE / name).with_suffix(".cpp").exists():
                        wrong.append(f"{path}: {name}")
        self.assertGreater(seen, 3)
        self.assertEqual(wrong, [])

    def test_each_folder_includes_only_what_it_may(self):
        wrong, seen = [], 0
        for folder, allowed in rules().items():
            files = tree.files(folder)
            self.assertTrue(files, f"a rule for {folder}, which has no files")
            for path in files:
                for _, name in tree.includes(path):
                    seen += 1
                    if not own_project(name) or name.startswith(folder + "/"):
                        continue
                    if not any(name == a or (a.endswith("/") and name.startswith(a))
                               for a in allowed):
                        wrong.append(f"{path}: {name}")
        self.assertGreater(seen, 50)
        self.assertEqual(wrong, [])

    def test_a_layer_of_the_core_includes_only_lower_layers(self):
        folders = {p.name for p in (tree.SOURCE / "lib/core").iterdir() if p.is_dir()}
        self.assertEqual(folders, set(LAYERS))
        self.assertEqual([str(p) for p in tree.files("lib/core") if len(p.parts) == 3], [])
        wrong, seen, taken = [], 0, set()
        for place, layer in enumerate(LAYERS):
            for path in tree.files(f"lib/core/{layer}"):
                allowed = CORE + tuple(f"lib/core/{r}/" for r in LAYERS[:place + 1])
                if path.suffix == ".cpp":
                    taken |= {(layer, name.removeprefix("lib/core/")) for _, name in tree.includes(path)}
                    allowed += tuple(f"lib/core/{header}" for header in MORE_OF_SOURCES.get(layer, ()))
                if layer in OPENERS:
                    allowed += OPENS_NETWORKS
                for _, name in tree.includes(path):
                    seen += 1
                    if own_project(name) and not name.startswith(allowed):
                        wrong.append(f"{path}: {name}")
        self.assertGreater(seen, 500)
        self.assertEqual(wrong, [])
        listed = {(layer, header) for layer, headers in MORE_OF_SOURCES.items() for header in headers}
        self.assertEqual(sorted(listed - taken), [], "listed, and not included any more")

    def test_the_device_is_a_composition_of_parts(self):
        """What happens with its operations belongs beside their subject, not into its class."""
        self.assertLess(len(tree.text(tree.SOURCE / "lib/core/device/device.hpp").splitlines()), 155)

    def test_code_above_the_fabrics_includes_one_header_of_each(self):
        """The files of network/ itself: the contract takes no fabric; who opens networks, one header of each."""
        contract = PUBLIC + ("lib/base/", "network/exchange.hpp", "network/fabric.hpp")
        opens = contract + ("network/open.hpp", "network/routed/choice.hpp", "network/routed/context.hpp",
                            "network/routed/with_outside.hpp") + tuple(
            f"network/{p.name}/fabric.hpp" for p in (tree.SOURCE / "network").iterdir() if p.is_dir())
        own = [p for p in tree.files("network") if len(p.parts) == 2]
        self.assertGreater(len(own), 3)
        wrong = [f"{p}: {name}" for p in own for _, name in tree.includes(p) if own_project(name)
                 if not name.startswith(opens if p.name in ("fabrics.cpp", "open.cpp") else contract)]
        self.assertEqual(wrong, [])

    def test_a_fabric_does_not_know_another_nor_the_core(self):
        wrong = []
        for path in tree.files("network"):
            for _, name in tree.includes(path):
                if name.startswith("lib/core") or name.startswith("lib/comp"):
                    wrong.append(f"{path}: {name}")
        self.assertEqual(wrong, [])

    def test_public_headers_name_no_vendor(self):
        # Programs expect MPI's header behind that of ARMCI, where there is one, and the macros of mp3.h are MPI's.
        of_armci = {"include/armci/armci_types.h: mpi.h", "include/armci/mp3.h: mpi.h"}
        wrong = {f"{p}: {name}" for p in tree.files("include")
                 for _, name in tree.includes(p) if name.startswith(VENDOR)}
        self.assertEqual(wrong, of_armci)

    def test_only_wrappers_name_a_vendor(self):
        wrong = [f"{p}: {name}" for p in tree.files("lib") for _, name in tree.includes(p)
                 if name.startswith(VENDOR) and not str(p).startswith("lib/bootstrap/")
                 and str(p) != "lib/layers/armci/mpi_plugin.cpp"]
        self.assertEqual(wrong, [])

    def test_includes_are_written_from_the_root(self):
        wrong = []
        for path in tree.files("include", "lib", "network", "tests"):
            for quote, name in tree.includes(path):
                if name.startswith(".") or (quote == '"' and "/" not in name
                                            and name not in PUBLIC):
                    wrong.append(f"{path}: {name}")
        self.assertEqual(wrong, [])

    def test_headers_are_included_once(self):
        # A header that is precompiled is a main file, where the compiler objects to the pragma.
        wrong = [str(p) for p in tree.files("include", "lib", "network", "tests")
                 if p.suffix == ".hpp" and p.parent.name != "pch"
                 and "#pragma once" not in tree.text(p)]
        self.assertEqual(wrong, [])

    def test_precompiled_headers_hold_nothing_of_ours(self):
        # From a compiler cache they may be of another checkout: what stands behind #pragma once is
        # then read again, and defined twice.
        headers = [p for p in tree.files("lib", "tests") if p.parent.name == "pch"]
        self.assertGreater(len(headers), 1)
        wrong = [f"{p}: {name}" for p in headers for quote, name in tree.includes(p)
                 if quote == '"' or own_project(name)]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
