/* SPDX-License-Identifier: Apache-2.0 */
/* joulemark-sim gpu: makes a state file and runs a command on it. */
#include "sim_main.h"
#include "simgpu_conf.h"
#include "simgpu_drive.h"
#include "simgpu_json.h"
#include "simgpu_text.h"
#include "simgpu_truth.h"
#include "simgpu_wave.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct options {
    struct simgpu_conf conf;
    const char *state, *truth, *lib;
    bool old, create_only;
    int64_t stop_after_ns; /* 0: never */
    char **command;        /* NULL: none */
    bool temporary;        /* the state file is ours to remove */
    char path[PATH_MAX], library[PATH_MAX], dir[PATH_MAX];
};

static void help(void)
{
    puts("usage: joulemark-sim gpu [OPTION]... [-- COMMAND...]\n\n"
         "Simulates NVIDIA GPUs whose true power is known. COMMAND finds them through\n"
         "NVML: LD_LIBRARY_PATH, JM_NVML_LIB and JOULEMARK_SIM_GPU are set for it. Without\n"
         "a command these lines are printed, and the GPUs stay until stopped.\n\n"
         "the simulation:");
    const struct simgpu_key *k;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; (k = simgpu_key_at(i)); i++) {
            char left[40];
            if ((k->kind == SIMGPU_KEY_GPU) != pass)
                continue;
            snprintf(left, sizeof left, "--%s%s%s", k->name, k->value ? " " : "", k->value ? k->value : "");
            printf("  %-21s %s\n", left, k->help);
        }
        if (pass == 0)
            puts("  --config FILE         the same options, one a line, without the --\n"
                 "  --state FILE          keep the state file under this name\n"
                 "  --truth FILE          write the true energies there at the end (- is stdout)\n"
                 "  --old                 a driver without energy counter and newer calls\n"
                 "  --lib FILE            another libnvidia-ml.so.1\n"
                 "  --create-only         make the state file, print the lines, end\n"
                 "  --stop-after TIME     end by itself\n\n"
                 "each GPU (all of them; --gpu N:key=value,... for one):");
    }
    puts("\nprofiles:");
    for (int i = 0; simgpu_profile_at(i); i++)
        printf("  %-8s %s\n", simgpu_profile_at(i)->id, simgpu_profile_at(i)->text);
    puts("\nwaveforms (the values shown are what is taken when they are left out):");
    for (int i = 0; simgpu_wave_help(i); i++)
        printf("  %s\n      %s\n", simgpu_wave_help(i)->form, simgpu_wave_help(i)->text);
    puts("\nfaults (--fault gpu=3,at=10s,for=5s,kind=frozen,what=energy+power):");
    for (int i = 0; simgpu_fault_help(i); i++)
        printf("  %-14s %s\n", simgpu_fault_help(i)->kind, simgpu_fault_help(i)->text);
    printf("\nwhat a fault concerns:");
    size_t col = 22;
    for (int i = 0; simgpu_what_name(i); i++) {
        const char *w = simgpu_what_name(i);
        if (col + strlen(w) + 1 > 78)
            col = (size_t)printf("\n ") - 1;
        col += (size_t)printf(" %s", w);
    }
    puts("\n\nExit status: the command's (128 + signal when it was killed); else 0 done,\n"
         "2 wrong usage, 4 the system failed.");
}

static int usage(const char *why)
{
    return sim_fail(SIM_USAGE, why);
}

/* One option: the tool's own, or a key of the table. *used is 1 when it took the next argument. */
static int option(struct options *o, const char *arg, const char *next, int *used)
{
    char name[64], why[512];
    const char *eq = strchr(arg, '=');
    size_t n = eq ? (size_t)(eq - arg) : strlen(arg);
    snprintf(why, sizeof why, "there is no option %.*s; see joulemark-sim gpu --help.",
             (int)(n > 60 ? 60 : n), arg);
    if (n < 3 || n >= sizeof name || strncmp(arg, "--", 2) != 0)
        return usage(why);
    memcpy(name, arg, n);
    name[n] = 0;
    const char *key = name + 2;
    const struct simgpu_key *k = simgpu_key_find(key, strlen(key));
    bool flag = k ? k->flag : strcmp(key, "old") == 0 || strcmp(key, "create-only") == 0;
    const char *const own[] = {"gpu", "config", "state", "truth", "lib", "stop-after"};
    bool known = k || flag;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        known = known || strcmp(key, own[i]) == 0;
    if (!known)
        return usage(why);
    const char *value = eq ? eq + 1 : flag ? "" : next;
    *used = !eq && !flag;
    if (flag && eq) {
        snprintf(why, sizeof why, "%s takes no value.", name);
        return usage(why);
    }
    if (!value || (!flag && !*value)) {
        snprintf(why, sizeof why, "%s needs a value.", name);
        return usage(why);
    }
    int e = 0;
    if (k)
        e = simgpu_conf_say(&o->conf, -1, key, value, name, why, sizeof why);
    else if (strcmp(key, "gpu") == 0)
        e = simgpu_conf_say_gpu(&o->conf, value, name, why, sizeof why);
    else if (strcmp(key, "config") == 0)
        e = simgpu_conf_file(&o->conf, value, why, sizeof why);
    else if (strcmp(key, "state") == 0)
        o->state = value;
    else if (strcmp(key, "truth") == 0)
        o->truth = value;
    else if (strcmp(key, "lib") == 0)
        o->lib = value;
    else if (strcmp(key, "old") == 0)
        o->old = true;
    else if (strcmp(key, "create-only") == 0)
        o->create_only = true;
    else if (!simgpu_quantity_z(value, simgpu_units_time, &o->stop_after_ns) || o->stop_after_ns <= 0)
        return usage("--stop-after needs a time, as in 30s.");
    return e == -EINVAL ? usage(why) : e ? sim_fail(SIM_SYSTEM, why) : 0;
}

