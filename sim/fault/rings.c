/* SPDX-License-Identifier: MIT */
#include "fault/rings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "fault/course.h"
#include "support/wait.h"

enum {
    SOME = 20,
    KEYS_AT_ONCE = 10,
    SLOTS = 16384,
    STEP = 500, /* from slot to slot, to find another master */
    ELECTION_MS = 3000,
    BELIEF_MS = 3000,
    STALLS = 2, /* of the machine, one after the other */
    NS = 1000000,
    NEWCOMER_GETS = 2 /* slots */
};

typedef enum way {
    BY_KILL,
    BY_STOP,
    BY_ISOLATION,
    BY_REQUEST,
    BY_TAKEOVER,
    BY_MOVE,
    WAYS
} way;

static const char *const ways[WAYS] = {
    [BY_KILL] = "a master is killed",
    [BY_STOP] = "a master is stopped",
    [BY_ISOLATION] = "a master is alone",
    [BY_REQUEST] = "a replica is promoted",
    [BY_TAKEOVER] = "a replica takes over",
    [BY_MOVE] = "a slot moves",
};

/* Names with these have the slots of those of play.h, and of the cells that a fair
   lock and a read-write lock guard from elsewhere. */
static const char *const tags[] = {"{lock0}",
                                   "{fair0}",
                                   "{rw0}",
                                   "{away2}",
                                   "{sem0}",
                                   "{lock1}",
                                   "{latch0}",
                                   "{lead0}",
                                   "{away3}",
                                   "{multi0-0}",
                                   "{sig}",
                                   "{tag}",
                                   "{multi0-1}",
                                   "{plain0}",
                                   "{flight0}",
                                   "{stripes0:stripe:0}",
                                   "{stripes0:stripe:41}"};

enum { TAGS = sizeof(tags) / sizeof(tags[0]) };

typedef struct rings {
    course course;
    cluster *ring; /* the crew's */
    unsigned slot; /* that the seeker's names have */
    size_t turn;   /* so many tags have been taken */
    /* From the fault until the seeker has something. */
    uint64_t to_grant_ms[WAYS][RINGS_TIMES_MOST];
    size_t times[WAYS];
    unsigned moved_whole, newcomers;
    unsigned late; /* times that were longer than they may be */
} rings;

/* ---- one fault --------------------------------------------------------------------- */

/* The next slot, which the seeker takes names of; its master. */
static server *next_master(rings *r)
{
    const char *tag = tags[r->turn++ % TAGS];

    seeker_turn(&r->course.seeker, tag);
    r->slot =
        (unsigned)server_integer(r->ring->nodes[0], "CLUSTER KEYSLOT %s", tag);
    return cluster_master_of(r->ring, r->slot);
}

/* The next one whose replica may be elected at once, if there is one. */
static server *next_to_fail(rings *r)
{
    server *master = next_master(r);

    for (size_t i = 1; i < TAGS && !cluster_is_rested(r->ring, master); i++)
        master = next_master(r);
    cluster_rest(r->ring, master);
    return master;
}

static server *another_master(const rings *r, const server *than)
{
    unsigned slot = 0;
    server *master;

    do {
        master = cluster_master_of(r->ring, slot);
        slot = (slot + STEP) % SLOTS;
    } while (master == than);
    return master;
}

static void begin(rings *r, way how)
{
    course_fault(&r->course, ways[how], HISTORY_INVOKE,
                 how < BY_REQUEST || how == BY_TAKEOVER);
}

static bool end(rings *r, way how)
{
    cluster_wait_whole(r->ring);
    course_fault(&r->course, ways[how], HISTORY_OK,
                 how < BY_REQUEST || how == BY_TAKEOVER);
    return course_wait_grants(&r->course, 1);
}

/* So long it takes at most until somebody has what nobody has: until a master is
   missed, an election, and twice the time of a belief. */
static uint64_t bound_ms(const rings *r)
{
    uint64_t stall_ns = atomic_load(&r->course.crew.shared->worst_stall_ns);

    return wait_scaled_ms(CLUSTER_TIMEOUT_MS + ELECTION_MS + 2 * BELIEF_MS) +
           STALLS * stall_ns / NS;
}

