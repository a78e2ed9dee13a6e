/* SPDX-License-Identifier: Apache-2.0 */
/* Fifty instruments at the end of a wire, ten of which hang: no reading of the others is lost. Replies: kept
 * byte by byte, without secrets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "meter/instrument.h"
#include "record/record.h"
#include "record/replies.h"

#define N      50
#define PERIOD (100 * JM_NS_PER_MS)

static struct jm_err err;
static struct jm_clock sys;
static atomic_bool released, awake; /* those that hang go on; those that come late answer */
static atomic_uint hanging;

enum how {
    GOOD,
    HANGS_AT_ONCE,
    HANGS_LATER,
    HANGS_OPENING,
    FAILS_OPENING,
    COMES_LATE,
    OPENS_SLOWLY,
    IS_LOST,
    NEVER_COMES
};
struct fake_conf {
    enum how how;
    atomic_uint opened, made; /* connections, readings */
};
struct fake_meter {
    struct fake_conf *conf;
    enum how how;
    unsigned reads;
    bool second; /* the connection after the lost one */
};

static void hang(atomic_bool *until)
{
    atomic_fetch_add(&hanging, 1);
    while (!atomic_load(until))
        jm_clock_sleep_until(&sys, jm_clock_mono(&sys) + 5 * JM_NS_PER_MS, NULL);
    atomic_fetch_sub(&hanging, 1);
}

static const struct jm_meter_ops wire;

static int open_conf(const struct jm_meter_env *env, const struct jm_instrument *in,
                     struct jm_domain_tree *tree, struct jm_meter **out, struct jm_err *e)
{
    struct fake_conf *c = in->conf;
    unsigned before = atomic_fetch_add(&c->opened, 1);
    if (c->how == HANGS_OPENING || c->how == OPENS_SLOWLY)
        hang(c->how == OPENS_SLOWLY ? &awake : &released);
    if (env->opening)
        env->opening->put(env->opening->self, 1, 2, "/look?key=hunter-22", jm_span_of("{\"opened\": true}"),
                          0);
    if (c->how == NEVER_COMES || (c->how == COMES_LATE && !atomic_load(&awake)))
        return jm_err_set(e, JM_ETIMEOUT, "it is booting");
    if (c->how == FAILS_OPENING)
        return jm_err_set(e, JM_EDENIED, "wrong password");
    struct jm_meter *m = jm_meter_alloc(&wire, e);
    struct fake_meter *f = calloc(1, sizeof *f);
    assert_true(m && f);
    f->conf = c;
    f->how = c->how;
    f->second = before > 0;
    m->priv = f;
    m->period_ns = PERIOD;
    m->deadline_ns = 300 * JM_NS_PER_MS;
    struct jm_channel *ch = jm_meter_add_channel(m, e);
    assert_non_null(ch);
    snprintf(ch->name, sizeof ch->name, c->how == IS_LOST ? "energy" : "power");
    jm_instrument_device(in, NULL, ch->device);
    ch->kind = c->how == IS_LOST ? JM_CH_COUNTER : JM_CH_GAUGE;
    ch->unit = c->how == IS_LOST ? JM_U_J : JM_U_W;
    ch->flags = JM_CHF_EDGE;
    ch->domain = jm_instrument_domain(in, env, tree, NULL, JM_D_INLET_AC, e);
    assert_true(ch->domain >= 0);
    *out = m;
    return 0;
}

