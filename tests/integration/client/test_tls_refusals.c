/* SPDX-License-Identifier: MIT */

/*
 * TLS with a real server that says no: which alert becomes which words. And what
 * else of TLS hangs on how server or client were set.
 */

#include <stdio.h>
#include <stdlib.h>

#include "engine/client.h"
#include "support/certificates.h"
#include "support/check.h"
#include "support/locking.h"
#include "support/refused.h"
#include "support/scratch.h"
#include "support/wait.h"
#include "world/tls.h"

enum { READY_MS = 20000 };

static server *tls_server;

static int start(NO_STATE)
{
    tls_server = server_start_tls(NULL);
    return tls_server != NULL ? 0 : -1;
}

static int stop(NO_STATE)
{
    server_stop(tls_server);
    return 0;
}

static void server_set(const char *name, const char *value)
{
    redisReply *reply =
        server_command(tls_server, "CONFIG SET %s %s", name, value);

    assert_int_equal(reply->type, REDIS_REPLY_STATUS);
    freeReplyObject(reply);
}

static int setup(void **state)
{
    locking *f = calloc(1, sizeof(*f));

    if (f == NULL)
        return -1;
    f->server = tls_server;
    server_flush(tls_server);
    server_set("tls-auth-clients", "no");
    server_set("tls-protocols", "");
    *state = f;
    return 0;
}

/* A client with these options of the URL, in which a $ is the folder of
   certificates. */
static lk_client *open_with(locking *f, const char *options)
{
    char url[640];
    int size = snprintf(url, sizeof(url),
                        "rediss://localhost:%u?connect_timeout_ms=%u",
                        server_tls_port(tls_server), wait_scaled_ms(2000));
    size_t at = (size_t)size;

    for (; *options != '\0'; options++) {
        if (*options == '$')
            at += (size_t)snprintf(url + at, sizeof(url) - at, "%s",
                                   certificates_folder());
        else
            url[at++] = *options;
        assert_true(at < sizeof(url) - 1);
    }
    url[at] = '\0';
    return locking_open_url(f, url, NULL);
}

static void assert_works(locking *f, lk_client *client)
{
    lk_status status = lk_client_wait_ready(client, wait_scaled_ms(READY_MS));

    if (status != LK_OK)
        fail_msg("%s", lk_last_error());
    assert_status(lk_hold_release(locking_hold(locking_lock(f, client, "n"))),
                  LK_OK);
}

/* ---- the client's certificate ----------------------------------------------- */

/* A client that shows this certificate. */
static void
assert_is_refused(locking *f, const char *certificate, const char *words)
{
    char options[160];

    server_set("tls-auth-clients", "yes");
    (void)snprintf(options, sizeof(options),
                   "&tls_ca_file=$/ca.crt&tls_cert_file=$/%s.crt&"
                   "tls_key_file=$/%s.key",
                   certificate, certificate);
    assert_refused(open_with(f, options), LK_EAUTH, words);
}

static void a_certificate_that_has_expired_is_named(void **state)
{
    assert_is_refused(*state, "stale",
                      "the client's certificate (tls_cert_file) has expired");
}

static void one_that_is_not_valid_yet(void **state)
{
    assert_is_refused(*state, "unborn", "is not valid yet");
}

static void one_that_is_for_servers_alone(void **state)
{
    assert_is_refused(*state, "serving", "perhaps it is not for clients");
}

static void one_that_its_ca_may_not_sign(void **state)
{
    assert_is_refused(*state, "outside", "its log may say why");
}

static void a_certificate_whose_ca_the_server_does_not_trust(void **state)
{
    assert_is_refused(*state, "foreign",
                      "the server does not trust the CA of the client's "
                      "certificate (tls_cert_file)");
}

