/* SPDX-License-Identifier: MIT */
#include "support/ideal.h"

#include <latchkey/status.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Everything happens on an agenda, in the order of its times: what processes
 * do, and what reaches the server.
 */

enum { MS = 1000000, ACTORS = 5, NAMES = 3, SEATS = 8, AGENDA = 512 };

typedef struct ideal ideal;
typedef struct actor actor;
typedef struct name name;

typedef void (*deed)(ideal *w, actor *a, uint64_t detail);

typedef struct entry {
    uint64_t at, order, detail;
    deed deed;
    actor *actor;
    bool of_server; /* it happens there, whatever became of the actor */
} entry;

/* One who holds or waits, as the server knows. */
typedef struct seat {
    actor *actor;
    uint64_t operation, expires, lease_ms, count;
    history_mode mode;
    bool queued;
} seat;

struct name {
    uint64_t id;
    history_kind kind;
    seat seats[SEATS];
    size_t held, queued; /* seats: first those who hold, then the queue */
    uint64_t fence, written, permits, taken;
    uint64_t size, counted;
    bool armed;
};

struct actor {
    uint32_t process;
    bool stopped, dead;
    uint64_t goes_on_at;
    name *at;
    history_event call; /* its invoke */
    bool waits;
    uint64_t hold, again, fence, believed_to, lease_ms, plain;
    bool renewed, told, forced;
    history_mode mode;
    unsigned rounds, steps;
};

struct ideal {
    ideal_tell tell;
    void *data;
    uint64_t random, now, order, next_id, sequence;
    entry agenda[AGENDA];
    size_t planned;
    actor actors[ACTORS];
    name names[NAMES];
};

/* ---- chance and time ---- */

static uint64_t draw(ideal *w, uint64_t below)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return (w->random * UINT64_C(0x2545f4914f6cdd1d) >> 33) % below;
}

static uint64_t travel(ideal *w)
{
    return 1000 + draw(w, UINT64_C(2) * MS);
}

static bool is_sooner(const entry *one, const entry *other)
{
    return one->at != other->at ? one->at < other->at
                                : one->order < other->order;
}

static void plan(ideal *w, uint64_t at, deed what, actor *who, bool of_server,
                 uint64_t detail)
{
    size_t i = w->planned++;
    const entry e =
        {w->now > at ? w->now : at, w->order++, detail, what, who, of_server};

    if (i >= AGENDA)
        abort();
    for (; i > 0 && is_sooner(&e, &w->agenda[i - 1]); i--)
        w->agenda[i] = w->agenda[i - 1];
    w->agenda[i] = e;
}

static void later(ideal *w, uint64_t ns, deed what, actor *who)
{
    plan(w, w->now + ns, what, who, false, 0);
}

static void send(ideal *w, deed what, actor *who, uint64_t detail)
{
    plan(w, w->now + travel(w), what, who, true, detail);
}

/* ---- telling ---- */

static history_event
event_of(const actor *a, history_phase phase, history_call what)
{
    history_event event = {.process = a->process,
                           .client = a->process,
                           .owner = a->process,
                           .phase = (uint8_t)phase,
                           .call = (uint8_t)what,
                           .mode = (uint8_t)a->mode};

    if (a->at != NULL) {
        event.key = a->at->id;
        event.kind = (uint8_t)a->at->kind;
    }
    return event;
}

static void tell(ideal *w, history_event event)
{
    event.at = w->now++; /* no two at one moment */
    event.sequence = ++w->sequence;
    w->tell(&event, w->data);
}

static history_event begin(ideal *w, actor *a, history_call what)
{
    history_event event = event_of(a, HISTORY_INVOKE, what);

    event.operation = w->next_id++;
    return event;
}

static void begun(ideal *w, actor *a, history_event event)
{
    event.at = w->now;
    a->call = event;
    tell(w, event);
}

