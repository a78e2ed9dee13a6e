/* SPDX-License-Identifier: Apache-2.0 */
/* A BMC in the network, by ipmitool (raw, so that the whole reply is there) or by FreeIPMI's ipmi-dcmi. The
 * password is in the tool's environment or in a file that it reads, never on its command line. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "meter/ipmi.h"
#include "base/banned.h"

extern char **environ;

#define ARGS 40

struct tool {
    char *arg[ARGS];
    char number[16][8];
    size_t fixed; /* arguments that are the same each time */
    char **env;
    char secret[JM_SECRET_MAX + 16]; /* "IPMI_PASSWORD=..." */
    int out, null;                   /* out: a number that stands for the child's output in fa */
    bool has_fa;
    posix_spawn_file_actions_t fa; /* made once: a reading allocates nothing */
    char path[256], host[256], port[8], user[128], interface[32], privilege[32], cipher[8], file[256];
    bool freeipmi;
};

static int64_t now_ms(void)
{
    struct jm_clock c = jm_clock_system();
    return jm_clock_mono(&c) / JM_NS_PER_MS;
}

/* Reads until the end or the deadline; what does not fit is thrown away. */
static int drink(int fd, char *buf, size_t cap, size_t *n, int64_t until)
{
    char waste[512];
    for (;;) {
        int64_t left = until - now_ms();
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int rc = left < 0 ? 0 : poll(&p, 1, (int)left); /* output without end always has a next byte */
        if (rc == 0)
            return -ETIMEDOUT;
        if (rc < 0 && errno != EINTR)
            return -errno;
        if (rc < 0)
            continue;
        bool room = *n < cap;
        ssize_t k = read(fd, room ? buf + *n : waste, room ? cap - *n : sizeof waste);
        if (k == 0)
            return 0;
        if (k < 0 && errno != EINTR)
            return -errno;
        if (k > 0 && room)
            *n += (size_t)k;
    }
}

static int prepare(struct tool *t)
{
    t->null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    t->out = t->null < 0 ? -1 : fcntl(t->null, F_DUPFD_CLOEXEC, 3);
    int rc = t->out < 0 ? errno : posix_spawn_file_actions_init(&t->fa);
    t->has_fa = !rc;
    if (!rc)
        rc = posix_spawn_file_actions_addopen(&t->fa, 0, "/dev/null", O_RDONLY, 0);
    if (!rc)
        rc = posix_spawn_file_actions_adddup2(&t->fa, t->out, 1);
    if (!rc)
        rc = posix_spawn_file_actions_adddup2(&t->fa, t->out, 2);
    return -rc;
}

/* The end of the pipe takes the prepared number, and leaves it again: who waits for the pipe's end would else
 * wait for itself. */
static int spawn(struct tool *t, int end, pid_t *pid)
{
    int rc = dup3(end, t->out, O_CLOEXEC) < 0 ? errno : 0;
    if (!rc)
        rc = posix_spawnp(pid, t->path, &t->fa, NULL, t->arg, t->env);
    dup3(t->null, t->out, O_CLOEXEC);
    return -rc;
}

/* Output of the tool (both streams) in buf; its exit status in *status. */
static int run(struct tool *t, char *buf, size_t cap, size_t *n, int *status, int timeout_ms)
{
    int fd[2];
    pid_t pid;
    *n = 0;
    if (pipe2(fd, O_CLOEXEC) < 0)
        return -errno;
    int rc = spawn(t, fd[1], &pid);
    close(fd[1]);
    if (!rc) {
        rc = drink(fd[0], buf, cap, n, now_ms() + timeout_ms);
        if (rc)
            kill(pid, SIGKILL);
        while (waitpid(pid, status, 0) < 0)
            if (errno != EINTR) {
                *status = -1;
                break;
            }
    }
    close(fd[0]);
    return rc;
}

static int refused(struct jm_span text)
{
    switch (jm_ipmitool_error(text)) {
    case JM_S_DENIED: return -EACCES;
    case JM_S_UNSUPPORTED: return -EOPNOTSUPP;
    case JM_S_ABSENT: return -ENODEV;
    default: return -ETIMEDOUT;
    }
}

/* ipmi-dcmi prints figures: put back into the body that they came from. */
static int body_of(const struct jm_dcmi_power *p, uint8_t *out, size_t cap)
{
    const uint16_t w[4] = {p->current_w, p->min_w, p->max_w, p->average_w};
    if (cap < 19)
        return -EMSGSIZE;
    memset(out, 0, 19);
    out[1] = 0xdc;
    for (int i = 0; i < 4; i++) {
        out[2 + 2 * i] = (uint8_t)w[i];
        out[3 + 2 * i] = (uint8_t)(w[i] >> 8);
    }
    for (int i = 0; i < 4; i++)
        out[14 + i] = (uint8_t)(p->period_ms >> (8 * i));
    out[18] = p->active ? 0x40 : 0;
    return 19;
}

/* execve's argv is not const for reasons of age; nobody writes there. */
static char *word(const char *s)
{
    return (char *)(uintptr_t)s;
}

static size_t number(struct tool *t, size_t k, size_t at, unsigned v)
{
    snprintf(t->number[k], sizeof t->number[k], "0x%02x", v & 0xff);
    t->arg[at] = t->number[k];
    return at + 1;
}

