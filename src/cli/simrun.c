/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/simrun.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "base/file.h"
#include "import/import.h"

#include "base/banned.h"

struct asked {
    const char *out, *label;
    bool minutes, force, help;
    char **argv; /* what goes to the simulation, room for four more */
    int argc;
};

/* The value of an option written as "-o X", "--output X" or "--output=X"; NULL: it is none of that name. */
static const char *value(char **rest, int n, int *i, const char *shorter, const char *longer)
{
    size_t len = strlen(longer);
    if (strncmp(rest[*i], longer, len) == 0 && rest[*i][len] == '=')
        return rest[*i] + len + 1;
    if ((shorter && strcmp(rest[*i], shorter) == 0) || strcmp(rest[*i], longer) == 0)
        return *i + 1 < n ? rest[++*i] : "";
    return NULL;
}

static void look(const struct jm_cli *cli, struct asked *a)
{
    char **rest = cli->rest;
    const char *v;
    for (int i = 0; i < cli->n_rest && strcmp(rest[i], "--") != 0; i++) {
        if ((v = value(rest, cli->n_rest, &i, "-o", "--output")))
            a->out = v;
        else if ((v = value(rest, cli->n_rest, &i, NULL, "--label")))
            a->label = v;
        else if (strcmp(rest[i], "--force") == 0)
            a->force = true;
        else {
            a->minutes |= strcmp(rest[i], "--minutes") == 0 || strncmp(rest[i], "--minutes=", 10) == 0;
            a->help |= strcmp(rest[i], "--help") == 0;
            if (a->argv)
                a->argv[a->argc++] = rest[i];
        }
    }
}

bool jm_simrun_asked(const struct jm_cli *cli)
{
    struct asked a = {0};
    look(cli, &a);
    return cli->n_rest > 0 && strcmp(cli->rest[0], "node") == 0 && a.minutes && a.out && !a.help;
}

/* The exit status of the simulation, or a negative JM_E*. What was wrong it said itself. */
static int simulate(const char *sim, char **argv, struct jm_err *err)
{
    pid_t parent = getpid(), pid = fork();
    int status;
    if (pid < 0)
        return jm_err_sys(err, errno, "the simulated node cannot be started");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() == parent)
            execv(sim, argv);
        fprintf(stderr, "joulemark: cannot run %s: %s\n", sim, strerror(errno));
        _exit(JM_EXIT_SYSTEM);
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return jm_err_sys(err, errno, "the simulated node cannot be waited for");
    return WIFSIGNALED(status) ? JM_EXIT_SYSTEM : WEXITSTATUS(status);
}

int jm_simrun(struct jm_cli *cli, const char *sim, struct jm_err *err)
{
    struct asked a = {.argv = calloc((size_t)cli->n_rest + 4, sizeof *a.argv)};
    struct jm_str temp, text;
    if (!a.argv)
        return jm_err_set(err, JM_ENOMEM, "out of memory");
    look(cli, &a);
    jm_str_init(&temp);
    jm_str_init(&text);
    jm_str_addf(&temp, "%s.readings", a.out);
    int rc = *a.out ? jm_str_ok(&temp, "a file name", err)
                    : jm_err_set(err, JM_EUSAGE, "-o needs the name of the run file to write");
    if (!rc && !a.force && access(a.out, F_OK) == 0)
        rc = jm_err_set(err, JM_ECONFLICT, "%s is there already; --force writes over it", a.out);
    if (!rc)
        rc = jm_file_mkparents(a.out, err);
    if (!rc) {
        char *name = a.argv[0], readings[] = "--readings";
        a.argv[a.argc++] = readings;
        a.argv[a.argc++] = temp.buf;
        /* argv of the simulation begins with a name of the program */
        char **argv = calloc((size_t)a.argc + 2, sizeof *argv);
        if (argv) {
            argv[0] = name;
            memcpy(argv + 1, a.argv, (size_t)a.argc * sizeof *argv);
            rc = simulate(sim, argv, err);
        } else {
            rc = jm_err_set(err, JM_ENOMEM, "out of memory");
        }
        free(argv);
    }
    if (!rc) {
        const struct jm_import_opts io = {.label = a.label, .overwrite = a.force, .log = &cli->log};
        const struct jm_importer *imp = jm_importer_find("sim-node", temp.buf, err);
        rc = imp ? imp->import(temp.buf, a.out, &io, err) : JM_EPARSE;
    }
    if (temp.buf && *a.out)
        unlink(temp.buf);
    if (!rc) {
        jm_str_addf(&text, "%s\n", a.out);
        jm_cli_out(cli, jm_str_span(&text));
    }
    jm_str_release(&text);
    jm_str_release(&temp);
    free(a.argv);
    return rc;
}
