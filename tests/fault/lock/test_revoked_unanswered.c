/* SPDX-License-Identifier: MIT */

/*
 * Holds that an operator revokes before their owner knows of them, and what
 * stands on a hold that is revoked: whoever waits gets a hold that nobody has
 * ended, or is told, and at the server nothing is left.
 */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/locking.h"
#include "support/proxy.h"
#include "support/wait.h"

enum { COMMAND = 0, SOON_MS = 10000 };

/* Reaches the server through the proxy. */
typedef struct far_side {
    locking *f;
    proxy *proxy;
    lk_client *client;
    lk_client *near;
    call call;
} far_side;

static void far_open(far_side *s, locking *f)
{
    const lk_client_options patient = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms =
                                           UINT64_C(4) * SOON_MS};

    *s = (far_side){.f = f};
    s->near = locking_open_calm(f, NULL);
    s->proxy = locking_proxy(f);
    s->client = locking_open_far(f, &patient);
}

struct sought {
    lk_client *client;
    char owner[80]; /* of the one who holds "n" */
};

static bool is_held(struct sought *sought)
{
    lk_info *info = NULL;
    lk_kind found;
    bool is;

    if (lk_who(sought->client, "n", &found, &info) != LK_OK)
        return false;
    is = info->holder_count == 1;
    if (is)
        (void)snprintf(sought->owner, sizeof(sought->owner), "%s",
                       info->holders[0]->owner);
    lk_info_free(info);
    return is;
}

/* Whoever holds "n" by now; it is one. */
static void revoke_holder(lk_client *client)
{
    struct sought sought = {.client = client};
    int64_t left_ms = 0;

    assert_soon(is_held(&sought), SOON_MS);
    assert_status(lk_revoke(client, "n", sought.owner, &left_ms), LK_OK);
}

/* No answer arrives any more, */
static void hold_answers(far_side *s)
{
    proxy_hold(s->proxy, COMMAND, PROXY_REPLIES);
}

/* and they are lost with the connection. */
static void lose_answers(far_side *s)
{
    proxy_reset(s->proxy, COMMAND);
}

/* What was asked for is granted, and revoked before that is known. */
static void assert_had_anew(far_side *s)
{
    revoke_holder(s->near);
    lose_answers(s);
    assert_status(call_wait(&s->call, NULL), LK_OK);
    assert_status(lk_hold_check(s->call.hold), LK_OK);
    assert_status(lk_hold_release(s->call.hold), LK_OK);
    locking_wait_integer(s->f, 0, "EXISTS %s", "n");
}

LOCKS_TEST(a_reader_is_revoked_before_it_knows)
{
    far_side s;
    lk_rwlock *rwlock;

    far_open(&s, f);
    rwlock = locking_of(f, lk_rwlock, s.client);
    hold_answers(&s);
    assert_status(lk_rwlock_acquire_read_async(rwlock,
                                               (int64_t)wait_limit_ms(SOON_MS),
                                               NULL, call_on_acquire, &s.call),
                  LK_OK);
    assert_had_anew(&s);
}

LOCKS_TEST(a_writer_is_revoked_before_it_knows)
{
    far_side s;
    lk_rwlock *rwlock;

    far_open(&s, f);
    rwlock = locking_of(f, lk_rwlock, s.client);
    hold_answers(&s);
    assert_status(lk_rwlock_acquire_write_async(rwlock,
                                                (int64_t)wait_limit_ms(SOON_MS),
                                                NULL, call_on_acquire, &s.call),
                  LK_OK);
    assert_had_anew(&s);
}

LOCKS_TEST(permits_are_revoked_before_that_is_known)
{
    const lk_semaphore_options two = {LK_SEMAPHORE_OPTIONS_INIT, .permits = 2};
    far_side s;
    lk_semaphore *semaphore = NULL;
    uint64_t permits = 0;
    int64_t free = 0;

    far_open(&s, f);
    assert_status(lk_semaphore_new(&semaphore, s.client, "n", &two), LK_OK);
    hold_answers(&s);
    assert_status(lk_semaphore_acquire_async(semaphore, 2,
                                             (int64_t)wait_limit_ms(SOON_MS),
                                             NULL, call_on_acquire, &s.call),
                  LK_OK);
    revoke_holder(s.near);
    lose_answers(&s);
    assert_status(call_wait(&s.call, NULL), LK_OK);
    assert_status(lk_hold_release(s.call.hold), LK_OK);
    assert_status(lk_semaphore_count(semaphore, &permits, &free), LK_OK);
    assert_int_equal(free, 2);
    lk_semaphore_free(semaphore);
}

/* ---- an upgrade --------------------------------------------------------------- */

/* The hold of "n" that may go on to write. */
static void revoke_upgradeable(lk_client *client)
{
    lk_info *info = NULL;
    lk_kind found;
    int64_t left_ms = 0;

    assert_status(lk_who(client, "n", &found, &info), LK_OK);
    for (size_t i = 0; i < info->holder_count; i++) {
        if (strcmp(info->holders[i]->mode, "upgradeable") == 0)
            assert_status(lk_revoke(client, "n", info->holders[i]->owner,
                                    &left_ms),
                          LK_OK);
    }
    lk_info_free(info);
    assert_in_range(left_ms, 1, 30000);
}

/* The hold above which it was to write is not renewed any more. */
LOCKS_TEST(an_upgrade_whose_base_is_revoked_is_told)
{
    lk_client *client = locking_open(f, NULL);
    lk_client *other = locking_open(f, NULL);
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    lk_rwlock *rwlock = NULL, *theirs = NULL;
    lk_hold *base = NULL, *reader = NULL;
    call c = {0};

    assert_status(lk_owner_new(&options.owner, client), LK_OK);
    assert_status(lk_rwlock_new(&rwlock, client, "n", NULL), LK_OK);
    assert_status(lk_rwlock_new(&theirs, other, "n", NULL), LK_OK);
    assert_status(lk_rwlock_acquire_upgradeable(rwlock, 0, &options, &base),
                  LK_OK);
    assert_status(lk_rwlock_acquire_read(theirs,
                                         (int64_t)wait_limit_ms(SOON_MS), NULL,
                                         &reader),
                  LK_OK);
    assert_status(lk_rwlock_acquire_write_async(rwlock, LK_FOREVER, &options,
                                                call_on_acquire, &c),
                  LK_OK);
    locking_wait_queued(f, "n", 1);
    revoke_upgradeable(other);
    assert_status(call_wait(&c, NULL), LK_ELOST);
    assert_int_equal(lk_hold_loss(base), LK_LOSS_REVOKED);
    assert_status(lk_hold_release(base), LK_ELOST);
    assert_status(lk_hold_release(reader), LK_OK);
    locking_wait_integer(f, 0, "EXISTS %s", "n");
    lk_rwlock_free(theirs);
    lk_rwlock_free(rwlock);
    lk_owner_free(options.owner);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
