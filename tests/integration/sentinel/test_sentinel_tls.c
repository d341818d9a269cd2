/* SPDX-License-Identifier: MIT */

/* A group that speaks TLS, with users at its sentinels and others at its servers. */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/certificates.h"
#include "support/check.h"
#include "support/made.h"
#include "support/sentinels.h"
#include "support/wait.h"

enum { LONG_MS = 60000 };

static sentinels *group;
static char url[1024];

static const char *const server_args[] = {"--user", "app", "on",    ">secret",
                                          "~*",     "&*",  "+@all", NULL};

static const char sentinel_config[] =
    "user watch on >other -@all +sentinel|get-master-addr-by-name "
    "+sentinel|master +subscribe +ping resetchannels &+switch-master\n";

/* host: in the place of all of 127.0.0.1; more: options. */
static const char *url_of(const char *scheme, const char *ca, const char *more)
{
    char path[128];

    (void)snprintf(url, sizeof(url),
                   "%s://app:secret@%s/m?sentinel_user=watch&"
                   "sentinel_password=other%s%s%s",
                   scheme, group->places, ca != NULL ? "&tls_ca_file=" : "",
                   ca != NULL ? certificates_path(path, ca) : "", more);
    return url;
}

static const char *whole_url(void)
{
    return url_of("rediss+sentinel", "ca.crt", "");
}

static int start(NO_STATE)
{
    const sentinels_options options = {.is_tls = true,
                                       .server_args = server_args,
                                       .config = sentinel_config};

    if (certificates_folder() == NULL)
        return -1;
    group = sentinels_start_with(&options);
    return group != NULL ? 0 : -1;
}

static int stop(void **state)
{
    (void)made_end(state);
    sentinels_stop(group);
    group = NULL;
    return 0;
}

/* Whether somebody is connected to it as this user. */
static bool has_user(server *s, const char *user)
{
    char field[64];
    char *clients = server_string(s, "CLIENT LIST");
    bool has;

    (void)snprintf(field, sizeof(field), " user=%s ", user);
    has = strstr(clients, field) != NULL;
    free(clients);
    return has;
}

static void all_of_it_is_encrypted_and_each_has_its_user(NO_STATE)
{
    lk_client *client = made_client(whole_url(), NULL);
    lk_lock *lock = made_lock(client, "n");
    lk_hold *hold = made_hold(lock);

    assert_true(has_user(group->servers[0], "app"));
    assert_false(has_user(group->servers[0], "watch"));
    for (size_t i = 0; i < SENTINELS; i++) {
        assert_true(has_user(group->sentinels[i], "watch"));
        assert_false(has_user(group->sentinels[i], "app"));
    }
    assert_status(lk_hold_release(hold), LK_OK);
}

static void
assert_refused(const char *text, lk_status status, const char *words)
{
    lk_client *client = made_client(text, NULL);
    lk_lock *lock = NULL;
    lk_hold *hold = NULL;

    lock = made_lock(client, "n");
    assert_status(lk_lock_acquire(lock, LONG_MS, NULL, &hold), status);
    if (strstr(lk_last_error(), words) == NULL)
        assert_string_equal(lk_last_error(), words);
}

static void a_certificate_that_is_not_trusted_ends_a_wait(NO_STATE)
{
    assert_refused(url_of("rediss+sentinel", "other.crt", ""), LK_EAUTH,
                   "is not trusted: name the CA's file");
    assert_refused(url_of("rediss+sentinel", "ca.crt",
                          "&tls_server_name=elsewhere.example"),
                   LK_EAUTH, "not for the name elsewhere.example");
}

static void without_tls_nothing_is_had(NO_STATE)
{
    assert_refused(url_of("redis+sentinel", NULL, "&offline_ms=500"),
                   LK_EOFFLINE, "perhaps the port speaks TLS: rediss+sentinel");
}

static void the_sentinels_password_is_their_own(NO_STATE)
{
    char text[512], path[128];

    (void)snprintf(text, sizeof(text),
                   "rediss+sentinel://app:secret@%s/m?sentinel_user=app&"
                   "sentinel_password=secret&tls_ca_file=%s",
                   group->places, certificates_path(path, "ca.crt"));
    assert_refused(text, LK_EAUTH, "WRONGPASS");
    (void)snprintf(text, sizeof(text),
                   "rediss+sentinel://watch:other@%s/m?sentinel_user=watch&"
                   "sentinel_password=other&tls_ca_file=%s",
                   group->places, path);
    assert_refused(text, LK_EAUTH, "WRONGPASS");
}

static void a_hold_goes_on_at_the_next_master(NO_STATE)
{
    lk_client *client = made_client(whole_url(), NULL);
    lk_lock *lock = NULL, *later = NULL;
    lk_hold *hold = NULL, *first = NULL;
    server *next;

    lock = made_lock(client, "n");
    later = made_lock(client, "later");
    hold = made_hold(lock);
    server_wait_copied(group->servers[0], "n", 2);
    next = sentinels_failover(group);
    assert_ptr_equal(sentinels_wait_other(group, group->servers[0]), next);
    /* The client has gone there. */
    assert_soon(has_user(next, "app"), LONG_MS);
    first = made_hold(later);
    assert_int_equal(server_integer(next, "EXISTS later"), 1);
    assert_status(lk_hold_extend(hold, LONG_MS), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_hold_release(first), LK_OK);
}

/* Servers whose certificates are for localhost alone, which the sentinels name. */
static int start_named(NO_STATE)
{
    char certificate[128], key[128];
    const char *const args[] = {"--user",    "app",
                                "on",        ">secret",
                                "~*",        "&*",
                                "+@all",     "--tls-cert-file",
                                certificate, "--tls-key-file",
                                key,         NULL};
    const sentinels_options options = {.is_tls = true,
                                       .server_args = args,
                                       .config = sentinel_config,
                                       .has_names = true};

    if (certificates_folder() == NULL)
        return -1;
    (void)certificates_path(certificate, "named.crt");
    (void)certificates_path(key, "named.key");
    group = sentinels_start_with(&options);
    return group != NULL ? 0 : -1;
}

static void a_name_is_what_the_certificate_has_to_be_for(NO_STATE)
{
    lk_client *client = made_client(whole_url(), NULL);
    lk_master master = {.size = sizeof(master)};
    lk_lock *lock = NULL;
    lk_hold *hold = NULL;
    char expected[64];

    (void)snprintf(expected, sizeof(expected), "localhost:%u",
                   server_tls_port(group->servers[0]));
    lock = made_lock(client, "n");
    hold = made_hold(lock);
    assert_status(lk_master_get(client, &master), LK_OK);
    assert_string_equal(master.address, expected);
    assert_status(lk_hold_release(hold), LK_OK);
}

int test_sentinel_tls(void)
{
    const struct CMUnitTest named[] = {
        cmocka_unit_test_teardown(a_name_is_what_the_certificate_has_to_be_for,
                                  made_end),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(all_of_it_is_encrypted_and_each_has_its_user,
                                  made_end),
        cmocka_unit_test_teardown(a_certificate_that_is_not_trusted_ends_a_wait,
                                  made_end),
        cmocka_unit_test_teardown(without_tls_nothing_is_had, made_end),
        cmocka_unit_test_teardown(the_sentinels_password_is_their_own,
                                  made_end),
        cmocka_unit_test_teardown(a_hold_goes_on_at_the_next_master, made_end),
    };

    if (getenv("LK_TEST_TLS") != NULL || server_lacks_tls())
        return SERVER_LACKS;
    return cmocka_run_group_tests(tests, start, stop) +
           cmocka_run_group_tests(named, start_named, stop);
}
