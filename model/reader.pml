/* SPDX-License-Identifier: MIT
 *
 * How the reading of a stream goes between the loop and callers, as a model for
 * Spin: src/world/world_uv_loan.c and src/server/conn_read.c.
 *
 * Two callers, each of which makes some calls; an async request; a call that is
 * ended from elsewhere while it waits; the loop, which lends the stream or does
 * not; a stream that is closed; a tick of the loop's clock, which comes at any
 * moment or never. A caller may be stopped for ever anywhere in its read, unless
 * it has entered the client's mutex; so may it after the link was closed.
 *
 * What is checked, in every state that can be reached: answers are taken in the
 * order in which they came, so no two read at once; a link is not touched after
 * it was freed; and when nothing can happen any more every call has ended, the
 * async answer was taken, the server was told of a close, and a closed link was
 * freed unless a caller that is stopped has it.
 *
 * With -DTLS what is received is handed to OpenSSL before it is delivered, and the
 * server sends something that is no answer behind one of them.
 *
 * -DNO_<RULE> takes a rule out; the model must fail then. tools/check-model.sh
 * does so with each of them.
 *
 *   SEND     a sender has the loop take a stream that nobody reads
 *   RETURN   so does a caller that returns it while answers are awaited
 *   TURN     a caller that slept reads only if it still has its turn
 *   INSIDE   it receives within the client's mutex, in which it delivers
 *   LOCKED   and within the world's, in which the loop takes the stream back
 *   WOKEN    a caller that was woken while awake does not sleep
 *   RING     one that sleeps is woken
 *   IDLE     a stream on which an answer is awaited is not lent
 *   ONE      a stream is not lent while a caller has not returned it
 *   KEEP     a link is freed only after the return
 *   AGAIN    and is, then
 *   EARLY    its end is told before that
 *   TICK     the loop takes a stream back that nobody has borrowed of late
 *   FED      with TLS, a caller has the stream's mutex from before it receives
 *   HANDS    with TLS, the loop lends nothing of which it has bytes in its hands
 */

#ifndef CALLS
#define CALLS 2
#endif
#ifndef TICKS
#define TICKS 1 /* ticks that come, or not */
#endif
#ifndef CLOSES
#define CLOSES 0
#endif
#ifndef ENDS
#define ENDS 1 /* a call of caller 0 is ended while it waits */
#endif
#ifndef BLOCKS
#define BLOCKS 1 /* the socket takes no bytes, once */
#endif
#ifndef SILENT
#define SILENT 0 /* only caller 0, whose server answers nothing */
#endif
#ifndef FREEZES
#define FREEZES 0 /* caller 0 may stop for ever; then ticks come for ever */
#endif

/* A request and its answer: whose call it is, and which. */
#define CALL(id, number) ((id) * 8 + (number))
#define ASYNC            16
#define NOISE            17 /* no answer: a ticket for a next session */

mtype = { LOOPS, NOBODYS, CALLERS };

/* ---- what the world's mutex guards; each step of it is atomic -------------- */

mtype turn = LOOPS;
bool borrowed, woken, asleep, rung, used;
bool take, send_work, close_work;         /* left for the loop */
bool closes;                              /* once it is returned */

/* ---- what the client's mutex guards ---------------------------------------- */

bool monitor;
bool closed;                              /* the connection has no link */
chan awaited = [6] of { byte };           /* requests under way, in order */
byte call[2];                             /* under way; 0: none */
bool done[2], reads[2];
bool async_sent, async_done;

bool posted[2];                           /* semaphores */
bool armed = true;                        /* the socket is in the loop's set */
bool freed, told;                         /* a closed link; its end */
bool frozen;

chan outbox = [6] of { byte };            /* what the socket did not take */
bool blocked, may_block = BLOCKS;
chan request = [6] of { byte };
chan answer = [6] of { byte };

#ifdef TLS
/* What was received and not handed to OpenSSL yet, and who may hand it. */
chan received = [6] of { byte };
bool sealed, may_noise = true;
#define SEAL       atomic { !sealed; sealed = true }
#define UNSEAL     sealed = false
#define RECEIVE(x) answer?x; received!x
#else
#define RECEIVE(x) answer?x
#endif

#define ENTER atomic { !monitor; monitor = true }
#define LEAVE monitor = false

/* The link is used. */
#define USE assert(!freed)

#ifdef NO_IDLE
#define IS_IDLE true
#else
#define IS_IDLE (len(awaited) == 0)
#endif
#ifdef NO_ONE
#define IS_ONE true
#else
#define IS_ONE (!borrowed)
#endif
#ifdef NO_TURN
#define IS_TURN (turn == CALLERS || turn == LOOPS)
#else
#define IS_TURN (turn == CALLERS)
#endif
#ifdef NO_KEEP
#define IS_KEPT false
#else
#define IS_KEPT borrowed
#endif

