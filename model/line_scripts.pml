/* SPDX-License-Identifier: MIT
 *
 * The scripts of a lock's line, and what a client makes of their replies, for line.pml
 * and line_health.pml. Each of these says before it includes this file what PUBLISH
 * does, who is frozen to `next`, and where a parked claim comes back.
 *
 * A script is one step; but behind each of its writes it may be cut off.
 */

/* ---- the scripts --------------------------------------------------------- */

inline cut()
{
    if
    :: cuts < CUTS -> cuts++; FAULT; goto broken
    :: true
    fi
}

inline say(reply)
{
    if
    :: heard ->
        me.wire = reply;
        me.remains = (reply == TAKEN -> left : 0);
        me.sent = (reply == TAKEN ||
                   (me.asked == TOUCH && reply != GONE) -> me.sent : LEASE)
    :: else
    fi
}

inline take_from(j)
{
    held = held & ~BIT(j);
    left = (held == 0 -> 0 : left)
}

inline pop()
{
    x = line & 7;
    line = line >> 3;
    x = (x == 0 -> NONE : x - 1)
}

inline queue()
{
    push_back(k); cut();
    say((held == 0 -> UNOWNED : WAITING))
}

inline take()
{
    held = BIT(k); left = ENDLESS; cut();
    left = FIRST_LEASE; cut();
    me.given = true;
    say(TAKEN)
}

#ifdef NO_FREE
#define seen_free false
#else
#define seen_free (held == 0 || left == ENDLESS)
#endif

inline acquire()
{
    if
    :: held == 0 && line == 0 -> take()
    :: else -> queue()
    fi
}

inline try()
{
    if
    :: held == 0 && line == 0 -> take()
    :: else -> say((seen_free -> UNOWNED : GONE))
    fi
}

inline push()
{
    if
    :: line != 0 -> queue()
    :: else -> say(GONE)
    fi
}

inline put_aside()
{
#ifndef NO_PARK
    parked = parked | BIT(x);
    note_place(); cut()
#endif
}

/* The next of the line, if it is a claim. */
inline pop_more()
{
    pop();
    if
    :: x < CLAIMS -> cut()
    :: x == MARKER -> push_front(MARKER); x = NONE
    :: else
    fi
}

/* From prev, which holds, to the first who hears it, of x and those behind it. */
inline hand_over()
{
#ifndef NO_SHORT
    left = LEASE; cut();
#endif
    begin_places();
    do
    :: x < CLAIMS ->
        held = held | BIT(x); cut();
        take_from(prev); cut();
        prev = x;
        publish();
        if
        :: told -> break
        :: else -> put_aside(); pop_more()
        fi
    :: else -> break
    od;
    if
    :: !told -> take_from(prev); cut()
    :: else
    fi
}

#ifdef NO_BESIDE
#define may_give(k) has(k)
#else
#define may_give(k) alone(k)
#endif

#ifdef NO_CHECK
/* Written, and undone if it was wrong. */
inline close()
{
    pop();
    if
    :: x < CLAIMS && !has(k) ->
        left = (left == 0 -> ENDLESS : left);
        held = held | BIT(x); cut();
        take_from(x);
        push_front(x)
    :: x == NONE -> take_from(k); cut()
    :: else -> cut(); prev = k; hand_over()
    fi;
    say(DONE)
}
#else
inline close()
{
    pop();
    if
    :: x == NONE -> take_from(k); cut(); call_outsiders()
    :: x == MARKER -> pass_marker()
    :: x < CLAIMS ->
        cut();
        if
        :: has(k) -> prev = k; hand_over()
        :: else -> push_front(x); cut()
        fi
    fi;
    say(DONE)
}
#endif

inline leave()
{
    if
    :: stands(k) -> take_out(k); cut()
    :: else
    fi;
    if
    :: is_parked(k) -> parked = parked & ~BIT(k); cut()
    :: else
    fi;
    if
    :: may_give(k) -> say(TAKEN) /* it is to be closed */
    :: else -> take_from(k); say(DONE)
    fi
}

#ifdef NO_ALONE
#define IS_HELD has(k)
#else
#define IS_HELD alone(k)
#endif

inline touch()
{
    if
    :: stands(k) -> say((held == 0 -> UNOWNED : WAITING))
    :: !stands(k) && has(k) ->
        if
        :: IS_HELD ->
            left = (left == ENDLESS -> LEASE : left);
            me.given = true;
            say(TAKEN)
        :: else -> take_from(k); cut(); say(GONE)
        fi
    :: !stands(k) && !has(k) && is_parked(k) ->
        parked = parked & ~BIT(k); cut();
        put_back(); cut();
        say((held == 0 -> UNOWNED : WAITING))
    :: else ->
#ifdef NO_STAY
        queue()
#else
        say(GONE)
#endif
    fi;
#ifndef NO_END
    left = (left == ENDLESS -> LEASE : left);
#endif
    note_touch()
}

inline park(j)
{
    if
    :: j != k && stands(j) && may_be_frozen(j) ->
        note_parked(j);
        x = j;
        take_out(j); cut();
        parked = parked | BIT(j)
    :: !(j != k && stands(j) && is_frozen(j))
    fi
}

