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

static void server_set(const char *name, const char *value)
{
    redisReply *reply =
        server_command(tls_server, "CONFIG SET %s %s", name, value);

    assert_int_equal(reply->type, REDIS_REPLY_STATUS);
    freeReplyObject(reply);
}

static int setup(void **state)
{
    if (locking_setup(state) != 0)
        return -1;
    tls_server = ((locking *)*state)->server;
    server_set("tls-auth-clients", "no");
    server_set("tls-protocols", "");
    return 0;
}

#define TEST(name) CHECK_TEST_OF(name, locking *f, setup, locking_teardown)

/* A client with these options of the URL, in which a $ is the folder of
   certificates. */
static lk_client *open_with(locking *f, const char *options)
{
    char url[640];
    int size =
        snprintf(url, sizeof(url),
                 "rediss://localhost:%u?connect_timeout_ms=%u",
                 server_tls_port(tls_server), (unsigned)wait_limit_ms(2000));
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
    lk_status status =
        lk_client_wait_ready(client, (int64_t)wait_limit_ms(READY_MS));

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

TEST(a_certificate_that_has_expired_is_named)
{
    assert_is_refused(f, "stale",
                      "the client's certificate (tls_cert_file) has expired");
}

TEST(one_that_is_not_valid_yet)
{
    assert_is_refused(f, "unborn", "is not valid yet");
}

TEST(one_that_is_for_servers_alone)
{
    assert_is_refused(f, "serving", "perhaps it is not for clients");
}

TEST(one_that_its_ca_may_not_sign)
{
    assert_is_refused(f, "outside", "its log may say why");
}

TEST(a_certificate_whose_ca_the_server_does_not_trust)
{
    assert_is_refused(f, "foreign",
                      "the server does not trust the CA of the client's "
                      "certificate (tls_cert_file)");
}

/* The older version has no alert for that alone. */
TEST(one_that_is_missing_is_guessed_in_the_older_version)
{
    server_set("tls-auth-clients", "yes");
    server_set("tls-protocols", "TLSv1.2");
    assert_refused(open_with(f, "&tls_ca_file=$/ca.crt"), LK_EAUTH,
                   "perhaps it wants a certificate of the client "
                   "(tls_cert_file)");
}

/* ---- versions ---------------------------------------------------------------- */

/* OpenSSL itself is told to allow it, on both sides. */
TEST(a_server_of_version_1_1_is_refused)
{
    server_set("tls-ciphers", "DEFAULT@SECLEVEL=0");
    server_set("tls-protocols", "TLSv1.1");
    assert_refused(open_with(f, "&tls_ca_file=$/ca.crt"), LK_ETIMEDOUT,
                   "no version of TLS in common; 1.2 is the least");
}

TEST(a_session_of_version_1_2_is_resumed)
{
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

TEST(the_cas_of_a_folder_are_trusted)
{
    assert_works(f, open_with(f, "&tls_ca_dir=$/trusted"));
}

/* Certificates that have not the names that `openssl rehash` gives them. */
TEST(those_of_a_folder_without_its_names_are_not)
{
    assert_refused(open_with(f, "&tls_ca_dir=$"), LK_EAUTH,
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

int test_tls_refusals(void)
{
    scratch *home;
    int failed;

    if (server_lacks_tls())
        return SERVER_LACKS;
    home = scratch_new();
    if (home == NULL || certificates_folder() == NULL ||
        !openssl_allows_all(home))
        return 1;
    failed = check_all(locking_start_tls, locking_stop_server);
    scratch_free(home);
    return failed;
}
