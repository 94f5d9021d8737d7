"""Options, errors, and what is printed where."""

import collections
import pathlib
import re
import unittest

from support import ALONE, Scratch

PAIR = (2, 2, ())
READS = ">a\nACGTTGCAAC\n>b\nGTTGCAACGT\n>c\nTTTTTTTTTT\n"


def histogram(text):
    return dict(map(int, line.split()) for line in text.splitlines())


class CommandLine(Scratch):
    def setUp(self):
        super().setUp()
        self.reads = self.write("reads.fa", READS)

    def kmers(self, k, canonical=True):
        counts = collections.Counter()
        for s in READS.split("\n")[1::2]:
            for i in range(len(s) - k + 1):
                m = s[i:i + k]
                r = m[::-1].translate(str.maketrans("ACGT", "TGCA"))
                counts[min(m, r) if canonical else m] += 1
        return counts

    def fails(self, *arguments, shape=ALONE):
        done = self.start(shape, *arguments)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_only_the_histogram_is_written_to_standard_output(self):
        for shape in (ALONE, PAIR):
            with self.subTest(shape=shape):
                done = self.start(shape, "-k", 5, self.reads)
                self.assertEqual(done.returncode, 0, done.stderr)
                expected = collections.Counter(self.kmers(5).values())
                self.assertEqual(histogram(done.stdout), dict(expected))
                for word in ("k-mers/s", "where the time went: read", "parse", "send", "insert",
                             "wait", "messages:", "posts tried again"):
                    self.assertIn(word, done.stderr)
                self.assertEqual(done.stderr.count("total:"), 1)  # by rank 0 alone

    def test_quiet(self):
        done = self.start(PAIR, "-q", "-k", 5, self.reads)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_forward_only(self):
        found = histogram(self.count(PAIR, "-k", 4, "--forward-only", self.reads))
        self.assertEqual(found, dict(collections.Counter(self.kmers(4, False).values())))

    def test_high(self):
        long = self.write("long.fa", ">a\n" + "A" * 300 + "\n>b\nCACGT\nC" + "\n")
        self.assertEqual(self.count(PAIR, "-k", 3, "--high", 100, long).splitlines()[-1], "101 1")
        self.assertEqual(self.count(PAIR, "-k", 3, "--high", 0, long).splitlines()[-1], "298 1")

    def test_dump(self):
        for options, least in (((), 2), (("--no-filter",), 1)):
            for shape in (ALONE, (3, 2, ())):
                with self.subTest(options=options, shape=shape):
                    out = self.folder / "dump"
                    self.count(shape, *options, "-k", 5, "--dump", out, self.reads)
                    ranks = shape[0]
                    parts = [out] if ranks == 1 else [f"{out}.{r}" for r in range(ranks)]
                    lines = [line.split() for p in parts for line in pathlib.Path(p).read_text().splitlines()]
                    found = {m: int(n) for m, n in lines}
                    self.assertEqual(len(found), len(lines))
                    self.assertEqual(found, {m: n for m, n in self.kmers(5).items() if n >= least})

    def test_help_tells_every_option(self):
        done = self.start(ALONE, "--help")
        self.assertEqual(done.returncode, 0)
        for option in ("-k", "--threads", "--aggregate", "--comp", "--devices", "--no-filter",
                       "--dump", "--expected-kmers", "--quiet", "--no-split", "--high"):
            self.assertIn(option, done.stdout)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)

    def test_bad_arguments(self):
        self.assertIn("64 not in range 1 to 63", self.fails("-k", 64, self.reads))
        self.assertIn("0 not in range 1 to 63", self.fails("-k", 0, self.reads))
        self.assertIn("--comp", self.fails("--comp", "post", self.reads))
        self.assertIn("--aggregate", self.fails("--aggregate", 1, self.reads))
        self.assertIn("files is required", self.fails())

    def test_files_that_cannot_be_read(self):
        missing = self.folder / "missing.fq"
        for shape in (ALONE, PAIR):
            with self.subTest(shape=shape):
                self.assertIn(f"{missing}: can't be opened", self.fails(missing, shape=shape))

    def test_an_error_in_the_middle_ends_the_whole_job(self):
        good = "@r\nACGTACGTAC\n+\nIIIIIIIIII\n" * 20000
        damaged = self.write("damaged.fq", good[:-40] + "@r\nACGT\n+\nIIIIIIIII\n" + good)
        for options in ((), ("--no-split",)):
            with self.subTest(options=options):
                error = self.fails(*options, "-k", 5, damaged, shape=PAIR)
                self.assertRegex(error, r"kmer_count: rank \d: .*damaged.fq: FASTQ record at byte \d+")

    def test_a_dump_that_cannot_be_written_ends_the_whole_job(self):
        error = self.fails("-k", 5, "--dump", "/nowhere/dump", self.reads, shape=PAIR)
        self.assertTrue(re.search(r"/nowhere/dump\.\d: can't be written", error), error)


if __name__ == "__main__":
    unittest.main()
