/* SPDX-License-Identifier: MIT */
#include "support/inspecting.h"

#include <latchkey/latch.h>
#include <latchkey/plain_semaphore.h>
#include <latchkey/rwlock.h>
#include <latchkey/semaphore.h>

#include <string.h>

#include "support/check.h"

enum { LIST_MS = 10000 };

lk_listing *inspecting_list(lk_client *client, const char *pattern,
                            uint64_t idle, uint64_t ours)
{
    lk_list_options options = {LK_LIST_OPTIONS_INIT, .pattern = pattern,
                               .idle = idle, .ours = ours};
    lk_listing *listing = NULL;

    assert_status(lk_list(client, LIST_MS, &options, &listing), LK_OK);
    assert_non_null(listing);
    return listing;
}

const lk_entry *inspecting_entry(const lk_listing *listing, const char *name)
{
    const lk_entry *found = NULL;

    for (size_t i = 0; i < listing->count; i++) {
        if (strcmp(listing->entries[i]->name, name) != 0)
            continue;
        assert_null(found); /* each name once */
        found = listing->entries[i];
    }
    return found;
}

void inspecting_make(lk_client *client, lk_hold *holds[3])
{
    lk_rwlock *rwlock;
    lk_semaphore *semaphore;
    lk_plain_semaphore *plain;
    lk_latch *latch;
    lk_semaphore_options permits = {LK_SEMAPHORE_OPTIONS_INIT, .permits = 5};

    assert_status(lk_rwlock_new(&rwlock, client, "rw", NULL), LK_OK);
    assert_status(lk_rwlock_acquire_read(rwlock, 0, NULL, &holds[0]), LK_OK);
    assert_status(lk_rwlock_acquire_read(rwlock, 0, NULL, &holds[1]), LK_OK);
    lk_rwlock_free(rwlock);
    assert_status(lk_semaphore_new(&semaphore, client, "sem", &permits), LK_OK);
    assert_status(lk_semaphore_acquire(semaphore, 2, 0, NULL, &holds[2]),
                  LK_OK);
    lk_semaphore_free(semaphore);
    assert_status(lk_plain_semaphore_new(&plain, client, "plain"), LK_OK);
    assert_status(lk_plain_semaphore_try_set(plain, 7, 0), LK_OK);
    lk_plain_semaphore_free(plain);
    assert_status(lk_latch_new(&latch, client, "latch", NULL), LK_OK);
    assert_status(lk_latch_try_set_count(latch, 3), LK_OK);
    lk_latch_free(latch);
}
