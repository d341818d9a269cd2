/* SPDX-License-Identifier: MIT */

/* What clients tell operators of owners that hold something and wait. */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "claims/record.h"
#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

enum { SOON_MS = 5000, OWNERS = 20, HOLDS = 40 };

/* What the holder of "a" is said to wait for. */
typedef struct seen {
    lk_lock *lock;
    const char *expected;
} seen;

static bool is_said(const seen *s)
{
    lk_info *info;
    bool said;

    assert_status(lk_lock_info(s->lock, &info), LK_OK);
    assert_int_equal(info->holder_count, 1);
    said = strcmp(info->holders[0]->waits_for, s->expected) == 0;
    for (size_t i = 0; i < info->listed_count; i++)
        assert_string_equal(info->waiters[i]->waits_for, "");
    lk_info_free(info);
    return said;
}

static void assert_said(lk_lock *lock, const char *expected)
{
    seen s = {.lock = lock, .expected = expected};

    assert_soon(is_said(&s), SOON_MS);
}

/* What a test holds until its end. */
static lk_hold *kept[HOLDS];
static size_t kept_count;

static void keep(lk_hold *hold)
{
    assert_true(kept_count < HOLDS);
    kept[kept_count++] = hold;
}

static int teardown(void **state)
{
    while (kept_count > 0)
        (void)lk_hold_release(kept[--kept_count]);
    return locking_teardown(state);
}

static void acquire_for(lk_lock *lock, lk_owner *owner)
{
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT, .owner = owner};
    lk_hold *hold;

    assert_status(lk_lock_acquire(lock, 0, &options, &hold), LK_OK);
    keep(hold);
}

static taker *wait_for(locking *f, lk_lock *lock, lk_owner *owner)
{
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT, .owner = owner};

    return locking_take(f, lock, LK_FOREVER, &options);
}

#define TEST(name) CHECK_TEST_OF(name, locking *f, locking_setup, teardown)

TEST(what_an_owner_waits_for_is_told_and_taken_back)
{
    lk_client *client = locking_open(f, NULL);
    lk_hold *other =
        locking_hold(locking_lock(f, locking_open(f, NULL), "b c,1"));
    lk_lock *a = locking_lock(f, client, "a");
    lk_owner *owner;
    taker *t;

    assert_status(lk_owner_new(&owner, client), LK_OK);
    acquire_for(a, owner);
    assert_said(a, "");
    t = wait_for(f, locking_lock(f, client, "b c,1"), owner);
    assert_said(a, "b c,1");
    assert_status(lk_hold_release(other), LK_OK);
    assert_status(taker_release(t), LK_OK);
    assert_said(a, "");
    lk_owner_free(owner);
}

TEST(a_wait_of_another_owner_is_not_its)
{
    lk_client *client = locking_open(f, NULL);
    lk_lock *a = locking_lock(f, client, "a");
    lk_lock *c = locking_lock(f, client, "c");
    lk_owner *owner, *another;

    keep(locking_hold(locking_lock(f, locking_open(f, NULL), "b")));
    assert_status(lk_owner_new(&owner, client), LK_OK);
    assert_status(lk_owner_new(&another, client), LK_OK);
    acquire_for(a, owner);
    acquire_for(c, another);
    wait_for(f, locking_lock(f, client, "b"), another);
    assert_said(c, "b");
    assert_said(a, "");
    lk_owner_free(owner);
    lk_owner_free(another);
}

/* A name that would break the lines is left out, and so is what is too much. */
TEST(the_record_stays_small)
{
    lk_client *client = locking_open(f, NULL);
    lk_owner *owners[OWNERS];
    char name[32], key[96], *text;
    size_t lines = 0;

    keep(locking_hold(locking_lock(f, locking_open(f, NULL), "b")));
    for (int i = 0; i < OWNERS; i++) {
        (void)snprintf(name, sizeof(name), "a%d", i);
        assert_status(lk_owner_new(&owners[i], client), LK_OK);
        acquire_for(locking_lock(f, client, name), owners[i]);
        wait_for(f, locking_lock(f, client, "b"), owners[i]);
    }
    locking_wait_waiting(client, OWNERS);
    (void)snprintf(key, sizeof(key), "latchkey:client::%s",
                   lk_client_id(client));
    locking_pass_time(wait_scaled_ms(1600));
    text = server_string(f->server, "GET %s", key);
    assert_non_null(text);
    for (const char *at = text; (at = strstr(at, "\nw ")) != NULL; at++)
        lines++;
    assert_int_equal(lines, LK__RECORD_WAITS);
    free(text);
    for (int i = 0; i < OWNERS; i++)
        lk_owner_free(owners[i]);
}

TEST(a_name_with_a_line_break_is_left_out)
{
    lk_client *client = locking_open(f, NULL);
    lk_lock *a = locking_lock(f, client, "a");
    lk_owner *owner;

    keep(locking_hold(locking_lock(f, locking_open(f, NULL), "b\nw 1 x")));
    assert_status(lk_owner_new(&owner, client), LK_OK);
    acquire_for(a, owner);
    wait_for(f, locking_lock(f, client, "b\nw 1 x"), owner);
    locking_wait_waiting(client, 1);
    locking_pass_time(wait_scaled_ms(1500));
    assert_said(a, "");
    lk_owner_free(owner);
}

/* ---- reading ---- */

CHECK_TEST(the_lines_of_a_record_are_read)
{
    char text[] = "h\n1\np\nu\nn\nw 1,12 orders 7\nw 123 b";
    char again[] = "h\n1\np\nu\nn\nw 1,12 orders 7\nw 123 b";
    char among[] = "h\n1\np\nu\nn\np 1a:2\nw 5 b";
    char bad[] = "h\n1\np\nu\nn\nw x y\nw\nw 5\nz 5 q\n\nw 5 yes";
    lk__record record;

    lk__record_parse(&record, text);
    assert_string_equal(record.name, "n");
    assert_string_equal(lk__record_waits_for(&record, 12), "orders 7");
    lk__record_parse(&record, again);
    assert_string_equal(lk__record_waits_for(&record, 2), "");
    assert_string_equal(record.among, "");
    lk__record_parse(&record, among);
    assert_string_equal(record.among, "1a:2");
    assert_string_equal(lk__record_waits_for(&record, 5), "b");
    lk__record_parse(&record, bad);
    assert_string_equal(lk__record_waits_for(&record, 5), "yes");
}

CHECK_GROUP(locking_start_server, locking_stop_server)
