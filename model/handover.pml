/* SPDX-License-Identifier: MIT
 *
 * How a lock goes from one claim to the next, as a model for Spin.
 *
 * Two clients, three claims, one server. A client asks for the lock, waits in
 * the queue, is granted by a pushed message or by the answer of a re-check,
 * renews, exports, imports, releases, cancels. A connection may break at any
 * moment: what was under way is lost, or its requests run later. Messages lie
 * in a stream for any time. Time passes in ticks, at any moment, until LAST.
 *
 * What is checked, in every state that can be reached: at most one client
 * believes that it holds the lock; a text that is still good is honoured. And
 * when nothing can happen any more: nobody waits for a lock that is free, and
 * no lock is left to an owner that does not know of it.
 *
 * -DNO_<RULE> takes a rule of the protocol out; the model must fail then.
 * tools/check-model.sh does so with each of them. Not played: a server that
 * loses data, a client that dies, a queue of more than one name.
 *
 *   KILL     the first command of a new connection ends the old one at the
 *            server: no request runs after it was given up
 *   TICKET   a grant is for the ticket that its claim has
 *   BOUND    a pushed grant counts from the request that was last answered
 *            "still queued", not from its arrival
 *   REMAINS  a grant that is found counts no longer than what remains of it
 *   FENCE    a release names the fence, and ends nothing under another
 *   SWAP     an import takes the hold over under a new fence
 *   MEMORY   an exported claim is known: its late grant is not passed on
 *   LOOK     a waiting claim asks again from time to time
 *   STAY     a re-check does not queue
 */

#define CLAIMS 3 /* 0 and 2 are client 0's, 1 is client 1's */
#define NONE   3
#define LEASE  2 /* ticks for which the server keeps what is not renewed */

/* How much of each is played; the time ends at LAST. */
#ifndef LAST
#define LAST    3
#endif
#ifndef BREAKS
#define BREAKS  1
#endif
#ifndef CANCELS
#define CANCELS 1
#endif
#ifndef RENEWS
#define RENEWS  1
#endif
#ifndef EXPORTS
#define EXPORTS 1
#endif

/* Requests. */
mtype = { ACQUIRE, RECHECK, RELEASE, LEAVE, RENEW, IMPORT };
/* Answers. */
mtype = { GRANTED, QUEUED, GONE, ENDED };
/* What a claim is to a client. */
mtype = { IDLE, SEEKS, WAITS, HOLDS, CLOSES, EXPORTED, IMPORTS, OVER };

byte now;

/* ---- the wires ----------------------------------------------------------- */

/* What, claim, fence, when sent. */
chan request[2] = [2] of { mtype, byte, byte, byte };
/* Requests of a connection that its client has given up. */
chan stale[2] = [2] of { mtype, byte, byte, byte };
/* What, claim, ticket or fence, when asked, what remains of the lease. */
chan answer[2] = [2] of { mtype, byte, byte, byte, byte };
/* Claim, ticket, fence. */
chan inbox[2] = [3] of { byte, byte, byte };

/* The text of an exported hold. */
byte text_claim = NONE, text_fence, text_until;
bool text_is_used;

/* ---- the server ---------------------------------------------------------- */

byte owner = NONE;
byte fence;
byte ends;           /* the owner's lease */
byte tickets;        /* the last one */
byte ticket[CLAIMS]; /* 0: does not wait */
hidden byte next = NONE;

#define home(k)   (k == 1 -> 1 : 0)
#define is_free   (owner == NONE || now >= ends)
#define is_mine(k) (owner == k && now < ends)
#define waits_before(k, other) \
    (ticket[k] != 0 && (ticket[other] == 0 || ticket[k] < ticket[other]))

/* Gives the lock to the claim that waits longest, or leaves it free. */
inline pass_on()
{
    if
    :: waits_before(0, 1) && waits_before(0, 2) -> next = 0
    :: waits_before(1, 0) && waits_before(1, 2) -> next = 1
    :: waits_before(2, 0) && waits_before(2, 1) -> next = 2
    :: else -> next = NONE
    fi;
    owner = next;
    if
    :: next != NONE ->
        fence++;
        ends = now + LEASE;
        inbox[home(next)] ! next, ticket[next], fence;
        ticket[next] = 0
    :: else -> ends = 0
    fi;
    next = NONE
}

/* Nobody hears the answer on a connection that was given up. */
inline say(what, number, remains)
{
    if
    :: heard && len(answer[c]) < 2 -> answer[c] ! what, k, number, sent, remains
    :: else
    fi
}

inline take()
{
    owner = k;
    fence++;
    ends = now + LEASE;
    ticket[k] = 0;
    say(GRANTED, fence, LEASE)
}

inline queue()
{
    if
    :: ticket[k] == 0 -> tickets++; ticket[k] = tickets
    :: else
    fi;
    say(QUEUED, ticket[k], 0)
}