static size_t fake_read(struct jm_meter *m, const struct jm_clock *clock, enum jm_read_set set,
                        struct jm_reading *out)
{
    struct fake_meter *f = m->priv;
    if (set == JM_READ_COUNTER)
        return 0;
    int64_t t0 = jm_clock_mono(clock);
    f->reads++;
    if (f->how == HANGS_AT_ONCE || (f->how == HANGS_LATER && f->reads > 3))
        hang(&released);
    int64_t t1 = jm_clock_mono(clock);
    if (f->how == IS_LOST && !f->second && f->reads > 2)
        m->alive = false;
    if (!m->alive) {
        out[0] = (struct jm_reading){.t0 = t0, .t1 = t1, .status = JM_S_LOST};
        return 1;
    }
    char reply[64];
    snprintf(reply, sizeof reply, "{\"n\": %u, \"key\": \"hunter-22\"}", f->reads);
    jm_meter_raw(m, t0, t1, "/power?key=hunter-22", jm_span_of(reply), 0);
    out[0] = (struct jm_reading){.t0 = t0, .t1 = t1, .value = f->reads};
    atomic_fetch_add(&f->conf->made, 1);
    return 1;
}

static void fake_close(struct jm_meter *m)
{
    free(m->priv);
    jm_meter_dispose(m);
}

static const struct jm_meter_ops wire = {
    .version = JM_METER_OPS_VERSION,
    .name = "wire",
    .summary = "a test",
    .boundary = "wall",
    .read = fake_read,
    .close = fake_close,
    .conf_size = sizeof(struct fake_conf),
    .open_conf = open_conf,
    .needs = "",
    .traps = "",
};

/* A test's own, kept for good: a thread that hung may look at it when it goes on at last. */
static struct set {
    struct set *before;
    struct jm_instrument entry[N];
    struct jm_instrument *entries[N];
    struct fake_conf conf[N];
    char names[N][8];
    struct jm_instruments list;
} * set;
static const struct jm_meter_ops *const none[] = {NULL};

static void configure(size_t n)
{
    struct set *fresh = calloc(1, sizeof *fresh);
    assert_non_null(fresh);
    fresh->before = set;
    set = fresh;
    sys = jm_clock_system();
    err = (struct jm_err){0};
    setenv("JM_TEST_SECRET", "hunter-22", 1);
    set->list = (struct jm_instruments){.v = set->entries, .n = n};
    for (size_t i = 0; i < n; i++) {
        snprintf(set->names[i], sizeof set->names[i], "i%02zu", i);
        set->conf[i].how = GOOD;
        atomic_store(&set->conf[i].opened, 0);
        set->entry[i] = (struct jm_instrument){.name = set->names[i],
                                               .ops = &wire,
                                               .list = &set->list,
                                               .at = -1,
                                               .host = set->names[i],
                                               .timeout_ns = 100 * JM_NS_PER_MS,
                                               .gain_tol = 0.01,
                                               .password = {.env = "JM_TEST_SECRET"},
                                               .conf = &set->conf[i]};
        set->entries[i] = &set->entry[i];
    }
}

static struct jm_record_cfg config(char path[64])
{
    snprintf(path, 64, "/tmp/jm-instruments-%d.jmr", (int)getpid());
    return (struct jm_record_cfg){.path = path,
                                  .create = {.label = "instruments", .overwrite = true, .seed = 1},
                                  .env = {.host = "here", .instruments = &set->list},
                                  .registry = none,
                                  .period_ns = JM_NS_PER_MS}; /* is not for instruments */
}

static bool reaches(struct jm_recorder *r, uint64_t n)
{
    struct jm_record_live live;
    for (int i = 0; i < 1500; i++) { /* a busy machine may take its time */
        jm_recorder_live(r, &live);
        if (live.readings >= n)
            return true;
        jm_clock_sleep_until(&sys, jm_clock_mono(&sys) + 20 * JM_NS_PER_MS, NULL);
    }
    return false;
}

/* Each of the configured instruments but those that never will has so many readings. */
static bool all_made(size_t n, unsigned readings)
{
    for (int i = 0; i < 3000; i++) {
        size_t ready = 0;
        for (size_t k = 0; k < n; k++) {
            enum how how = set->conf[k].how;
            bool never =
                how == HANGS_AT_ONCE || how == HANGS_OPENING || how == FAILS_OPENING || how == NEVER_COMES;
            ready += never || atomic_load(&set->conf[k].made) >= (how == HANGS_LATER ? 3 : readings);
        }
        if (ready == n)
            return true;
        jm_clock_sleep_until(&sys, jm_clock_mono(&sys) + 20 * JM_NS_PER_MS, NULL);
    }
    return false;
}
static const struct jm_run_meter *row(struct jm_run *run, const char *name)
{
    size_t n;
    const struct jm_run_meter *m = jm_run_meters(run, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(m[i].instance, name) == 0)
            return &m[i];
    return NULL;
}

