"""`python -m millibox` is the command `millibox`."""

import os
import sys

from ._judge import command


def main() -> None:
    path = os.fspath(command())
    os.execv(path, ["millibox", *sys.argv[1:]])


if __name__ == "__main__":
    main()
