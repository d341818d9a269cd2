/* SPDX-License-Identifier: MIT */

/*
 * TLS with a real server: whom a client believes, what it says of those it does
 * not, and that nothing goes out without.
 */

#include <latchkey/inspect.h>

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "engine/client.h"
#include "support/certificates.h"
#include "support/check.h"
#include "support/locking.h"
#include "support/refused.h"
#include "support/socket.h"
#include "support/wait.h"
#include "world/tls.h"

enum { READY_MS = 20000 };

static server *tls_server;

/* The server shows this certificate, and asks the client for one or not. */
static void server_shows(const char *name, const char *asks)
{
    char cert[128], key[128], file[64];
    redisReply *reply;

    (void)snprintf(file, sizeof(file), "%s.crt", name);
    (void)certificates_path(cert, file);
    (void)snprintf(file, sizeof(file), "%s.key", name);
    reply = server_command(tls_server,
                           "CONFIG SET tls-cert-file %s tls-key-file %s "
                           "tls-auth-clients %s",
                           cert, certificates_path(key, file), asks);
    assert_int_equal(reply->type, REDIS_REPLY_STATUS);
    freeReplyObject(reply);
}

static int setup(void **state)
{
    if (locking_setup(state) != 0)
        return -1;
    tls_server = ((locking *)*state)->server;
    server_shows("server", "no");
    return 0;
}

#define TEST(name) CHECK_TEST_OF(name, locking *f, setup, locking_teardown)

/* A client of the port at a host that trusts the CA in a file. */
static lk_client *
open_at(locking *f, const char *host, uint16_t port, const char *ca)
{
    char url[320], path[128];

    (void)snprintf(url, sizeof(url),
                   "rediss://%s:%u?tls_ca_file=%s&connect_timeout_ms=%u", host,
                   port, certificates_path(path, ca),
                   (unsigned)wait_limit_ms(2000));
    return locking_open_url(f, url, NULL);
}

static lk_client *open_tls(locking *f, const char *host, const char *ca)
{
    return open_at(f, host, server_tls_port(tls_server), ca);
}

/* So often that its caller would read a plain stream itself. */
static void assert_works(locking *f, lk_client *client)
{
    lk_lock *lock = locking_lock(f, client, "n");
    lk_status status =
        lk_client_wait_ready(client, (int64_t)wait_limit_ms(READY_MS));

    if (status != LK_OK)
        fail_msg("%s", lk_last_error());
    for (int i = 0; i < 20; i++)
        assert_status(lk_hold_release(locking_hold(lock)), LK_OK);
}

/* ---- who is believed ------------------------------------------------------- */

TEST(a_server_with_the_right_certificate_is_believed)
{
    assert_works(f, open_tls(f, "localhost", "ca.crt"));
    assert_works(f, open_tls(f, "127.0.0.1", "ca.crt"));
}

TEST(a_name_that_is_said_takes_the_place_of_the_hosts)
{
    char url[320], path[128];

    server_shows("stranger", "no");
    (void)snprintf(url, sizeof(url),
                   "rediss://127.0.0.1:%u?cacert=%s&sni=elsewhere.example",
                   server_tls_port(tls_server),
                   certificates_path(path, "ca.crt"));
    assert_works(f, locking_open_url(f, url, NULL));
}

TEST(a_client_shows_its_certificate)
{
    char url[640], ca[128], cert[128], key[128];

    server_shows("server", "yes");
    (void)snprintf(url, sizeof(url),
                   "valkeys://localhost:%u?ssl_ca_certs=%s&ssl_certfile=%s&"
                   "ssl_keyfile=%s",
                   server_tls_port(tls_server), certificates_path(ca, "ca.crt"),
                   certificates_path(cert, "client.crt"),
                   certificates_path(key, "client.key"));
    assert_works(f, locking_open_url(f, url, NULL));
    (void)snprintf(url, sizeof(url),
                   "rediss://localhost:%u?tls_ca_file=%s&tls_cert_file=%s",
                   server_tls_port(tls_server), ca,
                   certificates_path(cert, "client.pem"));
    assert_works(f, locking_open_url(f, url, NULL));
}

