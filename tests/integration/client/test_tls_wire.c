/* SPDX-License-Identifier: MIT */

/*
 * TLS on a network that breaks, with a played server: what is asked for by name,
 * what is cut, what is said in mid-stream, and a handshake that hangs.
 */

#include <latchkey/cell.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/client.h"
#include "support/cells.h"
#include "support/certificates.h"
#include "support/check.h"
#include "support/locking.h"
#include "support/proxy.h"
#include "support/tls_front.h"
#include "support/wait.h"
#include "world/tls_openssl.h"

enum { PAIRS = 40, READY_MS = 20000, DEADLINE_MS = 10000 };

/* A server behind one that speaks TLS, behind a network. */
typedef struct wire {
    locking *base;
    tls_front *front;
    proxy *proxy;
} wire;

static int setup(void **state)
{
    wire *w;

    if (locking_setup(state) != 0)
        return -1;
    w = calloc(1, sizeof(*w));
    if (w == NULL)
        return -1;
    w->base = *state;
    w->front = tls_front_start(server_socket(w->base->server));
    w->proxy = proxy_start_tcp(tls_front_socket(w->front));
    *state = w;
    return w->proxy != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    wire *w = *state;
    void *base = w->base;
    int failed = locking_teardown(&base);

    proxy_stop(w->proxy);
    tls_front_stop(w->front);
    free(w);
    return failed;
}

#define TEST(name) CHECK_TEST_OF(name, wire *w, setup, teardown)

static lk_client *open_at(const wire *w, const char *host, const char *options,
                          const lk_client_options *more)
{
    char url[320], path[128];

    (void)snprintf(url, sizeof(url),
                   "rediss://%s:%u?tls_ca_file=%s&connect_timeout_ms=%u%s",
                   host, proxy_port(w->proxy),
                   certificates_path(path, "ca.crt"),
                   (unsigned)wait_limit_ms(2000), options);
    return locking_open_url(w->base, url, more);
}

static void assert_ready(lk_client *client)
{
    if (lk_client_wait_ready(client, (int64_t)wait_limit_ms(READY_MS)) != LK_OK)
        fail_msg("%s", lk_last_error());
}

/* So often that the caller reads the stream itself. */
static lk_lock *warm(const wire *w, lk_client *client)
{
    lk_lock *lock = locking_lock(w->base, client, "n");

    assert_ready(client);
    for (int i = 0; i < PAIRS; i++)
        assert_status(lk_hold_release(locking_hold(lock)), LK_OK);
    return lock;
}

/* ---- names ------------------------------------------------------------------- */

TEST(a_server_is_asked_for_by_its_name)
{
    char name[256];

    assert_ready(open_at(w, "localhost", "", NULL));
    assert_string_equal(tls_front_asked(w->front, name), "localhost");
    assert_ready(open_at(w, "127.0.0.1", "", NULL)); /* an address is no name */
    assert_string_equal(tls_front_asked(w->front, name), "");
}

/* The server shows this certificate only to a client that asks for it. */
TEST(the_certificate_of_the_name_that_is_said_is_shown)
{
    assert_ready(open_at(w, "127.0.0.1", "&sni=elsewhere.example", NULL));
}

/* ---- what is cut ---------------------------------------------------------------- */

/* Within a record's head, between two of them, within the certificate. */
TEST(a_handshake_that_is_cut_is_begun_again)
{
    static const int64_t cuts[] = {0, 1, 5, 60, 127, 133, 500};

    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        int before = proxy_accepted(w->proxy);
        lk_client *client;

        proxy_cut(w->proxy, before, PROXY_REPLIES, cuts[i]);
        client = open_at(w, "localhost", "", NULL);
        assert_ready(client);
        assert_true(proxy_accepted(w->proxy) - before >= 2);
        locking_free_client(w->base, client);
    }
}

TEST(one_that_is_cut_again_and_again_is_told)
{
    lk_client *client;

    proxy_cut(w->proxy, PROXY_ALL, PROXY_REPLIES, 60);
    client = open_at(w, "localhost", "", NULL);
    assert_true(proxy_wait_accepted(w->proxy, 3, DEADLINE_MS));
    assert_status(lk_client_wait_ready(client, wait_scaled_ms(500)),
                  LK_ETIMEDOUT);
    assert_non_null(
        strstr(lk_last_error(), "the connection ended in the TLS handshake"));
}

/* The stream ends without a goodbye, within a record or between two: whoever
   reads, half an answer is none. */
TEST(an_answer_that_is_cut_is_asked_for_again)
{
    for (int64_t cut = 0; cut < 40; cut += 13) {
        int commands = proxy_accepted(w->proxy);
        lk_client *client = open_at(w, "localhost", "", NULL);
        lk_lock *lock = warm(w, client);
        lk_hold *hold;

        proxy_cut(w->proxy, commands, PROXY_REPLIES, cut);
        assert_status(lk_lock_acquire(lock, LK_FOREVER, NULL, &hold), LK_OK);
        assert_status(lk_hold_release(hold), LK_OK);
        assert_int_equal(locking_stats(client).disconnects, 1);
        locking_free(w->base, lock);
        locking_free_client(w->base, client);
    }
}

