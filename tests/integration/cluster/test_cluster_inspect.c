/* SPDX-License-Identifier: MIT */

/*
 * Looking at a Redis Cluster: the names of all masters, also while slots move and
 * while a master is away.
 */

#include <latchkey/latchkey.h>

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/ringed.h"
#include "support/wait.h"

enum {
    NAMES = 24,
    CROWD = 1500,
    STEP = 600, /* keys: twice what one question looks at */
    TYPES = 3,  /* of keys; a list looks for each by itself */
    LOOKS = 12,
    FAST_LOOKS = 3,
    MOVES = 16, /* and then a pause: more than a list has rounds at least */
    PATIENT_MS = 10 * RINGED_LONG_MS,
    TOLD_MS = 20000
};

/* ---- names that are held ---------------------------------------------------------- */

struct crowd {
    lk_lock *locks[NAMES];
    lk_hold *holds[NAMES];
};

static void
crowd_hold(struct crowd *crowd, lk_client *client, const char *begin)
{
    char name[RINGED_NAME];

    for (unsigned i = 0; i < NAMES; i++) {
        (void)snprintf(name, sizeof(name), "%s%u", begin, i);
        crowd->locks[i] = made_lock(client, name);
        crowd->holds[i] = made_hold(crowd->locks[i]);
    }
}

static void crowd_release(struct crowd *crowd)
{
    for (unsigned i = 0; i < NAMES; i++)
        (void)lk_hold_release(crowd->holds[i]);
}

static lk_listing *list(lk_client *client, const char *pattern)
{
    lk_list_options what = {LK_LIST_OPTIONS_INIT, .pattern = pattern};
    lk_listing *listing = NULL;

    assert_status(lk_list(client, RINGED_LONG_MS, &what, &listing), LK_OK);
    return listing;
}

/* How often a name is in a list. */
static unsigned times(const lk_listing *listing, const char *name)
{
    unsigned count = 0;

    for (size_t i = 0; i < listing->count; i++)
        count += strcmp(listing->entries[i]->name, name) == 0;
    return count;
}

static void assert_each_once(const lk_listing *listing, const char *begin)
{
    char name[RINGED_NAME];

    for (unsigned i = 0; i < NAMES; i++) {
        (void)snprintf(name, sizeof(name), "%s%u", begin, i);
        assert_int_equal(times(listing, name), 1);
    }
    assert_int_equal(listing->count, NAMES);
    assert_string_equal(listing->missing, "");
    assert_false(listing->truncated);
}

/* ---- lists ---------------------------------------------------------------------------- */

MADE_TEST(the_names_of_all_masters_are_listed)
{
    lk_client *client = ringed_open(NULL), *looker = ringed_open(NULL);
    lk_list_options few = {LK_LIST_OPTIONS_INIT, .pattern = "all*", .limit = 5};
    struct crowd crowd;
    lk_listing *listing;

    crowd_hold(&crowd, client, "all");
    listing = list(looker, "all*");
    assert_each_once(listing, "all");
    for (size_t i = 0; i < listing->count; i++) {
        const lk_entry *entry = listing->entries[i];

        assert_int_equal(entry->kind, LK_KIND_LOCK);
        assert_int_equal(entry->holder_count, 1);
        assert_true(entry->holder->fence > 0);
        assert_true(entry->holder->since_ms < RINGED_LONG_MS);
        assert_true(entry->holder->lease_ms > 0);
    }
    lk_listing_free(listing);

    assert_status(lk_list(looker, RINGED_LONG_MS, &few, &listing), LK_OK);
    assert_int_equal(listing->count, 5);
    assert_true(listing->truncated);
    lk_listing_free(listing);
    crowd_release(&crowd);
}