static void ended(ideal *w, actor *a, history_phase phase, lk_status status)
{
    history_event event = a->call;

    event.phase = (uint8_t)phase;
    event.status = status;
    event.deadline = 0;
    tell(w, event);
}

/* ---- the server: who holds ---- */

static bool fits(const name *n, const seat *wish)
{
    uint64_t sum = n->taken + wish->count;

    for (size_t i = 0; i < n->held; i++) {
        const seat *s = &n->seats[i];
        bool both = (wish->mode == HISTORY_READ && s->mode != HISTORY_WRITER) ||
                    (s->mode == HISTORY_READ && wish->mode != HISTORY_WRITER);

        if (wish->mode != HISTORY_PERMITS && !both)
            return false;
        sum += s->count;
    }
    return wish->mode != HISTORY_PERMITS || sum <= n->permits;
}

static void unseat(name *n, size_t i)
{
    if (i < n->held)
        n->held--;
    else
        n->queued--;
    memmove(&n->seats[i], &n->seats[i + 1], (SEATS - i - 1) * sizeof(seat));
}

static void arrives(ideal *w, actor *a, uint64_t detail);
static void expires(ideal *w, actor *a, uint64_t operation);

static void plain_arrives(ideal *w, actor *a, uint64_t detail);

/* Permits that nobody holds: the wait is over, though its caller has not heard
   of it. */
static void grant_plain(ideal *w, name *n, const seat *wish)
{
    if (!wish->actor->waits || wish->actor->call.operation != wish->operation)
        return;
    n->taken += wish->count;
    wish->actor->waits = false;
    plan(w, w->now + travel(w), plain_arrives, wish->actor, false, 0);
}

static void grant(ideal *w, name *n, seat wish)
{
    if (n->kind == HISTORY_PLAIN) {
        grant_plain(w, n, &wish);
        return;
    }
    memmove(&n->seats[n->held + 1], &n->seats[n->held],
            n->queued * sizeof(seat));
    wish.expires = w->now + wish.lease_ms * MS;
    n->seats[n->held++] = wish;
    n->fence++;
    send(w, arrives, wish.actor, n->fence << 32 | wish.operation);
    plan(w, wish.expires, expires, wish.actor, true, wish.operation);
}

static void serve(ideal *w, name *n)
{
    while (n->queued > 0) {
        seat wish = n->seats[n->held];

        if (!wish.actor->dead && !fits(n, &wish))
            return;
        unseat(n, n->held);
        if (!wish.actor->dead)
            grant(w, n, wish);
    }
}

static size_t find(const name *n, uint64_t operation)
{
    for (size_t i = 0; i < n->held + n->queued; i++)
        if (n->seats[i].operation == operation)
            return i;
    return SEATS;
}

static name *name_of(ideal *w, uint64_t operation, size_t *ret_seat)
{
    for (int i = 0; i < NAMES; i++) {
        *ret_seat = find(&w->names[i], operation);
        if (*ret_seat != SEATS)
            return &w->names[i];
    }
    return NULL;
}

static void frees(ideal *w, actor *a, uint64_t operation)
{
    size_t i;
    name *n = name_of(w, operation, &i);

    (void)a;
    if (n == NULL)
        return;
    unseat(n, i);
    serve(w, n);
}

static void expires(ideal *w, actor *a, uint64_t operation)
{
    size_t i;
    name *n = name_of(w, operation, &i);

    if (n == NULL || i >= n->held)
        return;
    if (n->seats[i].expires > w->now)
        plan(w, n->seats[i].expires, expires, a, true, operation);
    else
        frees(w, a, operation);
}

/* ---- a hold's life ---- */

static void round_begins(ideal *w, actor *a, uint64_t detail);
static void step(ideal *w, actor *a, uint64_t detail);

static void rest(ideal *w, actor *a)
{
    a->hold = 0;
    a->again = 0;
    later(w, MS + draw(w, UINT64_C(20) * MS), round_begins, a);
}