inline acquire()
{
    if
    :: is_mine(k) -> say(GRANTED, fence, ends - now)
    :: !is_mine(k) && is_free -> take()
    :: else -> queue()
    fi
}

inline recheck()
{
    if
    :: is_mine(k) -> say(GRANTED, fence, ends - now)
    :: !is_mine(k) && is_free && ticket[k] != 0 -> take()
    :: !is_mine(k) && !is_free && ticket[k] != 0 -> queue()
    :: else ->
#ifdef NO_STAY
        queue()
#else
        say(GONE, 0, 0)
#endif
    fi
}

inline release()
{
    ticket[k] = 0;
    if
#ifdef NO_FENCE
    :: is_mine(k) -> pass_on()
#else
    :: is_mine(k) && (what == LEAVE || f == fence) -> pass_on()
#endif
    :: else
    fi;
    say(ENDED, 0, 0)
}

inline renew()
{
    if
    :: is_mine(k) && f == fence ->
        ends = now + LEASE;
        say(GRANTED, fence, LEASE)
    :: else -> say(GONE, 0, 0)
    fi
}

inline import()
{
    if
    :: is_mine(k) && f == fence ->
#ifndef NO_SWAP
        fence++;
#endif
        ends = now + LEASE;
        text_is_used = true;
        say(GRANTED, fence, LEASE)
    :: else ->
        assert(text_is_used || now >= text_until);
        say(GONE, 0, 0)
    fi
}

/* Each request is one step, as a script is. */
inline serve()
{
    if
    :: what == ACQUIRE -> acquire()
    :: what == RECHECK -> recheck()
    :: what == RELEASE || what == LEAVE -> release()
    :: what == RENEW -> renew()
    :: what == IMPORT -> import()
    fi;
    what = 0; c = 0; k = 0; f = 0; sent = 0; heard = 0
}

active proctype server()
{
    mtype what;
    byte c, k, f, sent;
    bool heard;

end:
    do
    :: atomic { request[0] ? what, k, f, sent -> heard = true; serve() }
    :: atomic { request[1] ? what, k, f, sent -> c = 1; heard = true; serve() }
    :: atomic { stale[0] ? what, k, f, sent -> serve() }
    :: atomic { stale[1] ? what, k, f, sent -> c = 1; serve() }
    od
}

/* ---- the clients --------------------------------------------------------- */

typedef client {
    mtype state[CLAIMS] = IDLE;
    byte ticket[CLAIMS];
    byte bound[CLAIMS]; /* when the request last answered QUEUED was sent */
    byte fence[CLAIMS];
    byte until[CLAIMS]; /* the end of belief */
    bool asked;         /* a request is under way */
    bool cut;           /* there is no connection */
    bool looks;         /* a re-check is due, whatever the time */
    bool imported;
}
client clients[2];

byte breaks, cancels, renews;

#define me clients[c]
#define believes(c, k) \
    (clients[c].state[k] == HOLDS && now < clients[c].until[k])
#define believes_any(c) (believes(c, 0) || believes(c, 1) || believes(c, 2))
#define may_ask (!me.asked && !me.cut && nfull(request[c]))

inline ask(what, number)
{
    request[c] ! what, k, number, now;
    me.asked = true
}

/* The claim is over for this client. */
inline forget(k)
{
    me.state[k] = OVER;
    me.ticket[k] = 0;
    me.bound[k] = 0;
    me.fence[k] = 0;
    me.until[k] = 0
}

/* Believed until then; too late is not believed at all, and given back. */
inline hold(number, end)
{
    me.fence[k] = number;
    me.until[k] = end;
    me.ticket[k] = 0;
    me.bound[k] = 0;
    me.state[k] = (now < end -> HOLDS : CLOSES)
}

inline hear_granted()
{
    if
    :: me.state[k] == SEEKS || me.state[k] == WAITS ||
       me.state[k] == IMPORTS ->
#ifdef NO_REMAINS
        hold(number, sent + LEASE)
#else
        hold(number, sent + remains)
#endif
    :: me.state[k] == HOLDS && now < me.until[k] && number == me.fence[k] &&
       me.until[k] < sent + remains ->
        me.until[k] = sent + remains
    :: else
    fi
}

inline hear()
{
    me.asked = false;
    if
    :: what == GRANTED -> hear_granted()
    :: what == QUEUED && (me.state[k] == SEEKS || me.state[k] == WAITS) ->
        me.state[k] = WAITS;
        me.ticket[k] = number;
        me.bound[k] = sent
    :: what == GONE && me.state[k] != CLOSES && me.state[k] != EXPORTED ->
        forget(k)
    :: what == ENDED && me.state[k] == CLOSES -> forget(k)
    :: else
    fi;
    what = 0; k = 0; number = 0; sent = 0; remains = 0
}