/* To the first of the line who hears it, if nobody holds. */
inline give()
{
    begin_places();
    pop_more();
    do
    :: x < CLAIMS ->
        left = (held == 0 -> ENDLESS : left);
        held = held | BIT(x); cut();
        left = LEASE; cut();
        if
        :: prev != NONE -> take_from(prev); cut()
        :: else
        fi;
        prev = x;
        publish();
        if
        :: told -> break
        :: else -> put_aside(); pop_more()
        fi
    :: else -> break
    od;
    if
    :: !told && prev != NONE -> take_from(prev); cut()
    :: else
    fi;
    say(DONE)
}

/* With the park and the close behind it, which sees by itself that nobody holds. */
inline next()
{
    if
#ifndef NO_LOOK
    :: held != 0 ->
        left = (left == ENDLESS -> LEASE : left);
        say(DONE)
#endif
    :: else ->
        if
        :: is_theirs -> say(DONE)
        :: else -> park_frozen(); prev = NONE; lift_marker(); give(); put_marker()
        fi
    fi
}

inline keep()
{
    if
    :: alone(k) ->
        left = (left == ENDLESS || left < LEASE -> LEASE : left);
        say(TAKEN)
    :: else -> assert(!believes(k) || IS_LOST); say(GONE)
    fi
}

inline serve()
{
    if
    :: what == ACQUIRE -> acquire()
    :: what == TRY -> try()
    :: what == PUSH -> push()
    :: what == TOUCH -> touch()
    :: what == NEXT -> next()
    :: what == CLOSE -> close()
    :: what == LEAVE -> leave()
    :: what == KEEP -> keep()
    :: what == DROP -> take_from(k); say(DONE)
    fi
}

/* ---- the clients --------------------------------------------------------- */

inline ask(request)
{
    me.wire = request;
    me.asked = request;
    me.sent = 0
}

inline enter(new)
{
    me.state = new;
    me.age = 0;
    me.until = 0;
    me.due = false
}

inline hold(end)
{
    me.until = (end > 0 -> end : 0);
    me.state = HOLDS;
    me.age = 0;
    me.due = false;
    HELD;
    assert(me.until == 0 || !others_believe(k) || IS_LOST)
}

inline hear_taken()
{
    x = (me.remains > me.sent -> me.remains - me.sent : 0);
    if
    :: me.state == SEEKS || me.state == WAITS || me.state == TRIES -> hold(x)
    :: me.state == HOLDS && me.until > 0 && x > me.until -> me.until = x
    :: me.state == LEAVES && me.asked == LEAVE -> enter(CLOSES)
    :: else
    fi
}

inline hear_waiting()
{
    if
    :: me.state == SEEKS || me.state == WAITS ->
        me.state = WAITS;
        me.age = (me.asked == TOUCH -> me.sent : me.age);
        me.due = me.due || what == UNOWNED
    :: me.state == TRIES -> me.due = me.due || what == UNOWNED
    :: else
    fi
}

inline hear_gone()
{
    if
    :: me.asked == PUSH && me.state == SEEKS -> enter(IDLE)
    :: me.asked == TOUCH && (me.state == SEEKS || me.state == WAITS) -> enter(OVER)
    :: me.asked == KEEP && me.state == HOLDS -> enter(OVER)
    :: else
    fi
}

/* A script that was cut off is not sent again. */
inline hear_broken()
{
    if
#ifdef NO_REST
    :: me.asked == CLOSE || me.asked == LEAVE
#else
    :: me.asked == CLOSE || me.asked == LEAVE -> enter(DROPS)
#endif
    :: me.asked == ACQUIRE || me.asked == PUSH || me.asked == TRY -> enter(DROPS)
    :: else
    fi
}

inline hear()
{
    what = me.wire;
    if
    :: what == BROKEN -> hear_broken()
    :: what == TAKEN -> hear_taken()
    :: what == WAITING || what == UNOWNED -> hear_waiting()
    :: what == GONE -> hear_gone()
    :: what == DONE && (me.asked == CLOSE || me.asked == LEAVE || me.asked == DROP) ->
        enter(OVER)
    :: else
    fi;
    forget_wire();
    x = 0; what = 0
}

inline hear_grant()
{
    me.proof = false;
    if
    :: me.state == SEEKS || me.state == WAITS ->
#ifdef NO_BOUND
        hold(LEASE)
#else
        hold(LEASE - me.age)
#endif
    :: me.state == OVER -> enter(LEAVES)
    :: else
    fi
}

inline hear_hint()
{
    me.hint = false;
    if
    :: me.state == OVER -> enter(LEAVES)
    :: else
    fi
}

inline forget_wire()
{
    me.wire = 0; me.asked = 0; me.sent = 0; me.remains = 0
}

/* The connection breaks. What was asked is lost, or runs later, unless it could be
   ended at the server; where it could not the claim is given up. */
inline break_off()
{
    breaks++;
    if
    :: is_request(me.wire) -> me.late = me.wire
    :: true
    fi;
    forget_wire();
    if
    :: me.state == CLOSES || me.state == LEAVES -> enter(DROPS)
    :: me.state == SEEKS || me.state == WAITS -> enter(LEAVES)
    :: me.state == SEEKS || me.state == WAITS -> me.late = 0
    :: me.state != CLOSES && me.state != LEAVES && me.state != SEEKS && me.state != WAITS
    fi
}
