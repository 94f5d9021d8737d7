"""lci_info lists networks, bootstraps and attributes with the origin of their values, and rejects invalid ones."""

import json
import os
import pathlib
import unittest

from api_dsl import API
from programs import INFO, run


def attributes(**variables):
    done = run(INFO, "--json", **variables)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return {a["name"]: a for a in json.loads(done.stdout)["attributes"]}


class Listing(unittest.TestCase):
    def test_the_default_listing_has_version_fabrics_bootstraps_and_attributes(self):
        done = run(INFO)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], r"^LCI \d+\.\d+\.\d+$")
        for title in ("fabrics", "bootstraps"):
            self.assertIn(title, lines)
        self.assertRegex(done.stdout, r"\n  shm +\S")
        self.assertRegex(done.stdout, r"\n  local +in use")
        self.assertRegex(done.stdout, r"\n    npackets +\d+ +built-in")

    def test_every_attribute_of_the_interface_is_listed_once(self):
        listed = json.loads(run(INFO, "--json").stdout)["attributes"]
        expected = sorted((r.name, a.name) for r in API.resources for a in r.attributes
                          if a.settable and a.from_env)
        self.assertGreater(len(expected), 40)
        self.assertEqual(sorted((a["resource"], a["name"]) for a in listed), expected)

    def test_each_attribute_has_its_variable_type_values_and_meaning(self):
        for name, attribute in attributes().items():
            with self.subTest(attribute=name):
                self.assertEqual(attribute["variable"], "LCI_ATTR_" + name.upper())
                self.assertEqual(attribute["origin"], "built-in")
                self.assertEqual(attribute["value"], attribute["built_in"])
                for key in ("type", "accepted", "doc"):
                    self.assertNotEqual(attribute[key], "")

    def test_verbose_adds_the_meaning_of_attributes(self):
        plain, verbose = run(INFO), run(INFO, "--verbose")
        self.assertEqual(verbose.returncode, 0)
        doc = attributes()["packet_size"]["doc"]
        self.assertNotIn(doc, plain.stdout)
        self.assertIn(doc, verbose.stdout)

    def test_a_fabric_that_can_not_be_used_has_a_reason(self):
        fabrics = json.loads(run(INFO, "--json").stdout)["fabrics"]
        self.assertTrue({"shm", "sim"} <= {f["name"] for f in fabrics})
        for fabric in fabrics:
            with self.subTest(fabric=fabric["name"]):
                if not fabric["usable"]:
                    self.assertNotEqual(fabric["note"], "")
        self.assertEqual([f["name"] for f in fabrics if f["in_use"]], ["shm"])

    def test_one_network_is_used_between_hosts_and_a_provider_selects_libfabric(self):
        def between_hosts(**env):
            listed = json.loads(run(INFO, "--json", **env).stdout)["fabrics"]
            return {f["name"]: f for f in listed}, [f["name"] for f in listed if "between hosts" in f["note"]]

        fabrics, best = between_hosts()
        self.assertEqual(len(best), 1)
        self.assertTrue(fabrics[best[0]]["usable"])
        if "over TCP only" in fabrics["ofi"]["note"] and not fabrics["ibv"]["usable"]:
            self.assertEqual(best, ["tcp"])
            self.assertEqual(between_hosts(LCI_ATTR_OFI_PROVIDER_NAME="tcp")[1], ["ofi"])

    def test_a_fabric_that_is_selected_is_the_one_in_use(self):
        fabrics = json.loads(run(INFO, "--json", LCI_ATTR_BACKEND="sim").stdout)["fabrics"]
        self.assertEqual([f["name"] for f in fabrics if f["in_use"]], ["sim"])

    def test_whether_registrations_can_be_cached_is_printed_with_the_reason_if_not(self):
        done = run(INFO)
        self.assertRegex(done.stdout, r"\nwatches of mappings, .*\n  userfaultfd +(not )?usable")
        watch, = json.loads(run(INFO, "--json").stdout)["mapping_watches"]
        self.assertEqual(watch["name"], "userfaultfd")
        if watch["usable"]:
            self.assertEqual(watch["note"], "")
        else:
            self.assertIn("LCI_ATTR_REG_CACHE_TRUST", watch["note"])

    def test_the_ways_of_large_copies_depend_on_the_processor(self):
        self.assertRegex(run(INFO).stdout, r"\ncopies of large puts .*\n  memcpy +usable .*\n  avx2 +(not )?usable")
        memcpy, avx2 = json.loads(run(INFO, "--json").stdout)["copies"]
        self.assertTrue(memcpy["usable"])
        flags = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
        self.assertEqual(avx2["usable"], "avx2" in flags)

    def test_a_launcher_is_detected(self):
        done = run(INFO, "--json", PMI_FD="3", PMI_RANK="0", PMI_SIZE="1")
        self.assertEqual(done.returncode, 0, done.stderr)
        used = [b["name"] for b in json.loads(done.stdout)["bootstraps"] if b["in_use"]]
        self.assertEqual(used, ["pmi1"])

    def test_the_bootstrap_that_a_runtime_would_use_is_shown(self):
        pmi = {"PMI_FD": "3", "PMI_RANK": "0", "PMI_SIZE": "1"}
        for used, note, env in (
                (["pmi2"], "", {**pmi, "LCT_PMI_BACKEND": "tcp,pmi2,pmi1"}),
                (["file"], "", {**pmi, "LCT_PMI_BACKEND": "file", "LCT_PMI_FILE_NRANKS": "2"}),
                (["local"], "LCI_ATTR_BOOTSTRAP asks for it", {**pmi, "LCI_ATTR_BOOTSTRAP": "none"}),
                (["tcp"], "LCI_ATTR_BOOTSTRAP asks for it", {"LCI_ATTR_BOOTSTRAP": "tcp"}),
                ([], "RANK is not set", {"WORLD_SIZE": "2", "MASTER_ADDR": "x", "MASTER_PORT": "1"}),
                ([], "contradictory", {**pmi, "WORLD_SIZE": "2", "RANK": "0", "LCI_TCP_ROOT": "x:1"})):
            with self.subTest(env=env):
                done = run(INFO, "--json", **env)
                self.assertEqual(done.returncode, 0, done.stderr)
                listed = json.loads(done.stdout)["bootstraps"]
                self.assertEqual([b["name"] for b in listed if b["in_use"]], used)
                self.assertTrue(any(note in b["note"] for b in listed), listed)

    def test_an_unknown_bootstrap_is_rejected(self):
        for variable, last in (("LCI_ATTR_BOOTSTRAP", "local, none ("), ("LCT_PMI_BACKEND", "local (")):
            done = run(INFO, **{variable: "slurm"})
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(f"{variable}=slurm is not a kind of bootstrap; there are mpi, pmi1", done.stderr)
            self.assertIn(last, done.stderr)


