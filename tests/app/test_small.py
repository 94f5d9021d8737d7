"""Awkward files: what jellyfish counts, kmer_count counts, however the work is dealt out."""

import random
import unittest

from support import SHAPES, Scratch, needs_jellyfish

GENOME_SIZE = 3000


def genome(rng):
    return "".join(rng.choice("ACGT") for _ in range(GENOME_SIZE))


def read_of(rng, source, longest):
    size = rng.randint(0, longest)
    at = rng.randrange(len(source) - size)
    s = list(source[at:at + size])
    for _ in range(size // 30):
        s[rng.randrange(size)] = rng.choice("ACGTNnacgtRY-")
    return "".join(s)


def folded(s, width, end):
    return "".join(s[i:i + width] + end for i in range(0, len(s), width)) or end


def fasta(rng, width, end, records=150, longest=400):
    source = genome(rng)
    return "".join(f">r{i} ACGTACGTACGTACGTACGT{end}" + folded(read_of(rng, source, longest), width, end)
                   for i in range(records))


def fastq(rng, width, end, records=150, longest=250):
    source = genome(rng)
    text = ""
    for i in range(records):
        s = read_of(rng, source, longest)
        q = "".join(rng.choice("@+>I#") for _ in s)
        if q:
            q = "@" + q[1:]
        text += f"@r{i} +{end}" + folded(s, width, end) + f"+{end}" + folded(q, width, end)
    return text


def files(seed):
    rng = random.Random(seed)
    one = 10**9
    yield "fasta", fasta(rng, one, "\n")
    yield "wrapped.fasta", fasta(rng, 60, "\n")
    yield "narrow.fasta", fasta(rng, 1, "\n", records=20)
    yield "crlf.fasta", fasta(rng, 50, "\r\n")
    yield "one_record.fasta", ">chromosome\n" + folded(genome(rng) * 3, 70, "\n")
    yield "one_line.fasta", ">chromosome\n" + genome(rng) * 3
    yield "fastq", fastq(rng, one, "\n")
    yield "crlf.fastq", fastq(rng, one, "\r\n")
    yield "wrapped.fastq", fastq(rng, 80, "\n")
    yield "unfinished.fastq", fastq(rng, one, "\n").rstrip("\n") + "\n@last\nACGTACGTACGTACGT\n+\n@@@@@@@@@@@@@@@@"
    yield "nothing_to_count.fasta", ">a\nACGTNNNNACGT\n>b\n\n"


@needs_jellyfish
class Small(Scratch):
    def for_jellyfish(self, path):
        """The file, or a copy with its last line ended: jellyfish drops reads of FASTQ files
        whose last line is not."""
        text = path.read_bytes()
        if not text.startswith(b"@") or text.endswith(b"\n"):
            return path
        return self.write(path.name + ".ended", text + b"\n")

    def compare(self, seed, shapes, lengths):
        for name, text in files(seed):
            plain = self.write(name, text)
            packed = self.packed(plain)
            for k in lengths:
                expected = self.jellyfish(k, self.for_jellyfish(plain))
                for i, shape in enumerate(shapes):
                    with self.subTest(file=name, k=k, shape=shape):
                        source = (plain, packed)[(i + k) % 2]
                        self.assertEqual(self.count(shape, "-k", k, source), expected)

    def test_every_shape_of_a_job(self):
        self.compare(1, SHAPES, [31])

    def test_every_length(self):
        self.compare(2, [SHAPES[3], SHAPES[4]], [1, 2, 15, 32, 33, 51, 63])

    def test_several_files_of_all_kinds_at_once(self):
        plain = [self.write(name, text) for name, text in files(3)]
        mixed = [p if i % 2 else self.packed(p) for i, p in enumerate(plain)]
        for k in (15, 51):
            expected = self.jellyfish(k, *map(self.for_jellyfish, plain))
            for shape in SHAPES:
                with self.subTest(k=k, shape=shape):
                    self.assertEqual(self.count(shape, "-k", k, *mixed), expected)

    def test_nothing_to_count(self):
        empty = self.write("empty", "")
        for shape in SHAPES:
            with self.subTest(shape=shape):
                self.assertEqual(self.count(shape, "-k", 15, empty), "")


if __name__ == "__main__":
    unittest.main()