MADE_TEST(a_name_in_a_slot_that_is_half_moved_is_listed)
{
    lk_client *client = ringed_open(NULL), *looker = ringed_open(NULL);
    lk_lock *lock = made_lock(client, "{halves}1"),
            *other = made_lock(client, "{halves}2");
    lk_hold *hold = made_hold(lock), *aside = made_hold(other);
    unsigned slot = ringed_slot("{halves}");
    server *to = ringed_other("{halves}");
    size_t moved = 1;

    cluster_move_begin(ringed(), slot, to);
    while (moved > 0) {
        lk_listing *listing = list(looker, "{halves}*");

        assert_int_equal(listing->count, 2);
        assert_int_equal(times(listing, "{halves}1"), 1);
        assert_int_equal(times(listing, "{halves}2"), 1);
        assert_string_equal(listing->missing, "");
        assert_int_equal(listing->entries[0]->holder_count, 1);
        assert_int_equal(listing->entries[1]->holder_count, 1);
        lk_listing_free(listing);
        moved = cluster_move_keys(ringed(), slot, to, 1);
    }
    cluster_move_end(ringed(), slot, to);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_hold_release(aside), LK_OK);
}

/* Keys that make a walk take long: a list asks about none of them. */
static void crowd_up(void)
{
    for (size_t i = 0; i < RINGED_MASTERS; i++) {
        char name[RINGED_NAME];

        (void)ringed_name(name, "crowd", ringed()->nodes[i]);
        for (unsigned k = 0; k < CROWD; k++)
            (void)server_integer(ringed()->nodes[i], "HSET {%s}%u f v", name,
                                 k);
    }
}

/* How often it was asked for some of its keys. */
static long long scans(server *node)
{
    static const char field[] = "cmdstat_scan:calls=";
    char *text = server_string(node, "INFO commandstats");
    const char *at = strstr(text, field);
    long long calls = at != NULL ? strtoll(at + strlen(field), NULL, 10) : 0;

    free(text);
    return calls;
}

/* Whoever asks a master for anything meanwhile waits for one step at most. */
MADE_TEST(a_list_takes_each_master_in_small_steps)
{
    lk_client *client = ringed_open(NULL);
    long long before[RINGED_MASTERS];

    crowd_up();
    for (size_t i = 0; i < RINGED_MASTERS; i++)
        before[i] = scans(ringed()->nodes[i]);
    lk_listing_free(list(client, "nobody*"));
    for (size_t i = 0; i < RINGED_MASTERS; i++) {
        server *node = ringed()->nodes[i];

        assert_true(scans(node) - before[i] >=
                    server_integer(node, "DBSIZE") / STEP * TYPES);
    }
}

struct look {
    lk_listing *listing;
    lk_status status;
    unsigned moves;
    atomic_bool is_over;
};

static void on_listed(lk_status status, lk_listing *listing, void *data)
{
    struct look *look = data;

    look->status = status;
    look->listing = listing;
    atomic_store(&look->is_over, true);
}

static bool is_listed(void *data)
{
    struct look *look = data;

    return atomic_load(&look->is_over);
}

/* Two of the names go to and fro while it is made, so many times at most. */
static lk_listing *list_of_moved(lk_client *looker, unsigned most)
{
    const lk_list_options what = {LK_LIST_OPTIONS_INIT, .pattern = "to*"};
    struct look look = {.listing = NULL};

    assert_status(lk_list_async(looker, PATIENT_MS, &what, on_listed, &look),
                  LK_OK);
    while (look.moves < most && !is_listed(&look)) {
        const char *name = look.moves++ % 2 == 0 ? "to0" : "to1";

        cluster_move(ringed(), ringed_slot(name), ringed_other(name));
    }
    assert_true(wait_until(is_listed, &look, PATIENT_MS));
    assert_status(look.status, LK_OK);
    return look.listing;
}

/* It has the time to go on until they rest. */
MADE_TEST(no_name_is_lost_or_twice_while_slots_move)
{
    const lk_client_options patient = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = PATIENT_MS};
    lk_client *client = ringed_open(NULL), *looker = ringed_open(&patient);
    struct crowd crowd;

    crowd_up();
    crowd_hold(&crowd, client, "to");
    for (unsigned i = 0; i < LOOKS; i++) {
        lk_listing *listing = list_of_moved(looker, MOVES);

        assert_each_once(listing, "to");
        lk_listing_free(listing);
    }
    crowd_release(&crowd);
}

