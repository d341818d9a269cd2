/* SPDX-License-Identifier: MIT */

/* What goes wrong with a server: one sentence says what has happened, the next
   one what to do. */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/cluster.h"
#include "support/paths.h"
#include "support/server.h"
#include "support/socket.h"
#include "support/tool.h"
#include "support/wait.h"

enum { SOON_MS = 20000, URL_SIZE = 512 };

static server *redis;

static int start(NO_STATE)
{
    static const char *const debug[] = {"--enable-debug-command", "yes", NULL};

    redis = server_start_tcp(debug);
    return redis != NULL ? 0 : -1;
}

static int end(NO_STATE)
{
    server_stop(redis);
    return 0;
}

static int forget(NO_STATE)
{
    tool_free_all();
    return server_restart(redis) ? 0 : -1;
}

static tool *lock_start(const char *url)
{
    const tool_how how = {.url = url};

    return tool_start(&how, "lock", "-n", "n", "true", NULL);
}

/* Waits for its end, and for both sentences. */
static void check(tool *t, int code, const char *what, const char *to_do)
{
    int ended = tool_wait(t, SOON_MS);
    const char *said = strstr(tool_err(t), what);

    if (ended != code || said == NULL ||
        strncmp(said + strlen(what), "\n  ", 3) != 0 ||
        strncmp(said + strlen(what) + 3, to_do, strlen(to_do)) != 0)
        fail_msg("code %d: %s", ended, tool_err(t));
    tool_free(t);
}

static void
assert_lock_says(const char *url, int code, const char *what, const char *to_do)
{
    check(lock_start(url), code, what, to_do);
}

/* A command that takes a lock, and one that only looks, at the same time: each
   takes as long as it tries to reach a server. */
static void
assert_tool_says(const char *url, int code, const char *what, const char *to_do)
{
    const tool_how how = {.url = url};
    tool *lock = lock_start(url);
    tool *ls = tool_start(&how, "ls", NULL);

    check(lock, code, what, to_do);
    check(ls, code, what, to_do);
}

static void command(const char *words)
{
    redisReply *reply = server_command(redis, words);

    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
}

/* ---- where the server is ------------------------------------------------ */

#define TEST(name) CHECK_TEST_OF(name, NO_STATE, NULL, forget)

/* No resolver is asked for a part of a name that is so long. */
TEST(a_host_that_nobody_knows)
{
    char host[71] = "";
    char url[URL_SIZE];

    memset(host, 'x', sizeof(host) - 1);
    (void)snprintf(url, sizeof(url), "redis://%s", host);
    assert_tool_says(
        url, 69, "cannot be reached: there is no host of this name",
        "correct the host in the URL, or this machine's DNS; the URL "
        "comes from LATCHKEY_URL\n");
}

TEST(a_port_on_which_nobody_listens)
{
    char url[URL_SIZE];

    (void)snprintf(url, sizeof(url), "redis://127.0.0.1:%u",
                   (unsigned)socket_free_port());
    assert_tool_says(
        url, 69, "cannot be reached: connection refused",
        "start Redis there, or correct the URL; the URL comes from "
        "LATCHKEY_URL\n");
}

TEST(a_server_that_is_not_there_is_given_up_before_the_wait)
{
    tool_how away;
    char url[URL_SIZE];

    (void)snprintf(url, sizeof(url), "redis://127.0.0.1:%u?offline_ms=200ms",
                   (unsigned)socket_free_port());
    away = (tool_how){.url = url};
    assert_tool(&away, 69, "",
                "\nlatchkey lock: given up after 0.20 s; with offline_ms=1m ",
                "lock", "-w1h", "n", "true", NULL);
}

TEST(a_socket_that_is_not_there)
{
    char url[URL_SIZE];

    (void)snprintf(url, sizeof(url), "unix:%s.not", server_socket(redis));
    assert_tool_says(
        url, 69, "cannot be reached: there is no such socket",
        "start Redis with this path as its `unixsocket`, or correct "
        "the URL; the URL comes from LATCHKEY_URL\n");
}