static int tool_ask(void *self, const struct jm_ipmi_request *r, uint8_t *out, size_t cap, int timeout_ms)
{
    struct tool *t = self;
    char text[4096];
    struct jm_dcmi_text d;
    size_t n, at = t->fixed, k = 0;
    int status = 0;
    if (!t->freeipmi) {
        if (r->channel >= 0) {
            t->arg[at++] = word("-b");
            t->arg[at++] = word("0");
            t->arg[at++] = word("-t");
            at = number(t, k++, at, r->target);
        }
        t->arg[at++] = word("raw");
        at = number(t, k++, at, r->netfn);
        at = number(t, k++, at, r->cmd);
        for (size_t i = 0; i < r->n; i++)
            at = number(t, k++, at, r->data[i]);
        t->arg[at] = NULL;
    }
    int rc = run(t, text, sizeof text, &n, &status, timeout_ms);
    struct jm_span s = {text, n};
    if (rc)
        return rc;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return -ENOENT;
    if (t->freeipmi) {
        rc = jm_dcmi_text(s, &d);
        return rc == 0 ? body_of(&d.power, out, cap) : rc == JM_EABSENT ? refused(s) : -EBADMSG;
    }
    rc = jm_ipmi_hex(s, out, cap);
    if (rc > 0)
        return rc;
    /* "Unable to send RAW command (channel=0x0 netfn=0x2c lun=0x0 cmd=0x2 rsp=0xff): Unspecified error" */
    ptrdiff_t p = jm_span_find(s, JM_SPAN("rsp=0x"));
    struct jm_span code = p < 0 ? (struct jm_span){NULL, 0} : jm_span_sub(s, (size_t)p + 6, 2);
    uint8_t cc[2];
    if (code.n == 2 && cap && jm_ipmi_hex(code, cc, sizeof cc) == 2) {
        out[0] = cc[1];
        return 1;
    }
    return refused(s);
}

static void tool_close(void *self)
{
    struct tool *t = self;
    explicit_bzero(t->secret, sizeof t->secret);
    if (t->has_fa)
        posix_spawn_file_actions_destroy(&t->fa);
    if (t->out >= 0)
        close(t->out);
    if (t->null >= 0)
        close(t->null);
    free(t->env);
    free(t);
}

static int environment(struct tool *t, const struct jm_instrument *in, struct jm_err *err)
{
    size_t n = 0, k = 0;
    while (environ[n])
        n++;
    t->env = calloc(n + 2, sizeof *t->env);
    if (!t->env)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the meter ipmi");
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], "IPMI_PASSWORD=", 14) != 0)
            t->env[k++] = environ[i];
    if (in->password.file || t->freeipmi)
        return 0;
    memcpy(t->secret, "IPMI_PASSWORD=", 14);
    int rc = jm_instrument_password(in, t->secret + 14, err);
    if (rc > 0)
        t->env[k] = t->secret;
    return rc < 0 ? rc : rc > 0;
}

static void add(struct tool *t, const char *flag, char *value)
{
    t->arg[t->fixed++] = word(flag);
    if (value)
        t->arg[t->fixed++] = value;
}

static void split_port(const char *address, char host[256], char port[8])
{
    const char *colon = strchr(address, ':');
    bool has = colon && !strchr(colon + 1, ':');
    snprintf(host, 256, "%.*s", has ? (int)(colon - address) : 255, address);
    snprintf(port, 8, "%.7s", has ? colon + 1 : "");
}

int jm_ipmi_tool_open(const struct jm_instrument *in, struct jm_ipmi_way *out, struct jm_err *err)
{
    const struct jm_ipmi_conf *c = in->conf;
    struct tool *t = calloc(1, sizeof *t);
    if (!t)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the meter ipmi");
    t->freeipmi = c->tool == JM_IPMI_FREEIPMI;
    t->out = t->null = -1;
    int e = prepare(t),
        rc = e ? jm_err_sys(err, -e, "no %s can be started", t->freeipmi ? "ipmi-dcmi" : "ipmitool")
               : environment(t, in, err);
    if (rc < 0) {
        tool_close(t);
        return rc;
    }
    snprintf(t->path, sizeof t->path, "%s",
             c->tool_path  ? c->tool_path
             : t->freeipmi ? "ipmi-dcmi"
                           : "ipmitool");
    snprintf(t->user, sizeof t->user, "%s", in->user ? in->user : "");
    split_port(c->address, t->host, t->port);
    snprintf(t->interface, sizeof t->interface, "%s", c->interface ? c->interface : t->freeipmi ? "LAN_2_0" : "lanplus");
    snprintf(t->privilege, sizeof t->privilege, "%s", c->privilege ? c->privilege : "USER");
    t->arg[t->fixed++] = t->path;
    if (t->freeipmi) {
        snprintf(t->file, sizeof t->file, "--config-file=%.240s", c->tool_config ? c->tool_config : "");
        if (c->tool_config)
            t->arg[t->fixed++] = t->file;
        add(t, "-h", t->host);
        add(t, "-D", t->interface);
        add(t, "-l", t->privilege);
        if (in->user)
            add(t, "-u", t->user);
        add(t, "--get-system-power-statistics", NULL);
        t->arg[t->fixed] = NULL;
    } else {
        add(t, "-I", t->interface);
        add(t, "-H", t->host);
        if (t->port[0])
            add(t, "-p", t->port);
        add(t, "-L", t->privilege);
        if (in->user)
            add(t, "-U", t->user);
        if (c->cipher >= 0) {
            snprintf(t->cipher, sizeof t->cipher, "%d", (int)(c->cipher & 0xff));
            add(t, "-C", t->cipher);
        }
        if (in->password.file) {
            snprintf(t->file, sizeof t->file, "%s", in->password.file);
            add(t, "-f", t->file);
        } else if (rc > 0) {
            add(t, "-E", NULL);
        }
    }
    *out = (struct jm_ipmi_way){tool_ask, tool_close, t};
    return 0;
}