TEST(who_asks_for_it_checks_less)
{
    char url[320], path[128];

    server_shows("stranger", "no");
    (void)snprintf(url, sizeof(url),
                   "rediss://localhost:%u?tls_verify=ca&tls_ca_file=%s",
                   server_tls_port(tls_server),
                   certificates_path(path, "ca.crt"));
    assert_works(f, locking_open_url(f, url, NULL));
    server_shows("other", "no");
    (void)snprintf(url, sizeof(url), "rediss://localhost:%u?ssl_cert_reqs=none",
                   server_tls_port(tls_server));
    assert_works(f, locking_open_url(f, url, NULL));
}

TEST(a_session_is_resumed)
{
    lk_client *client = open_tls(f, "localhost", "ca.crt");
    lk__tls_facts facts;

    assert_works(f, client);
    locking_wait_connects(client, 2);
    freeReplyObject(server_command(tls_server, "CLIENT KILL TYPE normal"));
    locking_wait_connects(client, 3);
    assert_true(lk__tls_facts_get(client->settings.tls, "localhost",
                                  server_tls_port(tls_server), &facts));
    assert_true(facts.resumed);
    assert_string_equal(facts.version, "TLSv1.3");
    assert_true(facts.ends_at > time(NULL));
}

static void version_set(const char *version)
{
    freeReplyObject(
        server_command(tls_server, "CONFIG SET tls-protocols %s", version));
}

TEST(the_older_version_will_do)
{
    lk__tls_facts facts;
    lk_client *client;

    version_set("TLSv1.2");
    client = open_tls(f, "localhost", "ca.crt");
    assert_works(f, client);
    assert_true(lk__tls_facts_get(client->settings.tls, "localhost",
                                  server_tls_port(tls_server), &facts));
    assert_string_equal(facts.version, "TLSv1.2");
    version_set("");
}

/* What a doctor says about it; "" for nothing. */
static void tls_health(lk_client *client, char text[256])
{
    lk_health *health;

    text[0] = '\0';
    assert_status(lk_health_check(client, LK_FOREVER, &health), LK_OK);
    for (size_t i = 0; i < health->count; i++) {
        if (strcmp(health->checks[i]->id, "tls") == 0)
            (void)snprintf(text, 256, "%s", health->checks[i]->text);
    }
    lk_health_free(health);
}

TEST(the_doctor_says_what_is_used_and_when_it_ends)
{
    char text[256], url[128];

    tls_health(open_tls(f, "localhost", "ca.crt"), text);
    assert_non_null(strstr(text, "TLSv1.3 with TLS_"));
    assert_non_null(strstr(text, "certificate ends on 20"));
    (void)snprintf(url, sizeof(url), "unix:%s", server_socket(tls_server));
    tls_health(locking_open_url(f, url, NULL), text);
    assert_string_equal(text, "");
}

/* ---- who is not ------------------------------------------------------------ */

TEST(a_ca_that_is_not_trusted_is_named)
{
    assert_refused(open_tls(f, "localhost", "other.crt"), LK_EAUTH,
                   "its CA is not trusted: name the CA's file with "
                   "tls_ca_file");
}

TEST(a_certificate_that_is_its_own_ca_is_named)
{
    server_shows("other", "no");
    assert_refused(open_tls(f, "localhost", "ca.crt"), LK_EAUTH,
                   "it is its own CA");
}

TEST(an_expired_certificate_is_named)
{
    server_shows("expired", "no");
    assert_refused(open_tls(f, "localhost", "ca.crt"), LK_EAUTH,
                   "certificate has expired; renew it at the server");
}

TEST(a_certificate_of_another_host_is_named)
{
    server_shows("stranger", "no");
    assert_refused(open_tls(f, "localhost", "ca.crt"), LK_EAUTH,
                   "not for the name localhost");
    assert_refused(open_tls(f, "127.0.0.1", "ca.crt"), LK_EAUTH,
                   "not for the address 127.0.0.1");
}

