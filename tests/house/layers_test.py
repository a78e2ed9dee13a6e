# SPDX-License-Identifier: Apache-2.0
"""tools/check-layers holds over this tree, and finds each kind of violation in a tree that has it."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import tap

SOURCE = os.environ["JM_SOURCE"]
TOOL = os.path.join(SOURCE, "tools", "check-layers")
SPDX = "/* SPDX-License-Identifier: Apache-2.0 */\n"
GOOD = {
    "src/base/banned.h": SPDX + "#pragma GCC poison strcpy atoi\n",
    "src/base/err.h": SPDX + "int jm_err(void);\n",
    "src/base/clock.c": SPDX + '#include <time.h>\n#include "base/banned.h"\nint jm_now(void);\n'
                               "int jm_now(void) { struct timespec t; return clock_gettime(CLOCK_MONOTONIC, &t); }\n",
    "src/model/word.h": SPDX + '#include "base/err.h"\n',
    "src/compute/sum.c": SPDX + '#include "model/word.h"\n/* not strcpy("atoi") */\n#include "base/banned.h"\n'
                                'int jm_sum(void);\nconst char *const jm_names[] = {"strcpy"};\nint jm_sum(void) { return 1; }\n',
    "src/cli/main.c": SPDX + '#include <stdio.h>\n#include "compute/sum.h"\n#include "base/banned.h"\n'
                             'int main(void) { puts("x"); return 0; }\n',
    "src/compute/sum.h": SPDX,
    "sim/gpu.c": SPDX + '#include "gpu.h"\n',
    "sim/gpu.h": SPDX,
    "sim/meson.build": "# jm_dep is not for us\n",
}


class Layers(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)

    def check(self, changes, compiled=()):
        files = dict(GOOD, **changes)
        for path, text in files.items():
            path = os.path.join(self.dir, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        os.makedirs(os.path.join(self.dir, "tools"), exist_ok=True)
        shutil.copy(os.path.join(SOURCE, "tools", "layers.tsv"), os.path.join(self.dir, "tools"))
        command = [sys.executable, TOOL, "--root", self.dir]
        if compiled:
            objects = []
            for path in compiled:
                objects.append(os.path.join(self.dir, path.replace("/", "_") + ".o"))
                subprocess.run(["cc", "-O0", "-I", os.path.join(self.dir, "src"), "-c", os.path.join(self.dir, path), "-o", objects[-1]], check=True)
            subprocess.run(["ar", "rc", os.path.join(self.dir, "libjm.a"), *objects], check=True)
            command += ["--lib", os.path.join(self.dir, "libjm.a")]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False)
        return done.returncode, done.stdout

    def found(self, changes, text, compiled=()):
        status, out = self.check(changes, compiled)
        self.assertEqual(status, 1, out)
        self.assertIn(text, out)
        self.assertIn(" 1 broken", out)

    def test_this_tree(self):
        command = [sys.executable, TOOL]
        lib = os.environ.get("JM_LAYERS_LIB")
        if lib:
            command += ["--lib", lib]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_good_tree(self):
        status, out = self.check({}, ["src/base/clock.c", "src/compute/sum.c"])
        self.assertEqual(status, 0, out)

    def test_a_room_that_is_not_its_own(self):
        self.found({"src/model/word.h": SPDX + '#include "compute/sum.h"\n'}, "room model includes")

    def test_base_uses_nobody(self):
        self.found({"src/base/err.h": SPDX + '#include "model/word.h"\n'}, "room base includes")

    def test_a_room_without_a_row(self):
        self.found({"src/attic/a.h": SPDX}, "room 'attic' is not in")

    def test_the_library_behind_a_room(self):
        self.found({"src/compute/sum.h": SPDX + "#include <sqlite3.h>\n"}, "includes <sqlite3.h>")

    def test_a_vendor_header(self):
        self.found({"src/meter/n.h": SPDX + "#include <nvml.h>\n"}, "includes <nvml.h>")

    def test_an_include_that_climbs(self):
        self.found({"src/model/word.h": SPDX + '#include "../base/err.h"\n'}, "write it from src")

    def test_an_include_from_beside(self):
        self.found({"src/compute/sum.h": SPDX + '#include "part.h"\n', "src/compute/part.h": SPDX}, "write it from src")

    def test_the_program_uses_no_simulated_part(self):
        self.found({"src/model/word.h": SPDX + '#include "sim/gpu.h"\n'}, "of the simulated parts")

    def test_a_simulated_part_uses_nothing_of_the_program(self):
        self.found({"sim/gpu.h": SPDX + '#include "base/err.h"\n'}, "their truth must be their own")
        self.found({"sim/gpu.h": SPDX + '#include "../src/base/err.h"\n'}, "their truth must be their own")

    def test_a_simulated_part_links_nothing_of_the_program(self):
        self.found({"sim/meson.build": "executable('x', dependencies: jm_dep)\n"}, "uses jm_dep")

    def test_a_banned_function(self):
        text = GOOD["src/compute/sum.c"] + "char *jm_bad(char *a) { return strcpy(a, a); }\n"
        self.found({"src/compute/sum.c": text}, "sum.c:8: uses strcpy")

    def test_the_ban_is_included_last(self):
        self.found({"src/compute/sum.c": SPDX + '#include "base/banned.h"\n#include "model/word.h"\n'}, "as its last include")

    def test_a_file_without_its_licence(self):
        self.found({"src/compute/sum.h": "int x;\n"}, "does not name the licence")

    def test_a_long_file_is_a_warning(self):
        status, out = self.check({"src/compute/sum.h": SPDX + "\n" * 600})
        self.assertEqual(status, 0, out)
        self.assertIn("warning: src/compute/sum.h: 601 lines", out)

    def symbols(self, path, body, text, head=""):
        self.found({path: SPDX + head + '#include "base/banned.h"\nint jm_x(void);\n' + body + "\n"}, text, [path])

    def test_a_pure_room_opens_no_socket(self):
        self.symbols("src/compute/x.c", "int jm_x(void) { return socket(1, 1, 0); }", "refers to socket", "#include <sys/socket.h>\n")

    def test_a_pure_room_reads_no_clock(self):
        self.symbols("src/show/x.c", "int jm_x(void) { return (int)time(0); }", "refers to time", "#include <time.h>\n")

    def test_only_the_clock_asks_the_kernel(self):
        self.symbols("src/record/x.c", "int jm_x(void) { struct timespec t; return clock_gettime(0, &t); }",
                     "refers to clock_gettime; a library room does not (only base/clock.c may)", "#include <time.h>\n")

    def test_a_library_room_never_prints(self):
        self.symbols("src/run/x.c", 'int jm_x(void) { return fputs("x", stderr); }', "refers to stderr", "#include <stdio.h>\n")
        self.symbols("src/run/x.c", 'int jm_x(void) { return puts("x"); }', "refers to puts", "#include <stdio.h>\n")

    def test_a_library_room_never_exits(self):
        self.symbols("src/load/x.c", "int jm_x(void) { abort(); }", "refers to abort", "#include <stdlib.h>\n")

    def test_a_library_room_installs_no_signal_handler(self):
        self.symbols("src/meter/x.c", "int jm_x(void) { return signal(1, SIG_IGN) != 0; }", "refers to signal", "#include <signal.h>\n")

    def test_a_library_room_keeps_no_state(self):
        self.symbols("src/meter/x.c", "int jm_x(void) { static int n; return n++; }", "keeps the variable n")
        self.symbols("src/meter/x.c", "static int seen = 3;\nint jm_x(void) { return seen++; }", "keeps the variable seen")

    def test_the_program_may_do_all_that(self):
        status, out = self.check({}, ["src/cli/main.c", "src/base/clock.c"])
        self.assertEqual(status, 0, out)


if __name__ == "__main__":
    tap.main()