static uint64_t believed(const actor *a, uint64_t from)
{
    return from + a->lease_ms * MS / 100 * 99 - UINT64_C(2) * MS;
}

static void is_told(ideal *w, actor *a, uint64_t hold)
{
    history_event event;

    if (a->hold != hold || a->told || a->call.call == HISTORY_RELEASE)
        return;
    if (a->believed_to > w->now && !a->forced) {
        plan(w, a->believed_to, is_told, a, false, hold);
        return;
    }
    a->told = true;
    event = event_of(a, HISTORY_EVENT, HISTORY_LOST);
    event.hold = hold;
    event.deadline = a->believed_to < w->now ? a->believed_to : w->now;
    tell(w, event);
}

static void has_it(ideal *w, actor *a, uint64_t fence)
{
    history_event event = a->call;

    event.phase = HISTORY_OK;
    event.hold = a->hold = a->call.operation;
    event.fence = a->fence = fence;
    event.deadline = a->believed_to;
    a->told = a->forced = false;
    a->steps = (unsigned)draw(w, 5);
    tell(w, event);
    plan(w, a->believed_to, is_told, a, false, a->hold);
    later(w, 1 + draw(w, UINT64_C(10) * MS), step, a);
}

static void plain_arrives(ideal *w, actor *a, uint64_t detail)
{
    (void)detail;
    a->plain += a->call.count;
    ended(w, a, HISTORY_OK, LK_OK);
    rest(w, a);
}

/* A grant reaches its waiter. */
static void arrives(ideal *w, actor *a, uint64_t detail)
{
    const uint64_t operation = detail & UINT32_MAX;
    const bool wanted = !a->dead && a->waits && a->call.operation == operation;

    if (a->stopped) {
        plan(w, a->goes_on_at + travel(w), arrives, a, true, detail);
        return;
    }
    if (!wanted) {
        frees(w, a, operation);
        return;
    }
    a->waits = false;
    a->believed_to = believed(a, a->call.at);
    if (a->believed_to <= w->now) {
        send(w, frees, a, operation);
        ended(w, a, HISTORY_FAIL, LK_ETIMEDOUT);
        rest(w, a);
    } else {
        has_it(w, a, detail >> 32);
    }
}

static void released(ideal *w, actor *a, uint64_t detail)
{
    ended(w, a, (history_phase)detail,
          detail == HISTORY_OK ? LK_OK : LK_EINDOUBT);
    rest(w, a);
}

/* The server hears of a release, and answers. */
static void gives(ideal *w, actor *a, uint64_t operation)
{
    frees(w, a, operation);
    plan(w, w->now + travel(w), released, a, false, HISTORY_OK);
}

static void let_go(ideal *w, actor *a)
{
    const bool lost = a->told || a->believed_to <= w->now;
    history_event event;

    if (a->again != 0) {
        event = begin(w, a, HISTORY_RELEASE);
        event.hold = a->again;
        begun(w, a, event);
        ended(w, a, lost ? HISTORY_FAIL : HISTORY_OK, lost ? LK_ELOST : LK_OK);
    }
    event = begin(w, a, HISTORY_RELEASE);
    event.hold = a->hold;
    begun(w, a, event);
    if (lost || a->believed_to <= w->now) {
        send(w, frees, a, a->hold);
        ended(w, a, HISTORY_FAIL, LK_ELOST);
        rest(w, a);
    } else if (draw(w, 8) == 0) { /* the request or its answer gets lost */
        if (draw(w, 2) == 0)
            send(w, frees, a, a->hold);
        plan(w, w->now + UINT64_C(30) * MS, released, a, false,
             HISTORY_UNKNOWN);
    } else {
        send(w, gives, a, a->hold);
    }
}

/* ---- what is done with it ---- */