TEST(a_certificate_that_the_server_wants_is_named)
{
    server_shows("server", "yes");
    assert_refused(open_tls(f, "localhost", "ca.crt"), LK_EAUTH,
                   "wants a certificate of the client");
}

TEST(a_wait_ends_at_once_when_the_server_is_not_believed)
{
    lk_client *client = open_tls(f, "localhost", "other.crt");
    lk_lock *lock = locking_lock(f, client, "n");
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(lock, LK_FOREVER, NULL, &hold), LK_EAUTH);
    assert_non_null(strstr(lk_last_error(), "not trusted"));
}

/* ---- the wrong port -------------------------------------------------------- */

TEST(a_plain_port_is_named)
{
    assert_refused(open_at(f, "127.0.0.1", server_port(tls_server), "ca.crt"),
                   LK_ETIMEDOUT, "perhaps the port is a plain one");
}

TEST(a_port_with_tls_is_named)
{
    char url[64];

    (void)snprintf(url, sizeof(url), "redis://127.0.0.1:%u",
                   server_tls_port(tls_server));
    assert_refused(locking_open_url(f, url, NULL), LK_ETIMEDOUT,
                   "perhaps the port speaks TLS: rediss://");
}

/* ---- files ----------------------------------------------------------------- */

static void assert_open_fails(const char *options, const char *words)
{
    lk_client *client = NULL;
    char url[512];

    (void)snprintf(url, sizeof(url), "rediss://localhost:1?%s", options);
    assert_status(lk_client_open(&client, url, NULL), LK_EINVAL);
    assert_null(client);
    if (strstr(lk_last_error(), words) == NULL)
        assert_string_equal(lk_last_error(), words);
}

CHECK_TEST_OF(files_that_cannot_be_used_are_named, NO_STATE, setup,
              locking_teardown)
{
    char options[400], a[128], b[128];

    assert_open_fails("tls_ca_file=/dev/null/x", "tls_ca_file: /dev/null/x: "
                                                 "Not a directory");
    assert_open_fails("tls_ca_file=/dev/null", "holds no certificate");
    assert_open_fails("tls_ca_dir=/dev/null/x", "tls_ca_dir: /dev/null/x");
    assert_open_fails("tls_cert_file=/dev/null", "tls_cert_file: /dev/null");
    assert_open_fails("tls_key_file=/dev/null", "needs tls_cert_file");
    (void)snprintf(options, sizeof(options), "tls_cert_file=%s&tls_key_file=%s",
                   certificates_path(a, "client.crt"),
                   certificates_path(b, "locked.key"));
    assert_open_fails(options, "without a password");
    (void)snprintf(options, sizeof(options), "tls_cert_file=%s&tls_key_file=%s",
                   a, certificates_path(b, "server.key"));
    assert_open_fails(options, "that fits the certificate");
}

/* OpenSSL takes one with a dot in front for any name below it, and nothing for
   all names. */
CHECK_TEST_OF(a_server_name_that_is_no_hosts_is_refused, NO_STATE, setup,
              locking_teardown)
{
    static const char words[] = "is not the name or address of a host";

    assert_open_fails("tls_server_name=.example", words);
    assert_open_fails("tls_server_name=.", words);
    assert_open_fails("tls_server_name=%25eth0", words);
}

CHECK_TEST_OF(a_setting_of_tls_without_tls_is_refused, NO_STATE, setup,
              locking_teardown)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .tls_ca_file = "/ca.crt"};
    lk_client *client = NULL;

    assert_status(lk_client_open(&client, "redis://localhost", &options),
                  LK_EINVAL);
    assert_non_null(strstr(lk_last_error(), "write rediss://"));
}

/* ---- what others see ------------------------------------------------------- */

