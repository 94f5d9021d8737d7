#!/usr/bin/env python3
"""Compares the k-mer counter of the examples on LCI with the same program on MPI (bench/kmer), in turns on the same
reads; each must print the same histogram.

    python3 bench/kmer/kmer.py [--repeat 15] [--build build/release] [-o FILE.json] [READS...]

Libraries are compared with the same number of processes x threads: a process for each core; and two processes with
a thread for each core, and, on a machine with more than two cores, with as many threads as there are cores for. Each
once with the program's own large batches, and once with small ones, as in a job of many ranks (each thread fills one
for each rank). A single process with all cores sends no messages: it is compared with LCI's own process per
core. The figure is the time of the traversals of the input as the program prints it, without the start. The file has
the format of bench/compare.sh's; compare_report.py and compare.py read it.
"""

import argparse
import datetime
import gzip
import hashlib
import json
import os
import pathlib
import platform
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import compare_configs  # noqa: E402
import compare_run  # noqa: E402
import measure  # noqa: E402

READS = [pathlib.Path(p) for p in (
    "/usr/share/doc/bowtie2/examples/reads/reads_1.fq.gz",
    "/usr/share/doc/bowtie2/examples/reads/reads_2.fq.gz",
    "/usr/share/unicycler-data/sample_data/short_reads_1.fastq.gz",
    "/usr/share/unicycler-data/sample_data/short_reads_2.fastq.gz")]
BATCHES = (8192, 512)  # bytes
TRAVERSAL = re.compile(r"^traversal \d+ \(\w+\): ([0-9.]+) s", re.M)


class Launcher(compare_run.Launcher):
    """Launches programs that print a histogram, always the same, and their times on standard error."""

    histogram = None

    def once(self, variant):
        job, histogram, said = compare_run.output_of(variant.command, {**self.environment, **variant.environment})
        if job.returncode != 0:
            raise RuntimeError(f"exit status {job.returncode}: {said[-200:]}")
        seen = hashlib.sha256(histogram.encode()).hexdigest()
        self.histogram = self.histogram or seen
        if seen != self.histogram:
            raise RuntimeError("another histogram than the first launch")
        return [{"seconds": sum(float(s) for s in TRAVERSAL.findall(said))}]


def figures(build, reads, cores):
    """For each shape and batch size: LCI and each MPI. Also LCI's threads beside its processes."""
    count = ["-k", "51", *map(str, reads)]
    lcirun = str(build / "lib/tools/lcirun/lcirun")
    mpis = {"MPICH": ("mpich", ["mpiexec.mpich"]), "Open MPI": ("openmpi", compare_configs.OPENMPI)}

    def on_lci(name, processes, *options, library="lci"):
        return compare_configs.Variant(name, library, (lcirun, "-n", str(processes),
                                                       str(build / "examples/kmer_count"), *options, *count))

    def on_mpi(title, processes, *options):
        library, launcher = mpis[title]
        program = str(build / f"bench/kmer/kmer_count_{library}")
        return compare_configs.Variant(title, library, (*launcher, "-n", str(processes), program, *options, *count))

    out = []
    shapes = [("processes", cores, 1), ("threads", 2, cores)]
    if cores > 2:
        shapes.append(("halves", 2, cores // 2))
    for shape, processes, threads in shapes:
        for size in BATCHES:
            options = ("-t", str(threads), "--aggregate", str(size))
            out.append(compare_configs.Figure(
                f"kmer-{shape}-{size}", f"k-mers counted, {processes} x {threads}, batches of {size} B", "s",
                (on_lci("LCI", processes, *options), *(on_mpi(title, processes, *options) for title in mpis)),
                shown=(0,), aim={"LCI": "at most 0.83"}, field="seconds"))
    out.append(compare_configs.Figure(
        "kmer-own", "k-mers counted, LCI's threads beside its processes", "s",
        (on_lci(f"1 x {cores}", 1, "-t", str(cores)),
         on_lci(f"{cores} x 1", cores, library=compare_configs.OWN_PROCESSES)),
        shown=(0,), aim={f"1 x {cores}": "at most 1"}, field="seconds"))
    return out


def plain(reads, folder):
    """Decompresses the reads, since gzip would take most of the time."""
    folder.mkdir(parents=True, exist_ok=True)
    out = []
    for path in reads:
        if path.suffix != ".gz":
            out.append(path)
            continue
        out.append(folder / f"{len(out)}-{path.stem}")
        with gzip.open(path) as packed, open(out[-1], "wb") as unpacked:
            shutil.copyfileobj(packed, unpacked)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reads", nargs="*", type=pathlib.Path,
                        help="default: those of bowtie2-examples and, where it is there, unicycler-data")
    parser.add_argument("--build", type=pathlib.Path, default=measure.ROOT / "build" / "release")
    parser.add_argument("--repeat", type=int, default=15, help="launches of each configuration (default 15)")
    parser.add_argument("-o", "--output", type=pathlib.Path)
    args = parser.parse_args()
    build = args.build.resolve()
    reads = args.reads or [p for p in READS if p.exists()]
    if not reads:
        parser.error("no reads; Debian: bowtie2-examples")
    if not (build / "examples/kmer_count").exists():
        parser.error(f"{build}/examples/kmer_count is not there; bash bench/kmer.sh builds it")
    missing = {p: f"apt-get install {compare_configs.PACKAGES[p]}; then build again"
               for p in ("mpich", "openmpi")
               if not (build / f"bench/kmer/kmer_count_{p}").exists()}
    launch = Launcher()
    all_figures = figures(build, plain(reads, build / "bench/kmer/reads"), len(os.sched_getaffinity(0)))
    launches, failed = compare_run.run(all_figures, args.repeat, launch, missing,
                                       lambda text: print(text, file=sys.stderr, flush=True))
    output = args.output or build / "compare" / "kmer.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps({
        "command": "bash bench/kmer.sh " + " ".join(sys.argv[1:]), "date": datetime.date.today().isoformat(),
        "host": platform.node(), "machine": measure.machine(build / "bench" / "lci_perf"),
        "versions": compare_run.versions(),
        "repeat": args.repeat, "missing": missing,
        "disturbed": {"repeated": launch.disturbed, "kept": launch.kept_disturbed},
        "figures": {f.key: compare_run.describe(f) for f in all_figures}, "launches": launches, "failed": failed},
        indent=1) + "\n")
    print(output)


if __name__ == "__main__":
    main()
