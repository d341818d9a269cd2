/* SPDX-License-Identifier: MIT
 *
 * Who has a lock of layout 3, as a model for Spin.
 *
 * Three claims, each of a client of its own, one server. Each asks, waits in the line,
 * is granted by a message or by a reply, holds, gives the name on, gives up. A script
 * may be cut off behind any of its writes; a connection may break, and then what was
 * asked is lost or runs later; messages and replies lie for any time; PUBLISH may say
 * that nobody heard, although the message comes by another server. Time passes at any
 * moment: all times are ages, so it has no end.
 *
 * What is checked, in every state that can be reached: no two believe that they have the
 * name, another library's process among them (TAKES); no claim is granted twice; nobody
 * who believes is refused its renewal.
 *
 * -DNO_<RULE> takes a rule out; the model must fail then. tools/check-model.sh does so
 * with each of them.
 *
 *   BOUND   a grant counts from the request that was last replied to by "waits"
 *   LOOK    `next` gives the name only if nobody holds it
 *   ONCE    a claim is pushed by one request; after a lost reply a touch asks
 *   STAY    a touch does not queue
 *   RUN     what another server publishes is no proof
 *   CHECK   a release writes nothing before it has seen that its claim holds
 *   ALONE   a claim holds if its field stands alone
 *   REST    a release that was cut off is not sent again: the field alone is removed
 *   BESIDE  who leaves gives the name on only if its field stands alone
 */

#define CLAIMS 3
#ifndef LEASE
#define LEASE 2
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
#ifndef KEEPS
#define KEEPS 0
#endif
#ifndef PARKS
#define PARKS 0
#endif
#ifndef TAKES
#define TAKES 0
#endif

#define EXTRA
#define FAULT skip
#define IS_LOST false
#define HELD skip
#define FIRST_LEASE LEASE

#include "line_state.pml"

byte outsider; /* how long it believes */
byte deafs, parks, cancels, keeps, takes;

/* Its inbox is not heard, or hears another server: PUBLISH says 0. */
inline publish()
{
    if
    :: clients[x].proof = true; told = true;
       assert(!clients[x].given);
       clients[x].given = true
    :: deafs < DEAFS -> deafs++
    :: deafs < DEAFS ->
        deafs++;
#ifdef NO_RUN
        clients[x].proof = true
#else
        clients[x].hint = true
#endif
    fi
}

/* Anybody may look frozen. */
#define may_be_frozen(j) (parks < PARKS)
#define is_frozen(j)     false
inline note_parked(j) { parks++ }
inline park_frozen() { park(0); park(1); park(2) }

/* Order is not checked here. */
inline begin_places() { skip }
inline note_place() { skip }
inline put_back() { push_front(k) }
inline note_touch() { skip }

/* Nor are the outsiders' turns. */
#define is_theirs false
inline call_outsiders() { skip }
inline pass_marker() { skip }
inline lift_marker() { skip }
inline put_marker() { skip }

#define others_believe(k) \
    ((k != 0 && believes(0)) || (k != 1 && believes(1)) || \
     (k != 2 && believes(2)) || (k != NONE && outsider > 0))

#include "line_scripts.pml"

#ifdef NO_ASKED
#define may_hear_grant true
#else
#define may_hear_grant (me.asked != TOUCH)
#endif
#define idle (me.wire == 0)

proctype actor(byte k)
{
    mtype what;
    byte x, prev;
    bool heard, told;

end:
    do
    :: atomic { idle && me.state == IDLE && (k == 0 || clients[k - 1].state != IDLE) ->
                me.state = SEEKS; me.age = 0; ask(ACQUIRE) }
    :: atomic { idle && me.state == SEEKS ->
#ifdef NO_ONCE
                ask(ACQUIRE)
#else
                ask(TOUCH)
#endif
              }
    :: atomic { idle && me.state == WAITS -> ask(TOUCH) }
    :: atomic { idle && me.state == WAITS && me.due -> me.due = false; ask(NEXT) }
    :: atomic { me.state == WAITS && cancels < CANCELS -> cancels++; enter(LEAVES) }
    :: atomic { idle && believes(k) && keeps < KEEPS && me.until < LEASE ->
                keeps++; ask(KEEP) }
    :: atomic { me.state == HOLDS -> enter(CLOSES) }
    :: atomic { idle && me.state == CLOSES -> ask(CLOSE) }
    :: atomic { idle && me.state == LEAVES -> ask(LEAVE) }
    :: atomic { idle && me.state == DROPS -> ask(DROP) }
    :: atomic {
        if
        :: is_request(me.wire) -> what = me.wire; heard = true
        :: me.late != 0 -> what = me.late; me.late = 0
        fi;
        serve();
        goto served;
broken:
        say(BROKEN);
served:
        what = 0; x = 0; prev = 0; heard = false; told = false
       }
    :: atomic { !idle && !is_request(me.wire) -> hear() }
    :: atomic { me.proof && may_hear_grant -> hear_grant() }
    :: atomic { me.hint -> hear_hint() }
    :: atomic { !idle && breaks < BREAKS -> break_off() }
    od
}

/* ---- time, and another library ---------------------------------------------- */

#define counts_age(w) (w == ACQUIRE || w == TOUCH || w == NEXT || w == KEEP)
#define grow(n)       n = (n < LEASE -> n + 1 : n)
#define shrink(n)     n = (n > 0 -> n - 1 : 0)

inline pass(j)
{
    if
    :: clients[j].state == WAITS || clients[j].state == SEEKS -> grow(clients[j].age)
    :: else
    fi;
    if
    :: counts_age(clients[j].asked) -> grow(clients[j].sent)
    :: else
    fi;
    shrink(clients[j].until)
}

active proctype clock()
{
end:
    do
    :: d_step {
        true ->
        pass(0); pass(1); pass(2);
        shrink(outsider);
        left = (left == ENDLESS || left == 0 -> left : left - 1);
        held = (left == 0 -> 0 : held) }
    od
}

active proctype stranger()
{
end:
    do
    :: atomic { takes < TAKES && held == 0 ->
                takes++; held = OUTSIDER; left = LEASE; outsider = LEASE;
                assert(!others_believe(NONE)) }
    :: atomic { (held & OUTSIDER) != 0 -> held = 0; left = 0; outsider = 0 }
    od
}

init
{
    atomic { run actor(0); run actor(1); run actor(2) }
}