/* ---- steps under the mutexes ----------------------------------------------- */

#ifdef TLS
/* In the order in which it came. */
inline feed(x, y)
{
    atomic {
        if
        :: x != 0 -> received?y; assert(y == x); y = 0
        :: else
        fi
    }
}
#endif

/* Wakes a caller, in its read or on its semaphore. */
inline wake(id)
{
    atomic {
        if
        :: reads[id] ->
            USE;
#ifndef NO_WOKEN
            woken = true;
#endif
            if
            :: asleep ->
#ifndef NO_RING
                rung = true;
#endif
                skip
            :: else
            fi
        :: else -> posted[id] = true
        fi
    }
}

/* The oldest request is answered. */
inline deliver(x, y)
{
    if
    :: !closed && x != NOISE ->
        awaited?y;
        assert(y == x);
        if
        :: x == ASYNC -> async_done = true
        :: x < ASYNC && call[x / 8] == x && !done[x / 8] ->
            done[x / 8] = true;
            wake(x / 8)
        :: else
        fi
    :: else
    fi;
    y = 0
}

/* Perhaps the loop has to send the rest. */
inline send(m)
{
    atomic {
        awaited!m;
        if
        :: blocked -> outbox!m
        :: !blocked -> request!m
        :: !blocked && may_block ->
            may_block = false;
            blocked = true;
            outbox!m;
            USE;
            send_work = true
        fi
    }
}

inline want()
{
    atomic {
        if
        :: !closed && turn == NOBODYS -> USE; take = true
        :: else
        fi
    }
}

inline lend()
{
    atomic {
        if
        :: turn == LOOPS && !closed && IS_IDLE && IS_ONE -> armed = false; turn = NOBODYS; used = true
        :: true
        fi
    }
}

/* Of what it has received the loop has nothing left. */
#if defined(TLS) && !defined(NO_HANDS)
#define HAS_NO_MORE (more == 0)
#else
#define HAS_NO_MORE true
#endif

/* Outside the client's mutex. What a stopped caller waits for is nobody's. */
#define MAY_FREEZE                                                             \
    if                                                                         \
    :: FREEZES && id == 0 -> frozen = true; goto stopped                       \
    :: true                                                                    \
    fi

/* ---- a caller --------------------------------------------------------------- */

proctype caller(byte id)
{
    byte calls = 0, x = 0, y = 0;
    bool alone = false;
#ifdef NO_LOCKED
    bool mine = false;
#endif

    do
    :: calls == CALLS -> break
    :: calls < CALLS ->
        calls++;
        ENTER;
        if
        :: closed -> LEAVE; goto next
        :: else
        fi;
        alone = (len(awaited) == 0);
        done[id] = false;
        call[id] = CALL(id, calls);
        posted[id] = false;
        atomic {
            if
            :: alone && turn == NOBODYS ->
                USE;
                turn = CALLERS;
                borrowed = true;
                woken = false;
                used = true;
                reads[id] = true
            :: else
            fi
        };
        send(call[id]);
#ifndef NO_SEND
        want();
#endif
        LEAVE;
        if
        :: !reads[id] -> goto sleep
        :: else
        fi;

rest:
        MAY_FREEZE;
        atomic {
            USE;
            asleep = !woken;
            if
            :: woken -> goto give
            :: else
            fi
        };
        MAY_FREEZE;
        atomic { (len(answer) > 0) || rung };
        MAY_FREEZE;
#ifndef NO_INSIDE
        ENTER;
#endif
#if defined(TLS) && !defined(NO_FED)
        SEAL;
#endif
#ifdef NO_LOCKED
        USE;
        asleep = false;
        mine = IS_TURN && !closed && len(answer) > 0;
        if
        :: mine && len(answer) > 0 -> answer?x
        :: else
        fi;
#else
        atomic {
            USE;
            asleep = false;
            if
            :: IS_TURN && !closed && len(answer) > 0 -> RECEIVE(x)
            :: else
            fi
        };
#endif
#ifdef TLS
#ifdef NO_FED
        SEAL;
#endif
        feed(x, y);
        UNSEAL;
#endif
#ifdef NO_INSIDE
        MAY_FREEZE;
        ENTER;
#endif
        if
        :: x != 0 -> deliver(x, y); x = 0
        :: else
        fi;
        if
        :: !done[id] && !closed && (len(awaited) > 0) -> LEAVE; goto rest
        :: else -> goto back
        fi;

give:
        ENTER;
back:
        atomic {
            USE;
            reads[id] = false;
            if
            :: turn == CALLERS -> turn = NOBODYS
            :: else
            fi;
            rung = false;
            asleep = false;
            borrowed = false;
#ifndef NO_AGAIN
            close_work = close_work || closes;
#endif
            closes = false
        };
#ifndef NO_RETURN
        if
        :: (len(awaited) > 0) -> want()
        :: else
        fi;
#endif
        if
        :: done[id] -> LEAVE; goto over
        :: else -> LEAVE
        fi;

sleep:
        posted[id];
        ENTER;
        assert(done[id]);
        LEAVE;
over:
        atomic { call[id] = 0; posted[id] = false };
next:
        alone = false
    od;
stopped:
    skip
}

