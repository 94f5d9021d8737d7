"""Reads of real experiments: the histogram is jellyfish's, line by line."""

import pathlib
import unittest

from support import ALONE, SHAPES, Scratch, needs_jellyfish

LAMBDA = pathlib.Path("/usr/share/doc/bowtie2/examples/reads")
SHIGELLA = pathlib.Path("/usr/share/unicycler-data/sample_data")
PAIR = (2, 2, ())


@needs_jellyfish
@unittest.skipUnless((LAMBDA / "reads_1.fq.gz").exists(), "bowtie2-examples is not installed")
class Lambda(Scratch):
    def setUp(self):
        super().setUp()
        self.packed_reads = [LAMBDA / f"reads_{i}.fq.gz" for i in (1, 2)]
        self.plain_reads = [self.unpacked(p) for p in self.packed_reads]

    def test_every_length_plain_and_compressed(self):
        for k in (15, 31, 51, 63):
            expected = self.jellyfish(k, *self.plain_reads)
            for shape in (ALONE, PAIR):
                for files in (self.plain_reads, self.packed_reads):
                    with self.subTest(k=k, shape=shape, file=files[0].name):
                        self.assertEqual(self.count(shape, "-k", k, *files), expected)

    def test_every_shape_of_a_job(self):
        expected = self.jellyfish(31, *self.plain_reads)
        for shape in SHAPES:
            with self.subTest(shape=shape):
                self.assertEqual(self.count(shape, "-k", 31, *self.plain_reads), expected)

    def test_long_reads(self):
        plain = self.unpacked(LAMBDA / "longreads.fq.gz")
        expected = self.jellyfish(15, plain)
        self.assertEqual(self.count(PAIR, "-k", 15, plain), expected)


@needs_jellyfish
@unittest.skipUnless((SHIGELLA / "short_reads_1.fastq.gz").exists(),
                     "unicycler-data is not installed")
class Shigella(Scratch):
    def test_short_reads(self):
        packed = [SHIGELLA / f"short_reads_{i}.fastq.gz" for i in (1, 2)]
        plain = [self.unpacked(p) for p in packed]
        expected = self.jellyfish(51, *plain)
        for shape in (PAIR, (2, 2, ("--comp", "cq", "--devices", "shared"))):
            with self.subTest(shape=shape):
                self.assertEqual(self.count(shape, "-k", 51, *plain), expected)
        with self.subTest(shape=PAIR, files="compressed"):
            self.assertEqual(self.count(PAIR, "-k", 51, *packed), expected)

    def test_long_reads_and_a_reference_together(self):
        packed = SHIGELLA / "long_reads_high_depth.fastq.gz"
        plain = self.unpacked(packed)
        reference = SHIGELLA / "reference.fasta"
        expected = self.jellyfish(31, plain, reference)
        self.assertEqual(self.count(PAIR, "-k", 31, packed, reference), expected)


if __name__ == "__main__":
    unittest.main()
