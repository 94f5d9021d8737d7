"""A rank without memory in ARMCI_Init."""

import unittest

import start_without_memory


class Start(start_without_memory.Start, unittest.TestCase):
    function, code = "ARMCI_Init", -6
    message = "armci: (ARMCI_Init|a message): "
    statuses = (1, 6)


if __name__ == "__main__":
    unittest.main()
