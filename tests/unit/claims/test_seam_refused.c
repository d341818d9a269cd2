/* SPDX-License-Identifier: MIT */

/*
 * A client on a virtual clock, and the masters of a cluster that the test plays: what
 * keeps a wait from its lock. It lasts to the end of the wait's time, which then says
 * what it was; or it is over before that, and the wait has the lock.
 */

#include <latchkey/latchkey.h>

#include <errno.h>
#include <stdio.h>

#include "support/check.h"
#include "support/masters.h"

enum {
    WAIT_MS = 2000,  /* as the wait wants it */
    EARLY_MS = 700,  /* when the cause is over, */
    FOUND_MS = 1000, /* and how long it takes to find that out, at most */
    SLACK_MS = 10
};

/* ---- how a wait ends ------------------------------------------------------------ */

/* It waits in vain, for so long as it wanted to. */
static void assert_ends(int64_t wait_ms, lk_status status, const char *words)
{
    uint64_t began = played_now_ms(masters);
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(masters->lock, wait_ms, NULL, &hold), status);
    assert_string_equal(lk_last_error(), words);
    if (wait_ms > 0)
        assert_in_range(played_now_ms(masters) - began, wait_ms,
                        wait_ms + SLACK_MS);
}

/* The wait gets its lock when cure(NULL), which is called soon, is done. */
static void assert_is_found(void (*cure)(void *data))
{
    uint64_t began = played_now_ms(masters);
    lk_hold *hold = NULL;

    fake_world_at(masters->world,
                  fake_world_now(masters->world) + EARLY_MS * FAKE_MS, cure,
                  NULL);
    assert_status(lk_lock_acquire(masters->lock, WAIT_MS, NULL, &hold), LK_OK);
    assert_in_range(played_now_ms(masters) - began, EARLY_MS,
                    EARLY_MS + FOUND_MS);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* ---- what a master says ---------------------------------------------------------- */

static void all_are_well(void *data)
{
    (void)data;
    for (size_t i = 0; i < MASTERS; i++) {
        masters->nodes[i].says = NULL;
        masters->nodes[i].is_mute = masters->nodes[i].loads = false;
        masters->nodes[i].is_replica = false;
        masters->nodes[i].connect_answer = 0;
    }
}

static void says(const char *answer, lk_status status, const char *words)
{
    masters->nodes[0].says = answer;
    assert_ends(WAIT_MS, status, words);
    assert_is_found(all_are_well);
}

/* The master is not there for commands at all. */
static void ends_as(const char *why)
{
    char words[160];

    (void)snprintf(words, sizeof(words), "%s: %s", lk_status_text(LK_ETIMEDOUT),
                   why);
    assert_ends(WAIT_MS, LK_ETIMEDOUT, words);
    assert_is_found(all_are_well);
}

MASTERS_TEST(a_cluster_that_is_down)
{
    says("-CLUSTERDOWN The cluster is down\r\n", LK_ESERVER,
         "CLUSTERDOWN The cluster is down");
}

MASTERS_TEST(keys_on_both_sides)
{
    says("-TRYAGAIN Multiple keys request during rehashing of slot\r\n",
         LK_ESERVER, "TRYAGAIN Multiple keys request during rehashing of slot");
}

/* It is another process than the one before. */
MASTERS_TEST(a_master_that_loads)
{
    played_kill(masters, 0);
    all_are_well(NULL);
    masters->nodes[0].loads = true;
    played_run_ms(masters, 1);
    ends_as("n0:6379 cannot be used: LOADING Redis is loading the dataset in "
            "memory");
}

MASTERS_TEST(a_master_that_has_become_a_replica)
{
    masters->nodes[0].is_replica = true;
    ends_as("n0:6379 cannot be used: the server is a replica");
}

MASTERS_TEST(masters_that_name_each_other)
{
    char there[64], back[64], words[64];

    masters->nodes[0].says = masters_at_slot(there, "MOVED", 1);
    masters->nodes[1].says = masters_at_slot(back, "MOVED", 0);
    (void)snprintf(words, sizeof(words), "MOVED %u n1:6379", played_slot());
    assert_ends(WAIT_MS, LK_ESERVER, words);
    assert_is_found(all_are_well);
}

/* ---- what it does not say ---------------------------------------------------------- */

/* It may have done what it was asked for. */
MASTERS_TEST(a_master_that_does_not_answer)
{
    masters->nodes[0].is_mute = true;
    assert_ends(WAIT_MS, LK_EINDOUBT, lk_status_text(LK_EINDOUBT));
}

static void it_goes_on(void *data)
{
    all_are_well(data);
    for (unsigned i = 0; fake_world_link(masters->world, i) != NULL; i++) {
        if (fake_world_link(masters->world, i)->address.host[1] == '0')
            fake_break(fake_world_link(masters->world, i));
    }
}

MASTERS_TEST(a_master_that_answers_again)
{
    masters->nodes[0].is_mute = true;
    assert_is_found(it_goes_on);
}

MASTERS_TEST(a_master_that_takes_no_connections)
{
    played_kill(masters, 0);
    played_run_ms(masters, 1);
    ends_as("n0:6379 cannot be reached: connection refused");
}

/* As it is where a part of the slots has been lost. */
MASTERS_TEST(a_slot_that_is_nobodys)
{
    played_replace(masters, 0, PLAYED_NOBODY);
    says("-CLUSTERDOWN Hash slot not served\r\n", LK_ESERVER,
         "CLUSTERDOWN Hash slot not served");
}
