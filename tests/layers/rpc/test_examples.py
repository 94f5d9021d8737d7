"""The examples of typed calls: a server, and clients that use it."""

import os
import subprocess
import unittest


class Server:
    def __init__(self, program):
        self.program = program

    def __enter__(self):
        self.process = subprocess.Popen([self.program], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def call(self, *words):
        return subprocess.run([self.program, self.url, *words], capture_output=True, text=True, timeout=60)


class Examples(unittest.TestCase):
    def test_a_store_keeps_what_clients_put(self):
        with Server(os.environ["KEY_VALUE"]) as server:
            self.assertEqual(server.call("put", "apple", "red").stdout, "version 1\n")
            self.assertEqual(server.call("put", "apple", "green").stdout, "version 2\n")
            self.assertEqual(server.call("put", "apricot", "x" * 100000).returncode, 0)
            self.assertEqual(server.call("get", "apple").stdout, "apple = green (version 2)\n")
            self.assertEqual(server.call("get", "pear").stdout, "nothing\n")
            listed = server.call("list", "ap").stdout
            self.assertEqual(listed, f"apple = green (version 2)\napricot = {'x' * 100000} (version 1)\n")
            refused = server.call("put", "", "y")
            self.assertEqual((refused.returncode, refused.stderr), (3, "refused: the key is empty\n"))
            self.assertEqual(server.call("end").returncode, 0)
            self.assertEqual(server.process.wait(20), 0)
            self.assertEqual(server.call("get", "apple").returncode, 4)


if __name__ == "__main__":
    unittest.main()