static int find_library(struct options *o)
{
    char why[512];
    if (sim_find_nvml(o->lib, o->old, o->library, sizeof o->library, why, sizeof why))
        return sim_fail(SIM_SYSTEM, why);
    memcpy(o->dir, o->library, sizeof o->dir);
    *strrchr(o->dir, '/') = 0;
    return 0;
}

static int make_state(struct options *o)
{
    char why[512];
    if (o->state) {
        snprintf(o->path, sizeof o->path, "%s", o->state);
    } else {
        const char *dir = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        snprintf(o->path, sizeof o->path, "%s/joulemark-sim-gpu.XXXXXX", dir);
        int fd = mkstemp(o->path);
        if (fd < 0) {
            snprintf(why, sizeof why, "cannot create a state file in %s: %s.", dir, strerror(errno));
            return sim_fail(SIM_SYSTEM, why);
        }
        close(fd);
        o->temporary = true;
    }
    int e = simgpu_create(&o->conf, o->path, why, sizeof why);
    if (e)
        return sim_fail(e == -EINVAL ? SIM_USAGE : SIM_SYSTEM, why);
    char *full = realpath(o->path, NULL);
    if (full && strlen(full) < sizeof o->path)
        memcpy(o->path, full, strlen(full) + 1);
    free(full);
    return 0;
}

static const char *library_path(const struct options *o, char *buf, size_t n)
{
    const char *old = getenv("LD_LIBRARY_PATH");
    snprintf(buf, n, "%s%s%s", o->dir, old && *old ? ":" : "", old && *old ? old : "");
    return buf;
}

/* Of the makers that are in the state: the variable that names the library, and the library. */
static const struct {
    unsigned vendor;
    const char *variable, *file;
} makers[] = {
    {0x1002, "JM_AMDSMI_LIB", "libamd_smi.so"},
    {0x1da3, "JM_HLML_LIB", "libhlml.so"},
    {0x8086, "JM_LEVEL_ZERO_LIB", "libze_loader.so"},
};

static bool maker_library(const struct options *o, const struct simgpu *s, size_t i, char *out, size_t n)
{
    if (!simgpu_has_vendor(s, makers[i].vendor))
        return false;
    snprintf(out, n, "%s/accel/%s", o->dir, makers[i].file); /* installed */
    if (access(out, R_OK) != 0)
        snprintf(out, n, "%s/../accel/%s", o->dir, makers[i].file); /* a build folder */
    return access(out, R_OK) == 0;
}

static void child(struct options *o, struct simgpu *s, const sigset_t *mask)
{
    char buf[2 * PATH_MAX];
    for (uint32_t i = 0; i < o->conf.procs; i++) {
        if (!o->conf.proc[i].child)
            continue;
        const struct simgpu_proc *p = &o->conf.proc[i].p;
        for (int g = 0; g < (int)s->h->gpu_count; g++)
            if (o->conf.proc[i].gpu < 0 || o->conf.proc[i].gpu == g)
                simgpu_drive_process(s, g, (uint32_t)getpid(), p->memory, (int)p->sm_pct, (int)p->mem_pct);
    }
    setenv(SIMGPU_ENV, o->path, 1);
    setenv("JM_NVML_LIB", o->library, 1);
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        if (maker_library(o, s, i, buf, sizeof buf))
            setenv(makers[i].variable, buf, 1);
    if (!o->old)
        setenv("LD_LIBRARY_PATH", library_path(o, buf, sizeof buf), 1);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(o->command[0], o->command);
    int e = errno;
    fprintf(stderr, "joulemark-sim: cannot run %s: %s.\n", o->command[0], strerror(e));
    _exit(e == ENOENT ? 127 : 126);
}

