"""Stands in for the native program: answers like it, and fails in the ways that FAKE_MODE names.
No MPI."""

import json
import os
import re
import signal
import sys
import time
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from sample_applications import make_transform_record
from sample_records import declare, lines, make_record

RANK = int(os.environ.get("FAKE_RANK", "0"))
RANKS = int(os.environ.get("FAKE_RANKS", "2"))
# What goes wrong, on so many ranks or on any number of them.
FAILS = os.environ.get("FAKE_MODE_RANKS", str(RANKS)) == str(RANKS)
MODE = os.environ.get("FAKE_MODE", "ok") if FAILS else "ok"
ENDED_BY_RANK_1 = ("die", "die among many", "leave", "ended", "crash said")
STATUS = int(os.environ.get("FAKE_STATUS", "0"))
BACKEND = os.environ.get("FAKE_BACKEND", "host")
COMMON = (
    "transport", "memory", "batches", "repeat", "warmup", "record", "format", "gpu-aware-mpi-off",
    "no-ceilings", "no-parts", "timeout", "timing", "max-time", "until-ci", "parts", "no-validate",
)  # fmt: skip
PAGE = Path(__file__).resolve().parents[3] / "docs" / "records-reference.md"


@cache
def declared():
    """The options of each benchmark, as the documentation has them."""
    table = PAGE.read_text(encoding="utf-8").partition("<!-- keys -->")[2]
    rows = re.findall(r"^\| `(\S+)` \| (.*)$", table.partition("<!-- /keys -->")[0], re.MULTILINE)
    return {name: re.findall(r"`([\w-]+)`", cells.replace("_", "-")) for name, cells in rows}


def option(name, default=None):
    words = [*sys.argv[2:], ""]
    return words[words.index(f"--{name}") + 1] if f"--{name}" in words else default


def describe(name, *own):
    options = [
        {
            "name": option,
            "default": "1" if option == "pairs" else "",
            "help": "",
            "role": "size" if option == "bytes" else "setting",
            "unit": "B" if option == "bytes" else "",
        }
        for option in own
    ]
    return {
        "name": name,
        "description": f"what {name} measures",
        "options": options,
        "metrics": declare(name, own, ["latency_us"])["metrics"],
        "facts": [],
    }


def mistake_in(words):
    import difflib  # takes as long to import as all others

    own = declared()[words[0]]
    opposites = [f"out-of-{name[3:]}" if name.startswith("in-") else f"no-{name}" for name in own]
    known = [f"--{name}" for name in (*own, *opposites, *COMMON)]
    for word in words[1:]:
        name = word.partition("=")[0]
        if word.startswith("--") and name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            asked = f"did you mean {near[0]}? See" if near else "see"
            return (
                f"no option '{name}'{':' if near else ';'} {asked} commlens run {words[0]} --help"
            )
    return ""


def error(message):
    if RANK == 0:
        print(f"commlens: {message}", file=sys.stderr, flush=True)


def die(name):
    os.kill(os.getpid(), getattr(signal, name))
    time.sleep(10)


def tell(number, _):
    """As the native program when it is asked to end."""
    name = signal.Signals(number).name
    print(f"commlens: ended by {name} while timing", file=sys.stderr, flush=True)
    signal.signal(number, signal.SIG_DFL)
    die(name)


def about():
    return {
        "version": "0.1.0",
        "backend": BACKEND,
        "gpus": int(os.environ.get("FAKE_GPUS", "0")),
        "transports": os.environ.get("FAKE_TRANSPORTS", "mpi,staged").split(","),
        "formats": ["table", "json", "osu", "dftfe"],
        "mpi": os.environ.get("FAKE_MPI", "Open MPI 4.1.4"),
        "mpi_family": os.environ.get("FAKE_MPI_FAMILY", "openmpi"),
    }


def probe():
    """Prints what the lines of FAKE_PROBE say; `die SIGSEGV` and `sleep` are done instead."""
    for line in Path(os.environ["FAKE_PROBE"]).read_text().splitlines():
        word, _, rest = line.partition(" ")
        if word == "die" and RANK == 0:
            die(rest)
        elif word == "die":
            time.sleep(60)  # the launcher ends it, once rank 0 has said what it was at
        elif word == "sleep":
            time.sleep(60)
        elif f'"rank":{RANK}' in line:
            print(line, flush=True)


def of_start():
    """What the start of all records is."""
    return {
        "start": f"start-{RANKS}-{os.getpid()}",
        "command": sys.argv,
        "environment": {
            name: "***" if "TOKEN" in name or "://" in value else value
            for name, value in os.environ.items()
            if name.startswith(("UCX_", "OMPI_"))
        },
    }


def write_record(number, **changes):
    """Rank 0's, as in the native program."""
    if RANK == 0:
        print(f"row {number}", flush=True)
        placement = [
            {"rank": rank, "host": "node", "cores": "0-3", "numa_nodes": "0"}
            for rank in range(RANKS)
        ]
        common = {"benchmark": sys.argv[1], "memory": "host", "ranks": RANKS, **of_start()}
        if MODE.startswith("expect "):
            common["records"] = int(MODE.split()[1])
        keep([make_record(bytes=2**number, placement=placement, **common, **changes)])