TEST(a_socket_on_which_nobody_listens)
{
    char path[URL_SIZE / 2];
    char url[URL_SIZE];
    int fd;

    (void)snprintf(path, sizeof(path), "%s.left", server_socket(redis));
    (void)snprintf(url, sizeof(url), "unix:%s", path);
    fd = socket_listen_unix(path);
    assert_true(fd >= 0);
    (void)close(fd); /* its file stays */
    assert_tool_says(
        url, 69, "cannot be reached: nobody listens on this socket",
        "start Redis there, or correct the URL; the URL comes from "
        "LATCHKEY_URL\n");
    assert_int_equal(unlink(path), 0);
}

/* Of root, who may do anything, the rights are taken. */
TEST(a_socket_that_the_user_may_not_use)
{
    tool_how how = {.url = server_url(redis)};
    tool *t;

    assert_int_equal(chmod(server_socket(redis), 0), 0);
    if (geteuid() == 0) {
        how.program = "setpriv";
        t = tool_start(&how, "--bounding-set=-all", "--inh-caps=-all", LK_TOOL,
                       "ls", NULL);
    } else {
        t = tool_start(&how, "ls", NULL);
    }
    assert_int_equal(tool_wait(t, SOON_MS), 69);
    tool_wait_err(t,
                  "cannot be reached: this user has no right to the socket\n"
                  "  let the user into its group, with `unixsocketperm 770`; "
                  "the URL comes from LATCHKEY_URL\n",
                  SOON_MS);
}

/* ---- what is there is no Redis ------------------------------------------ */

/* In the child. */
static _Noreturn void answer_all(int fd, const char *answer)
{
    char asked[512];
    int one;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    while ((one = accept(fd, NULL, NULL)) >= 0) {
        if (read(one, asked, sizeof(asked)) > 0)
            (void)!write(one, answer, strlen(answer));
        (void)close(one);
    }
    _exit(99);
}

/* A server of which each connection is told this, in a process of its own. */
static pid_t answering(const char *answer, uint16_t *ret_port)
{
    int fd = socket_listen_tcp(ret_port);
    pid_t pid;

    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        answer_all(fd, answer);
    (void)close(fd);
    return pid;
}

TEST(an_http_server)
{
    uint16_t port = 0;
    pid_t pid = answering("HTTP/1.1 400 Bad Request\r\n\r\n", &port);
    char url[URL_SIZE];

    (void)snprintf(url, sizeof(url), "redis://127.0.0.1:%u", (unsigned)port);
    assert_tool_says(
        url, 69, "cannot be used: an HTTP server answers there, and not Redis",
        "correct host and port in the URL; the URL comes from "
        "LATCHKEY_URL\n");
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

TEST(a_server_of_something_else)
{
    uint16_t port = 0;
    pid_t pid = answering("220 mail.example ESMTP\r\n", &port);
    char url[URL_SIZE];

    (void)snprintf(url, sizeof(url), "redis://127.0.0.1:%u", (unsigned)port);
    assert_tool_says(url, 69, "the reply is not understood",
                     "let the URL name a Redis server; the URL comes from "
                     "LATCHKEY_URL\n");
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Of nobody, for a server that nobody keeps a secret with. */
static const char certificate[] =
    "-----BEGIN EC PRIVATE KEY-----\n"
    "MHcCAQEEICDSbVNwqcA/7b5oANxe0L+YspFr9j3rL3m5c+omC4tioAoGCCqGSM49\n"
    "AwEHoUQDQgAExfywfJPhFKdyi2LaccYRLqWYzgbhOoOAGQAj47R8TuBLVOCWNsIL\n"
    "UnkdsvU+axAkimJXVT9V12muAzdeEHmKQg==\n"
    "-----END EC PRIVATE KEY-----\n"
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBdDCCARugAwIBAgIUJlOYh5ZHu32WIGUOJIlV5Um5w8YwCgYIKoZIzj0EAwIw\n"
    "DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMjMxMjMwMjRaGA8yMTI2MTAzMDEyMzAy\n"
    "NFowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABMX8\n"
    "sHyT4RSncoti2nHGES6lmM4G4TqDgBkAI+O0fE7gS1TgljbCC1J5HbL1PmsQJIpi\n"
    "V1U/VddprgM3XhB5ikKjUzBRMB0GA1UdDgQWBBTfY4+ty2FAfALb6HKBnQO6yX2d\n"
    "tzAfBgNVHSMEGDAWgBTfY4+ty2FAfALb6HKBnQO6yX2dtzAPBgNVHRMBAf8EBTAD\n"
    "AQH/MAoGCCqGSM49BAMCA0cAMEQCIE2TfeaHR+9sZTrh3EpEZJRod/5LMayjqSeT\n"
    "50VZdk+xAiBR2Ik/I47or2WEnD3woScuZDydUI67cM7xuvDI16iUqw==\n"
    "-----END CERTIFICATE-----\n";

static void write_certificate(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, certificate, sizeof(certificate) - 1),
                     sizeof(certificate) - 1);
    assert_int_equal(close(fd), 0);
}