/* Until the command has ended, or a signal or the time to stop has come. Returns the exit status. */
static int stay(struct options *o, pid_t pid, const sigset_t *set)
{
    struct timespec left = {.tv_sec = o->stop_after_ns / 1000000000,
                            .tv_nsec = o->stop_after_ns % 1000000000};
    for (;;) {
        siginfo_t info;
        int sig = o->stop_after_ns ? sigtimedwait(set, &info, &left) : sigwaitinfo(set, &info);
        if (sig < 0 && errno == EINTR)
            continue;
        if (sig == SIGCHLD && pid > 0) {
            int st;
            if (waitpid(pid, &st, WNOHANG) == pid)
                return WIFSIGNALED(st) ? 128 + WTERMSIG(st) : WEXITSTATUS(st);
            continue;
        }
        if (sig == SIGCHLD)
            continue;
        if (pid <= 0)
            return SIM_OK;
        /* Passed on; an interrupt from the terminal the command has already had. */
        if (sig < 0)
            kill(pid, SIGTERM);
        else if (sig != SIGINT || info.si_code <= 0)
            kill(pid, sig);
        o->stop_after_ns = 0;
    }
}

static int write_truth(const struct options *o, struct simgpu *s)
{
    bool out = strcmp(o->truth, "-") == 0;
    FILE *f = out ? stdout : fopen(o->truth, "we");
    int e = f ? simgpu_truth_json(s, s->h->start_ns, simgpu_now(s), f) : -errno;
    if (f && !out && fclose(f) != 0 && !e)
        e = -EIO;
    if (e) {
        char why[512];
        snprintf(why, sizeof why, "cannot write the truth to %.400s: %s.", o->truth, strerror(-e));
        return sim_fail(SIM_SYSTEM, why);
    }
    return SIM_OK;
}

static int run(struct options *o, struct simgpu *s)
{
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, &before);
    pid_t pid = 0;
    int status = SIM_OK;
    if (o->command) {
        fflush(NULL);
        pid = fork();
        if (pid == 0)
            child(o, s, &before);
        if (pid < 0)
            status = sim_fail(SIM_SYSTEM, "cannot start another process.");
    } else {
        char buf[2 * PATH_MAX];
        printf("export %s='%s'\nexport JM_NVML_LIB='%s'\n", SIMGPU_ENV, o->path, o->library);
        for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
            if (maker_library(o, s, i, buf, sizeof buf))
                printf("export %s='%s'\n", makers[i].variable, buf);
        if (!o->old)
            printf("export LD_LIBRARY_PATH='%s'\n", library_path(o, buf, sizeof buf));
        if (fflush(stdout) != 0)
            status = sim_fail(SIM_SYSTEM, "cannot write to standard output.");
    }
    if (status == SIM_OK && !o->create_only)
        status = stay(o, pid, &set);
    if (o->truth) {
        int e = write_truth(o, s);
        if (status == SIM_OK)
            status = e;
    }
    return status;
}

int sim_cmd_gpu(int argc, char **argv)
{
    char why[512];
    struct options *o = calloc(1, sizeof *o);
    if (!o)
        return sim_fail(SIM_SYSTEM, "no memory.");
    int e = 0;
    simgpu_conf_init(&o->conf);
    for (int i = 1; !e && i < argc; i++) {
        int used = 0;
        if (strcmp(argv[i], "--help") == 0) {
            help();
            e = fflush(stdout) == 0 ? -1 : SIM_SYSTEM;
        } else if (strcmp(argv[i], "--") == 0) {
            o->command = argv[i + 1] ? &argv[i + 1] : NULL;
            if (!o->command)
                e = usage("there is no command behind --.");
            break;
        } else {
            e = option(o, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &used);
            i += used;
        }
    }
    if (!e && o->create_only && (o->command || !o->state))
        e = usage("--create-only goes with --state and without a command.");
    if (!e && (e = simgpu_conf_apply(&o->conf, why, sizeof why)))
        e = sim_fail(e == -EINVAL ? SIM_USAGE : SIM_SYSTEM, why);
    if (!e)
        e = find_library(o);
    struct simgpu *s = NULL;
    if (!e)
        e = make_state(o);
    if (!e && simgpu_open(&s, o->path, why, sizeof why))
        e = sim_fail(SIM_SYSTEM, why);
    if (!e)
        e = run(o, s);
    simgpu_close(s);
    if (o->temporary)
        unlink(o->path);
    simgpu_conf_release(&o->conf);
    free(o);
    return e < 0 ? SIM_OK : e;
}