def write_both_variants():
    """The more ranks, the more the cached one gains."""
    times = {"per-transpose": (100 + RANKS) / RANKS, "cached": 100 / RANKS}
    if RANK == 0:
        keep([
            make_transform_record(name, ranks=RANKS, together_ms=time, **of_start())
            for name, time in times.items()
        ])  # fmt: skip


def tuned():
    """Figures that depend on settings: FAKE_A=good halves them, and FAKE_X says what goes wrong."""
    trouble = os.environ.get("FAKE_X")
    if trouble == "crash":
        die("SIGSEGV")
    if trouble == "hang":
        time.sleep(60)
    if trouble == "wrong":
        failed = {"status": "failed", "checks": 1, "elements": 1, "message": "element 3 is wrong"}
        write_record(0, status="failed", reason="wrong result", validation=failed)
        return 1
    factor = {"good": 0.5, "bad": 2.0, "awful": 9.0}.get(os.environ.get("FAKE_A"), 1.0)
    factor *= 0.8 if option("window") == "8" else 1.0
    times = {"mpi": 100 * factor, "staged": 50 if "FAKE_A" in os.environ else 60, "ccl": 7}
    for number in (0, 20):
        if factor == 9 and number:
            time.sleep(60)
        for transport in option("transport", "mpi").split(","):
            time_us = times[transport] * (1 + os.getpid() % 7 / 1000)
            write_record(number, median_us=time_us, transport=transport)
    return STATUS


def keep(records):
    """The start's line first, and only once."""
    path = option("record")
    if not path:
        return
    has_start = Path(path).is_file() and Path(path).stat().st_size > 0
    with Path(path).open("a") as file:
        file.writelines(lines(records)[1 if has_start else 0 :])


def wait_for_records(number):
    """Until rank 0 has written them, for those that end the job."""
    deadline = time.monotonic() + 20
    path = Path(option("record", "/dev/null"))
    while path.is_file() and time.monotonic() < deadline:
        if path.read_text().count("\n") > number:
            return
        time.sleep(0.01)


def benchmark():
    expected = option("expect-ranks", str(RANKS))
    if expected != str(RANKS):
        error(f"{expected} ranks were asked for, but MPI has {RANKS}")
        return 2
    if RANK != 0 and (option("repeat") == "0" or MODE in ("wrong", "stall", "skip") or STATUS):
        time.sleep(60)  # rank 0 speaks for all, and the launcher ends the others
    if option("repeat") == "0":
        error("--repeat 0: must be at least 1")
        return 2
    if MODE in ("die among many", "wait and tell"):
        signal.signal(signal.SIGTERM, tell)
    if MODE == "die early":
        die("SIGKILL")
    if MODE == "tuned":
        return tuned()
    if sys.argv[1] == "fft":
        write_both_variants()
    else:
        for number in range(3):
            write_record(number)
    if MODE == "old records" and RANK == 0:
        with Path(option("record")).open("a") as file:
            file.write('{"schema": 1}\n')
    if MODE == "progress" and RANK == 0:
        print("commlens progress: size 3 of 4", file=sys.stderr, flush=True)
    if RANK == 1 and MODE in ENDED_BY_RANK_1:
        wait_for_records(3)
    if MODE == "leave" and RANK == 1:
        sys.exit(int(os.environ["FAKE_LEFT"]))
    if MODE == "ended" and RANK == 1:
        tell(signal.SIGTERM, None)
    if MODE in ("die", "die among many") and RANK == 1:
        die("SIGKILL")
    if MODE == "crash said" and RANK == 1:
        print("commlens: rank 1 crashed (SIGSEGV) in MPI_Send", file=sys.stderr, flush=True)
        die("SIGSEGV")
    if MODE == "stubborn":
        for name in ("SIGINT", "SIGTERM"):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    if MODE == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
    if MODE == "daemon" and os.fork() == 0:
        os.setsid()
        time.sleep(60)
    if MODE in (*ENDED_BY_RANK_1, "wait", "wait and tell", "stubborn"):
        time.sleep(60)
    if MODE == "wrong":
        write_record(3, status="failed", reason="wrong result")
        return 1
    if MODE == "stall":
        error("no rank has made progress for 1 s: rank 0 in MPI_Recv")
        return 3
    if MODE == "skip":
        write_record(3, status="skipped", reason="no GPU here")
        return 4
    return STATUS


def main():
    first = sys.argv[1]
    if first == "--about":
        print(json.dumps(about()))
    elif first == "--list":
        print(json.dumps([describe(name, *options) for name, options in declared().items()]))
    elif first == "--check":
        print(json.dumps([mistake_in(line["words"]) for line in json.load(sys.stdin)]))
    elif "--help" in sys.argv:
        print(f"options of the native {first}")
    elif first == "probe":
        probe()
    else:
        return benchmark()
    return 0