/* What the file says of the readings of each channel. */
static void check_readings(struct jm_run *run)
{
    size_t n_c, good = 0;
    const struct jm_channel *c = jm_run_channels(run, &n_c);
    const struct jm_domain_tree *tree = jm_run_domains(run);
    assert_int_equal(n_c, N - 3); /* i01 and i03 gave nothing, i45 hangs */
    for (size_t i = 0; i < n_c; i++) {
        struct jm_readings got = {0};
        int k = (c[i].device[1] - '0') * 10 + c[i].device[2] - '0';
        assert_int_equal(jm_run_readings(run, c[i].id, INT64_MIN, INT64_MAX, &got, &err), 0);
        const struct jm_reading *v = got.v;
        size_t n = got.n;
        if (set->conf[k].how == GOOD || set->conf[k].how == COMES_LATE || set->conf[k].how == OPENS_SLOWLY) {
            good++;
            assert_true(n >= 3); /* a busy machine may skip slots, it loses no reading that was made */
            for (size_t j = 0; j < n; j++) {
                assert_int_equal(v[j].status, JM_S_OK);
                assert_int_equal(v[j].value, (int64_t)j + 1);
            }
        } else {
            assert_int_equal(n, set->conf[k].how == HANGS_LATER ? 3 : 0);
        }
        jm_readings_release(&got);
        /* each has its own host's inlet, also one that joined later */
        assert_true(c[i].domain >= 0 && c[i].domain < (int)tree->n);
        assert_string_equal(tree->d[c[i].domain].key, c[i].device);
    }
    assert_int_equal(good, N - 3 - 8);
}

/* No reading of the others is lost. One that is down at the start joins when it answers, one whose opening
 * takes longer than is waited for is not opened twice, one that never answers says how often it was tried;
 * and what they said meanwhile is kept. */
