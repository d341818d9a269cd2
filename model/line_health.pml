/* SPDX-License-Identifier: MIT
 *
 * How long a lock of layout 3 stands still, as a model for Spin.
 *
 * The claims of line.pml; but what has to be done is done before the next tick, unless
 * a fault keeps it: a client that dies, or freezes and may go on, a script that is cut
 * off, a request or its reply that is lost or late, an inbox that is not heard, a server
 * that comes back empty. A tick is a second.
 *
 * What is checked: behind the last fault somebody who lives has the name within one
 * claim lease and a touch (BOUND), if any who lives wants it; with ORDER, that parked
 * claims come back where they stood. With OTHERS, in which claims are used again without
 * an end, an outsider who listens has the name in four ticks: that search has not been
 * run to its end, and tools/check-model.sh leaves it out.
 *
 *   SEEN    who waits touches once a tick, and sees that nobody holds
 *   FREE    who is refused is told that nobody holds
 *   END     a hash without an end gets one
 *   SHORT   each hold begins with the claim lease
 *   FROZEN  `next` passes over those who have been silent
 *   LAST    who is parked comes back behind those that were parked before it
 */

#ifndef CLAIMS
#define CLAIMS 3
#endif
#define LEASE  3 /* ticks: seconds */
#define FROZEN 2
#ifndef BOUND
#define BOUND (LEASE + 1)
#endif
#ifndef CUTS
#define CUTS 0
#endif
#ifndef BREAKS
#define BREAKS 0
#endif
#ifndef DEAFS
#define DEAFS 0
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#ifndef DIES
#define DIES 0
#endif
#ifndef FREEZES
#define FREEZES 0
#endif
#ifndef RESTARTS
#define RESTARTS 0
#endif
#ifndef TRIERS
#define TRIERS 0
#endif
#ifndef OTHERS
#define OTHERS 0
#endif

#ifdef NO_SHORT
#define FIRST_LEASE (2 * LEASE)
#else
#define FIRST_LEASE LEASE
#endif

#define EXTRA \
    bool touched; /* in this tick */ \
    bool dead; \
    bool frozen; \
    byte mark = FROZEN; /* how long ago it touched */ \
    byte stood; /* how long it has been in line */ \
    short ahead /* when it was parked */
#define FAULT stall = 0
#define HELD stall = (me.until > 0 -> 0 : stall)
/* What the server knew; who believes does so until the end of that. */
#define IS_LOST (restarts > 0)

#include "line_state.pml"

byte stall; /* ticks since the last fault, in which a living claim waits for nobody */
byte deafs, cancels, dies, freezes, restarts;
bool listens, called, marked; /* the outsider */
byte outsider, owait, waits_for_marker;
bool theirs;
byte passed;

inline publish()
{
    if
    :: clients[x].dead
    :: !clients[x].dead ->
        clients[x].proof = true; told = true;
        assert(!clients[x].given);
        clients[x].given = true
    :: !clients[x].dead && deafs < DEAFS -> deafs++; FAULT
    fi
}

#ifdef NO_FROZEN
#define may_be_frozen(j) false
#else
#define may_be_frozen(j) (clients[j].mark == FROZEN && clients[j].stood == FROZEN)
#endif
#define is_frozen(j) may_be_frozen(j)

#ifdef ORDER
short last_parked;
#ifdef NO_LAST
#define begin_places() places = 0
#else
#define begin_places() places = last_parked
#endif
#define add_place(j) places = ((places << 3) | (j + 1)) & 4095
#define note_place() clients[x].ahead = places; add_place(x); last_parked = places
#define note_parked(j) \
    clients[j].ahead = places; \
    last_parked = ((places << 3) | (j + 1)) & 4095
#define walk(j) park(j); if :: stands(j) || is_parked(j) -> add_place(j) :: else fi
#define ahead(n)     ((me.ahead >> (3 * n)) & 7)
#define is_ahead(n) (ahead(n) != 0 && stands(ahead(n) - 1))
#define nearest \
    (is_ahead(0) -> ahead(0) - 1 : (is_ahead(1) -> ahead(1) - 1 : \
    (is_ahead(2) -> ahead(2) - 1 : (is_ahead(3) -> ahead(3) - 1 : NONE))))
#define insert_at(p) \
    line = up_to(p) | ((k + 1) << (3 * (p))) | ((line >> (3 * (p))) << (3 * (p) + 3))
