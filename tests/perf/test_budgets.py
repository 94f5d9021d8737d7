"""The fast path stays within its instruction budgets (budgets.json)."""

import os
import shutil
import unittest

import count


class Reading(unittest.TestCase):
    def test_costs_of_all_calls_of_a_part_are_added_up(self):
        text = "\n".join([
            "fn=(1) main", "5 100", "cfn=(2) part_post_am", "calls=3 20", "5 300",
            "fn=(2)", "20 30", "cfn=(3) lci::post", "calls=3 40", "21 270",
            "fn=(1)", "cfn=(2)", "calls=1 20", "6 101"])
        self.assertEqual(count.inclusive_costs(text), {"post_am": 401})

    def test_each_part_has_a_budget(self):
        self.assertEqual(set(count.budgets()), set(count.PARTS))

    def test_posts_over_their_budget_are_named(self):
        counted = {p: 0.0 for p in count.PARTS}
        self.assertEqual(count.over_budget(counted), [])
        counted["cq_pop"] = 1e9
        self.assertEqual([line.split(":")[0] for line in count.over_budget(counted)], ["cq_pop"])


class Budgets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if shutil.which("valgrind") is None:
            raise unittest.SkipTest("valgrind is not installed")
        cls.counted = count.count(os.environ["COUNT"])
        print("\n" + count.table(cls.counted), flush=True)

    def test_no_part_takes_more_instructions_than_its_budget(self):
        self.assertEqual(count.over_budget(self.counted), [])

    def test_lci_v1_adds_few_instructions_to_the_calls_of_the_core(self):
        counted = count.count(os.environ["COUNT_V1"], count.V1_PARTS)
        print("\n" + count.layer_table(counted, count.V1_PARTS), flush=True)
        for call, core, most in (("puts", "am", 32), ("sends", "send", 31), ("recvs", "recv", 34),
                                 ("v1_test", "test", 0), ("progress_puts_16", "progress_am_16", 26),
                                 ("progress_sends_16", "progress_send_16", 26)):
            with self.subTest(call=call):
                self.assertLessEqual(counted[call] - counted[core], most)

    def test_ccs_adds_few_instructions_to_the_messages_of_the_core(self):
        """Order, arguments, counts of messages and the search for the handler are included."""
        counted = count.count(os.environ["COUNT_CCS"], count.CCS_PARTS)
        print("\n" + count.layer_table(counted, count.CCS_PARTS), flush=True)
        for call, core, most in (("amrequest_0", "am_0", 129), ("amrequest_4", "am_32", 133),
                                 ("poll_0_16", "progress_am_0_16", 142), ("poll_4_16", "progress_am_32_16", 158)):
            with self.subTest(call=call):
                self.assertLessEqual(counted[call] - counted[core], most)

    def test_a_null_call_of_rpc_takes_few_instructions(self):
        """Polls of sockets are included, which take more here than without callgrind."""
        counted = count.count(os.environ["COUNT_RPC"], count.RPC_PARTS)
        print("\n" + count.layer_table(counted, count.RPC_PARTS), flush=True)
        for part, most in (("rpc_post", 740), ("rpc_serve_16", 1300), ("rpc_take_result", 1030)):
            with self.subTest(part=part):
                self.assertLessEqual(counted[part], most)

    def test_the_count_is_of_the_library_not_of_an_empty_loop(self):
        for part, instructions in self.counted.items():
            with self.subTest(part=part):
                self.assertGreater(instructions, 4)

    def test_budgets_do_not_exceed_the_promised_numbers(self):
        self.assertLessEqual(count.budgets()["post_am"], 200)
        self.assertLessEqual(count.budgets()["progress_am_16"], 150)


if __name__ == "__main__":
    unittest.main()
