/* SPDX-License-Identifier: MIT */

/* leave: a claim that does not want the name any more. */

#include "support/check.h"
#include "support/layout3.h"

L3_TEST(a_waiter_leaves_its_line)
{
    l3_two_wait(f);
    assert_like(l3_leave(f, "b1"), "-1");
    assert_like(l3_line(f), "c1");
    assert_like(l3_leave(f, "b1"), "0");
    assert_like(l3_holders(f), "a1");
}

L3_TEST(the_side_from_which_it_is_nearer_makes_no_difference)
{
    l3_two_wait(f);
    assert_like(l3_run(f, "leave", "Nqx", l3_member("b1"), "-1", NULL), "-1");
    assert_like(l3_line(f), "c1");
}

L3_TEST(a_parked_one_leaves_as_well)
{
    l3_hear(f, "c");
    l3_acquire_first(f, "a1");
    l3_acquire(f, "b1");
    l3_acquire(f, "c1");
    l3_close(f, "a1");
    assert_like(l3_parked(f), "b1");
    assert_like(l3_leave(f, "b1"), "-1");
    assert_like(l3_parked(f), "");
    assert_like(l3_touch(f, "b1"), "* 0");
}

/* What was granted meanwhile is closed. */
L3_TEST(a_claim_that_holds_alone_is_to_be_closed)
{
    l3_two_wait(f);
    l3_close(f, "a1");
    assert_like(l3_leave(f, "b1"), "5");
    assert_like(l3_holders(f), "b1");
    assert_like(l3_close(f, "b1"), "2");
    assert_like(l3_holders(f), "c1");
}

/* Behind a cut it may be parked and hold: out of the side as well. */
L3_TEST(a_parked_one_that_holds_is_parked_no_more)
{
    l3_hear(f, "c");
    l3_acquire_first(f, "a1");
    l3_acquire(f, "b1");
    l3_acquire(f, "c1");
    l3_close(f, "a1");
    script_redis(f, "DEL n");
    script_redis(f, "HSET n %s 1", l3_claim("b1"));
    assert_like(l3_leave(f, "b1"), "5");
    assert_like(l3_parked(f), "");
}

/* The other may have been told: the name is nobody's to give. */
L3_TEST(beside_another_it_goes_and_gives_nothing)
{
    l3_two_wait(f);
    script_redis(f, "HSET n %s 1", l3_claim("d1"));
    assert_like(l3_leave(f, "d1"), "-1");
    assert_like(l3_holders(f), "a1");
    assert_like(l3_line(f), "b1 c1");
    assert_like(l3_heard(f), "");
}

CHECK_GROUP(script_start_server, script_stop_server)
