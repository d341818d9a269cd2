/* SPDX-License-Identifier: MIT */

/* A hold of a read-write lock that goes to another process as text: what may go,
   and as what it arrives. */

#include <latchkey/rwlock.h>

#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/proxy.h"
#include "support/rwlocking.h"
#include "support/wait.h"

enum { LONG_MS = 10000 };

static void assert_stays(lk_hold *hold)
{
    char text[LK_EXPORT_SIZE];

    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_EINVAL);
    assert_non_null(strstr(lk_last_error(), "its owner"));
    assert_status(lk_hold_check(hold), LK_OK);
}

/* By an owner of that lock; NULL: it cannot be had. */
static lk_hold *import(lk_rwlock *lock, const char *text, lk_owner *owner)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .owner = owner};
    lk_hold *hold = NULL;
    lk_status status = lk_rwlock_import(lock, text, &options, &hold);

    if (status != LK_OK && status != LK_EINVAL && status != LK_ELOST &&
        status != LK_EMISMATCH)
        fail_msg("%s: %s", lk_status_name(status), text);
    return hold;
}

/* Whether the owner may write by what it holds; that goes back. */
static bool may_write(lk_rwlock *lock, lk_owner *owner)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .owner = owner};
    lk_hold *hold = NULL;

    if (lk_rwlock_acquire_write(lock, 0, &options, &hold) != LK_OK)
        return false;
    assert_status(lk_hold_release(hold), LK_OK);
    return true;
}

/* ---- two holds of one owner ------------------------------------------------ */

/* What the server let in beside each other goes nowhere: in two processes the one
   would write while the other reads. */
LOCKS_TEST(an_owner_with_two_holds_exports_neither)
{
    static const kind_id both[][2] = {{KIND_UPGRADEABLE, KIND_WRITE},
                                      {KIND_WRITE, KIND_READ},
                                      {KIND_WRITE, KIND_UPGRADEABLE}};
    lk_rwlock *from = locking_new(f, lk_rwlock),
              *to = locking_new(f, lk_rwlock);

    for (size_t i = 0; i < 6; i++) {
        const kind_id *modes = both[i / 2];
        lk_owner *owner = locking_owner(f, from);
        lk_owner *other = locking_owner(f, to);
        lk_hold *holds[2];
        lk_hold *hold = NULL;
        char text[LK_EXPORT_SIZE];

        for (size_t k = 0; k < 2; k++)
            holds[k] = rwlocking_hold_of(from, modes[k], owner);
        for (size_t k = 0; k < 2; k++)
            assert_stays(holds[k]);
        assert_status(lk_hold_release(holds[i % 2]), LK_OK);
        assert_status(lk_hold_export(holds[1 - i % 2], text, sizeof(text)),
                      LK_OK);
        hold = import(to, text, other);
        assert_non_null(hold);
        assert_int_equal(may_write(to, other), modes[1 - i % 2] != KIND_READ);
        assert_status(lk_hold_release(hold), LK_OK);
        locking_wait_clean(f, "n");
    }
}

/* It would be let in beside the old claim. */
LOCKS_TEST(an_owner_that_waits_for_its_upgrade_exports_nothing)
{
    lk_rwlock *from = locking_calm(f, lk_rwlock);
    lk_hold *reads = rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_READ);
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                  .owner = locking_owner(f, from)};
    lk_hold *base = rwlocking_hold_of(from, KIND_UPGRADEABLE, options.owner);
    taker *t = rwlocking_take(f, from, KIND_WRITE, LK_FOREVER, &options);

    rwlocking_wait_upgrades(f, 1);
    assert_stays(base);
    assert_status(lk_hold_release(reads), LK_OK);
    assert_status(taker_join(t), LK_OK);
    assert_stays(base);
    assert_stays(t->hold);
    assert_status(taker_release(t), LK_OK);
    assert_status(lk_hold_release(base), LK_OK);
    locking_wait_clean(f, "n");
}

