"""Options from the environment: what is accepted, what is refused, and what gets a warning. Runs options_probe, since a
process reads its environment once."""

import os
import subprocess
import unittest

PROBE = os.environ["LCI_OPTIONS_PROBE"]


def run(*arguments, **variables):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("LCI_")}
    return subprocess.run([PROBE, *arguments], env={**clean, **variables}, capture_output=True,
                          text=True, timeout=60)


class Environment(unittest.TestCase):
    def value(self, option, **variables):
        result = run(**variables)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "")
        found = [line for line in result.stdout.splitlines() if line.startswith(option + "=")]
        self.assertEqual(len(found), 1, result.stdout)
        return found[0].split("=", 1)[1]

    def refused(self, variable, text):
        result = run(**{variable: text})
        self.assertEqual(result.returncode, 2, result.stdout)
        self.assertIn(f"{variable}={text}:", result.stderr)
        self.assertIn("accepted: ", result.stderr)
        return result.stderr

    def test_without_variables_values_are_built_in(self):
        result = run()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreater(len(result.stdout.splitlines()), 40)
        self.assertNotIn("(environment)", result.stdout)
        self.assertIn("npackets=65536 (built-in)", result.stdout)
        self.assertIn("ofi_lock_mode=endpoint (built-in)", result.stdout)

    def test_sizes_accept_suffixes(self):
        for text, value in {"4096": 4096, "64k": 65536, "64K": 65536, "2M": 2 << 20, "3m": 3 << 20,
                            "1G": 1 << 30, "0x100": 256, "2T": 2 << 40}.items():
            with self.subTest(text=text):
                self.assertEqual(self.value("max_inject_size", LCI_ATTR_MAX_INJECT_SIZE=text),
                                 f"{value} (environment)")

    def test_invalid_sizes_are_refused(self):
        for text in (" 4", "4 ", "-1", "4kk", "k", "four", "4.5", "99999999999999999999",
                     "20000000T", "0x", "1e3", "+5"):
            with self.subTest(text=text):
                self.refused("LCI_ATTR_MAX_INJECT_SIZE", text)

    def test_truth_values_are_accepted_or_refused(self):
        for text, value in {"1": "true", "on": "true", "ON": "true", "True": "true",
                            "yes": "true", "0": "false", "off": "false", "FALSE": "false",
                            "no": "false"}.items():
            with self.subTest(text=text):
                self.assertEqual(self.value("use_reg_cache", LCI_ATTR_USE_REG_CACHE=text),
                                 f"{value} (environment)")
        for text in ("2", " ", "y", "tru", "enable", "-1"):
            with self.subTest(text=text):
                self.refused("LCI_ATTR_USE_REG_CACHE", text)

    def test_whole_numbers_are_accepted_or_refused(self):
        self.assertEqual(self.value("ibv_gid_idx", LCI_ATTR_IBV_GID_IDX="-1"), "-1 (environment)")
        self.assertEqual(self.value("ibv_gid_idx", LCI_ATTR_IBV_GID_IDX="3"), "3 (environment)")
        for text in ("-2", "1.0", "x", "2147483648", "99999999999"):
            with self.subTest(text=text):
                self.refused("LCI_ATTR_IBV_GID_IDX", text)
        self.assertEqual(self.value("sim_seed", LCI_ATTR_SIM_SEED="18446744073709551615"),
                         "18446744073709551615 (environment)")
        self.refused("LCI_ATTR_SIM_SEED", "18446744073709551616")

    def test_fractions_are_accepted_or_refused(self):
        self.assertEqual(self.value("bootstrap_timeout", LCI_ATTR_BOOTSTRAP_TIMEOUT="2.5"),
                         "2.5 (environment)")
        for text in ("nan", "inf", "1,5", "abc", " ", "-1"):
            with self.subTest(text=text):
                self.refused("LCI_ATTR_BOOTSTRAP_TIMEOUT", text)

    def test_enumerations_accept_their_names(self):
        for name in ("auto", "shm", "sim", "SHM"):
            self.assertEqual(self.value("backend", LCI_ATTR_BACKEND=name),
                             f"{name.lower()} (environment)")
        message = self.refused("LCI_ATTR_BACKEND", "udp")
        for name in ("auto", "ibv", "ofi", "tcp", "shm", "sim"):
            self.assertIn(name, message)
        self.refused("LCI_ATTR_BACKEND", "1")

    def test_texts_are_used_unchanged(self):
        self.assertEqual(self.value("device_name", LCI_ATTR_DEVICE_NAME="mlx5 0 "),
                         "mlx5 0  (environment)")

    def test_an_empty_value_counts_as_none(self):
        for variable, option in (("LCI_ATTR_NPACKETS", "npackets"), ("LCI_ATTR_BACKEND", "backend"),
                                 ("LCI_ATTR_USE_DMABUF", "use_dmabuf"),
                                 ("LCI_ATTR_DEVICE_NAME", "device_name")):
            with self.subTest(variable=variable):
                self.assertIn("(built-in)", self.value(option, **{variable: ""}))

    def test_flags_are_a_number_or_names(self):
        for text, value in {"none": "none", "send": "send", "send,poll": "send,poll",
                            "5": "send,poll", "all": "all", "MR": "mr", "15": "all",
                            "send,recv,poll,mr": "all", "endpoint": "endpoint", "32": "endpoint",
                            "mr,endpoint": "mr,endpoint"}.items():
            with self.subTest(text=text):
                self.assertEqual(self.value("ofi_lock_mode", LCI_NET_LOCK_MODE=text),
                                 f"{value} (environment)")
        for text in ("48", "send,", ",", "send;poll", "tx"):
            with self.subTest(text=text):
                self.refused("LCI_NET_LOCK_MODE", text)

    def test_the_attribute_overrides_its_older_variable(self):
        self.assertEqual(self.value("ofi_lock_mode", LCI_ATTR_OFI_LOCK_MODE="recv",
                                    LCI_NET_LOCK_MODE="mr"), "recv (environment)")

    def test_ranges_are_checked_and_named(self):
        self.assertIn("0 to 90", self.refused("LCI_ATTR_SIM_RETRY_PERCENT", "91"))
        self.assertIn("1 to", self.refused("LCI_ATTR_NPACKETS", "0"))
        self.assertEqual(self.value("sim_retry_percent", LCI_ATTR_SIM_RETRY_PERCENT="90"),
                         "90 (environment)")

    def test_a_setter_overrides_the_program_and_the_program_the_environment(self):
        result = run("--set", LCI_ATTR_NPACKETS="123", LCI_ATTR_PACKET_SIZE="4k")
        self.assertIn("npackets=77 (program)", result.stdout)
        self.assertIn("packet_size=4096 (environment)", result.stdout)
        self.assertIn("functor.npackets=77\n", result.stdout)
        self.assertIn("setter.npackets=5\n", result.stdout)
        result = run(LCI_ATTR_NPACKETS="123")
        self.assertIn("functor.npackets=123\n", result.stdout)
        self.assertIn("setter.npackets=5\n", result.stdout)

    def test_an_unknown_name_gets_one_warning(self):
        result = run(LCI_ATTR_NPACKET="5")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn("LCI_ATTR_NPACKET ", result.stderr)
        self.assertIn("did you mean LCI_ATTR_NPACKETS?", result.stderr)
        self.assertIn("npackets=65536 (built-in)", result.stdout)

    def test_an_attribute_without_its_prefix_is_recognised(self):
        result = run(LCI_BACKEND="shm")
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn("did you mean LCI_ATTR_BACKEND?", result.stderr)

    def test_a_network_that_does_not_exist_is_refused_with_the_default_by_its_name(self):
        text = self.refused("LCI_ATTR_BACKEND", "infiniband")
        self.assertIn("one of auto,", text)
        self.assertIn("unset it for auto", text)
        self.assertEqual(self.value("backend"), "auto (built-in)")
        self.assertEqual(self.value("backend", LCI_ATTR_BACKEND="none"), "auto (environment)")

    def test_a_name_unlike_all_others_gets_no_suggestion(self):
        result = run(LCI_SOMETHING_ELSE_ALTOGETHER="5")
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertNotIn("did you mean", result.stderr)

    def test_known_names_and_names_of_other_programs_get_no_warning(self):
        result = run(LCI_LOG_LEVEL="info", LCI_TEST_ANYTHING="1", LCT_PMI_BACKEND="local",
                     XLCI_ATTR="1", LCIX="1")
        self.assertEqual(result.stderr, "")


if __name__ == "__main__":
    unittest.main()