inline hear_grant()
{
    if
#ifdef NO_TICKET
    :: me.state[k] == WAITS ->
#else
    :: me.state[k] == WAITS && me.ticket[k] == number ->
#endif
#ifdef NO_BOUND
        hold(f, now + LEASE)
#else
        hold(f, me.bound[k] + LEASE)
#endif
    :: me.state[k] == OVER -> me.state[k] = CLOSES; me.fence[k] = f
#ifdef NO_MEMORY
    :: me.state[k] == EXPORTED -> me.state[k] = CLOSES; me.fence[k] = f
#endif
    :: else
    fi;
    k = 0; number = 0; f = 0
}

/* What a client does of its own accord with one claim. */
proctype actor(byte c; byte k)
{
end:
    do
    :: atomic { me.state[k] == IDLE && home(k) == c && may_ask &&
                (k != 2 || me.state[0] == OVER || me.state[0] == EXPORTED) ->
                me.state[k] = SEEKS; ask(ACQUIRE, 0) }
    :: atomic { me.state[k] == SEEKS && may_ask -> ask(ACQUIRE, 0) }
    /* The answer was lost: the text may be used up, and the lease will end. The
       exporter knows what it exported nevertheless. */
    :: atomic { me.state[k] == IMPORTS && may_ask ->
                forget(k);
                me.state[k] = (home(k) == c -> EXPORTED : OVER) }
#ifndef NO_LOOK
    :: atomic { me.state[k] == WAITS && may_ask &&
                (me.looks || me.bound[k] != now) ->
                me.looks = false; ask(RECHECK, 0) }
#endif
    :: atomic { me.state[k] == WAITS && cancels < CANCELS ->
                cancels++; me.state[k] = CLOSES }
    :: atomic { believes(c, k) && me.until[k] < now + LEASE &&
                renews < RENEWS && may_ask ->
                renews++; ask(RENEW, me.fence[k]) }
    :: atomic { me.state[k] == HOLDS -> me.state[k] = CLOSES }
    :: atomic { EXPORTS && believes(c, k) && text_claim == NONE &&
                !me.asked ->
                text_claim = k; text_fence = me.fence[k];
                text_until = me.until[k];
                forget(k); me.state[k] = EXPORTED }
    :: atomic { text_claim == k && !me.imported && may_ask &&
                (me.state[k] == IDLE || me.state[k] == EXPORTED) ->
                me.imported = true; me.state[k] = IMPORTS;
                ask(IMPORT, text_fence) }
    :: atomic { me.state[k] == CLOSES && may_ask && me.fence[k] != 0 ->
                ask(RELEASE, me.fence[k]) }
    :: atomic { me.state[k] == CLOSES && may_ask && me.fence[k] == 0 ->
                ask(LEAVE, 0) }
    od
}

/* The answers that were under way are lost; a request as well, or it runs
   later. The inbox is another stream, and may break with it or not. */
inline break_off()
{
    breaks++;
    me.cut = true;
    me.asked = false;
    if
    :: do
       :: nempty(inbox[c]) -> inbox[c] ? k, number, f
       :: empty(inbox[c]) -> break
       od
    :: skip
    fi;
    do
    :: nempty(answer[c]) -> answer[c] ? what, k, number, sent, remains
    :: nempty(request[c]) ->
        request[c] ? what, k, f, sent;
        if
        :: stale[c] ! what, k, f, sent
        :: skip
        fi
    :: empty(answer[c]) && empty(request[c]) -> break
    od;
    what = 0; k = 0; number = 0; f = 0; sent = 0; remains = 0
}

inline connect()
{
    me.cut = false;
    me.looks = true;
#ifndef NO_KILL
    do
    :: nempty(stale[c]) -> stale[c] ? what, k, f, sent
    :: empty(stale[c]) -> break
    od;
    what = 0; k = 0; f = 0; sent = 0
#endif
}

/* What comes to a client. */
proctype listener(byte c)
{
    mtype what;
    byte k, number, f, sent, remains;

end:
    do
    :: atomic { answer[c] ? what, k, number, sent, remains -> hear() }
    :: atomic { !me.asked && nempty(inbox[c]) ->
                inbox[c] ? k, number, f; hear_grant() }
    :: atomic { breaks < BREAKS && !me.cut -> break_off() }
    :: atomic { me.cut -> connect() }
    od
}

/* ---- time and what must be so -------------------------------------------- */

active proctype clock()
{
end:
    do
    :: atomic { now < LAST -> now++ }
    od
}

#define waits(k) (clients[home(k)].state[k] == WAITS)

active proctype judge()
{
end:
    atomic {
        !(!(believes_any(0) && believes_any(1)) &&
          !(believes(0, 0) && believes(0, 2))) ->
        assert(false)
    }
}

active proctype rest()
{
end:
    atomic {
        timeout ->
        assert(!is_free || (!waits(0) && !waits(1) && !waits(2)));
        assert(is_free || text_claim != NONE)
    }
}

init
{
    atomic {
        run listener(0); run actor(0, 0); run actor(0, 1); run actor(0, 2);
        run listener(1); run actor(1, 0); run actor(1, 1); run actor(1, 2)
    }
}
