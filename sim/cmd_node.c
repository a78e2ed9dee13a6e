/* SPDX-License-Identifier: Apache-2.0 */
/* joulemark-sim node: simulated GPUs and, each in a process of its own as in life, engines that drive them.
 */
#include "sim_main.h"

#include "engine/options.h"
#include "node/cmd_virtual.h"
#include "simgpu_conf.h"
#include "simgpu_json.h"
#include "simgpu_open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_ENGINES 16
#define START_MS    10000

struct engine {
    struct sim_options opt;
    char spec[256]; /* its own copy, cut up */
    pid_t pid;
    int pipe;
    char url[160];
    char truth[PATH_MAX + 32];
};

struct node {
    struct simgpu_conf conf;
    struct sim_options common;
    struct engine engine[MAX_ENGINES];
    int n;
    const char *state, *truth, *lib;
    char **command;
    bool temporary;
    char path[PATH_MAX], library[PATH_MAX];
    sigset_t before;
};

static void help(void)
{
    puts("usage: joulemark-sim node [OPTION]... [-- COMMAND...]\n\n"
         "Simulates a node: GPUs whose true power is known, and engines that drive them by\n"
         "what they serve. One line of JSON tells where everything is; then it serves until\n"
         "SIGTERM, or until COMMAND ends, which finds the GPUs through NVML and the engine in\n"
         "JOULEMARK_SIM_URL and JOULEMARK_SIM_MODEL.\n\n"
         "  --engine MODEL[:KEY=VALUE,...]\n"
         "                        an engine with its own options, as 8b-h100:gpus=4,port=8000;\n"
         "                        may be given again. Without gpus= it gets the next free ones.\n"
         "                        Without --engine there is one 70b-4xh100 on GPUs 0-3\n"
         "  --gpus N              GPUs of the node (8)\n"
         "  --state FILE          keep the state of the GPUs under this name\n"
         "  --truth FILE          at the end, write what really happened (GPUs and requests)\n"
         "  --lib FILE            another libnvidia-ml.so.1\n"
         "  --minutes N           the whole node and all its instruments in virtual time instead,\n"
         "                        without waiting; --minutes 1 --help tells more\n\n"
         "Every option of joulemark-sim gpu but --waveform and --virtual describes the GPUs, every\n"
         "other one of joulemark-sim engine all engines (--speed, --api-key, ...). --fault is about\n"
         "GPUs; an engine has fault= among its own options.");
}

static int refuse(const char *why)
{
    char text[600];
    snprintf(text, sizeof text, "node: %s", why);
    return sim_fail(SIM_USAGE, text);
}

static int broken(const char *why)
{
    char text[600];
    snprintf(text, sizeof text, "node: %s", why);
    return sim_fail(SIM_SYSTEM, text);
}

/* "MODEL:key=value,key=value" */
static int engine_spec(struct node *nd, const char *spec)
{
    char why[512];
    if (nd->n == MAX_ENGINES)
        return refuse("there are too many engines.");
    struct engine *e = &nd->engine[nd->n];
    if (strlen(spec) >= sizeof e->spec)
        return refuse("the description of an engine is too long.");
    memcpy(e->spec, spec, strlen(spec) + 1);
    e->opt = nd->common;
    e->opt.model = e->spec;
    char *rest = strchr(e->spec, ':');
    if (rest)
        *rest++ = 0;
    while (rest && *rest) {
        char *item = rest, *comma = strchr(rest, ',');
        if (comma)
            *comma = 0;
        rest = comma ? comma + 1 : NULL;
        char *eq = strchr(item, '=');
        if (eq)
            *eq = 0;
        if (strcmp(item, "state") == 0 || strcmp(item, "truth") == 0)
            return refuse("state and truth belong to the node, not to an engine.");
        if (sim_option_set(&e->opt, item, strlen(item), eq ? eq + 1 : NULL, why, sizeof why) < 0)
            return refuse(why);
    }
    nd->n++;
    return 0;
}