static void ten_of_fifty_hang(void **state)
{
    char path[64];
    struct jm_recorder *r = NULL;
    struct jm_run *run = NULL;
    int64_t t0, t1;
    (void)state;
    configure(N);
    for (size_t i = 0; i < N; i += 5)
        set->conf[i].how = i < 20   ? HANGS_AT_ONCE
                           : i < 40 ? HANGS_LATER
                           : i < 45 ? OPENS_SLOWLY
                                    : HANGS_OPENING;
    set->conf[1].how = FAILS_OPENING;
    set->conf[2].how = COMES_LATE;
    set->conf[3].how = NEVER_COMES;
    struct jm_record_cfg cfg = config(path);
    assert_int_equal(jm_recorder_new(&cfg, &r, &err), 0);
    assert_int_equal(jm_recorder_channels(r), N - 5);
    assert_int_equal(jm_recorder_start(r, &err), 0);
    int w = jm_recorder_window_begin(r, JM_R_MEASURE, "w", 0, &t0, &err);
    assert_true(w >= 0);
    atomic_store(&awake, true);
    for (int i = 0; i < 1500 && jm_recorder_channels(r) < N - 3; i++) /* a busy machine may take its time */
        jm_clock_sleep_until(&sys, jm_clock_mono(&sys) + 20 * JM_NS_PER_MS, NULL);
    assert_true(all_made(N, 8));
    assert_int_equal(jm_recorder_window_end(r, w, &t1, &err), 0);
    assert_int_equal(jm_recorder_finish(r, &err), 0);
    assert_int_equal(set->conf[40].opened, 1);
    assert_int_equal(jm_run_open(path, &run, &err), 0);

    size_t n_m, denied = 0, absent = 0;
    const struct jm_run_meter *m = jm_run_meters(run, &n_m);
    assert_int_equal(n_m, N);
    for (size_t i = 0; i < n_m; i++) {
        denied += strcmp(m[i].state, "denied") == 0 && strstr(m[i].reason, "wrong password");
        absent += strcmp(m[i].state, "absent") == 0;
    }
    assert_int_equal(denied, 1);
    assert_int_equal(absent, 2); /* i03, i45 */
    assert_string_equal(row(run, "i02")->state, "ok");
    assert_non_null(strstr(row(run, "i02")->reason, "its readings begin"));
    assert_non_null(strstr(row(run, "i02")->reason, "it is booting"));
    assert_non_null(strstr(row(run, "i03")->reason, "tried again until the end"));
    assert_null(strstr(row(run, "i03")->reason, "i03: ")); /* the row has the name */
    assert_null(strstr(row(run, "i02")->reason, "i02: "));
    assert_non_null(jm_run_env(run, "instrument.i02.late"));
    assert_non_null(jm_run_env(run, "instrument.i40.late"));
    assert_null(jm_run_env(run, "instrument.i04.late"));
    assert_non_null(jm_run_env(run, "record.left.i00"));
    check_readings(run);
    static const char *const kept[] = {"i02", "i03", "i04", "i40"};
    for (size_t i = 0; i < 4; i++) {
        char name[32];
        struct jm_str text;
        snprintf(name, sizeof name, "replies/%s/000001", kept[i]);
        jm_str_init(&text);
        assert_int_equal(jm_run_raw_data(run, name, &text, &err), 0);
        assert_non_null(strstr(text.buf, "/look?key=*********\n{\"opened\": true}\n"));
        jm_str_release(&text);
    }
    jm_run_close(run);
    unlink(path);
    atomic_store(&released, true); /* the hanging threads end, and free what is theirs */
    for (int i = 0; atomic_load(&hanging) && i < 12000; i++)
        jm_clock_sleep_until(&sys, jm_clock_mono(&sys) + 5 * JM_NS_PER_MS, NULL);
    jm_clock_sleep_until(&sys, jm_clock_mono(&sys) + 50 * JM_NS_PER_MS, NULL);
    atomic_store(&released, false);
}

/* A lost connection is made again; the counter may have begun anew meanwhile, so its first value says reset
 * although it is larger than the last one before. */
static void lost_one_comes_back(void **state)
{
    char path[64];
    struct jm_recorder *r = NULL;
    struct jm_run *run = NULL;
    (void)state;
    configure(1);
    set->conf[0].how = IS_LOST;
    struct jm_record_cfg cfg = config(path);
    assert_int_equal(jm_recorder_new(&cfg, &r, &err), 0);
    assert_int_equal(jm_recorder_start(r, &err), 0);
    for (int i = 0; set->conf[0].opened < 2 && i < 1500; i++)
        jm_clock_sleep_until(&sys, jm_clock_mono(&sys) + 20 * JM_NS_PER_MS, NULL);
    struct jm_record_live live;
    jm_recorder_live(r, &live);
    assert_true(reaches(r, live.readings + 4));
    assert_int_equal(jm_recorder_finish(r, &err), 0);
    assert_int_equal(jm_run_open(path, &run, &err), 0);
    assert_string_equal(row(run, "i00")->state, "ok");
    size_t n_c, lost = 0, reset = 0, ok = 0;
    const struct jm_channel *c = jm_run_channels(run, &n_c);
    struct jm_readings got = {0};
    assert_int_equal(n_c, 1);
    assert_int_equal(jm_run_readings(run, c[0].id, INT64_MIN, INT64_MAX, &got, &err), 0);
    for (size_t k = 0; k < got.n; k++) {
        int s = got.v[k].status;
        lost += s == JM_S_LOST;
        reset += s == JM_S_RESET;
        ok += s == JM_S_OK && reset;
        assert_false(s == JM_S_OK && lost && !reset);
    }
    assert_true(lost > 0 && ok > 0);
    assert_int_equal(reset, 1);
    jm_readings_release(&got);
    jm_run_close(run);
    unlink(path);
}