#define put_back() \
    x = (nearest == NONE -> 0 : place(nearest) + 1); \
    insert_at(x); \
    assert(at(1) == 0 || at(0) < at(1)); \
    assert(at(2) == 0 || at(1) < at(2)); \
    assert(at(3) == 0 || at(2) < at(3)); \
    me.ahead = 0
#else
#define begin_places() skip
#define note_place() skip
#define note_parked(j) skip
#define walk(j) park(j)
#define put_back() push_front(k)
#endif
#if CLAIMS > 3
#define park_frozen() begin_places(); walk(0); walk(1); walk(2); walk(3)
#else
#define park_frozen() begin_places(); walk(0); walk(1); walk(2)
#endif

#define ASKED 2
#ifdef NO_MARKER
#define note_touch() me.mark = 0
#else
#define note_touch() \
    me.mark = 0; \
    if \
    :: listens && waits_for_marker == 0 && at(0) != MARKER + 1 -> \
        push_front(MARKER); waits_for_marker = ASKED \
    :: else \
    fi
#endif

/* A turn of the outsiders: the name is left free while the marker stands first. Whether
   a release falls into one is up to the clock; but not many in a row miss it. */
#define PASSES 2
#define is_theirs (at(0) == MARKER + 1 && theirs)
inline call_outsiders()
{
    if
    :: listens && held == 0 ->
        called = true; theirs = true;
#ifndef NO_HEARD
        push_front(MARKER); waits_for_marker = 0
#endif
    :: else
    fi
}
inline pass_marker()
{
    cut();
    if
    :: !has(k) -> push_front(MARKER)
    :: has(k) && listens -> take_from(k); cut(); passed = 0; call_outsiders()
    :: has(k) && (passed < PASSES || !listens) ->
        passed = (listens -> passed + 1 : 0);
        pop();
        if
        :: x == NONE -> take_from(k); cut(); call_outsiders()
        :: else -> cut(); prev = k; hand_over(); push_front(MARKER)
        fi
    fi
}
inline lift_marker()
{
    if
    :: at(0) == MARKER + 1 -> line = line >> 3; marked = true; cut()
    :: else
    fi
}
inline put_marker()
{
    if
    :: marked && listens -> push_front(MARKER)
    :: else
    fi;
    marked = false
}

#define others_believe(k) \
    ((k != 0 && believes(0)) || (k != 1 && believes(1)) || \
     (k != 2 && believes(2)) || (CLAIMS > 3 && k != 3 && believes(CLAIMS - 1)) || \
     outsider > 0)

#include "line_scripts.pml"

#define is_stopped(j) (clients[j].dead || clients[j].frozen)
#define is_new(k) (me.state == IDLE && (k == 0 || OTHERS || clients[k - 1].state != IDLE))

#define may(s) (!is_stopped(k) && me.state == s)

inline choose()
{
    if
    :: is_new(k) && (k < CLAIMS - 1 || !TRIERS) -> me.state = SEEKS; ask(ACQUIRE)
    :: is_new(k) && k == CLAIMS - 1 && TRIERS ->
        me.state = TRIES; me.touched = true; ask(TRY)
    :: may(SEEKS) -> ask(TOUCH)
#ifndef NO_SEEN
    :: may(WAITS) && !me.touched -> me.touched = true; ask(TOUCH)
#endif
    :: may(TRIES) && !me.touched -> me.touched = true; ask(TRY)
    :: (may(WAITS) || may(TRIES)) && me.due ->
        me.due = false;
        me.touched = me.touched && me.state == WAITS;
        ask(NEXT)
    :: may(WAITS) && cancels < CANCELS -> cancels++; enter(LEAVES); ask(LEAVE)
    :: may(HOLDS) && believes(k) && me.until < LEASE && !OTHERS -> ask(KEEP)
    :: may(HOLDS) -> enter(CLOSES); ask(CLOSE)
    :: may(CLOSES) -> ask(CLOSE)
    :: may(LEAVES) -> ask(LEAVE)
    :: may(DROPS) -> ask(DROP)
    :: me.late != 0 -> what = me.late; me.late = 0; FAULT
    fi;
    heard = (what == 0);
    what = (heard -> me.wire : what)
}

/* The request or its reply may be lost. */
inline lose()
{
    if
    :: !heard -> skip
    :: heard && breaks < BREAKS -> FAULT; break_off(); goto served
    :: heard
    fi
}