/* The older version has no alert for that alone. */
static void one_that_is_missing_is_guessed_in_the_older_version(void **state)
{
    server_set("tls-auth-clients", "yes");
    server_set("tls-protocols", "TLSv1.2");
    assert_refused(open_with(*state, "&tls_ca_file=$/ca.crt"), LK_EAUTH,
                   "perhaps it wants a certificate of the client "
                   "(tls_cert_file)");
}

/* ---- versions ---------------------------------------------------------------- */

/* OpenSSL itself is told to allow it, on both sides. */
static void a_server_of_version_1_1_is_refused(void **state)
{
    server_set("tls-ciphers", "DEFAULT@SECLEVEL=0");
    server_set("tls-protocols", "TLSv1.1");
    assert_refused(open_with(*state, "&tls_ca_file=$/ca.crt"), LK_ETIMEDOUT,
                   "no version of TLS in common; 1.2 is the least");
}

static void a_session_of_version_1_2_is_resumed(void **state)
{
    locking *f = *state;
    lk__tls_facts facts;
    lk_client *client;

    server_set("tls-protocols", "TLSv1.2");
    client = open_with(f, "&tls_ca_file=$/ca.crt");
    assert_works(f, client);
    locking_wait_connects(client, 2);
    freeReplyObject(server_command(tls_server, "CLIENT KILL TYPE normal"));
    locking_wait_connects(client, 3);
    assert_true(lk__tls_facts_get(client->settings.tls, "localhost",
                                  server_tls_port(tls_server), &facts));
    assert_string_equal(facts.version, "TLSv1.2");
    assert_true(facts.resumed);
}

/* ---- whom the client trusts ---------------------------------------------------- */

static void the_cas_of_a_folder_are_trusted(void **state)
{
    assert_works(*state, open_with(*state, "&tls_ca_dir=$/trusted"));
}

/* Certificates that have not the names that `openssl rehash` gives them. */
static void those_of_a_folder_without_its_names_are_not(void **state)
{
    assert_refused(open_with(*state, "&tls_ca_dir=$"), LK_EAUTH,
                   "its CA is not trusted");
}

/* ---- ------------------------------------------------------------------------- */

/* The machine's own settings may forbid old versions, and hide that the client
   does. */
static bool openssl_allows_all(scratch *home)
{
    static const char text[] = "openssl_conf = all\n[all]\nssl_conf = ssl\n"
                               "[ssl]\nsystem_default = every\n[every]\n"
                               "MinProtocol = TLSv1\n"
                               "CipherString = DEFAULT@SECLEVEL=0\n";
    char path[160];
    FILE *file;
    bool is_written;

    (void)snprintf(path, sizeof(path), "%s/openssl.cnf", scratch_path(home));
    file = fopen(path, "we");
    if (file == NULL)
        return false;
    is_written = fputs(text, file) >= 0;
    return fclose(file) == 0 && is_written &&
           setenv("OPENSSL_CONF", path, 1) == 0;
}

int main(void)
{
#define TEST(test)                                                             \
    cmocka_unit_test_setup_teardown(test, setup, locking_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_certificate_that_has_expired_is_named),
        TEST(one_that_is_not_valid_yet),
        TEST(one_that_is_for_servers_alone),
        TEST(one_that_its_ca_may_not_sign),
        TEST(a_certificate_whose_ca_the_server_does_not_trust),
        TEST(one_that_is_missing_is_guessed_in_the_older_version),
        TEST(a_session_of_version_1_2_is_resumed),
        TEST(the_cas_of_a_folder_are_trusted),
        TEST(those_of_a_folder_without_its_names_are_not),
        TEST(a_server_of_version_1_1_is_refused),
    };
    scratch *home;
    int failed;

    if (server_lacks_tls())
        return SERVER_LACKS;
    home = scratch_new();
    if (home == NULL || certificates_folder() == NULL ||
        !openssl_allows_all(home))
        return 1;
    failed = cmocka_run_group_tests(tests, start, stop);
    scratch_free(home);
    return failed;
}