/* *engines: the second pass, in which the engines are read, since options for all may come after them. */
static int option(struct node *nd, const char *arg, const char *next, bool engines, int *used)
{
    char why[512], name[64];
    const char *eq = strchr(arg, '=');
    size_t n = eq ? (size_t)(eq - arg) : strlen(arg);
    if (n < 3 || n >= sizeof name || strncmp(arg, "--", 2) != 0) {
        snprintf(why, sizeof why, "\"%.60s\" is no option; --help lists all.", arg);
        return refuse(why);
    }
    memcpy(name, arg, n);
    name[n] = 0;
    const char *key = name + 2, *value = eq ? eq + 1 : next;
    const struct simgpu_key *k = simgpu_key_find(key, n - 2);
    const char **own = strcmp(key, "state") == 0   ? &nd->state
                       : strcmp(key, "truth") == 0 ? &nd->truth
                       : strcmp(key, "lib") == 0   ? &nd->lib
                                                   : NULL;
    if (strcmp(key, "waveform") == 0 || strcmp(key, "virtual") == 0) {
        snprintf(why, sizeof why, "%s does not fit a node, whose GPUs are driven in real time.", name);
        return refuse(why);
    }
    bool flag = k && k->flag, engine = strcmp(key, "engine") == 0, gpu = strcmp(key, "gpu") == 0;
    if (own || engine || gpu || k) {
        *used = !eq && !flag;
        if (!flag && (!value || !*value)) {
            snprintf(why, sizeof why, "%s needs a value.", name);
            return refuse(why);
        }
        if (own)
            *own = value;
        if (engine && engines && value)
            return engine_spec(nd, value);
        if (engine || engines || own)
            return 0;
        int e = gpu ? simgpu_conf_say_gpu(&nd->conf, value, name, why, sizeof why)
                    : simgpu_conf_say(&nd->conf, -1, key, flag ? "" : value, name, why, sizeof why);
        if (e)
            return e == -EINVAL ? refuse(why) : broken(why);
        if (strcmp(key, "seed") != 0)
            return 0;
    }
    int u = sim_option_set(&nd->common, key, n - 2, value, why, sizeof why);
    if (u < 0)
        return refuse(why);
    *used = u && !eq;
    return 0;
}

/* Gives engines without gpus= the next free ones, and checks that none is driven twice. */
static int place(struct node *nd)
{
    uint64_t taken = 0;
    char why[512];
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < nd->n; i++) {
            struct sim_options *o = &nd->engine[i].opt;
            struct sim_model m;
            if (sim_model_parse((const char *)sim_models_tsv, sim_models_tsv_len, o->model, &m, why,
                                sizeof why) < 0)
                return refuse(why);
            if ((o->gpus == 0) != pass)
                continue;
            for (int g = 0; pass && o->gpus < m.gpus && g < 64; g++)
                if (!(taken >> g & 1))
                    o->gpu[o->gpus++] = g;
            if (o->gpus != m.gpus) {
                snprintf(why, sizeof why, "the model %s runs on %d GPUs.", o->model, m.gpus);
                return refuse(why);
            }
            for (int g = 0; g < o->gpus; g++) {
                if (o->gpu[g] >= nd->conf.gpus) {
                    snprintf(why, sizeof why, "the engine %s needs GPU %d, but the node has %d.", o->model,
                             o->gpu[g], (int)nd->conf.gpus);
                    return refuse(why);
                }
                if (taken >> o->gpu[g] & 1) {
                    snprintf(why, sizeof why, "GPU %d is given to two engines.", o->gpu[g]);
                    return refuse(why);
                }
                taken |= UINT64_C(1) << o->gpu[g];
            }
        }
    return 0;
}