TEST(an_end_without_a_goodbye_is_an_end)
{
    lk_client *client = open_at(w, "localhost", "", NULL);
    lk_hold *hold = locking_hold(warm(w, client));
    uint64_t connects;

    locking_wait_calm(client);
    connects = locking_stats(client).connects;
    freeReplyObject(server_command(w->base->server, "CLIENT KILL TYPE normal"));
    locking_wait_connects(client, connects + 1);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* TCP goes on behind it, and says nothing. */
TEST(a_goodbye_without_an_end_is_an_end)
{
    const lk_client_options patient = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = 3600000};

    for (int i = 0; i < 3; i++) {
        lk_client *client = open_at(w, "localhost", "", &patient);
        lk_lock *lock = warm(w, client);
        lk_hold *hold;

        tls_front_says_goodbye(w->front, true);
        assert_status(lk_lock_acquire(lock, (int64_t)wait_limit_ms(5000), NULL,
                                      &hold),
                      LK_OK);
        assert_status(lk_hold_release(hold), LK_OK);
        assert_int_equal(locking_stats(client).disconnects, 1);
        locking_free(w->base, lock);
        locking_free_client(w->base, client);
    }
}

/* ---- what is said in mid-stream ---------------------------------------------------- */

/* While the loop reads, which lends nothing before it has all that came; and while
   the caller does. */
TEST(keys_are_changed_on_both_sides)
{
    lk_client *client = open_at(w, "localhost", "", NULL);

    assert_ready(client);
    for (int i = 0; i < 3; i++) {
        tls_front_changes_keys(w->front, i != 1);
        (void)warm(w, client);
    }
    assert_true(tls_front_key_changes(w->front) >= 4 * PAIRS);
    assert_int_equal(locking_stats(client).disconnects, 0);
}

/* A record is longer than what is received at a time. */
TEST(long_answers_come_in_pieces)
{
    static char text[100000];
    lk_client *client = open_at(w, "localhost", "", NULL);
    lk_cell *cell;

    (void)warm(w, client);
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)('a' + i % 26);
    assert_status(lk_cell_new(&cell, client, "c", NULL), LK_OK);
    assert_status(lk_cell_write(cell, LK_CELL_ANY, text, sizeof(text), NULL),
                  LK_OK);
    for (int i = 0; i < PAIRS; i++) {
        lk_cell_value *value = NULL;

        assert_status(lk_cell_read(cell, &value), LK_OK);
        assert_int_equal(value->size, sizeof(text));
        assert_memory_equal(value->bytes, text, sizeof(text));
        lk_cell_value_free(value);
    }
    assert_int_equal(locking_stats(client).disconnects, 0);
    lk_cell_free(cell);
}

/* To one that has it say more and more, as other keys, and reads nothing. */
TEST(what_tls_has_to_say_has_a_bound)
{
    static char block[64 * 1024];
    const lk_client *client = open_at(w, "localhost", "", NULL);
    lk__tls_session *session =
        lk__tls_session_new(client->settings.tls, "localhost", 1);
    BIO *bio = SSL_get_wbio(session->ssl);
    int times = 0;

    while (times < 1000 &&
           lk__tls_bio_write(bio, block, sizeof(block)) == sizeof(block))
        times++;
    assert_in_range(times, 8, 16);
    assert_int_equal(lk__tls_handshake(session), -ENOBUFS);
    lk__tls_session_free(session);
}

/* ---- a handshake that hangs --------------------------------------------------------- */

/* The first connection alone gets through; the others of the client hang for as
   long as it lasts. */
TEST(one_that_hangs_holds_up_no_renewal)
{
    lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                 .watchdog_ms = 2 * (uint64_t)wait_lease_ms(),
                                 .connect_timeout_ms = 3600000};
    lk_client *client;
    lk_hold *hold;

    for (int i = 1; i < 8; i++)
        proxy_hold(w->proxy, i, PROXY_REPLIES);
    client = open_at(w, "localhost", "", &options);
    assert_ready(client);
    hold = locking_hold(locking_lock(w->base, client, "n"));
    assert_true(proxy_wait_accepted(w->proxy, 2, DEADLINE_MS));
    assert_soon(locking_stats(client).renewals >= 3, READY_MS);
    assert_int_equal(proxy_open(w->proxy), proxy_accepted(w->proxy));
    assert_status(lk_hold_release(hold), LK_OK);
}

/* What a client resumes may be why a server does not go on: whoever comes after a
   handshake that was given up begins again. */
TEST(what_it_resumed_is_not_resumed_again)
{
    lk_client *client = open_at(w, "localhost", "&offline_ms=60000", NULL);
    lk__tls_facts facts;
    uint64_t connects;
    int before;

    assert_ready(client);
    connects = locking_stats(client).connects;
    before = proxy_accepted(w->proxy);
    proxy_hold(w->proxy, before, PROXY_REPLIES);
    proxy_reset(w->proxy, 0);
    assert_true(proxy_wait_accepted(w->proxy, before + 2, DEADLINE_MS));
    locking_wait_connects(client, connects + 1);
    assert_true(lk__tls_facts_get(client->settings.tls, "localhost",
                                  proxy_port(w->proxy), &facts));
    assert_false(facts.resumed);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
