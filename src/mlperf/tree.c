/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/tree.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "mlperf/client.h"
#include "mlperf/submission_docs.h"

#include "base/banned.h"

bool jm_mlperf_tree_name_ok(const char *name)
{
    size_t n = name ? strlen(name) : 0;
    return n > 0 && n <= 200 && name[0] != '.' &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-+") == n;
}

int jm_mlperf_tree_check(const struct jm_mlperf_tree_conf *c, struct jm_err *err)
{
    static const char *const scenario[] = {"Offline", "Server", "Interactive", "SingleStream", "MultiStream"};
    const struct {
        const char *option, *value;
    } row[] = {{"--system", c->system}, {"--benchmark", c->benchmark}, {"--submitter", c->submitter}};
    for (size_t i = 0; i < 3; i++)
        if (!jm_mlperf_tree_name_ok(row[i].value))
            return jm_err_set(
                err, JM_EUSAGE, "%s \"%.100s\": %s", row[i].option, row[i].value ? row[i].value : "",
                row[i].value ? "such a folder cannot be in a submission; letters, digits, . _ - and +"
                             : "a submission needs it");
    if (!c->division || (strcmp(c->division, "closed") != 0 && strcmp(c->division, "open") != 0))
        return jm_err_set(err, JM_EUSAGE, "--division is closed or open, not \"%.40s\"",
                          c->division ? c->division : "");
    for (size_t i = 0; i < sizeof scenario / sizeof scenario[0]; i++)
        if (c->scenario && strcmp(c->scenario, scenario[i]) == 0)
            return 0;
    return jm_err_set(
        err, JM_EUSAGE,
        "--scenario is Offline, Server, Interactive, SingleStream or MultiStream, not \"%.40s\"",
        c->scenario ? c->scenario : "");
}

struct tree {
    const struct jm_mlperf_tree_conf *conf;
    const struct jm_mlperf_session *s;
    char submitter[4096], scenario[4096], docs[4096];
    struct jm_str *todo;
};