/* ---- others ------------------------------------------------------------------ */

/* An async request. */
proctype other()
{
    ENTER;
    if
    :: !closed ->
        async_sent = true;
        send(ASYNC);
#ifndef NO_SEND
        want();
#endif
        skip
    :: else
    fi;
    LEAVE;
    !async_sent || async_done || closed
}

/* A call of caller 0 is ended: its time, a cancel, a grant that came elsewhere. */
proctype ender()
{
    if
    :: call[0] != 0;
        ENTER;
        if
        :: call[0] != 0 && !done[0] ->
            done[0] = true;
            wake(0)
        :: else
        fi;
        LEAVE
    :: !SILENT
    fi
}

/* The connection is given up: all that waits is told. */
proctype closer()
{
    byte x = 0;

    ENTER;
    closed = true;
    do
    :: atomic { (len(awaited) > 0) -> awaited?x }
    :: atomic { (len(awaited) == 0) -> break }
    od;
    x = 0;
    do
    :: x == 2 -> break
    :: x < 2 ->
        if
        :: call[x] != 0 && !done[x] ->
            done[x] = true; wake(x)
        :: else
        fi;
        x++
    od;
    atomic { USE; close_work = true };
    LEAVE;
    told;
    freed || frozen
}

proctype server()
{
    byte x;

end:
    do
    :: atomic { request?x ->
            answer!x;
#ifdef TLS
            if
            :: may_noise -> may_noise = false; answer!NOISE
            :: true
            fi
#endif
        }
    od
}

/* ---- the loop ----------------------------------------------------------------- */

/* Takes it back; a caller that sleeps is woken. */
inline take_back()
{
    if
    :: turn == CALLERS ->
        woken = true;
#ifndef NO_RING
        rung = rung || asleep;
#endif
        turn = LOOPS; armed = true
    :: turn == NOBODYS -> turn = LOOPS; armed = true
    :: else
    fi
}

proctype loop()
{
    byte x = 0, y = 0, ticks = 0;
#ifdef TLS
    byte more = 0;
#endif

end:
    do
    :: atomic { take ->
            take = false;
            if
            :: turn == NOBODYS && !closed -> take_back()
            :: else
            fi
        }
    :: atomic { send_work ->
            send_work = false;
            take_back();
            do
            :: len(outbox) > 0 -> outbox?x; request!x
            :: else -> break
            od;
            x = 0;
            blocked = false
        }
    :: atomic { close_work ->
            close_work = false;
            take_back();
            armed = false;
            if
            :: IS_KEPT ->
                closes = true;
#ifndef NO_EARLY
                told = true;
#endif
                skip
            :: else -> freed = true; told = true
            fi
        }
    :: armed && (len(answer) > 0) && !closed && !freed ->
        atomic {
            RECEIVE(x);
#ifdef TLS
            if
            :: len(answer) > 0 -> RECEIVE(more)
            :: true
            fi
#endif
        };
#ifdef TLS
again:
        SEAL;
        feed(x, y);
        UNSEAL;
#endif
        ENTER;
        deliver(x, y);
        x = 0;
        if
        :: !closed && HAS_NO_MORE -> lend()
        :: else
        fi;
        LEAVE;
#ifdef TLS
        if
        :: more != 0 -> x = more; more = 0; goto again
        :: else
        fi
#endif
#ifndef NO_TICK
    :: atomic { turn != LOOPS && !freed && (FREEZES || ticks < TICKS) ->
            ticks = (FREEZES -> 0 : ticks + 1);
            if
            :: used -> used = false
            :: else -> take_back()
            fi
        }
#endif
    od
}

init
{
    atomic {
        if
        :: armed = false; turn = NOBODYS
        :: true
        fi;
        run loop();
        run caller(0);
        if
        :: !SILENT ->
            run server();
            run caller(1);
            run other()
        :: else
        fi;
        if
        :: ENDS -> run ender()
        :: else
        fi;
        if
        :: CLOSES -> run closer()
        :: else
        fi
    }
}