/* They may move faster than a list is made: then it says so. */
MADE_TEST(what_moves_on_and_on_is_there_or_said_to_be_missing)
{
    lk_client *client = ringed_open(NULL), *looker = ringed_open(NULL);
    struct crowd crowd;
    char name[RINGED_NAME];

    crowd_up();
    crowd_hold(&crowd, client, "to");
    for (unsigned i = 0; i < FAST_LOOKS; i++) {
        lk_listing *listing = list_of_moved(looker, UINT_MAX);

        for (unsigned k = 0; k < NAMES; k++) {
            (void)snprintf(name, sizeof(name), "to%u", k);
            assert_true(times(listing, name) <= 1);
        }
        if (listing->missing[0] == '\0')
            assert_each_once(listing, "to");
        lk_listing_free(listing);
    }
    crowd_release(&crowd);
}

/* ---- one name -------------------------------------------------------------------------- */

/* Before it, a client has seen where the slot was. */
MADE_TEST(one_name_is_looked_at_where_it_is_now)
{
    lk_client *client = ringed_open(NULL), *looker = ringed_open(NULL);
    lk_lock *lock = made_lock(client, "who");
    lk_hold *hold = made_hold(lock);
    lk_kind kind = LK_KIND_NONE;
    lk_info *info = NULL;
    char owner[80];

    for (unsigned i = 0; i < 3; i++) {
        assert_status(lk_who(looker, "who", &kind, &info), LK_OK);
        assert_int_equal(kind, LK_KIND_LOCK);
        assert_int_equal(info->holder_count, 1);
        (void)snprintf(owner, sizeof(owner), "%s", info->holders[0]->owner);
        lk_info_free(info);
        cluster_move(ringed(), ringed_slot("who"), ringed_other("who"));
    }
    assert_status(lk_event_note(looker, "who", "ended", owner, "why"), LK_OK);
    assert_status(lk_break(looker, "who", owner), LK_OK);
    assert_status(lk_who(looker, "who", &kind, &info), LK_OK);
    assert_int_equal(info->holder_count, 0);
    lk_info_free(info);
    cluster_move(ringed(), ringed_slot("who"), ringed_other("who"));
    (void)lk_hold_release(hold);
    made_free_client(client);
    cluster_move(ringed(), ringed_slot("who"), ringed_other("who"));
    assert_status(lk_who(looker, "nobody", &kind, &info), LK_ENOTHELD);
}

/* ---- whose process it is ----------------------------------------------------------------- */

static void record_key(char key[96], lk_client *client)
{
    (void)snprintf(key, 96, "latchkey:client::%s", lk_client_id(client));
}

struct told {
    lk_client *looker;
    const char *name;
    lk_info *info;
};

static bool is_told(void *data)
{
    struct told *told = data;
    lk_kind kind;

    lk_info_free(told->info);
    told->info = NULL;
    assert_status(lk_who(told->looker, told->name, &kind, &told->info), LK_OK);
    return told->info->holders[0]->host[0] != '\0' &&
           told->info->holders[0]->waits_for[0] != '\0';
}

