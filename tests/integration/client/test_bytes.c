/* SPDX-License-Identifier: MIT */

/* What a name in use costs in memory, and what a hold of it does. */

#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/locking.h"

/* A name is as long as most are. What all of them share counts as well. */
enum { NAMES = 10000, NAME_BYTES = 16, MOST_HANDLE = 300, MOST_HOLD = 400 };

/* 0: this build's allocator does not say. */
static size_t bytes_taken(void)
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    return mallinfo2().uordblks;
#else
    return 0;
#endif
}

static size_t each(const char *what, size_t before)
{
    size_t bytes = (bytes_taken() - before) / NAMES;

    printf("%zu bytes a %s\n", bytes, what);
    return bytes;
}

/* The lock of each hold is free before, as most are. */
CHECK_TEST_OF(names_and_holds_are_small, locking *f, locking_setup,
              locking_teardown)
{
    lk_client *client = locking_open_calm(f, NULL);
    static lk_lock *locks[NAMES];
    static lk_hold *holds[NAMES];
    size_t before = bytes_taken(), handle, hold;

    for (int i = 0; i < NAMES; i++) {
        char name[NAME_BYTES + 1];

        snprintf(name, sizeof(name), "name-of-lock%04d", i);
        assert_status(lk_lock_new(&locks[i], client, name, NULL), LK_OK);
    }
    handle = each("handle", before);
    before = bytes_taken();
    for (int i = 0; i < NAMES; i++)
        assert_status(lk_lock_acquire(locks[i], LK_FOREVER, NULL, &holds[i]),
                      LK_OK);
    hold = each("hold", before);
    for (int i = 0; i < NAMES; i++) {
        assert_status(lk_hold_release(holds[i]), LK_OK);
        lk_lock_free(locks[i]);
    }
    if (handle == 0)
        skip();
    assert_in_range(handle, 1, MOST_HANDLE + NAME_BYTES);
    assert_in_range(hold, 1, MOST_HOLD);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
