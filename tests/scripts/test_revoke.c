/* SPDX-License-Identifier: MIT */

/* lock_revoke and its like: a hold that stands until it is given up, and is not
   renewed any more. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/rw_script.h"
#include "support/script.h"

#define JAVA "01234567-89ab-cdef-0123-456789abcdef:71"

extern const lk__script lk__script_rwlock_revoke;

enum { MINUTE_MS = 60000 };

/* ---- the read-write lock ---- */

static const char *rw_revoke(script_fixture *f, const char *claim)
{
    return script_call(f, &lk__script_rwlock_revoke, claim, (char *)NULL);
}

static void a_revoked_writer_writes_on_until_it_ends(void **state)
{
    script_fixture *f = *state;
    char fence[24];

    rw_hear(f, "w:1", NULL);
    rw_acquire(f, "w:1", "w");
    (void)snprintf(fence, sizeof(fence), "%s", rw_fence(f, "w:1"));
    rw_acquire(f, "r:1", "r");
    assert_like(rw_revoke(f, "w:1"), "1 * 1");
    assert_like(script_heard(f), "in:w:1 revoked rwlock w:1 * n\n");
    assert_held(f, "w:1:write write");
    assert_like(rw_renew(f, "w:1", fence, "90000"), "1 4");
    assert_like(rw_confirm(f, "w:1", fence, "90000"), "0 4");
    assert_like(rw_downgrade(f, "w:1", fence, "90000"), "0 4");
    assert_in_range(strtoll(script_redis(f, "PTTL n"), NULL, 10), 20000, 30000);
    assert_like(rw_release(f, "w:1", fence), "1 *");
    assert_like(rw_renew(f, "r:1", NULL, "90000"), "1 0");
}

static void a_look_does_not_lengthen_a_revoked_writer(void **state)
{
    script_fixture *f = *state;

    rw_acquire(f, "w:1", "w");
    script_redis(f, "PEXPIRE n 3000");
    assert_like(rw_revoke(f, "w:1"), "1 * 1");
    assert_like(rw_recheck(f, "w:1"), "1 * ???? 0 *");
    assert_in_range(strtoll(script_redis(f, "PTTL n"), NULL, 10), 1, 3000);
}

static void the_reads_of_a_writer_go_with_it(void **state)
{
    script_fixture *f = *state;

    rw_hear(f, "w:1", "r:1", NULL);
    rw_acquire(f, "w:1", "w");
    rw_acquire_on(f, "r:1", "r", "w:1");
    assert_like(rw_revoke(f, "w:1"), "1 * 1");
    assert_like(script_heard(f), "*revoked rwlock w:1 *revoked rwlock r:1 *");
    assert_like(rw_renew(f, "w:1", NULL, "90000"), "1 4");
    assert_like(rw_renew(f, "r:1", NULL, "90000"), "1 4");
}

static void of_several_readers_one_is_revoked(void **state)
{
    script_fixture *f = *state;

    rw_hear(f, "r:1", "r:2", NULL);
    rw_acquire(f, "r:1", "r");
    rw_acquire(f, "r:2", "u");
    assert_like(rw_revoke(f, "r:2"), "1 * 1");
    assert_like(script_heard(f), "in:r:2 revoked rwlock r:2 * n\n");
    assert_like(rw_renew(f, "r:2", NULL, "90000"), "1 4");
    assert_like(rw_renew(f, "r:1", NULL, "90000"), "");
    assert_like(script_redis(f, "PTTL %s", rw_timeout(f, "r:2")), "?????");
    assert_true(strtoll(script_redis(f, "PTTL %s", rw_timeout(f, "r:2")), NULL,
                        10) <= 30000);
    assert_like(rw_release(f, "r:2", NULL), "1 *");
    assert_held(f, "r:1 read");
}

static void what_is_void_is_forgotten_in_time(void **state)
{
    script_fixture *f = *state;

    rw_acquire(f, "r:1", "r");
    rw_revoke(f, "r:1");
    assert_in_range(strtoll(script_redis(f, "PTTL %s", f->keys[KEY_VOID]), NULL,
                            10),
                    MINUTE_MS, 30000 + MINUTE_MS);
}

static void a_reader_that_is_not_there_is_not_revoked(void **state)
{
    script_fixture *f = *state;

    assert_like(rw_revoke(f, "r:1"), "0");
    rw_acquire(f, "r:1", "r");
    rw_acquire(f, "r:2", "r");
    rw_kill(f, "r:1");
    assert_like(rw_revoke(f, "r:1"), "0");
    assert_like(script_redis(f, "EXISTS %s", f->keys[KEY_VOID]), "0");
}

static void a_foreign_writer_is_left_alone(void **state)
{
    script_fixture *f = *state;

    script_redis(f, "HSET n mode write " JAVA ":write 1");
    script_redis(f, "PEXPIRE n 20000");
    assert_like(rw_revoke(f, JAVA), "1 ????? 0");
    assert_like(script_redis(f, "EXISTS %s", f->keys[KEY_VOID]), "0");
}

static void a_full_server_revokes_readers(void **state)
{
    script_fixture *f = *state;

    rw_acquire(f, "r:1", "r");
    script_fill_memory(f, true);
    assert_like(rw_revoke(f, "r:1"), "1 * 1");
    script_fill_memory(f, false);
    assert_like(rw_renew(f, "r:1", NULL, "90000"), "1 4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RW_TEST(a_revoked_writer_writes_on_until_it_ends),
        RW_TEST(a_look_does_not_lengthen_a_revoked_writer),
        RW_TEST(the_reads_of_a_writer_go_with_it),
        RW_TEST(of_several_readers_one_is_revoked),
        RW_TEST(what_is_void_is_forgotten_in_time),
        RW_TEST(a_reader_that_is_not_there_is_not_revoked),
        RW_TEST(a_foreign_writer_is_left_alone),
        RW_TEST(a_full_server_revokes_readers),
    };

    return cmocka_run_group_tests_name("revoke", tests, script_start_server,
                                       script_stop_server);
}
