"""python -m acp_adapter [options of hermes-acp]: becomes hermes-acp, which is looked for on PATH.

The process is replaced, so the client speaks to hermes-acp itself and nothing stands between them.
Relative folders of PATH do not count: the folder of the call may belong to somebody else.
"""
import os
import sys

PROGRAM = "hermes-acp"
NOT_FOUND = 127


def find_program():
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, PROGRAM)
        if os.path.isabs(folder) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def main():
    program = find_program()
    if program is None:
        print(f"acp_adapter: {PROGRAM} is not on PATH; install it first", file=sys.stderr)
        return NOT_FOUND
    try:
        os.execv(program, [program, *sys.argv[1:]])
    except OSError as error:
        print(f"acp_adapter: {program}: {error.strerror}", file=sys.stderr)
        return NOT_FOUND


if __name__ == "__main__":
    sys.exit(main())