class Environment(unittest.TestCase):
    def test_a_value_from_the_environment_is_shown_with_its_origin(self):
        attribute = attributes(LCI_ATTR_NPACKETS="1k")["npackets"]
        self.assertEqual(attribute["value"], "1024")
        self.assertEqual(attribute["origin"], "environment")
        self.assertNotEqual(attribute["built_in"], "1024")
        done = run(INFO, LCI_ATTR_NPACKETS="1k")
        self.assertRegex(done.stdout, r"\n    npackets +1024 +environment\n")

    def test_a_text_is_shown_as_it_was_given(self):
        attribute = attributes(LCI_ATTR_DEVICE_NAME='a"b\\c\td')["device_name"]
        self.assertEqual(attribute["value"], 'a"b\\c\td')

    def test_a_text_that_is_no_utf8_is_shown_as_valid_json(self):
        cases = {b'a\xff': 'a\ufffd', 'ä€𝄞'.encode(): 'ä€𝄞', b'\xc3': '\ufffd', b'\xe2\x82"': '\ufffd\ufffd"',
                 b'\xc0\xaf': '\ufffd' * 2, b'\xed\xa0\x80': '\ufffd' * 3, b'\xf4\x90\x80\x80': '\ufffd' * 4}
        for given, shown in cases.items():
            with self.subTest(given=given):
                self.assertEqual(attributes(LCI_ATTR_DEVICE_NAME=os.fsdecode(given))['device_name']['value'], shown)

    def test_a_bad_value_is_rejected_with_its_variable_and_what_is_accepted(self):
        for variable, value, accepted in (
                ("LCI_ATTR_NPACKETS", "many", "whole number"),
                ("LCI_ATTR_NPACKETS", "0", "1 to 4294967296"),
                ("LCI_ATTR_BACKEND", "shmm", "shm"),
                ("LCI_ATTR_USE_REG_CACHE", "maybe", "yes")):
            with self.subTest(variable=variable, value=value):
                done = run(INFO, **{variable: value})
                self.assertEqual(done.returncode, 1)
                self.assertEqual(done.stdout, "")
                self.assertIn(f"{variable}={value}", done.stderr)
                self.assertIn(accepted, done.stderr)

    def test_an_unknown_variable_gets_a_warning_and_a_suggestion(self):
        done = run(INFO, LCI_ATTR_NPACKET="5")
        self.assertEqual(done.returncode, 0)
        self.assertIn("LCI_ATTR_NPACKET ", done.stderr)
        self.assertIn("did you mean LCI_ATTR_NPACKETS?", done.stderr)

    def test_an_unknown_variable_unlike_all_others_gets_no_suggestion(self):
        done = run(INFO, LCI_SOMETHING_ELSE_ALTOGETHER="5")
        self.assertEqual(done.returncode, 0)
        self.assertIn("LCI_SOMETHING_ELSE_ALTOGETHER", done.stderr)
        self.assertNotIn("did you mean", done.stderr)


class CommandLine(unittest.TestCase):
    def test_help_and_version_exit_with_0(self):
        done = run(INFO, "--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("--json", done.stdout)
        done = run(INFO, "--version")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"^\d+\.\d+\.\d+\n$")

    def test_output_that_cannot_be_written_is_an_error(self):
        for option in ("--json", "--verbose", "--help", "--version"):
            with self.subTest(option=option):
                done = run("sh", "-c", f"{INFO} {option} >/dev/full")
                self.assertEqual(done.returncode, 1)
                self.assertIn("can't write to standard output: No space left on device", done.stderr)

    def test_an_unknown_option_is_a_usage_error(self):
        done = run(INFO, "--jsn")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--jsn", done.stderr)


if __name__ == "__main__":
    unittest.main()
