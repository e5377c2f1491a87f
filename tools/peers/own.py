#!/usr/bin/env python3
"""commlens-bench in its own place: the other side of a comparison with osu.py, gslib.py or nccl.py.

    OSU_HOME=FOLDER commlens compare --run bandwidth --ranks 2 \\
        --a COMMLENS_BENCH=tools/peers/osu.py --b COMMLENS_BENCH=tools/peers/own.py ...

What ran before decides where the system puts the memory of a program. With this Python process
before, instead of nothing, windows of 1 to 4 MiB were 3% faster on the machine of
docs/measuring.md. So both sides are started in the same way.
"""

from adaptor import main_itself

if __name__ == "__main__":
    main_itself()