/* Of the slot in question; the name that is wanted already may be of another. */
static bool wait_found(rings *r, way how, uint64_t since)
{
    uint64_t ms;

    if (!course_wait_found(&r->course, seeker_found(&r->course.seeker) + 1))
        return false;
    ms = wait_now_ms() - since;
    r->to_grant_ms[how][r->times[how]++] = ms;
    if (ms > bound_ms(r)) {
        printf("%s: what nobody has is had after %" PRIu64
               " ms, not within %" PRIu64 "\n",
               ways[how], ms, bound_ms(r));
        r->late++;
    }
    return true;
}

/* ---- the ways ---------------------------------------------------------------------- */

/* From here on the replica, which it returns, is told nothing of what the master
   grants. */
static server *fall_behind(rings *r, server *master)
{
    server *replica = cluster_replica_of(r->ring, master);

    server_freeze(replica);
    (void)server_integer(master, "CLIENT KILL TYPE replica");
    return replica;
}

/* What was granted last is not known to the next master. */
static bool by_kill(rings *r)
{
    server *old = next_to_fail(r), *replica;
    uint64_t since;

    begin(r, BY_KILL);
    replica = fall_behind(r, old);
    if (!course_wait_grants(&r->course, SOME))
        return false;
    crew_stand_still(&r->course.crew);
    server_kill(old);
    since = wait_now_ms();
    server_thaw(replica);
    (void)cluster_wait_other(r->ring, r->slot, old);
    if (!wait_found(r, BY_KILL, since) || !course_wait_grants(&r->course, SOME))
        return false;
    crew_go_on(&r->course.crew);
    return server_restart(old) && end(r, BY_KILL);
}

/* It takes what waits in its sockets when it goes on. */
static bool by_stop(rings *r)
{
    server *old = next_to_fail(r);
    uint64_t since;

    begin(r, BY_STOP);
    crew_stand_still(&r->course.crew);
    server_freeze(old);
    since = wait_now_ms();
    (void)cluster_wait_other(r->ring, r->slot, old);
    server_thaw(old);
    crew_go_on(&r->course.crew);
    return wait_found(r, BY_STOP, since) && end(r, BY_STOP);
}

/* All clients reach it as before. Where the bus cannot be cut, it is stopped. */
static bool by_isolation(rings *r)
{
    server *alone;
    uint64_t since;

    if (r->ring->bus == NULL)
        return by_stop(r);
    alone = next_to_fail(r);
    begin(r, BY_ISOLATION);
    cluster_isolate(r->ring, alone);
    since = wait_now_ms();
    (void)cluster_wait_other(r->ring, r->slot, alone);
    if (!wait_found(r, BY_ISOLATION, since) ||
        !course_wait_grants(&r->course, SOME))
        return false;
    cluster_join(r->ring);
    return end(r, BY_ISOLATION);
}

static bool by_request(rings *r)
{
    server *old = next_to_fail(r);
    uint64_t since;

    begin(r, BY_REQUEST);
    since = wait_now_ms();
    (void)cluster_failover(r->ring, old);
    return wait_found(r, BY_REQUEST, since) && end(r, BY_REQUEST);
}

/* The old master stands still meanwhile, and its connections too. */
static bool by_takeover(rings *r)
{
    server *old = next_master(r), *replica;
    uint64_t since;

    begin(r, BY_TAKEOVER);
    replica = fall_behind(r, old);
    if (!course_wait_grants(&r->course, SOME))
        return false;
    crew_stand_still(&r->course.crew);
    server_freeze(old);
    since = wait_now_ms();
    server_thaw(replica);
    (void)cluster_takeover(r->ring, old);
    if (!wait_found(r, BY_TAKEOVER, since) ||
        !course_wait_grants(&r->course, SOME))
        return false;
    crew_go_on(&r->course.crew);
    server_thaw(old);
    return end(r, BY_TAKEOVER);
}

/* ---- slots that move, masters that come and go ------------------------------------- */

static void move_keys(const rings *r, server *to)
{
    while (cluster_move_keys(r->ring, r->slot, to, KEYS_AT_ONCE) > 0) {
    }
}