TEST(a_port_that_speaks_tls)
{
    char path[] = "/tmp/lk-messages-XXXXXX";
    char port[16], url[URL_SIZE];
    const char *const arguments[] = {"--tls-port",
                                     port,
                                     "--tls-cert-file",
                                     path,
                                     "--tls-key-file",
                                     path,
                                     "--tls-auth-clients",
                                     "no",
                                     NULL};
    server *secret;
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    (void)close(fd);
    write_certificate(path);
    (void)snprintf(port, sizeof(port), "%u", (unsigned)socket_free_port());
    secret = server_start(arguments);
    assert_non_null(secret);
    (void)snprintf(url, sizeof(url), "redis://127.0.0.1:%s", port);
    assert_tool_says(
        url, 69, "cannot be reached: it looks like TLS",
        "write rediss:// in the place of redis:// in the URL; the URL "
        "comes from LATCHKEY_URL\n");
    server_stop(secret);
    assert_int_equal(unlink(path), 0);
}

/* ---- who may use it ----------------------------------------------------- */

TEST(a_password_that_is_wrong)
{
    char url[URL_SIZE];

    command("ACL SETUSER ann on >right ~* &* +@all");
    (void)snprintf(url, sizeof(url), "redis://ann:wrong@127.0.0.1:%u",
                   (unsigned)server_port(redis));
    assert_tool_says(
        url, 77, "cannot be used: the user or the password is wrong",
        "check the user in the URL, and the password there, in "
        "LATCHKEY_PASSWORD or in the password file; the URL comes from "
        "LATCHKEY_URL\n");
    (void)snprintf(url, sizeof(url), "redis://:any@127.0.0.1:%u",
                   (unsigned)server_port(redis));
    assert_tool_says(
        url, 77, "a password was sent, and the server has none",
        "`latchkey config --explain` tells where it comes from: take "
        "it out there, or set `requirepass` at the server");
}

TEST(a_password_that_is_missing)
{
    command("CONFIG SET requirepass secret");
    assert_tool_says(
        server_tcp_url(redis), 77,
        "cannot be used: the server wants a password",
        "set LATCHKEY_PASSWORD_FILE or LATCHKEY_PASSWORD, or write it "
        "into the URL, as redis://:PASSWORD@host; the URL comes from "
        "LATCHKEY_URL\n");
}

TEST(a_right_that_is_missing)
{
    static const char to_do[] =
        "give the user this right; `latchkey doctor --name NAME` finds all\n";
    char url[URL_SIZE];

    command("ACL SETUSER bob on >b ~* &* +@all -eval -evalsha");
    command("ACL SETUSER eve on >e ~other &* +@all");
    (void)snprintf(url, sizeof(url), "redis://bob:b@127.0.0.1:%u",
                   (unsigned)server_port(redis));
    assert_lock_says(url, 77, "no permissions to run the 'eval' command",
                     to_do);
    (void)snprintf(url, sizeof(url), "redis://eve:e@127.0.0.1:%u",
                   (unsigned)server_port(redis));
    assert_lock_says(url, 77, "; ACL LOG at the server tells what", to_do);
}