static void check(ideal *w, actor *a)
{
    history_event event = event_of(a, HISTORY_EVENT, HISTORY_CHECKED);

    event.hold = a->hold;
    event.deadline = draw(w, 2) == 0 ? a->believed_to : 0;
    tell(w, event);
}

static void renew(ideal *w, actor *a)
{
    size_t i;
    name *n = name_of(w, a->hold, &i);

    if (n == NULL || i >= n->held) { /* it has been deleted */
        a->forced = true;
        is_told(w, a, a->hold);
        return;
    }
    n->seats[i].expires = w->now + travel(w) + a->lease_ms * MS;
    a->believed_to = believed(a, w->now);
}

static void enter_again(ideal *w, actor *a)
{
    history_event event = begin(w, a, HISTORY_ACQUIRE);

    if (a->again != 0 ||
        (a->at->kind != HISTORY_LOCK && a->at->kind != HISTORY_FAIRLOCK))
        return;
    event.lease_ms = a->lease_ms;
    event.flags = HISTORY_RENEWED;
    tell(w, event);
    event.phase = HISTORY_OK;
    event.hold = a->again = event.operation;
    event.fence = a->fence;
    event.deadline = a->believed_to;
    tell(w, event);
}

static void write_guarded(ideal *w, actor *a)
{
    history_event event = begin(w, a, HISTORY_WRITE);

    if (a->mode == HISTORY_READ || a->at->kind == HISTORY_SEMAPHORE)
        return;
    event.fence = a->fence;
    tell(w, event);
    event.phase = a->fence < a->at->written ? HISTORY_FAIL : HISTORY_OK;
    event.status = event.phase == HISTORY_OK ? LK_OK : LK_ESTALE;
    if (event.phase == HISTORY_OK)
        a->at->written = a->fence;
    tell(w, event);
}

static void downgrade(ideal *w, actor *a)
{
    history_event event = begin(w, a, HISTORY_DOWNGRADE);
    size_t i;
    name *n = name_of(w, a->hold, &i);

    if (a->mode != HISTORY_WRITER || n == NULL)
        return;
    event.hold = a->hold;
    tell(w, event);
    a->mode = HISTORY_READ;
    n->seats[i].mode = HISTORY_READ;
    serve(w, n);
    event.phase = HISTORY_OK;
    tell(w, event);
}

static void step(ideal *w, actor *a, uint64_t detail)
{
    (void)detail;
    if (!a->told && a->believed_to > w->now) {
        check(w, a);
        if (a->renewed)
            renew(w, a);
    }
    if (!a->told && a->believed_to > w->now && !a->forced) {
        if (draw(w, 4) == 0)
            enter_again(w, a);
        else if (draw(w, 3) == 0)
            write_guarded(w, a);
        else if (draw(w, 3) == 0)
            downgrade(w, a);
    }
    if (a->steps-- == 0)
        let_go(w, a);
    else
        later(w, 1 + draw(w, a->lease_ms * MS / 3), step, a);
}

/* ---- wanting ---- */

static void refused(ideal *w, actor *a, uint64_t operation)
{
    if (!a->waits || a->call.operation != operation)
        return;
    a->waits = false;
    ended(w, a, HISTORY_FAIL, LK_EBUSY);
    rest(w, a);
}

static void seen(ideal *w, actor *a, uint64_t operation)
{
    history_event event = a->call;

    if (!a->waits || a->call.operation != operation)
        return;
    event.phase = HISTORY_EVENT;
    event.call = HISTORY_QUEUED;
    tell(w, event);
}

/* An acquire reaches the server. */
static void asks(ideal *w, actor *a, uint64_t operation)
{
    name *n = a->at;
    const seat wish = {.actor = a,
                       .operation = operation,
                       .lease_ms = a->lease_ms,
                       .count = a->call.count,
                       .mode = a->mode};

    if (a->call.operation != operation || (!a->waits && !a->dead))
        return;
    if (n->queued == 0 && fits(n, &wish)) {
        grant(w, n, wish);
    } else if (a->call.deadline == 0) {
        plan(w, w->now + travel(w), refused, a, false, operation);
    } else {
        n->seats[n->held + n->queued++] = wish;
        plan(w, w->now + travel(w), seen, a, false, operation);
    }
}

