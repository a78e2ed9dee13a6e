# SPDX-License-Identifier: Apache-2.0
"""TAP for tests written in Python: `import tap` and end the file with `tap.main()` in place of unittest.main()."""
import os
import sys
import unittest


def corpus():
    """Folder of the public test data, or None."""
    source = os.environ.get("JM_SOURCE", ".")
    path = os.environ.get("JOULEMARK_CORPUS") or os.path.join(source, "..", "shared", "corpus")
    return path if os.path.isdir(path) else None


class _Result(unittest.TestResult):
    count = 0

    def _say(self, ok, test, note=""):
        _Result.count += 1
        print(f"{'ok' if ok else 'not ok'} {self.count} - {test.id().split('.', 1)[-1]}{note}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._say(True, test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._say(True, test, f" # SKIP {reason}")

    def _bad(self, test, text):
        self._say(False, test)
        for line in text.splitlines():
            print(f"# {line}")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._bad(test, self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self._bad(test, self.errors[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:  # the test as a whole is not reported then
            self._say(False, subtest)
            for line in self._exc_info_to_string(err, test).splitlines():
                print(f"# {line}")


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    result = _Result()
    suite.run(result)
    print(f"1..{result.count}")
    sys.exit(0 if result.wasSuccessful() else 1)