/* What a program left among OpenSSL's errors of its thread is still there. */
TEST(the_errors_of_the_program_stay)
{
    lk_client *first = open_tls(f, "localhost", "ca.crt"); /* it is loaded */
    void *crypto = dlopen("libssl.so.3", RTLD_NOW | RTLD_NOLOAD);
    void *calls[3] = {dlsym(crypto, "ERR_new"), dlsym(crypto, "ERR_set_error"),
                      dlsym(crypto, "ERR_peek_error")};
    void (*new_error)(void);
    void (*set_error)(int, int, const char *, ...);
    unsigned long (*peek_error)(void);
    unsigned long before;

    memcpy(&new_error, &calls[0], sizeof(new_error));
    memcpy(&set_error, &calls[1], sizeof(set_error));
    memcpy(&peek_error, &calls[2], sizeof(peek_error));
    new_error();
    set_error(128, 7, NULL);
    before = peek_error();
    assert_true(before != 0);
    assert_works(f, first);
    assert_works(f, open_tls(f, "localhost", "ca.crt"));
    assert_true(peek_error() == before);
}

static bool has_come(void *data)
{
    char first;

    return recv(*(int *)data, &first, 1, MSG_PEEK) == 1;
}

/* All that came is records of TLS handshakes, up to the end. */
static bool has_ended(void *data)
{
    char bytes[4096];
    ssize_t size = recv(*(int *)data, bytes, sizeof(bytes), 0);

    if (size > 0) {
        assert_memory_equal(bytes, "\x16\x03", 2);
        assert_null(memmem(bytes, (size_t)size, "\r\n$", 3));
    }
    return size == 0;
}

/* A port that answers nothing gets a greeting of TLS, and then nothing at all:
   no command, and no second try without. Others renew meanwhile. */
TEST(a_port_that_is_silent_gets_no_command)
{
    uint16_t port = 0;
    int listener = socket_listen_tcp(&port);
    lk_client_options brief = {LK_CLIENT_OPTIONS_INIT,
                               .watchdog_ms = 2 * (uint64_t)wait_lease_ms()};
    char url[96];
    lk_client *other, *silent;
    lk_hold *hold;
    int peer = -1;

    (void)snprintf(url, sizeof(url),
                   "rediss://127.0.0.1:%u?"
                   "connect_timeout_ms=1h",
                   port);
    silent = locking_open_url(f, url, NULL);
    while (peer < 0)
        peer = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    assert_true(wait_until(has_come, &peer, READY_MS));
    other = locking_open_url(f, server_tcp_url(tls_server), &brief);
    assert_status(lk_client_wait_ready(other, (int64_t)wait_limit_ms(READY_MS)),
                  LK_OK);
    hold = locking_hold(locking_lock(f, other, "held"));
    assert_soon(locking_stats(other).renewals > 0, READY_MS);
    assert_false(has_ended(&peer)); /* it has not given up */
    assert_status(lk_hold_release(hold), LK_OK);
    locking_free_client(f, silent);
    assert_true(wait_until(has_ended, &peer, READY_MS));
    (void)close(peer);
    (void)close(listener);
}

/* ---- memory ---------------------------------------------------------------- */

static atomic_int allocations_left;

static bool one_fails(void)
{
    return atomic_fetch_sub(&allocations_left, 1) == 0;
}

/* The n-th allocation fails, be it the opening's or a stream's, which is then
   tried again. */
TEST(memory_that_is_missing_once_does_no_harm)
{
    lk_status status = LK_ENOMEM;
    char url[320], path[128];

    (void)snprintf(url, sizeof(url), "rediss://localhost:%u?tls_ca_file=%s",
                   server_tls_port(f->server),
                   certificates_path(path, "ca.crt"));
    for (int n = 0; n < 60; n++) {
        lk_client *client = NULL;

        atomic_store(&allocations_left, n);
        lk__mem_fail(one_fails);
        status = lk_client_open(&client, url, NULL);
        if (status == LK_OK)
            assert_status(lk_client_wait_ready(client, (int64_t)wait_limit_ms(
                                                           READY_MS)),
                          LK_OK);
        else
            assert_status(status, LK_ENOMEM);
        lk__mem_fail(NULL);
        lk_client_free(client);
    }
    assert_status(status, LK_OK);
}

int test_tls(void)
{
    if (server_lacks_tls())
        return SERVER_LACKS;
    return check_all(locking_start_tls, locking_stop_server);
}
