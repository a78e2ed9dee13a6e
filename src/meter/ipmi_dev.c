/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's IPMI device: linux/ipmi.h is its published interface. */
#include <errno.h>
#include <fcntl.h>
#include <linux/ipmi.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "meter/ipmi.h"
#include "base/banned.h"

struct dev {
    int fd;
    long id;
};

static int64_t now_ms(void)
{
    struct jm_clock c = jm_clock_system();
    return jm_clock_mono(&c) / JM_NS_PER_MS;
}

static int send_request(struct dev *d, const struct jm_ipmi_request *r)
{
    struct ipmi_system_interface_addr bmc = {.addr_type = IPMI_SYSTEM_INTERFACE_ADDR_TYPE,
                                             .channel = IPMI_BMC_CHANNEL};
    struct ipmi_ipmb_addr bridged = {
        .addr_type = IPMI_IPMB_ADDR_TYPE, .channel = (short)r->channel, .slave_addr = r->target};
    unsigned char data[sizeof r->data];
    memcpy(data, r->data, r->n);
    struct ipmi_req q = {
        .msgid = ++d->id,
        .msg = {.netfn = r->netfn, .cmd = r->cmd, .data_len = (unsigned short)r->n, .data = data}};
    q.addr = r->channel < 0 ? (unsigned char *)&bmc : (unsigned char *)&bridged;
    q.addr_len = r->channel < 0 ? sizeof bmc : sizeof bridged;
    return ioctl(d->fd, IPMICTL_SEND_COMMAND, &q) < 0 ? -errno : 0;
}

static int dev_ask(void *self, const struct jm_ipmi_request *r, uint8_t *out, size_t cap, int timeout_ms)
{
    struct dev *d = self;
    int64_t until = now_ms() + timeout_ms;
    int rc = send_request(d, r);
    while (!rc) {
        int64_t left = until - now_ms();
        struct pollfd p = {.fd = d->fd, .events = POLLIN};
        int n = poll(&p, 1, left > 0 ? (int)left : 0);
        if (n == 0)
            return -ETIMEDOUT;
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n < 0)
            continue;
        struct ipmi_addr addr;
        struct ipmi_recv got = {.addr = (unsigned char *)&addr,
                                .addr_len = sizeof addr,
                                .msg = {.data = out, .data_len = (unsigned short)cap}};
        if (ioctl(d->fd, IPMICTL_RECEIVE_MSG_TRUNC, &got) < 0 && errno != EMSGSIZE)
            return errno == EINTR || errno == EAGAIN ? -ETIMEDOUT : -errno;
        if (got.msgid == d->id &&
            got.recv_type == IPMI_RESPONSE_RECV_TYPE) /* else the late answer to another */
            return got.msg.data_len;
    }
    return rc;
}

static void dev_close(void *self)
{
    struct dev *d = self;
    close(d->fd);
    free(d);
}

int jm_ipmi_dev_open(const char *path, struct jm_ipmi_way *out, struct jm_err *err)
{
    struct dev *d = malloc(sizeof *d);
    if (!d)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the meter ipmi");
    *d = (struct dev){.fd = open(path, O_RDWR | O_CLOEXEC)};
    if (d->fd < 0) {
        int e = errno;
        free(d);
        if (e == ENOENT)
            return jm_err_set(err, JM_EABSENT,
                              "there is no %s; modprobe ipmi_devintf ipmi_si makes it where a BMC is", path);
        return jm_err_sys(err, e, "cannot open %s", path);
    }
    *out = (struct jm_ipmi_way){dev_ask, dev_close, d};
    return 0;
}