static void replies_are_kept(void **state)
{
    char path[64];
    struct jm_recorder *r = NULL;
    struct jm_run *run = NULL;
    (void)state;
    configure(2);
    struct jm_record_cfg cfg = config(path);
    assert_int_equal(jm_recorder_new(&cfg, &r, &err), 0);
    assert_int_equal(jm_recorder_start(r, &err), 0);
    assert_true(all_made(2, 3));
    assert_int_equal(jm_recorder_finish(r, &err), 0);
    assert_int_equal(jm_run_open(path, &run, &err), 0);
    struct jm_str text;
    jm_str_init(&text);
    assert_int_equal(jm_run_raw_data(run, "replies/i01/000001", &text, &err), 0);
    assert_non_null(strstr(text.buf, "reply "));
    assert_non_null(strstr(text.buf, " - 28 /power?key=*********\n{\"n\": 1, \"key\": \"*********\"}\n"));
    assert_non_null(strstr(text.buf, "{\"n\": 2, "));
    assert_null(strstr(text.buf, "hunter"));
    const char *count = jm_run_env(run, "instrument.i01.replies");
    assert_non_null(count);
    assert_non_null(strstr(count, "kept of"));
    jm_str_release(&text);
    jm_run_close(run);
    unlink(path);
}

/* Beyond its share: what is new in form or could not be decoded, and one a minute; twice the share is the
 * end. */
static void replies_are_bounded(void **state)
{
    char path[64];
    struct jm_run_writer *w = NULL;
    struct jm_replies q;
    struct jm_run_create create = {.label = "bounded", .kind = "recorded", .overwrite = true};
    (void)state;
    configure(1);
    snprintf(path, sizeof path, "/tmp/jm-replies-%d.jmr", (int)getpid());
    assert_int_equal(jm_run_create(path, &create, &w, &err), 0);
    jm_replies_init(&q, &set->entry[0], 1);
    q.stored = 1; /* its share is used */
    int64_t t = 1000 * JM_NS_PER_S;
    static const char *const body[] = {"{\"W\": 1}", "{\"W\": 2}", "{\"W\": 30.5}", "{\"X\": 1}",
                                       "{\"W\": 4}"};
    for (int i = 0; i < 5; i++)
        jm_replies_put(&q, t, t + i, "/p", jm_span_of(body[i]), i == 1 ? JM_RAW_BAD : 0);
    jm_replies_put(&q, t, t + 61 * JM_NS_PER_S, "/p", jm_span_of(body[0]), 0);
    q.share = 2;
    q.stored = 2;
    assert_int_equal(jm_replies_drain(&q, w, t, false, &err), 0);
    /* the first (a new form), the bad one, the other form, the one a minute later */
    assert_int_equal(q.kept, 4);
    q.stored = 4;
    jm_replies_put(&q, t, t, "/p", jm_span_of("new form, too late"), JM_RAW_BAD);
    assert_int_equal(jm_replies_drain(&q, w, t, true, &err), 0);
    assert_int_equal(q.kept, 4);
    unsigned long long seen, lost;
    static char large[9 << 20];
    jm_replies_put(&q, t, t, "/p", (struct jm_span){large, sizeof large}, 0); /* more than may wait */
    jm_replies_count(&q, &seen, &lost);
    assert_int_equal(seen, 8);
    assert_int_equal(lost, 1);
    jm_replies_release(&q);
    assert_int_equal(jm_run_seal(w, &err), 0);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_of_fifty_hang),
        cmocka_unit_test(lost_one_comes_back),
        cmocka_unit_test(replies_are_kept),
        cmocka_unit_test(replies_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
