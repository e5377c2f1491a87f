#!/usr/bin/env python3
"""commlens-bench in its own place: the other side of a comparison with osu.py, gslib.py or nccl.py.

    OSU_HOME=FOLDER commlens compare --run bandwidth --ranks 2 \\
        --a COMMLENS_BENCH=tools/peers/osu.py --b COMMLENS_BENCH=tools/peers/own.py ...

Both sides are then started in the same way, by Python. docs/compare.md says why it matters.
"""

from adaptor import main_itself

if __name__ == "__main__":
    main_itself()
