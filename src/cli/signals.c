/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"

#include "base/banned.h"

volatile bool jm_signals_stop;
static volatile sig_atomic_t which;
static int fds[2] = {-1, -1};

static void on_signal(int sig)
{
    int saved = errno;
    if (jm_signals_stop) {
        /* the second one: do not wait for anything */
        signal(sig, SIG_DFL);
        raise(sig);
        return;
    }
    which = sig;
    jm_signals_stop = true;
    if (write(fds[1], "!", 1) < 0) {
        /* the pipe is full: it is readable already */
    }
    errno = saved;
}

int jm_signals_catch(struct jm_err *err)
{
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
    if (fds[0] >= 0)
        return 0;
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK))
        return jm_err_sys(err, errno, "cannot make a pipe for signals");
    struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&sa.sa_mask);
    for (size_t i = 0; i < sizeof caught / sizeof caught[0]; i++) {
        struct sigaction old;
        sigaction(caught[i], NULL, &old);
        if (old.sa_handler != SIG_IGN) /* nohup stays nohup */
            sigaction(caught[i], &sa, NULL);
    }
    return 0;
}

int jm_signals_which(void)
{
    return which;
}

int jm_signals_fd(void)
{
    return fds[0];
}

bool jm_signals_sleep_until(int64_t mono_ns)
{
    struct jm_clock clock = jm_clock_system();
    while (!jm_signals_stop) {
        int64_t left = mono_ns - jm_clock_mono(&clock);
        if (left <= 0)
            return false;
        struct pollfd p = {fds[0], POLLIN, 0};
        int64_t ms = (left + JM_NS_PER_MS - 1) / JM_NS_PER_MS;
        poll(&p, 1, ms > 3600000 ? 3600000 : (int)ms);
    }
    return true;
}