/* ---- what it can do ----------------------------------------------------- */

TEST(a_database_that_is_not_there)
{
    char url[URL_SIZE];

    (void)snprintf(url, sizeof(url), "%s/99", server_tcp_url(redis));
    assert_tool_says(
        url, 69, "cannot be used: it has no database of this number",
        "choose one below the server's `databases`, 16 unless it is "
        "changed\n");
}

TEST(memory_that_is_full)
{
    command("CONFIG SET maxmemory 1");
    assert_lock_says(server_url(redis), 69, "the server's memory is full",
                     "raise its maxmemory, or delete what nobody needs\n");
}

/* The connection of the test is the one that there may be. */
TEST(too_many_clients)
{
    command("CONFIG SET maxclients 1");
    assert_tool_says(
        server_url(redis), 69,
        "cannot be reached: the server has reached its limit of "
        "clients",
        "raise its maxclients, or end clients that CLIENT LIST shows; "
        "the URL comes from LATCHKEY_URL\n");
}

TEST(a_replica)
{
    command("REPLICAOF 127.0.0.1 1");
    assert_tool_says(
        server_url(redis), 69,
        "cannot be used: it is a replica, and only its primary grants",
        "let the URL name that one; `redis-cli info replication` tells "
        "which\n");
}

/* While it saves what it then loads it does not answer at all. */
static bool is_loading(void *data)
{
    redisReply *reply = server_ask(data, "PING");
    bool loads = reply != NULL && reply->type == REDIS_REPLY_ERROR &&
                 strncmp(reply->str, "LOADING", 7) == 0;

    freeReplyObject(reply);
    return loads;
}

/* The slot of "n" is another node's. */
TEST(a_node_of_a_cluster)
{
    cluster *c = cluster_start(3, 0);

    assert_non_null(c);
    assert_lock_says(server_url(cluster_master_of(c, 16383)), 69,
                     "cannot be used: it is a node of a Redis Cluster",
                     "write redis+cluster:// in the place of redis:// in the "
                     "URL\n");
    cluster_stop(c);
}

/* So many keys, each of which takes its time. */
TEST(a_server_that_loads)
{
    redisContext *begin;

    command("DEBUG POPULATE 10000 key 1024");
    command("CONFIG SET loading-process-events-interval-bytes 1024");
    command("CONFIG SET key-load-delay 10000");
    begin = redisConnectUnix(server_socket(redis));
    assert_non_null(begin);
    assert_int_equal(redisAppendCommand(begin, "DEBUG RELOAD"), REDIS_OK);
    assert_int_equal(redisBufferWrite(begin, &(int){0}), REDIS_OK);
    assert_true(wait_until(is_loading, redis, SOON_MS));
    assert_tool_says(server_url(redis), 69, "the server still loads its data",
                     "wait until it has loaded\n");
    redisFree(begin);
}

/* ---- whether it answers ------------------------------------------------- */

static void assert_silent(const char *url)
{
    assert_tool_says(
        url, 69, "cannot be reached: it takes connections and does not answer",
        "look at its process and log: it is stopped, paused or busy; "
        "the URL comes from LATCHKEY_URL\n");
}

TEST(a_server_that_is_stopped)
{
    server_freeze(redis);
    assert_silent(server_url(redis));
    assert_silent(server_tcp_url(redis));
    server_thaw(redis);
}

TEST(a_server_that_is_paused)
{
    command("CLIENT PAUSE 1000000 ALL");
    assert_silent(server_url(redis));
}

/* It can be looked at, and is asked in vain for a lock. */
TEST(a_server_that_pauses_what_writes)
{
    command("CLIENT PAUSE 1000000 WRITE");
    assert_lock_says(server_url(redis), 69, "it was sent, but no answer came",
                     "look at the server's process and log, then try again\n");
}

CHECK_GROUP(start, end)
