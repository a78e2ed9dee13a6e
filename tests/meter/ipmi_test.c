/* SPDX-License-Identifier: Apache-2.0 */
/* The meter ipmi on a way of the test's own: what it asks, when it leaves a BMC alone, what becomes of
 * replies. */
#include "fix.h"

#include <errno.h>
#include <stdint.h>

#include "meter/ipmi.h"

static struct bmc {
    uint8_t reply[64];
    int n, asked, closed; /* n negative: -errno */
} bmc;

static int ask(void *self, const struct jm_ipmi_request *r, uint8_t *out, size_t cap, int timeout_ms)
{
    struct bmc *b = self;
    b->asked++;
    assert_true(timeout_ms > 0 && r->n <= sizeof r->data);
    if (b->n > 0 && (size_t)b->n <= cap)
        memcpy(out, b->reply, (size_t)b->n);
    return b->n;
}

static void end(void *self)
{
    ((struct bmc *)self)->closed++;
}

static void says(const char *bytes, int n)
{
    memcpy(bmc.reply, bytes, (size_t)n);
    bmc.n = n;
}
#define GOOD "\0\xdc\x4c\x01\x44\0\xf8\x01\x5c\x01\xde\x25\x0c\x6b\xe8\x03\0\0\x40"

static struct jm_ipmi_conf conf;
static struct jm_instruments list;
static struct jm_instrument in;

static int open_it(struct fix *f, int source)
{
    memset(&in, 0, sizeof in);
    conf = (struct jm_ipmi_conf){.address = "/dev/ipmi0", .source = source};
    in = (struct jm_instrument){.name = "bmc",
                                .ops = &jm_meter_ipmi,
                                .list = &list,
                                .at = -1,
                                .timeout_ns = JM_NS_PER_S,
                                .conf = &conf};
    return jm_ipmi_open_way(&f->env, &in, &f->tree, (struct jm_ipmi_way){ask, end, &bmc}, &f->m, &f->err);
}

static void reads(void **state)
{
    struct fix *f = *state;
    struct jm_reading r[4];
    bmc = (struct bmc){0};
    says(GOOD, 19);
    assert_int_equal(open_it(f, JM_IPMI_DCMI), 0);
    assert_int_equal(f->m->n_chan, 2);
    assert_int_equal(f->tree.d[f->m->chan[0].domain].kind, JM_D_NODE);
    assert_int_equal(f->m->ops->read(f->m, &f->env.clock, JM_READ_ALL, r), 2);
    assert_true(r[0].status == JM_S_OK && r[0].value == 332);
    assert_true(r[1].status == JM_S_OK); /* its clock against ours */
    says("\0\xdc\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x40", 19);
    f->m->ops->read(f->m, &f->env.clock, JM_READ_ALL, r);
    assert_true(r[0].status == JM_S_ABSENT && r[0].value == 0);
    says("\0\xdc\x4c", 3); /* cut short: no value, and none of before */
    f->m->ops->read(f->m, &f->env.clock, JM_READ_ALL, r);
    assert_true(r[0].status == JM_S_GAP && r[0].value == 0);
    bmc.n = -ENODEV;
    f->m->ops->read(f->m, &f->env.clock, JM_READ_ALL, r);
    assert_true(r[0].status == JM_S_LOST);
}

static void backs_off(void **state)
{
    struct fix *f = *state;
    struct jm_reading r[4];
    bmc = (struct bmc){0};
    says(GOOD, 19);
    assert_int_equal(open_it(f, JM_IPMI_DCMI), 0);
    says("\xff", 1);
    int before = bmc.asked;
    for (int i = 0; i < 120; i++) { /* a minute, twice a second */
        f->vc.own += JM_NS_PER_S / 2;
        f->m->ops->read(f->m, &f->env.clock, JM_READ_ALL, r);
        assert_true(r[0].status == JM_S_GAP);
    }
    /* at 0.5 s, then 1, 2, 4, 8, 16 and 32 s after the last: 0.5, 1.5, 3.5, 7.5, 15.5, 31.5 s; the next
     * at 63.5 s */
    assert_int_equal(bmc.asked - before, 6);
    says(GOOD, 19);
    f->vc.own += 60 * JM_NS_PER_S;
    f->m->ops->read(f->m, &f->env.clock, JM_READ_ALL, r);
    assert_true(r[0].status == JM_S_OK);
    f->vc.own += JM_NS_PER_S / 2;
    f->m->ops->read(f->m, &f->env.clock, JM_READ_ALL, r);
    assert_true(r[0].status == JM_S_OK); /* once it answers it is asked as before */
}

static void refuses(void **state)
{
    struct fix *f = *state;
    bmc = (struct bmc){0};
    says("\xc1", 1);
    assert_int_equal(open_it(f, JM_IPMI_DCMI), JM_EUNSUPPORTED);
    assert_int_equal(bmc.closed, 1);
    bmc.n = -EACCES;
    assert_int_equal(open_it(f, JM_IPMI_DCMI), JM_EDENIED);
    bmc.n = -ETIMEDOUT;
    assert_int_equal(open_it(f, JM_IPMI_NM), JM_ETIMEOUT);
    assert_null(f->m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {T(reads), T(backs_off), T(refuses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
