/* SPDX-License-Identifier: MIT */

/* Slots of a cluster that go from master to master, and some that are on their way. */

#include <latchkey/latchkey.h>

#include <stdlib.h>
#include <string.h>

#include "claims/cluster.h"
#include "claims/node.h"
#include "support/call.h"
#include "support/check.h"
#include "support/masters.h"

enum {
    SOON_MS = 300, /* masters that are asked more often were so again */
    TWICE_MS = 2 * BELIEF_MS,
    TURN_MS = 80,
    MOVE_MS = 20,
    PENDING_MOST = 16,
    OTHERS = 512,
    OTHER_SIZE = 16
};

/* ---- slots that go from master to master --------------------------------------- */

/* From now on the masters are asked one after the other, as each is from when it
   was connected. */
static void ask_in_turn(void)
{
    for (size_t i = 1; i < MASTERS; i++) {
        masters->world->path->open_ns = i * TURN_MS * FAKE_MS;
        played_kill(masters, i);
        masters->nodes[i].connect_answer = 0;
        played_run_ms(masters, 2);
    }
    masters->world->path->open_ns = FAKE_MS;
    played_run_ms(masters, ROUND_MS);
}

/* Parts of n1's go to n0 for longer than anybody is believed, faster than all are
   asked; and all that are asked know it. */
MASTERS_TEST(a_reshard_ends_no_belief)
{
    lk_hold *hold;
    size_t part = PLAYED_PARTS / MASTERS + 1;

    ask_in_turn();
    hold = masters_take();
    for (unsigned i = 0; i < BELIEF_MS / MOVE_MS + 10; i++, part++) {
        for (size_t node = 0; node < MASTERS; node++)
            masters->nodes[node].named[part] = 0;
        played_run_ms(masters, MOVE_MS);
        assert_status(lk_hold_check(hold), LK_OK);
    }
    assert_status(lk_hold_release(hold), LK_OK);
}

/* Those that are asked after it go on to name the one that sent it. */
MASTERS_TEST(a_hint_that_all_others_deny_is_given_up)
{
    char moved[64];
    unsigned scripts;

    masters->nodes[0].says = masters_at_slot(moved, "MOVED", 1);
    assert_in_range(masters_take_ms(), 0, SOON_MS);
    assert_true(masters->nodes[1].scripts > 0);
    masters->nodes[0].says = NULL;
    played_run_ms(masters, TWICE_MS);
    scripts = masters->nodes[0].scripts;
    assert_in_range(masters_take_ms(), 0, SOON_MS);
    assert_true(masters->nodes[0].scripts > scripts);
}

/* It is nobody's, so nobody else has it. */
MASTERS_TEST(a_slot_without_a_master_denies_nobody)
{
    lk_hold *hold = masters_take();

    masters->nodes[1].named[0] = masters->nodes[2].named[0] = PLAYED_NOBODY;
    played_run_ms(masters, TWICE_MS);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_in_range(masters_take_ms(), 0, SOON_MS);
}