static int join(char out[4096], struct jm_err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static int join(char out[4096], struct jm_err *err, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(out, 4096, fmt, ap);
    va_end(ap);
    return n < 0 || n >= 4096
               ? jm_err_set(err, JM_ELIMIT, "a path of the submission is longer than 4095 bytes")
               : 0;
}

/* Writes a document unless there is one. 1: there was. */
static int put(const char *dir, const char *name, struct jm_span text, struct jm_err *err)
{
    char path[4096];
    int rc = join(path, err, "%s/%s", dir, name);
    if (!rc && access(path, F_OK) == 0)
        return 1;
    if (!rc)
        rc = jm_file_mkparents(path, err);
    return rc ? rc : jm_file_write(path, text, err);
}

static int copy_session(struct tree *t, struct jm_err *err)
{
    char from[4096], to[4096];
    int rc = join(to, err, "%s/performance", t->scenario);
    if (!rc && access(to, F_OK) == 0)
        return jm_err_set(
            err, JM_ECONFLICT,
            "%s is there already; a result has one session, so take that one away or name another "
            "system",
            to);
    for (int i = 0; i < JM_MLPERF_FILES && !rc; i++) {
        const struct jm_mlperf_file *f = &t->s->file[i];
        if (!f->present)
            continue;
        rc = join(from, err, "%s/%s", t->s->dir, f->rel);
        if (!rc)
            rc = join(to, err, "%s/performance/%s", t->scenario, f->rel);
        if (!rc)
            rc = jm_file_mkparents(to, err);
        if (!rc)
            rc = jm_mlperf_file_copy(from, to, err);
    }
    return rc;
}

/* --- systems/<system>.json --------------------------------------------------------------------------------
 */

/* The value of a field: text, or a number where the public descriptions have one. False: not known. */
static bool value_of(const struct tree *t, const struct jm_mlperf_host *h, const char *name,
                     struct jm_str *out, int64_t *number)
{
    const struct {
        const char *name;
        const struct jm_str *text;
        int number;
        const char *word;
    } row[] = {
        {"division", NULL, 0, t->conf->division},
        {"submitter", NULL, 0, t->conf->submitter},
        {"system_name", &h->product, 0, NULL},
        {"number_of_nodes", NULL, 1, NULL},
        {"host_processor_model_name", &h->cpu, 0, NULL},
        {"host_processors_per_node", NULL, h->sockets, NULL},
        {"host_processor_core_count", NULL, h->cores, NULL},
        {"host_processor_caches", &h->caches, 0, NULL},
        {"host_memory_capacity", &h->memory, 0, NULL},
        {"host_storage_capacity", &h->storage, 0, NULL},
        {"host_storage_type", &h->storage_type, 0, NULL},
        {"accelerators_per_node", NULL, h->gpus, NULL},
        {"accelerator_model_name", &h->gpu, 0, NULL},
        {"operating_system", &h->os, 0, NULL},
        {"boot_firmware_version", &h->bios, 0, NULL},
        {"filesystem", &h->filesystem, 0, NULL},
        {"number_of_type_nics_installed", NULL, h->nics, NULL},
        {"nics_enabled_connected", NULL, h->nics_up, NULL},
        {"network_speed_mbit", &h->network, 0, NULL},
        {"disk_drives", &h->storage_type, 0, NULL},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        if (strcmp(row[i].name, name) != 0)
            continue;
        if (row[i].word)
            jm_str_adds(out, row[i].word);
        else if (row[i].text)
            jm_str_addspan(out, jm_str_span(row[i].text));
        else
            *number = row[i].number;
        return out->len || *number > 0;
    }
    if (strcmp(name, "other_software_stack") == 0 && h->kernel.len) {
        jm_str_addf(out, "Linux %s", h->kernel.buf);
        return true;
    }
    return false;
}

static int describe(struct tree *t, struct jm_err *err)
{
    struct jm_mlperf_host host;
    struct jm_str json, v, empty;
    struct jm_jsonw w;
    char dir[4096], name[256];
    int missing = 0;
    jm_mlperf_host_read(t->conf->proc_root, t->conf->sysfs_root, t->conf->os_release, &host);
    jm_str_init(&json);
    jm_str_init(&v);
    jm_str_init(&empty);
    jm_jsonw_init(&w, &json, 4);
    jm_jsonw_object(&w);
    for (const struct jm_submission_field *f = jm_submission_fields; f->name; f++) {
        int64_t n = 0;
        jm_str_reset(&v);
        if (strcmp(f->name, "system_power_only") == 0) {
            jm_jsonw_kbool(&w, f->name, false);
            continue;
        }
        bool known = value_of(t, &host, f->name, &v, &n);
        if (known && !v.len)
            jm_jsonw_ki64(&w, f->name, n);
        else
            jm_jsonw_kspan(&w, f->name, jm_str_span(&v));
        if (!known && f->filled_from)
            jm_str_addf(&empty, "%s%s", missing++ ? ", " : "", f->name);
    }
    jm_jsonw_end(&w);
    jm_str_addc(&json, '\n');
    int rc = jm_str_ok(&json, "the system description", err);
    if (!rc)
        rc = join(dir, err, "%s/systems", t->submitter);
    snprintf(name, sizeof name, "%s.json", t->conf->system);
    if (!rc)
        rc = put(dir, name, jm_str_span(&json), err);
    if (!rc && missing)
        jm_str_addf(t->todo, "systems/%s: %s\n", name, empty.buf);
    jm_mlperf_host_release(&host);
    jm_str_release(&json);
    jm_str_release(&v);
    jm_str_release(&empty);
    return rc < 0 ? rc : 0;
}

/* --- documents of the measurement -------------------------------------------------------------------------
 */

/* Column k of the analyzer's answer to Identify: "...,YOKOGAWA;760203;91L222238;F1.21". */
static struct jm_span identity(const struct jm_mlperf_session *s, int k)
{
    for (size_t i = 0; i < s->server.n_ptd; i++) {
        if (!s->server.ptd[i].cmd || strcmp(s->server.ptd[i].cmd, "Identify") != 0)
            continue;
        struct jm_span rest = jm_span_of(s->server.ptd[i].reply), last = {0}, part = {0};
        while (jm_span_field(&rest, ',', &part))
            last = part;
        for (int j = 0; j <= k; j++)
            if (!jm_span_field(&last, ';', &part))
                return (struct jm_span){0};
        return part;
    }
    return (struct jm_span){0};
}

/* Letters of PTDaemon's command line. */
static const char *interface_name(const char *flag)
{
    if (!flag || !flag[0])
        return "Serial";
    return strchr(flag, 'g')                        ? "GPIB"
           : strchr(flag, 'n')                      ? "Ethernet"
           : strchr(flag, 'y') || strchr(flag, 'U') ? "USB"
                                                    : flag;
}

static void cell(struct jm_str *out, struct jm_span text)
{
    jm_str_adds(out, "| ");
    for (size_t i = 0; i < text.n && i < 200; i++)
        jm_str_addc(out, text.p[i] == '|' || (unsigned char)text.p[i] < ' ' ? ' ' : text.p[i]);
    jm_str_addc(out, ' ');
}

static int analyzers(struct tree *t, struct jm_err *err)
{
    struct jm_str md;
    const struct jm_mlperf_side *side = &t->s->server;
    jm_str_init(&md);
    jm_str_adds(
        &md, "| Vendor | Model | Firmware | Config | Interface | Wiring/topology | Number of channels used | "
             "Which channel(s) |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < (side->n_config ? side->n_config : 1); i++) {
        const struct jm_mlperf_ptd_config *c = i < side->n_config ? &side->config[i] : NULL;
        bool multi = c && c->channel && strcmp(c->channel, "null") != 0;
        cell(&md, i ? (struct jm_span){0} : identity(t->s, 0));
        cell(&md, i ? (struct jm_span){0} : identity(t->s, 1));
        cell(&md, i ? (struct jm_span){0} : identity(t->s, 3));
        cell(&md, jm_span_of(multi ? "Multichannel" : "Single channel"));
        cell(&md, jm_span_of(c ? interface_name(c->interface_flag) : ""));
        cell(&md, jm_span_of(""));
        cell(&md, jm_span_of(t->s->power[JM_MLPERF_TESTING].channels > 1 ? "" : "1"));
        cell(&md, jm_span_of(multi ? c->channel : "1"));
        jm_str_adds(&md, "|\n");
    }
    int rc = jm_str_ok(&md, "analyzer_table.md", err);
    if (!rc)
        rc = put(t->docs, "analyzer_table.md", jm_str_span(&md), err);
    if (!rc)
        jm_str_adds(t->todo,
                    "analyzer_table.md: wiring of the analyzer, and the number of channels where there are "
                    "several\n");
    jm_str_release(&md);
    return rc < 0 ? rc : 0;
}

static int documents(struct tree *t, struct jm_err *err)
{
    struct jm_str md;
    char name[256];
    int rc = analyzers(t, err);
    if (rc)
        return rc;
    rc = put(t->docs, "power_settings.md",
             JM_SPAN("Power management settings of the system, the same in both runs\n\n"
                     "- BIOS/firmware power profile: (to be filled in)\n"
                     "- Operating system (governor, energy preference): (to be filled in)\n"
                     "- Power limits and clocks of processors and accelerators: (to be filled in)\n"
                     "- Fans: (to be filled in)\n"
                     "- Power supplies connected: (to be filled in)\n"),
             err);
    if (!rc)
        jm_str_adds(t->todo, "power_settings.md: all of it\n");
    if (rc < 0)
        return rc;
    jm_str_init(&md);
    jm_str_addf(&md, "# %s, %s on %s\n\nHow to build and run, so that somebody else gets the same result.\n",
                t->conf->benchmark, t->conf->scenario, t->conf->system);
    rc = put(t->docs, "README.md", jm_str_span(&md), err);
    jm_str_release(&md);
    if (!rc)
        jm_str_adds(t->todo, "README.md: how to reproduce the run\n");
    if (rc < 0)
        return rc;
    snprintf(name, sizeof name, "%s.json", t->conf->system);
    rc = put(t->docs, name,
             JM_SPAN("{\n    \"input_data_types\": \"\",\n    \"retraining\": \"\",\n    "
                     "\"starting_weights_filename\": "
                     "\"\",\n    \"weight_data_types\": \"\",\n    \"weight_transformations\": \"\"\n}\n"),
             err);
    if (!rc)
        jm_str_addf(t->todo, "%s beside README.md: data types and weights of the implementation\n", name);
    if (rc < 0)
        return rc;
    struct jm_str conf;
    jm_str_init(&conf);
    rc = t->conf->user_conf ? jm_file_read(t->conf->user_conf, (size_t)1 << 20, &conf, err) : 0;
    if (!rc && conf.len)
        rc = put(t->docs, "user.conf", jm_str_span(&conf), err);
    else if (!rc)
        jm_str_adds(t->todo, "user.conf: the one that LoadGen was given (--user-conf FILE copies it)\n");
    jm_str_release(&conf);
    return rc < 0 ? rc : 0;
}

int jm_mlperf_tree_make(const struct jm_mlperf_tree_conf *conf, const struct jm_mlperf_session *s,
                        char out[4096], struct jm_str *todo, struct jm_err *err)
{
    struct tree t = {.conf = conf, .s = s, .todo = todo};
    int rc = jm_mlperf_tree_check(conf, err);
    if (!rc)
        rc = join(t.submitter, err, "%s/%s/%s", conf->root, conf->division, conf->submitter);
    if (!rc)
        rc = join(t.scenario, err, "%s/results/%s/%s/%s", t.submitter, conf->system, conf->benchmark,
                  conf->scenario);
    bool old = s->round.name[0] == 'v' && s->round.name[1] < '6' && s->round.name[2] == '.';
    if (!rc && old)
        rc = join(t.docs, err, "%s/measurements/%s/%s/%s", t.submitter, conf->system, conf->benchmark,
                  conf->scenario);
    else if (!rc)
        rc = join(t.docs, err, "%s", t.scenario);
    if (!rc)
        rc = copy_session(&t, err);
    if (!rc)
        rc = describe(&t, err);
    if (!rc)
        rc = documents(&t, err);
    if (!rc)
        rc = jm_str_ok(todo, "the list of what is to be filled in", err);
    if (!rc)
        rc = join(out, err, "%s", t.scenario);
    return rc;
}