static int make_state(struct node *nd)
{
    char why[512];
    if (nd->state)
        snprintf(nd->path, sizeof nd->path, "%s", nd->state);
    else {
        snprintf(nd->path, sizeof nd->path, "%s/joulemark-sim-node.XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        int fd = mkstemp(nd->path);
        if (fd < 0) {
            snprintf(why, sizeof why, "no state file can be made: %s.", strerror(errno));
            return broken(why);
        }
        close(fd);
        nd->temporary = true;
    }
    int e = simgpu_create(&nd->conf, nd->path, why, sizeof why);
    if (e)
        return e == -EINVAL ? refuse(why) : broken(why);
    char *full = realpath(nd->path, NULL);
    if (full && strlen(full) < sizeof nd->path)
        memcpy(nd->path, full, strlen(full) + 1);
    free(full);
    return 0;
}

static void tell(void *self, struct sim_engine *e)
{
    int fd = *(int *)self;
    const char *host = strchr(e->opt.host, ':') ? "[::1]" : e->opt.host;
    dprintf(fd, "http://%s:%d\n", host, e->http.port);
    close(fd);
}

static int start(struct node *nd, struct engine *e, pid_t parent)
{
    int fd[2];
    snprintf(e->truth, sizeof e->truth, "%s.truth%d", nd->path, (int)(e - nd->engine));
    e->opt.state = nd->path;
    e->opt.truth = nd->truth ? e->truth : NULL;
    if (pipe2(fd, O_CLOEXEC) < 0 || (e->pid = fork()) < 0)
        return broken("an engine cannot be started.");
    if (e->pid == 0) {
        close(fd[0]);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            _exit(SIM_SYSTEM);
        sigprocmask(SIG_SETMASK, &nd->before, NULL);
        int status = sim_engine_run(&e->opt, tell, &fd[1]);
        fflush(NULL);
        _exit(status);
    }
    close(fd[1]);
    e->pipe = fd[0];
    size_t n = 0;
    struct pollfd p = {.fd = e->pipe, .events = POLLIN};
    while (n + 1 < sizeof e->url && !memchr(e->url, '\n', n) && poll(&p, 1, START_MS) > 0) {
        ssize_t k = read(e->pipe, e->url + n, sizeof e->url - 1 - n);
        if (k <= 0)
            break;
        n += (size_t)k;
    }
    close(e->pipe);
    if (n == 0 || e->url[n - 1] != '\n')
        return broken("an engine did not start.");
    e->url[n - 1] = 0;
    return 0;
}

static json_t *engines_json(const struct node *nd)
{
    json_t *list = json_array();
    for (int i = 0; i < nd->n; i++) {
        const struct engine *e = &nd->engine[i];
        json_t *gpus = json_array();
        for (int g = 0; g < e->opt.gpus; g++)
            json_array_append_new(gpus, json_integer(e->opt.gpu[g]));
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:i, s:o}", "url", e->url, "model",
                                              e->opt.served ? e->opt.served : e->opt.model, "constants",
                                              e->opt.model, "pid", (int)e->pid, "gpus", gpus));
    }
    return list;
}

static int say(const struct node *nd)
{
    json_t *j =
        json_pack("{s:b, s:s, s:s, s:s, s:s, s:i, s:I, s:o}", "simulated", 1, "url", nd->engine[0].url,
                  "model", nd->engine[0].opt.served ? nd->engine[0].opt.served : nd->engine[0].opt.model,
                  "state", nd->path, "lib", nd->library, "pid", (int)getpid(), "gpus",
                  (json_int_t)nd->conf.gpus, "engines", engines_json(nd));
    char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;
    int rc = text && printf("%s\n", text) > 0 && fflush(stdout) == 0
                 ? 0
                 : broken("standard output cannot be written.");
    free(text);
    json_decref(j);
    return rc;
}

static void command(const struct node *nd)
{
    char dir[PATH_MAX], path[2 * PATH_MAX];
    const char *old = getenv("LD_LIBRARY_PATH");
    memcpy(dir, nd->library, sizeof dir);
    *strrchr(dir, '/') = 0;
    snprintf(path, sizeof path, "%s%s%s", dir, old && *old ? ":" : "", old && *old ? old : "");
    setenv(SIMGPU_ENV, nd->path, 1);
    setenv("JM_NVML_LIB", nd->library, 1);
    setenv("LD_LIBRARY_PATH", path, 1);
    setenv("JOULEMARK_SIM_URL", nd->engine[0].url, 1);
    setenv("JOULEMARK_SIM_MODEL",
           nd->engine[0].opt.served ? nd->engine[0].opt.served : nd->engine[0].opt.model, 1);
    sigprocmask(SIG_SETMASK, &nd->before, NULL);
    execvp(nd->command[0], nd->command);
    int e = errno;
    fprintf(stderr, "joulemark-sim: cannot run %s: %s.\n", nd->command[0], strerror(e));
    _exit(e == ENOENT ? 127 : 126);
}

/* Until a signal, the end of the command, or the death of an engine. Returns the exit status. */
static int stay(struct node *nd, const sigset_t *set, pid_t pid)
{
    bool told = false;
    for (;;) {
        siginfo_t info;
        int sig = sigwaitinfo(set, &info), st;
        if (sig < 0)
            continue;
        if (sig != SIGCHLD) {
            if (pid <= 0 || told)
                return pid > 0 ? 128 + sig : SIM_OK;
            if (sig != SIGINT || info.si_code <= 0)
                kill(pid, sig);
            told = true; /* a second signal ends without waiting for the command */
            continue;
        }
        if (pid > 0 && waitpid(pid, &st, WNOHANG) == pid)
            return WIFSIGNALED(st) ? 128 + WTERMSIG(st) : WEXITSTATUS(st);
        for (int i = 0; i < nd->n; i++)
            if (nd->engine[i].pid > 0 && waitpid(nd->engine[i].pid, &st, WNOHANG) == nd->engine[i].pid) {
                nd->engine[i].pid = 0;
                return broken("an engine ended unexpectedly.");
            }
    }
}