static void out_of_time(ideal *w, actor *a, uint64_t operation)
{
    if (!a->waits || a->call.operation != operation)
        return;
    a->waits = false;
    if (draw(w, 10) == 0) {
        plan(w, w->now + 1, frees, a, true, operation);
        ended(w, a, HISTORY_UNKNOWN, LK_EINDOUBT);
    } else {
        frees(w, a, operation);
        ended(w, a, HISTORY_FAIL, LK_ETIMEDOUT);
    }
    rest(w, a);
}

static history_mode mode_of(ideal *w, const name *n)
{
    if (n->kind == HISTORY_RWLOCK)
        return draw(w, 3) == 0   ? HISTORY_WRITER
               : draw(w, 3) == 0 ? HISTORY_UPGRADEABLE
                                 : HISTORY_READ;
    if (n->kind == HISTORY_SEMAPHORE || n->kind == HISTORY_PLAIN)
        return HISTORY_PERMITS;
    return HISTORY_EXCLUSIVE;
}

static void want(ideal *w, actor *a)
{
    history_event event;

    a->mode = mode_of(w, a->at);
    a->lease_ms = 40 + draw(w, 60);
    a->renewed = draw(w, 2) == 0;
    event = begin(w, a, HISTORY_ACQUIRE);
    event.lease_ms = a->lease_ms;
    event.flags = HISTORY_WATCHED | (a->renewed ? HISTORY_RENEWED : 0U);
    event.count = a->mode == HISTORY_PERMITS ? 1 + draw(w, 2) : 0;
    if (draw(w, 4) != 0)
        event.deadline = w->now + (1 + draw(w, 300)) * MS;
    a->waits = true;
    begun(w, a, event);
    send(w, asks, a, event.operation);
    if (event.deadline != 0)
        plan(w, event.deadline, out_of_time, a, false, event.operation);
}

/* ---- plain permits and latches ---- */

static void give(ideal *w, actor *a)
{
    history_event event;

    a->mode = HISTORY_PERMITS;
    event = begin(w, a, HISTORY_GIVE);
    event.count = 1;
    begun(w, a, event);
    a->plain--;
    a->at->taken--;
    serve(w, a->at);
    ended(w, a, HISTORY_OK, LK_OK);
    rest(w, a);
}

static void one_call(ideal *w, actor *a, history_call what, uint64_t count)
{
    history_event event = begin(w, a, what);

    event.count = count;
    begun(w, a, event);
}

static void passes(ideal *w, actor *a, uint64_t detail)
{
    (void)detail;
    if (a->at->armed && a->at->counted >= a->at->size)
        ended(w, a, HISTORY_OK, LK_OK);
    else if (w->now < a->call.deadline) {
        later(w, MS, passes, a);
        return;
    } else
        ended(w, a, HISTORY_FAIL, LK_ETIMEDOUT);
    rest(w, a);
}

static void count(ideal *w, actor *a)
{
    one_call(w, a, HISTORY_COUNT, 1);
    if (a->at->armed && a->at->counted < a->at->size)
        a->at->counted++;
    if (a->at->armed)
        ended(w, a, draw(w, 8) == 0 ? HISTORY_UNKNOWN : HISTORY_OK, LK_OK);
    else
        ended(w, a, HISTORY_FAIL, LK_EUNSET);
    rest(w, a);
}

static void arm(ideal *w, actor *a, history_call what)
{
    uint64_t size = 1 + draw(w, 5);

    one_call(w, a, what, size);
    if (what == HISTORY_ARM && a->at->armed) {
        ended(w, a, HISTORY_FAIL, LK_EALREADY);
    } else {
        a->at->armed = what != HISTORY_DELETE;
        a->at->size = size;
        a->at->counted = 0;
        ended(w, a, HISTORY_OK, LK_OK);
    }
    rest(w, a);
}