/* Two readers in one process keep nobody out of another. */
LOCKS_TEST(holds_of_two_owners_are_exported)
{
    lk_rwlock *from = locking_new(f, lk_rwlock),
              *to = locking_new(f, lk_rwlock);
    lk_hold *upgradeable = rwlocking_hold(f, from, KIND_UPGRADEABLE);
    lk_hold *reads = rwlocking_hold(f, from, KIND_READ);
    char text[LK_EXPORT_SIZE];

    assert_status(lk_hold_export(upgradeable, text, sizeof(text)), LK_OK);
    upgradeable = import(to, text, locking_owner(f, to));
    assert_non_null(upgradeable);
    assert_status(lk_hold_release(reads), LK_OK);
    assert_status(lk_hold_release(upgradeable), LK_OK);
    locking_wait_clean(f, "n");
}

/* ---- as what it arrives ---------------------------------------------------- */

/* Exports it, and the owner takes it back by the text with one letter changed: by
   none may a reader write. The hold that is there afterwards. */
static lk_hold *change_one(lk_rwlock *lock, lk_owner *owner, lk_hold *hold,
                           size_t at, char letter)
{
    char text[LK_EXPORT_SIZE], changed[LK_EXPORT_SIZE];

    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_OK);
    memcpy(changed, text, sizeof(changed));
    if (at < strlen(text))
        changed[at] = letter;
    hold = import(lock, changed, owner);
    if (hold == NULL)
        hold = import(lock, text, owner);
    assert_non_null(hold);
    if (may_write(lock, owner))
        fail_msg("it may write by: %s", changed);
    return hold;
}

LOCKS_TEST(no_changed_text_makes_a_reader_a_writer)
{
    static const char letters[] = "wux0 ";
    enum { MOST = 140 }; /* bytes of the text */
    lk_rwlock *lock = locking_new(f, lk_rwlock);
    lk_owner *owner = locking_owner(f, lock);
    lk_hold *hold = rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_READ);
    lk_hold *other = rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_READ);

    for (size_t at = 0; at < MOST; at++) {
        for (size_t i = 0; letters[i] != '\0'; i++)
            hold = change_one(lock, owner, hold, at, letters[i]);
    }
    assert_status(lk_hold_release(other), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    locking_wait_clean(f, "n");
}

/* A downgrade that the server has not heard of by the import: what it has is a
   writer's, and nothing that is sent later changes that. */
LOCKS_TEST(a_downgrade_that_is_heard_after_the_import_changes_nothing)
{
    const lk_client_options brief = {LK_CLIENT_OPTIONS_INIT,
                                     .command_timeout_ms = wait_limit_ms(300)};
    proxy *p = proxy_start(server_socket(f->server));
    lk_client *client = locking_open_url(f, proxy_url(p), &brief);
    lk_rwlock *from = locking_of(f, lk_rwlock, client),
              *to = locking_new(f, lk_rwlock);
    lk_owner *owner = locking_owner(f, to);
    lk_hold *hold = rwlocking_hold(f, from, KIND_WRITE);
    char text[LK_EXPORT_SIZE];

    proxy_hold(p, PROXY_ALL, PROXY_REQUESTS);
    assert_status(lk_rwlock_downgrade(hold), LK_OK);
    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_OK);
    hold = import(to, text, owner);
    assert_non_null(hold);
    proxy_release(p, PROXY_ALL, PROXY_REQUESTS);
    assert_status(lk_client_wait_ready(client, (int64_t)wait_limit_ms(LONG_MS)),
                  LK_OK);
    assert_status(rwlocking_try(f, from, KIND_READ), LK_EBUSY);
    assert_true(may_write(to, owner));
    assert_status(lk_rwlock_downgrade(hold), LK_OK);
    assert_status(rwlocking_try(f, from, KIND_READ), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    locking_wait_clean(f, "n");
}

CHECK_GROUP(locking_start_server, locking_stop_server)