/* Each is kept once, at the master of its own slot, and goes with that. */
MADE_TEST(who_holds_and_waits_is_told_with_its_process)
{
    lk_client *holder = ringed_open(NULL), *waiter = ringed_open(NULL),
              *looker = ringed_open(NULL);
    lk_lock *held = made_lock(holder, "whose"),
            *wanted = made_lock(waiter, "whose"),
            *other = made_lock(looker, "else"),
            *behind = made_lock(holder, "else");
    lk_acquire_options how = {LK_ACQUIRE_OPTIONS_INIT};
    lk_hold *hold = NULL, *aside = made_hold(other);
    lk_owner *owner = NULL;
    struct told told = {.looker = looker, .name = "whose"};
    char key[96];
    call c = {0}, d = {0};
    lk_listing *listing;

    assert_status(lk_owner_new(&owner, holder), LK_OK);
    how.owner = owner;
    assert_status(lk_lock_acquire(held, RINGED_LONG_MS, &how, &hold), LK_OK);
    ringed_take(&c, wanted);
    ringed_wait_line(ringed_master("whose"), "whose", 1);
    assert_status(lk_lock_acquire_async(behind, LK_FOREVER, &how,
                                        call_on_acquire, &d),
                  LK_OK);
    assert_true(wait_until(is_told, &told, TOLD_MS));
    assert_int_equal(told.info->holders[0]->pid, getpid());
    assert_string_equal(told.info->holders[0]->command,
                        "test_integration_cluster");
    assert_string_equal(told.info->holders[0]->waits_for, "else");
    assert_int_equal(told.info->waiters[0]->pid, getpid());

    record_key(key, holder);
    assert_int_equal(server_integer(ringed_master(key), "EXISTS %s", key), 1);
    cluster_move(ringed(), ringed_slot(key), ringed_other(key));
    assert_true(is_told(&told));
    listing = list(looker, "whose");
    assert_int_equal(listing->count, 1);
    assert_int_equal(listing->entries[0]->holder->pid, getpid());
    lk_listing_free(listing);
    lk_info_free(told.info);

    assert_status(lk_hold_release(aside), LK_OK);
    assert_status(call_wait(&d, holder), LK_OK);
    assert_status(lk_hold_release(d.hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(call_wait(&c, waiter), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
    lk_owner_free(owner);
    made_free_client(holder);
    record_key(key, waiter);
    assert_int_equal(server_integer(ringed_master(key), "EXISTS %s", key), 1);
    made_free_client(waiter);
    /* Its removal is sent, and nobody waits for the answer. */
    assert_soon(server_integer(ringed_master(key), "EXISTS %s", key) == 0,
                TOLD_MS);
}

/* ---- events ---------------------------------------------------------------------------- */

MADE_TEST(the_events_of_all_masters_are_told_in_order)
{
    lk_client *client = ringed_open(NULL);
    lk_events *events = NULL;
    char name[RINGED_NAME];
    size_t seen = 0;

    for (size_t i = 0; i < RINGED_MASTERS; i++) {
        (void)ringed_name(name, "event", ringed()->nodes[i]);
        assert_status(lk_event_note(client, name, "noted",
                                    "00000000-0000-0000-0000-000000000000:1",
                                    ""),
                      LK_OK);
    }
    assert_status(lk_events_get(client, RINGED_LONG_MS, NULL, &events), LK_OK);
    for (size_t i = 0; i < events->count; i++) {
        seen += strncmp(events->entries[i]->name, "event", 5) == 0;
        assert_true(i == 0 ||
                    events->entries[i - 1]->at_ms <= events->entries[i]->at_ms);
    }
    assert_int_equal(seen, RINGED_MASTERS);
    assert_string_equal(events->missing, "");
    lk_events_free(events);
    assert_status(lk_events_get(client, RINGED_LONG_MS, name, &events), LK_OK);
    assert_int_equal(events->count, 1);
    lk_events_free(events);
}

/* ---- masters that are away --------------------------------------------------------------- */

/* Its replica is stopped, too, so that nobody takes its place. */
MADE_TEST(what_a_lost_master_had_is_said_to_be_missing)
{
    lk_client *client = ringed_open(NULL);
    server *lost = ringed()->nodes[2];
    char here[RINGED_NAME], there[RINGED_NAME], address[32];
    lk_lock *held =
        made_lock(client, ringed_name(here, "away", ringed()->nodes[0]));
    lk_lock *gone = made_lock(client, ringed_name(there, "away", lost));
    lk_hold *hold = made_hold(held), *other = made_hold(gone);
    lk_listing *listing;
    lk_events *events = NULL;

    (void)snprintf(address, sizeof(address), "127.0.0.1:%u (",
                   server_port(lost));
    for (size_t i = 0; i < ringed()->count; i++) {
        server *node = ringed()->nodes[i];

        if (i >= RINGED_MASTERS)
            server_kill(node);
        else
            free(server_string(node,
                               "CONFIG SET cluster-require-full-coverage no"));
    }
    server_kill(lost);
    for (size_t i = 0; ringed()->nodes[i] != lost; i++)
        assert_soon(node_says(ringed()->nodes[i], "CLUSTER INFO",
                              "cluster_state:ok"),
                    RINGED_LONG_MS);
    listing = list(client, "away*");
    assert_int_equal(times(listing, here), 1);
    assert_int_equal(times(listing, there), 0);
    assert_non_null(strstr(listing->missing, address));
    lk_listing_free(listing);
    assert_status(lk_events_get(client, RINGED_LONG_MS, NULL, &events), LK_OK);
    assert_non_null(strstr(events->missing, address));
    lk_events_free(events);
    (void)lk_hold_release(hold);
    (void)lk_hold_release(other);
}

CHECK_GROUP(ringed_start, ringed_stop)
