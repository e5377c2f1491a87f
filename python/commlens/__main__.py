"""`python -m commlens`: the same as the command `commlens`."""

from commlens.cli import main

if __name__ == "__main__":
    main()