/* There are grants at the others while it is half moved. */
static bool move_slowly(rings *r, server *to)
{
    cluster_move_begin(r->ring, r->slot, to);
    (void)cluster_move_keys(r->ring, r->slot, to, 1);
    if (!course_wait_grants(&r->course, SOME))
        return false;
    move_keys(r, to);
    cluster_move_end(r->ring, r->slot, to);
    return true;
}

static bool move(rings *r, server *to)
{
    uint64_t since = wait_now_ms();
    bool is_whole = r->turn % 2 == 0 && cluster_moves_whole(r->ring);

    begin(r, BY_MOVE);
    if (is_whole)
        cluster_move_whole(r->ring, r->slot, to);
    else if (!move_slowly(r, to))
        return false;
    r->moved_whole += is_whole;
    return wait_found(r, BY_MOVE, since) && end(r, BY_MOVE);
}

static bool move_one(rings *r)
{
    const server *from = next_master(r);

    return move(r, another_master(r, from));
}

static bool come_and_go(rings *r)
{
    size_t first = r->turn;
    server *newcomer = cluster_add(r->ring);

    for (int i = 0; i < NEWCOMER_GETS; i++) {
        (void)next_master(r);
        if (!move(r, newcomer))
            return false;
    }
    if (!course_wait_grants(&r->course, SOME))
        return false;
    for (r->turn = first; r->turn < first + NEWCOMER_GETS;) {
        (void)next_master(r);
        if (!move(r, another_master(r, newcomer)))
            return false;
    }
    cluster_remove(r->ring, newcomer);
    r->newcomers++;
    return course_wait_grants(&r->course, 1);
}

static bool play(rings *r, unsigned times)
{
    static bool (*const one[])(rings *) = {[BY_KILL] = by_kill,
                                           [BY_STOP] = by_stop,
                                           [BY_ISOLATION] = by_isolation,
                                           [BY_REQUEST] = by_request,
                                           [BY_TAKEOVER] = by_takeover};

    for (unsigned i = 0; i < times; i++) {
        if (!course_wait_grants(&r->course, 1) || !one[i % BY_MOVE](r) ||
            (i % 2 == 0 && !move_one(r)) || (i % 4 == 3 && !come_and_go(r))) {
            printf("failover %u: it does not go on\n", i);
            return false;
        }
    }
    return true;
}

/* ---- the whole ---------------------------------------------------------------------- */

static void look(rings *r)
{
    for (size_t i = 0; i < r->ring->count; i++) {
        if (node_says(r->ring->nodes[i], "INFO replication", "role:master"))
            course_look(&r->course, r->ring->nodes[i]);
    }
}

static void report(rings *r)
{
    for (int i = 0; i < WAYS; i++) {
        printf("%zu times %s\n", r->times[i], ways[i]);
        course_tell_times("  from then to a grant of what nobody has",
                          r->to_grant_ms[i], r->times[i]);
    }
    printf("%u of the slots were moved by a master itself, %u masters came and "
           "went\n",
           r->moved_whole, r->newcomers);
}

static bool open_all(rings *r, const char *more)
{
    char url[CREW_URL + 32];
    crew *eight = &r->course.crew;

    if (!course_open(&r->course) || !crew_open_ring(eight) ||
        !crew_hire(eight, more))
        return false;
    r->ring = eight->ring;
    (void)snprintf(url, sizeof(url), "%s%s", eight->url, more);
    return seeker_start(&r->course.seeker, url, tags[0]);
}

int rings_main(unsigned times, bool is_fast, const char *directory)
{
    static rings r;
    bool played;
    int status;

    r.course.crew.directory = directory;
    if (!open_all(&r, is_fast ? "?failover=fast" : "")) {
        perror("failovers");
        return 2;
    }
    played = play(&r, times);
    seeker_stop(&r.course.seeker);
    crew_finish(&r.course.crew);
    if (played)
        look(&r);
    report(&r);
    status = course_verdict(&r.course, played, is_fast);
    if (r.late > 0 && status == 0)
        status = 1;
    course_close(&r.course, status == 0);
    return status;
}
