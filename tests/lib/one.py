"""Runs one test, named file:Class.method, for tests/run; or lists the tests of a file.

Exit status: 0 passed, 1 failed, 77 skipped. With --list: one line of JSON per test.
"""
import importlib.util
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import portable

SKIPPED = 77


def load(path):
    name = os.path.splitext(os.path.basename(path))[0]
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    specification.loader.exec_module(module)
    return module


def tests_of(module):
    for suite in unittest.defaultTestLoader.loadTestsFromModule(module):
        for test in suite:
            yield test


def list_tests(path):
    for test in tests_of(load(path)):
        name = test.id().split(".", 1)[1]
        function = getattr(test, test._testMethodName, None)
        print(json.dumps({"name": name, "time_limit": getattr(function, "time_limit", None),
                          "alone": getattr(function, "runs_alone", False)}))


def run(path, name):
    reason = portable.reason(os.environ.get("HERMES_TEST_BUILD", ""), path, name)
    if reason:
        print("left out:", reason, file=sys.stderr)
        return SKIPPED
    module = load(path)
    suite = unittest.defaultTestLoader.loadTestsFromName(name, module)
    result = unittest.TextTestRunner(stream=sys.stderr, verbosity=2).run(suite)
    sys.stderr.flush()
    if not result.wasSuccessful() or result.testsRun == 0:
        return 1
    return SKIPPED if result.skipped and len(result.skipped) == result.testsRun else 0


if __name__ == "__main__":
    if sys.argv[1] == "--list":
        list_tests(sys.argv[2])
        sys.exit(0)
    status = run(*sys.argv[1].split(":", 1))
    sys.stdout.flush()
    os._exit(status)  # threads of servers must not hold up the end
