/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmds.h"
#include "cli/find.h"
#include "cli/simrun.h"

#include "base/banned.h"

static int sim(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    char path[JM_FIND_PATH];
    (void)opts;
    int rc = jm_find_sim(path, err);
    if (rc)
        return rc;
    if (jm_simrun_asked(cli))
        return jm_simrun(cli, path, err);
    /* rest begins after the command's name, so the word before it is there to become the program's name */
    char **argv = cli->rest - 1;
    argv[0] = path;
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    execv(path, argv);
    return jm_err_sys(err, errno, "cannot run %s", path);
}

const struct jm_cmd jm_cmd_sim = {
    .name = "sim",
    .group = "Simulated parts",
    .summary = "Start simulated parts with a known truth (GPUs, engine, meters)",
    .usage = "{gpu|engine|node|ptd|analyzer|bmc|pdu} [OPTIONS]",
    .description =
        "Runs joulemark-sim, which is installed beside joulemark: joulemark sim --help lists its parts and "
        "options.\n\n"
        "sim node --minutes N -o FILE simulates a node with every instrument on it in virtual time, without "
        "waiting, and writes a run file; --label and --force are as in import. Nothing that a simulated part "
        "says is ever shown as measured.",
    .examples = "joulemark sim node # eight simulated GPUs and an engine on them\n"
                "joulemark sim node --minutes 10 -o out/node.jmr # from the board to the wall, at once",
    .flags = JM_CMD_RAW,
    .fn = sim,
};