proctype actor(byte k)
{
    mtype what;
    byte x, prev;
    bool heard, told;
#ifdef ORDER
    short places;
#endif

end:
    do
    :: atomic {
        choose();
        lose();
        serve();
        goto reply;
broken:
        say(BROKEN);
reply:
        lose();
        if
        :: heard -> hear()
        :: else
        fi;
served:
        what = 0; x = 0; prev = 0; heard = false; told = false;
#ifdef ORDER
        places = 0
#endif
       }
    :: atomic { !is_stopped(k) && me.proof -> hear_grant() }
    :: atomic { dies < DIES && !is_stopped(k) && me.state != IDLE && me.state != OVER ->
                dies++; FAULT; me.dead = true; me.proof = false; me.late = 0 }
    :: atomic { freezes < FREEZES && !is_stopped(k) && me.state == WAITS ->
                freezes++; FAULT; me.frozen = true }
    :: atomic { me.frozen -> me.frozen = false; FAULT }
    od
}

/* ---- time, and what must be so ------------------------------------------------ */

#define grow(n, most) n = (n < most -> n + 1 : n)
#define shrink(n)     n = (n > 0 -> n - 1 : 0)
#define is_calm(j) \
    (is_stopped(j) || \
     (!clients[j].proof && !clients[j].due && clients[j].state != SEEKS && \
      clients[j].state != CLOSES && clients[j].state != LEAVES && \
      clients[j].state != DROPS && \
      (clients[j].state != HOLDS || clients[j].until > OTHERS * (LEASE - 1)) && \
      ((clients[j].state != WAITS && clients[j].state != TRIES) || CALM_WAIT(j))))
#ifdef NO_SEEN
#define CALM_WAIT(j) (clients[j].state == WAITS || clients[j].touched)
#else
#define CALM_WAIT(j) clients[j].touched
#endif
#define waits(j) \
    (!is_stopped(j) && (clients[j].state == WAITS || clients[j].state == TRIES))
#define lives(j) (!is_stopped(j) && believes(j))

inline pass(j)
{
    if
    :: clients[j].state == WAITS -> grow(clients[j].age, LEASE)
    :: else
    fi;
    if
    :: stands(j) -> grow(clients[j].stood, FROZEN)
    :: else -> clients[j].stood = 0
    fi;
    grow(clients[j].mark, FROZEN);
    clients[j].touched = false;
    shrink(clients[j].until)
}

#if CLAIMS > 3
#define any(f) (f(0) || f(1) || f(2) || f(3))
#define all(f) (f(0) && f(1) && f(2) && f(3))
#else
#define any(f) (f(0) || f(1) || f(2))
#define all(f) (f(0) && f(1) && f(2))
#endif

active proctype clock()
{
end:
    do
    :: d_step {
        all(is_calm) && !called && !theirs ->
        stall = (any(waits) && !any(lives) && outsider == 0 -> stall + 1 : 0);
        assert(stall <= BOUND);
        pass(0); pass(1); pass(2);
#if CLAIMS > 3
        pass(3);
#endif
        shrink(outsider);
        left = (left == ENDLESS || left == 0 -> left : left - 1);
        held = (left == 0 -> 0 : held);
        owait = (listens -> owait + 1 : 0);
        assert(owait <= 4);
        shrink(waits_for_marker) }
    :: d_step { theirs && all(is_calm) && !called ->
                theirs = false;
                clients[0].touched = false; clients[1].touched = false;
                clients[2].touched = false }
    :: d_step { restarts < RESTARTS ->
                restarts++; FAULT; held = 0; left = 0; line = 0; parked = 0 }
    od
}

#if OTHERS
#define is_spent(k) \
    (clients[k].state == OVER && !has(k) && !stands(k) && !is_parked(k) && \
     !clients[k].proof && clients[k].late == 0)

active proctype stranger()
{
end:
    do
    :: atomic { outsider == 0 && !listens ->
                if
                :: held == 0 -> held = OUTSIDER; left = LEASE; outsider = LEASE; stall = 0
                :: else -> listens = true
                fi }
    :: atomic { called ->
                called = false;
                if
                :: held == 0 -> held = OUTSIDER; left = LEASE; outsider = LEASE;
                                listens = false; owait = 0; stall = 0
                :: else
                fi }
    :: atomic { outsider > 0 -> held = 0; left = 0; outsider = 0 }
    :: d_step { is_spent(0) -> clients[0].state = IDLE; clients[0].given = false }
    :: d_step { is_spent(1) -> clients[1].state = IDLE; clients[1].given = false }
    :: d_step { is_spent(2) -> clients[2].state = IDLE; clients[2].given = false }
    od
}
#endif

init
{
    atomic {
        run actor(0); run actor(1); run actor(2);
#if CLAIMS > 3
        run actor(3)
#endif
    }
}