static void ask_latch(ideal *w, actor *a)
{
    const name *n = a->at;

    one_call(w, a, HISTORY_ASK, n->armed ? n->size - n->counted : 0);
    ended(w, a, n->armed ? HISTORY_OK : HISTORY_FAIL,
          n->armed ? LK_OK : LK_EUNSET);
    rest(w, a);
}

static void use_latch(ideal *w, actor *a)
{
    history_event event;

    switch (draw(w, 8)) {
    case 0:
        arm(w, a, HISTORY_ARM);
        break;
    case 1:
        arm(w, a, draw(w, 3) == 0 ? HISTORY_DELETE : HISTORY_RESET);
        break;
    case 2:
        ask_latch(w, a);
        break;
    case 3:
    case 4:
        event = begin(w, a, HISTORY_ACQUIRE);
        event.deadline = w->now + (1 + draw(w, 200)) * MS;
        begun(w, a, event);
        later(w, 1, passes, a);
        break;
    default:
        count(w, a);
    }
}

/* Permits that are free are asked for at the server, in one step. */
static void ask_permits(ideal *w, actor *a)
{
    uint64_t free_ones = a->at->permits - a->at->taken;

    for (size_t i = 0; i < a->at->held; i++)
        free_ones -= a->at->seats[i].count;
    one_call(w, a, HISTORY_ASK, free_ones);
    ended(w, a, HISTORY_OK, LK_OK);
    rest(w, a);
}

/* ---- rounds ---- */

static void round_begins(ideal *w, actor *a, uint64_t detail)
{
    (void)detail;
    if (a->rounds-- == 0)
        return;
    a->at = &w->names[draw(w, NAMES)];
    if (a->at->kind == HISTORY_LATCH)
        use_latch(w, a);
    else if (a->at->kind == HISTORY_PLAIN && a->plain > 0)
        give(w, a);
    else if ((a->at->kind == HISTORY_SEMAPHORE ||
              a->at->kind == HISTORY_PLAIN) &&
             draw(w, 4) == 0)
        ask_permits(w, a);
    else
        want(w, a);
}

/* ---- faults ---- */

static history_event fault(history_phase phase, unsigned rules)
{
    return (history_event){.phase = (uint8_t)phase,
                           .call = HISTORY_FAULT,
                           .count = rules};
}

static void goes_on(ideal *w, actor *a, uint64_t detail)
{
    history_event event = fault(HISTORY_OK, CHECKER_DEADLINES);

    (void)detail;
    event.process = a->process;
    a->stopped = false;
    tell(w, event);
}

static void stops(ideal *w, actor *a, uint64_t detail)
{
    history_event event = fault(HISTORY_INVOKE, CHECKER_DEADLINES);

    (void)detail;
    if (a->dead || a->stopped)
        return;
    event.process = a->process;
    a->stopped = true;
    a->goes_on_at = w->now + draw(w, UINT64_C(150) * MS);
    tell(w, event);
    plan(w, a->goes_on_at, goes_on, a, true, 0);
}

static void dies(ideal *w, actor *a, uint64_t detail)
{
    (void)detail;
    if (a->dead || a->stopped)
        return;
    a->dead = true;
    tell(w, event_of(a, HISTORY_EVENT, HISTORY_DIED));
    for (int i = 0; i < NAMES; i++)
        serve(w, &w->names[i]);
}

