/* SPDX-License-Identifier: Apache-2.0 */
/* The process behind a port, on fake /proc trees and on the real one. */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "load/listener.h"
#include "load/load.h"

static char root[64];

static void put(const char *path, const char *text)
{
    char full[300];
    struct jm_err err;
    snprintf(full, sizeof full, "%s/%s", root, path);
    assert_int_equal(jm_file_mkparents(full, &err), 0);
    assert_int_equal(jm_file_write(full, jm_span_of(text), &err), 0);
}

static void process(const char *pid, const char *comm, const char *parent, const char *link)
{
    char path[300], stat[200];
    snprintf(path, sizeof path, "%s/stat", pid);
    snprintf(stat, sizeof stat, "%s (a) b (c) S %s 1 1 0", pid,
             parent); /* names may hold brackets and blanks */
    put(path, stat);
    snprintf(path, sizeof path, "%s/comm", pid);
    put(path, comm);
    snprintf(path, sizeof path, "%s/fd/.keep", pid);
    put(path, "");
    snprintf(path, sizeof path, "%s/%s/fd/7", root, pid);
    assert_int_equal(symlink(link, path), 0);
}

#define HEAD                                                                                                 \
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
#define LINE(local, state, inode)                                                                            \
    "   0: " local " 00000000:0000 " state " 00000000:00000000 00:00000000 00000000  1000        0 " inode   \
    " 1 0\n"

static void fake_trees(void **state)
{
    char why[160];
    (void)state;
    snprintf(root, sizeof root, "/tmp/jm-listener-XXXXXX");
    assert_non_null(mkdtemp(root));
    put("net/tcp", HEAD LINE("0100007F:1F90", "01", "11") LINE("00000000:1F90", "0A", "22")
                       LINE("0100007F:1F91", "0A", "33"));
    put("net/tcp6", HEAD LINE("00000000000000000000000000000000:1F92", "0A", "44"));
    process("100", "python3\n", "1", "socket:[22]");
    process("101", "engine\n", "100", "socket:[11]");
    process("102", "docker-proxy\n", "1", "socket:[33]");
    process("103", "vllm\n", "101", "socket:[44]");
    assert_int_equal(jm_listener_find(root, 8080, why, sizeof why),
                     100); /* the listener, not the connected one */
    assert_int_equal(jm_listener_find(root, 8082, why, sizeof why), 103);
    assert_int_equal(jm_listener_find(root, 8081, why, sizeof why), -1);
    assert_non_null(strstr(why, "docker-proxy (process 102)"));
    assert_int_equal(jm_listener_find(root, 9, why, sizeof why), -1);
    assert_non_null(strstr(why, "no process of this network namespace listens on port 9"));
    int64_t pids[8];
    assert_int_equal(jm_load_process_tree(root, 100, pids, 8), 3);
    assert_int_equal(pids[0], 100);
    assert_int_equal(pids[1] + pids[2], 101 + 103);
    assert_int_equal(jm_load_process_tree(root, 103, pids, 8), 1);
    assert_int_equal(jm_load_process_tree(root, 100, pids, 2), 2);
    char path[100];
    snprintf(path, sizeof path, "%s/none", root);
    assert_int_equal(jm_listener_find(path, 1, why, sizeof why), -1);
    assert_non_null(strstr(why, "cannot be read"));
    snprintf(path, sizeof path, "rm -rf %s", root);
    assert_int_equal(system(path), 0);
}

static void this_process(void **state)
{
    struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct sockaddr_in b = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof b;
    char why[160];
    (void)state;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&b, sizeof b), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&b, &n), 0);
    assert_int_equal(jm_listener_find("/proc", ntohs(b.sin_port), why, sizeof why), getpid());
    close(fd);
    fd = socket(AF_INET6, SOCK_STREAM, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0 && listen(fd, 1) == 0) {
        n = sizeof a;
        assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
        assert_int_equal(jm_listener_find("/proc", ntohs(a.sin6_port), why, sizeof why), getpid());
    }
    if (fd >= 0)
        close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fake_trees), cmocka_unit_test(this_process)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
