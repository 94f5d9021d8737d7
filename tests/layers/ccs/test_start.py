"""A rank without memory in CCS_init."""

import unittest

import start_without_memory


class Start(start_without_memory.Start, unittest.TestCase):
    function, code = "CCS_init", 2
    message = "ccs: (CCS_init|a message): "
    statuses = (1, 6)


if __name__ == "__main__":
    unittest.main()