/* Nor is what is held there lost while masters disagree about others. */
MASTERS_TEST(a_slot_without_a_master_stays_where_it_was)
{
    unsigned part = played_slot() / PLAYED_PART;
    lk_hold *hold = masters_take();

    masters->nodes[1].named[part] = masters->nodes[2].named[part] =
        PLAYED_NOBODY;
    masters->nodes[1].named[PLAYED_PARTS - 1] = 1;
    played_run_ms(masters, TWICE_MS);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

MASTERS_OWN_TEST(masters_that_all_have_new_addresses_are_found)
{
    masters = played_new_cluster(3, NULL, MASTERS, "n0,n1,n6");
    played_run_ms(masters, BELIEF_MS + ROUND_MS);
    for (size_t i = 0; i < MASTERS; i++) {
        played_kill(masters, i);
        played_replace(masters, i, MASTERS + i);
    }
    (void)masters_take_ms();
    assert_true(masters->nodes[3].scripts > 0);
}

/* ---- half moved slots ------------------------------------------------------------- */

static unsigned renewals_of_a_second(void)
{
    unsigned before = masters->nodes[0].scripts;

    played_run_ms(masters, 1000);
    return masters->nodes[0].scripts - before;
}

/* The target knows nothing of the slot any more, as one that was restarted. */
MASTERS_TEST(a_renewal_that_is_refused_elsewhere_pauses)
{
    lk_hold *hold = masters_take();
    char ask[64];

    masters->nodes[0].says = masters_at_slot(ask, "ASK", 1);
    masters->nodes[1].says =
        "-TRYAGAIN Multiple keys request during rehashing of "
        "slot\r\n";
    while (masters->nodes[1].askings == 0)
        played_run_ms(masters, 10);
    assert_in_range(renewals_of_a_second(), 1, 40);
    masters->nodes[0].says = masters->nodes[1].says = NULL;
    assert_status(lk_hold_release(hold), LK_OK);
}

/* Others may have held there meanwhile, with a higher fence. */
MASTERS_OWN_TEST(the_next_server_is_asked_by_fence)
{
    const lk_client_options brief = {LK_CLIENT_OPTIONS_INIT,
                                     .watchdog_ms = 6000};
    unsigned part = played_slot() / PLAYED_PART;
    char moved[64];
    lk_hold *hold;
    unsigned scripts;

    masters_begin(MASTERS, &brief);
    hold = masters_take();
    scripts = masters->nodes[0].scripts;
    masters->nodes[0].says =
        "-TRYAGAIN Multiple keys request during rehashing of "
        "slot\r\n";
    while (masters->nodes[0].scripts == scripts)
        played_run_ms(masters, 1);
    for (size_t i = 0; i < MASTERS; i++)
        masters->nodes[i].named[part] = 1;
    masters->nodes[0].says = masters_at_slot(moved, "MOVED", 1);
    while (masters->counts[PLAYED_CONFIRM] + masters->counts[PLAYED_RENEW] == 0)
        played_run_ms(masters, 1);
    assert_true(masters->nodes[1].scripts > 0);
    assert_int_equal(masters->counts[PLAYED_RENEW], 0);
    assert_status(lk_hold_release(hold), LK_OK);
}

static const lk_client_options narrow = {LK_CLIENT_OPTIONS_INIT,
                                         .watchdog_ms = 3000,
                                         .max_pending = PENDING_MOST};

/* Else what comes next on the connection would be meant by it. */
MASTERS_OWN_TEST(nothing_stands_behind_an_asking_without_its_question)
{
    call calls[PENDING_MOST] = {0};
    lk_lock *locks[PENDING_MOST];
    size_t count = 0;
    unsigned connects;
    const lk__conn *commands;
    lk_hold *hold;
    char ask[64];

    masters_begin(MASTERS, &narrow);
    hold = masters_take();
    connects = masters->nodes[1].connects;
    commands = &lk__cluster_node(masters->client, LK__SLOTS / 2)->command;
    masters->nodes[1].is_mute = true;
    played_run_ms(masters, ROUND_MS); /* the question for its map waits there */
    /* One more comes before the renewal is refused; then the ASKING is the last. */
    while (commands->pending < PENDING_MOST - 2) {
        locks[count] = played_lock_at(masters, 1);
        assert_status(lk_lock_acquire_async(locks[count], LONG_MS, NULL,
                                            call_on_acquire, &calls[count]),
                      LK_OK);
        played_run_ms(masters, 10);
        count++;
    }
    masters->nodes[0].says = masters_at_slot(ask, "ASK", 1);
    played_run_ms(masters, 2000);
    assert_int_equal(masters->nodes[1].askings, 0);
    assert_true(masters->nodes[1].connects > connects);
    (void)lk_hold_release(hold);
    lk_lock_free(masters->lock);
    masters->lock = NULL;
    assert_status(lk_client_shutdown(masters->client, 0), LK_ETIMEDOUT);
    played_run_ms(masters, 1);
    while (count-- > 0) {
        assert_int_equal(atomic_load(&calls[count].ends), 1);
        assert_null(calls[count].hold);
        lk_lock_free(locks[count]);
    }
}

static void *others[OTHERS];

/* What was freed is somebody else's now. */
static void memory_goes(void *data)
{
    (void)data;
    for (size_t i = 0; i < OTHERS; i++) {
        size_t size = (i % (OTHERS / 8) + 1) * OTHER_SIZE;

        others[i] = malloc(size);
        assert_non_null(others[i]);
        memset(others[i], 0, size);
    }
}

MASTERS_TEST(an_answer_to_a_question_that_has_ended_sets_no_alarm)
{
    lk_hold *hold = masters_take();
    call c = {0};

    masters->nodes[0].says =
        "-ERR Script attempted to access a non local key in a "
        "cluster node\r\n";
    played_ways(masters, 1, 50);
    fake_world_at(masters->world,
                  fake_world_now(masters->world) + 51 * FAKE_MS + 1000,
                  memory_goes, NULL);
    assert_status(lk_lock_force_release_async(masters->lock, call_on_done, &c),
                  LK_OK);
    played_run_ms(masters, 10);
    assert_status(lk_client_shutdown(masters->client, 1000), LK_ETIMEDOUT);
    assert_status(call_wait(&c, NULL), LK_ECLOSED);
    (void)lk_hold_release(hold);
    for (size_t i = 0; i < OTHERS; i++)
        free(others[i]);
}
