/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings on several hosts at once. On each a `joulemark record --serve` runs, over ssh or, for the entry
 * `local`, beside us. It speaks on its standard streams, a line at a time:
 *
 *     it    joulemark.hosts/1 ready CHANNELS        the meters are open and are read
 *     we    time                                    some times, to see how far its clock is off
 *     it    joulemark.hosts/1 time NS               Unix time
 *     we    begin NS                                Unix time at which the window begins
 *     it    joulemark.hosts/1 begun
 *     we    end NS
 *     it    joulemark.hosts/1 run BYTES SHA256      and then the bytes of the sealed run file
 *     we    got
 *
 * The end of our stream ends the recording in order too, and leaves the file there, so that a connection that
 * breaks costs nothing that was measured. */
#ifndef JM_CLI_HOSTS_H
#define JM_CLI_HOSTS_H

#include "cli/cli.h"
#include "cli/groups.h"
#include "cli/session.h"

#define JM_HOSTS        64
#define JM_HOSTS_HELLO  "joulemark.hosts/1 "
#define JM_HOSTS_PREFIX (sizeof JM_HOSTS_HELLO - 1)

struct jm_host {
    char name[96];                    /* as it was asked for; names the file */
    char target[192], port[8];        /* for ssh; target "": this machine */
    char joulemark[256], config[256]; /* the program there; its configuration there, "" none */
    char meters[256];                 /* "": as the command line says */
    int state;                        /* hosts.c */
    int pid, in, out, err;            /* -1: closed */
    char line[512], said[256],
        why[400]; /* unfinished line; the last it said on standard error; why it failed */
    size_t n_line, n_said;
    char err_line[256];
    struct jm_str path; /* where its run file goes */
    int file;
    int64_t bytes, had, moved; /* of the file; moved: when the last of it came */
    long long channels;
    int64_t asked; /* mono ns of the last "time", 0: answered */
    int64_t offset,
        trip; /* its clock minus ours by the quickest answer, and how long that took; trip 0: none */
    char sha256[65];
};

struct jm_hosts {
    struct jm_host host[JM_HOSTS];
    size_t n;
    struct jm_cli *cli;
    bool told[JM_HOSTS];       /* of which it was said that it failed */
    int64_t begun, began_mono; /* Unix time of the windows' begin, and ours then */
};

struct jm_hosts_opts {
    const char *hosts; /* "a,b", or a file with one a line; NULL: this host alone */
    const char *ssh;   /* command, "ssh" */
    struct jm_opt_list group, role;
};

/* 1: hosts were asked for; 0: none; JM_EUSAGE where something that belongs to them was. */
int jm_hosts_asked(const struct jm_hosts_opts *o, struct jm_err *err);
/* Understands what was asked for. */
int jm_hosts_parse(struct jm_hosts *h, const char *text, struct jm_err *err);
/* Starts on all, begins a window on all at one time, ends it after duration (0: when stopped), fetches,
 * merges. path: the run file that was made. Hosts that failed are said and stand in the run; an error is that
 * none gave anything. */
int jm_hosts_record(struct jm_cli *cli, const struct jm_hosts_opts *o, const struct jm_session_opts *session,
                    int64_t duration, struct jm_str *path, struct jm_err *err);
/* The same around a recording of our own (verb names the file where none is asked for): the hosts begin
 * before it and end behind it, and s is then of the merged run. Where this host is not among them its meters
 * are not read. own records into the file that o names; s is the caller's to release, whatever came of it. */
typedef int jm_hosts_own(void *arg, const struct jm_session_opts *o, struct jm_session *s,
                         struct jm_err *err);
int jm_hosts_around(struct jm_cli *cli, const struct jm_hosts_opts *o, const struct jm_session_opts *session,
                    const char *verb, jm_hosts_own *own, void *arg, struct jm_session *s, struct jm_err *err);
/* The other side. */
int jm_hosts_serve(struct jm_cli *cli, const struct jm_session_opts *o, const struct jm_opt_list *engine,
                   struct jm_err *err);

#define JM_OPTS_HOSTS(s, h)                                                                                  \
    {"hosts",                                                                                                \
     0,                                                                                                      \
     JM_OPT_STR,                                                                                             \
     offsetof(struct s, h.hosts),                                                                            \
     .arg = "HOSTS",                                                                                         \
     .help = "Record on these hosts, over ssh, and make one run of it: a,b or a file with one host a line; " \
             "local is this one."},                                                                          \
        {"ssh",                                                                                              \
         0,                                                                                                  \
         JM_OPT_STR,                                                                                         \
         offsetof(struct s, h.ssh),                                                                          \
         .arg = "COMMAND",                                                                                   \
         .help = "With --hosts: the command that reaches a host.",                                           \
         .deflt = "ssh"},                                                                                    \
        JM_OPTS_GROUP(s, h.group, h.role)

#endif
