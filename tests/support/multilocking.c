/* SPDX-License-Identifier: MIT */
#include "support/multilocking.h"

#include "support/check.h"
#include "support/wait.h"

lk_multilock *multi_empty(locking *f)
{
    lk_multilock *set = NULL;

    assert_status(lk_multilock_new(&set), LK_OK);
    return locking_keep(f, &locking_multilock, NULL, set);
}

lk_multilock *multi_of(locking *f, lk_client *client, const char *letters)
{
    lk_multilock *set = multi_empty(f);

    for (; *letters != '\0'; letters++) {
        const char name[] = {*letters, '\0'};

        assert_status(lk_multilock_add_lock(set, locking_lock(f, client, name)),
                      LK_OK);
    }
    return set;
}

void multi_assert_free(locking *f, const char *letters)
{
    for (; *letters != '\0'; letters++) {
        const char name[] = {*letters, '\0'};

        locking_wait_integer(f, 0, "EXISTS %s", name);
        locking_wait_queued(f, name, 0);
    }
}

void multi_assert_held(locking *f, const char *letters)
{
    for (; *letters != '\0'; letters++) {
        const char name[] = {*letters, '\0'};

        locking_wait_integer(f, 1, "EXISTS %s", name);
    }
}

lk_client *multi_open_far(locking *f)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms =
                                           wait_limit_ms(500)};
    lk_client *client = locking_open_far(f, &options);
    lk_lock *lock = locking_lock(f, client, "calm");

    assert_status(lk_hold_release(locking_hold(lock)), LK_OK);
    locking_wait_connects(client, 2);
    return client;
}
