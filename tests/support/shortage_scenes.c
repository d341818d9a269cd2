/* SPDX-License-Identifier: MIT */

/* What programs do with what is made of others, and the list of all scenes. */

#include <stdio.h>

#include "support/shortage_scene.h"

/* ---- what is made of others --------------------------------------------------------- */

static void shortage_multilock_all_ways(shortage *s)
{
    lk_client *client = shortage_open(s);
    lk_lock *lock = shortage_lock(s, client);
    lk_rwlock *rwlock = NULL;
    lk_multilock *multilock = NULL;
    lk_hold *hold = NULL;
    char second[60];

    (void)snprintf(second, sizeof(second), "%.50s-rw", s->name);
    if (lock != NULL &&
        shortage_good(s, "rwlock",
                      lk_rwlock_new(&rwlock, client, second, NULL)) &&
        shortage_good(s, "multilock", lk_multilock_new(&multilock)) &&
        shortage_good(s, "add", lk_multilock_add_lock(multilock, lock)) &&
        shortage_good(s, "add", lk_multilock_add_read(multilock, rwlock)) &&
        shortage_held(s, "all",
                      lk_multilock_acquire(multilock, WAIT_MS, NULL, &hold),
                      &hold))
        (void)shortage_good(s, "extend", lk_hold_extend(hold, 5000));
    shortage_give(s, hold);
    lk_multilock_free(multilock);
    lk_rwlock_free(rwlock);
    lk_lock_free(lock);
    shortage_close(s, client);
}

static void shortage_redlock_all_ways(shortage *s)
{
    const lk_redlock_options options = {LK_REDLOCK_OPTIONS_INIT,
                                        /* of the extension */
                                        .longest_lease_ms = 5000,
                                        .lease_ms = LEASE_MS, .durable = 1};
    lk_client *client = shortage_open(s);
    lk_redlock *redlock = NULL;
    lk_hold *hold = NULL;

    if (client != NULL &&
        shortage_good(s, "redlock",
                      lk_redlock_new(&redlock, &client, 1, s->name,
                                     &options)) &&
        shortage_held(s, "token",
                      lk_redlock_acquire(redlock, WAIT_MS, NULL, &hold), &hold))
        (void)shortage_good(s, "extend", lk_hold_extend(hold, 5000));
    shortage_give(s, hold);
    lk_redlock_free(redlock);
    shortage_close(s, client);
}

static void shortage_stripes_all_ways(shortage *s)
{
    static const char *const keys[] = {"a", "b", "c"};
    lk_client *client = shortage_open(s);
    lk_stripes *stripes = NULL;
    lk_hold *hold = NULL;

    if (client != NULL &&
        shortage_good(s, "stripes",
                      lk_stripes_new(&stripes, client, s->name, NULL)))
        (void)shortage_held(s, "many",
                            lk_stripes_acquire_many(stripes, keys, 3, WAIT_MS,
                                                    NULL, &hold),
                            &hold);
    shortage_give(s, hold);
    lk_stripes_free(stripes);
    shortage_close(s, client);
}

static void shortage_inspect_all_ways(shortage *s)
{
    const lk_list_options options = {LK_LIST_OPTIONS_INIT, .pattern = s->name};
    lk_client *client = shortage_open(s);
    lk_lock *lock = shortage_lock(s, client);
    lk_hold *hold = shortage_take(s, lock);
    lk_listing *listing = NULL;
    lk_health *health = NULL;
    lk_info *info = NULL;
    lk_kind kind;

    if (lock != NULL) {
        if (shortage_good(s, "list",
                          lk_list(client, WAIT_MS, &options, &listing)))
            lk_listing_free(listing);
        if (shortage_good(s, "who", lk_who(client, s->name, &kind, &info)))
            lk_info_free(info);
        if (shortage_good(s, "health",
                          lk_health_check(client, WAIT_MS, &health)))
            lk_health_free(health);
    }
    shortage_give(s, hold);
    if (client != NULL)
        (void)shortage_good(s, "forget", lk_forget(client, s->name));
    lk_lock_free(lock);
    shortage_close(s, client);
}

const shortage_scene shortage_scenes[] = {
    {"open", shortage_open_and_close},
    {"lock", shortage_lock_alone},
    {"lock-and-lock", shortage_lock_again_and_again},
    {"lock-handed-over", shortage_lock_handed_over},
    {"lock-passed-on", shortage_lock_passed_on},
    {"lock-canceled", shortage_lock_canceled},
    {"lock-exported", shortage_lock_exported},
    {"lock-operated", shortage_lock_operated},
    {"lock-spun", shortage_lock_spun},
    {"fairlock", shortage_fairlock_handed_over},
    {"rwlock", shortage_rwlock_all_ways},
    {"rwlock-handed-over", shortage_rwlock_handed_over},
    {"semaphore", shortage_semaphore_all_ways},
    {"siglock", shortage_siglock_handed_over},
    {"plain", shortage_plain_all_ways},
    {"latch", shortage_latch_all_ways},
    {"cell", shortage_cell_all_ways},
    {"leader", shortage_leader_all_ways},
    {"flight", shortage_flight_all_ways},
    {"multilock", shortage_multilock_all_ways},
    {"redlock", shortage_redlock_all_ways},
    {"stripes", shortage_stripes_all_ways},
    {"inspect", shortage_inspect_all_ways},
};

const unsigned shortage_scene_count =
    sizeof(shortage_scenes) / sizeof(shortage_scenes[0]);