/* Holds of a lock are forgotten; whoever had them finds out when renewing. */
static void forgets(ideal *w, actor *a, uint64_t detail)
{
    const unsigned rules = CHECKER_EXCLUSION | CHECKER_ORDER | CHECKER_COUNTS;
    history_event event = fault(HISTORY_INVOKE, rules);
    name *n = &w->names[draw(w, NAMES)];

    (void)a;
    (void)detail;
    if (n->kind == HISTORY_LATCH || n->kind == HISTORY_PLAIN)
        return;
    event.key = n->id;
    tell(w, event);
    while (n->held > 0)
        unseat(n, 0);
    serve(w, n);
    event.phase = HISTORY_OK;
    event.deadline = w->now + UINT64_C(150) * MS;
    tell(w, event);
}

static void forces(ideal *w, actor *a, uint64_t detail)
{
    name *n = &w->names[draw(w, NAMES)];
    history_event event = fault(HISTORY_INVOKE, 0);

    (void)detail;
    if (a->dead || a->stopped || n->kind == HISTORY_LATCH ||
        n->kind == HISTORY_PLAIN)
        return;
    event.call = HISTORY_FORCE;
    event.operation = w->next_id++;
    event.key = n->id;
    event.kind = (uint8_t)n->kind;
    event.process = a->process;
    tell(w, event);
    while (n->held > 0) {
        actor *holder = n->seats[0].actor;

        if (holder->hold == n->seats[0].operation)
            holder->forced = true;
        plan(w, w->now + travel(w), is_told, holder, false,
             n->seats[0].operation);
        unseat(n, 0);
    }
    serve(w, n);
    event.phase = HISTORY_OK;
    tell(w, event);
}

/* ---- the whole ---- */

static void make(ideal *w, uint64_t seed)
{
    static const history_kind kinds[] = {HISTORY_LOCK,   HISTORY_FAIRLOCK,
                                         HISTORY_RWLOCK, HISTORY_SEMAPHORE,
                                         HISTORY_PLAIN,  HISTORY_LATCH,
                                         HISTORY_LOCK,   HISTORY_LEADER};
    static const deed faults[] = {stops, stops, dies, forgets, forces};

    w->random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
    w->now = MS;
    w->next_id = IDEAL_FIRST_ID;
    for (uint64_t i = 0; i < NAMES; i++)
        w->names[i] = (name){.id = IDEAL_FIRST_ID + i,
                             .kind = kinds[draw(w, 8)],
                             .permits = ideal_options().permits};
    for (uint32_t i = 0; i < ACTORS; i++) {
        w->actors[i].process = IDEAL_FIRST_ID + i;
        w->actors[i].rounds = 1 + (unsigned)draw(w, 8);
        later(w, draw(w, UINT64_C(10) * MS), round_begins, &w->actors[i]);
    }
    for (uint64_t i = draw(w, 5); i > 0; i--)
        plan(w, w->now + draw(w, UINT64_C(400) * MS), faults[draw(w, 5)],
             &w->actors[draw(w, ACTORS)], true, 0);
}

/* What a process does while it is stopped it does when it goes on. */
static void act(ideal *w, entry e)
{
    actor *a = e.actor;

    if (!e.of_server && a->stopped)
        plan(w, a->goes_on_at + 1, e.deed, a, false, e.detail);
    else if (e.of_server || !a->dead)
        e.deed(w, a, e.detail);
}

uint64_t ideal_play(uint64_t seed, ideal_tell tell_it, void *data)
{
    ideal w = {.tell = tell_it, .data = data};

    make(&w, seed);
    while (w.planned > 0) {
        entry e = w.agenda[0];

        w.planned--;
        memmove(w.agenda, w.agenda + 1, w.planned * sizeof(entry));
        if (e.at > w.now)
            w.now = e.at;
        act(&w, e);
    }
    return w.now + UINT64_C(10) * MS;
}

checker_options ideal_options(void)
{
    return (checker_options){.late_ns = UINT64_C(5) * MS,
                             .told_ns = UINT64_C(5) * MS,
                             .granted_ns = 400 * (uint64_t)MS,
                             .answer_ns = UINT64_C(5) * MS,
                             .permits = 3};
}