static int stop(struct node *nd)
{
    int status = 0, st;
    for (int i = 0; i < nd->n; i++)
        if (nd->engine[i].pid > 0)
            kill(nd->engine[i].pid, SIGTERM);
    for (int i = 0; i < nd->n; i++)
        if (nd->engine[i].pid > 0 && waitpid(nd->engine[i].pid, &st, 0) == nd->engine[i].pid && st != 0)
            status = broken("an engine did not end well.");
    return status;
}

static int write_truth(struct node *nd, const char *gpu_text)
{
    json_t *engines = json_array(), *gpu = json_loads(gpu_text, 0, NULL);
    for (int i = 0; i < nd->n; i++) {
        json_t *t = json_load_file(nd->engine[i].truth, 0, NULL);
        json_array_append_new(engines, t ? t : json_null());
    }
    json_t *j = json_pack("{s:s, s:b, s:o?, s:o}", "schema", "joulemark-sim.node-truth/1", "simulated", 1,
                          "node", gpu, "engines", engines);
    int rc = j ? json_dump_file(j, nd->truth, JSON_INDENT(1) | JSON_SORT_KEYS) : -1;
    json_decref(j);
    return rc < 0 ? broken("the truth cannot be written.") : 0;
}

static int serve(struct node *nd)
{
    sigset_t set;
    char why[512], *text = NULL;
    size_t len;
    struct simgpu *s = NULL;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, &nd->before);
    pid_t self = getpid(), pid = 0;
    int status = 0;
    for (int i = 0; !status && i < nd->n; i++)
        status = start(nd, &nd->engine[i], self);
    if (!status && simgpu_open(&s, nd->path, why, sizeof why) < 0)
        status = broken(why);
    if (!status && !nd->command)
        status = say(nd);
    if (!status && nd->command) {
        fflush(NULL);
        pid = fork();
        if (pid == 0)
            command(nd);
        if (pid < 0)
            status = broken("the command cannot be started.");
    }
    if (!status)
        status = stay(nd, &set, pid);
    int ended = stop(nd);
    if (nd->truth && s) {
        FILE *f = open_memstream(&text, &len);
        int e = f ? simgpu_truth_json(s, s->h->start_ns, simgpu_now(s), f) : -1;
        if (f && fclose(f) != 0)
            e = -1;
        if (e || write_truth(nd, text))
            ended = ended ? ended : SIM_SYSTEM;
        free(text);
    }
    simgpu_close(s);
    return status ? status : ended;
}

int sim_cmd_node(int argc, char **argv)
{
    char why[512];
    if (sim_node_is_virtual(argc, argv))
        return sim_node_virtual(argc, argv);
    struct node *nd = calloc(1, sizeof *nd);
    if (!nd)
        return sim_fail(SIM_SYSTEM, "no memory.");
    int status = 0;
    bool only_help = false;
    simgpu_conf_init(&nd->conf);
    sim_options_init(&nd->common);
    for (int pass = 0; pass < 2 && !status && !only_help; pass++)
        for (int i = 1; !status && !only_help && i < argc && argv[i]; i++) {
            int used = 0;
            if (strcmp(argv[i], "--help") == 0) {
                help();
                status = fflush(stdout) == 0 ? SIM_OK : SIM_SYSTEM;
                only_help = true;
            } else if (strcmp(argv[i], "--") == 0) {
                nd->command = argv[i + 1] ? &argv[i + 1] : NULL;
                if (!nd->command)
                    status = refuse("there is no command behind --.");
                break;
            } else
                status = option(nd, argv[i], i + 1 < argc ? argv[i + 1] : NULL, pass == 1, &used);
            i += used;
        }
    if (!status && !only_help) {
        int e = simgpu_conf_say(&nd->conf, -1, "waveform", "drive", "node", why, sizeof why);
        if (!e)
            e = simgpu_conf_apply(&nd->conf, why, sizeof why);
        if (e)
            status = e == -EINVAL ? refuse(why) : broken(why);
        if (!status && nd->n == 0)
            status = engine_spec(nd, "70b-4xh100");
        if (!status)
            status = place(nd);
        if (!status && sim_find_nvml(nd->lib, false, nd->library, sizeof nd->library, why, sizeof why))
            status = broken(why);
        if (!status)
            status = make_state(nd);
        if (!status)
            status = serve(nd);
    }
    for (int i = 0; i < nd->n; i++)
        if (nd->engine[i].truth[0])
            unlink(nd->engine[i].truth);
    if (nd->temporary)
        unlink(nd->path);
    simgpu_conf_release(&nd->conf);
    free(nd);
    return status;
}
