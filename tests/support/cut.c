/* SPDX-License-Identifier: MIT */
#include "support/cut.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

enum { CLIENTS = 6, CUTS_MOST = 200, ROUNDS = 40, CLAIM_LEASE_MS = 3000 };
enum { FENCE_LEAST = 1000000 }; /* above each other result */

/* What becomes of the client whose script was cut. */
typedef enum fate {
    TOLD, /* it has the error at once */
    LATE, /* once the others have asked */
    DEAD,
    FATES,
} fate;

/* A claim that lives, and what its client knows of it. */
typedef struct living {
    char claim[8];
    bool is_told; /* a grant was heard */
    bool holds;   /* so says a touch */
    bool is_served;
} living;

typedef struct scene {
    script_fixture *f;
    const cut_row *row;
    int nth;
    fate fate; /* the actor's */
    bool is_backward;
    living live[CLIENTS];
    size_t count;
    long long ms; /* of the clock, as the world is healed */
} scene;

static void fail_at(const scene *s, const char *what)
{
    static const char *const fates[] = {"told", "told late", "dead"};

    fail_msg(
        "%s, cut behind write %d, its actor %s, asked %s: %s; N: %s; line: %s",
        s->row->title, s->nth, fates[s->fate],
        s->is_backward ? "backward" : "forward", what, l3_holders(s->f),
        l3_line(s->f));
}

static void demand(const scene *s, bool holds, const char *what)
{
    if (!holds)
        fail_at(s, what);
}

static void add_living(scene *s, const char *claims)
{
    for (; *claims != '\0'; claims += strcspn(claims, " ")) {
        claims += strspn(claims, " ");
        assert_true(s->count < CLIENTS);
        s->live[s->count] = (living){.is_served = false};
        snprintf(s->live[s->count++].claim, 8, "%.2s", claims);
    }
}

static living *living_at(scene *s, size_t i)
{
    return &s->live[s->is_backward ? s->count - 1 - i : i];
}

/* ---- behind the cut ---- */

static void delete_field(scene *s)
{
    if (s->row->after == CUT_OVER && s->fate != DEAD)
        script_redis(s->f, "HDEL n %s", l3_claim(s->row->actor));
}

static void end_actor(scene *s)
{
    if (s->fate == DEAD) {
        char inbox[48];

        snprintf(inbox, sizeof(inbox), "in:%s", l3_client(s->row->actor));
        script_deafen(s->f, inbox);
    } else if (s->row->after == CUT_ON) {
        add_living(s, s->row->actor);
    } else if (s->fate == TOLD) {
        delete_field(s);
    }
}

static void hear(scene *s)
{
    char grant[16];
    const char *heard = l3_heard(s->f);

    for (size_t i = 0; i < s->count; i++) {
        snprintf(grant, sizeof(grant), " g%s ", s->live[i].claim);
        s->live[i].is_told = strstr(heard, grant) != NULL;
    }
}

/* The second number of a touch's reply. */
static long long touch(scene *s, const char *claim, long long *left)
{
    char *rest;

    *left = strtoll(l3_touch(s->f, claim), &rest, 10);
    return strtoll(rest, NULL, 10);
}

/* Nobody believes beside another, and who was told is not told the contrary. */
static void judge_believers(scene *s)
{
    int believers = 0;

    hear(s);
    for (size_t i = 0; i < s->count; i++) {
        living *one = living_at(s, i);
        long long left;

        one->holds = touch(s, one->claim, &left) > FENCE_LEAST;
        demand(s, one->holds || !one->is_told,
               "one that was told does not hold");
        demand(s,
               one->holds || s->row->holder == NULL ||
                   strcmp(s->row->holder, one->claim) != 0,
               "the holder lost it");
        believers += one->holds;
    }
    demand(s, believers <= 1, "two believe");
}

static bool is_held_by_living(const scene *s)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->live[i].holds)
            return true;
    }
    return false;
}

/* Of N, once somebody has asked. */
static void judge_end(scene *s)
{
    long long left = script_pttl(s->f, "n");

    if (s->count > 0)
        demand(s, left != -1, "N has no end");
    if (!is_held_by_living(s) && !(s->fate == DEAD && s->row->may_last))
        demand(s, left <= CLAIM_LEASE_MS, "N is held by nobody");
}

/* No member stands in the line twice, or there and parked, or there and in N. */
static void judge_copies(scene *s)
{
    const char *parked = l3_parked(s->f), *holders = l3_holders(s->f);
    const char *rest = l3_line(s->f);

    while (*rest != '\0') {
        char one[16];
        size_t size = strcspn(rest, " ");

        snprintf(one, sizeof(one), "%.*s", (int)size, rest);
        rest += size + (rest[size] != '\0');
        demand(s, strstr(rest, one) == NULL, "twice in the line");
        demand(s, strstr(parked, one) == NULL, "in the line and parked");
        demand(s, strstr(holders, one) == NULL, "in the line and in N");
    }
}

/* ---- how it heals ---- */

static void serve(scene *s, living *one)
{
    demand(s, strcmp(l3_holders(s->f), one->claim) == 0, "another is in N");
    l3_close(s->f, one->claim);
    one->is_served = true;
}

/* A claim that is over is asked for no more. */
static void acquire_anew(scene *s, living *one)
{
    one->claim[1] += 3; /* another number than those of the world */
    assert_true(one->claim[1] <= '9');
    if (l3_number(l3_acquire_first(s->f, one->claim)) > FENCE_LEAST)
        serve(s, one);
}

static void give(scene *s, living *one)
{
    long long left;

    l3_go_on(s->f, one->claim);
    if (touch(s, one->claim, &left) > FENCE_LEAST)
        serve(s, one);
}

static void go_on(scene *s, living *one)
{
    long long left, state = touch(s, one->claim, &left);

    if (state == 0)
        acquire_anew(s, one);
    else if (state > FENCE_LEAST)
        serve(s, one);
    else if (left == -2)
        give(s, one);
}

/* What is held by nobody that lives: a claim that is over gives it back, if its client
   lives; a dead one's lease ends. */
static void end_others(scene *s)
{
    const char *actor = s->row->actor;

    if (s->row->after == CUT_OVER && s->fate != DEAD &&
        strcmp(l3_leave(s->f, actor), "1") == 0)
        l3_close(s->f, actor);
    else
        script_redis(s->f, "DEL n");
}

static bool all_are_served(const scene *s)
{
    for (size_t i = 0; i < s->count; i++) {
        if (!s->live[i].is_served)
            return false;
    }
    return true;
}

static bool lives_in_n(const scene *s)
{
    const char *holders = l3_holders(s->f);

    for (size_t i = 0; i < s->count; i++) {
        if (!s->live[i].is_served && strstr(holders, s->live[i].claim) != NULL)
            return true;
    }
    return false;
}

static void heal(scene *s)
{
    for (int round = 0; round < ROUNDS && !all_are_served(s); round++) {
        if (!lives_in_n(s))
            end_others(s);
        l3_at(s->ms += 1000);
        for (size_t i = 0; i < s->count; i++) {
            if (!living_at(s, i)->is_served)
                go_on(s, living_at(s, i));
        }
    }
    demand(s, all_are_served(s), "somebody waits for ever");
}

/* One that comes later finds nothing in its way, and leaves nothing without an end. */
static void judge_rest(scene *s)
{
    static const char *const keys[] = {"n", L3_LINE, L3_FENCE, L3_SIDE};

    end_others(s);
    l3_at(s->ms += 1000);
    l3_go_on(s->f, "f");
    script_redis(s->f, "DEL n");
    l3_go_on(s->f, "f"); /* of what was parked and came back nobody is left */
    l3_at(s->ms += 1000);
    demand(s, l3_number(l3_acquire_first(s->f, "f1")) > FENCE_LEAST,
           "it is not free");
    demand(s, strcmp(l3_keep(s->f, "f1", "90000"), "90000") == 0,
           "it is not kept");
    l3_acquire(s->f, "f2");
    l3_touch(s->f, "f2");
    for (size_t i = 0; i < 4; i++)
        demand(s, script_pttl(s->f, keys[i]) != -1, keys[i]);
}

/* ---- a row ---- */

/* Whether it was cut. */
static bool run_cut(scene *s)
{
    const char *reply;

    script_start_over(s->f);
    l3_at(0);
    l3_cut(0);
    if (s->f->inboxes != NULL) {
        redisFree(s->f->inboxes);
        s->f->inboxes = NULL;
    }
    l3_hear(s->f, "abcdf");
    s->row->begin(s->f);
    s->ms = l3_now();
    l3_heard(s->f);
    l3_cut(s->nth);
    reply = s->row->run(s->f);
    l3_cut(0);
    s->count = 0;
    return strstr(reply, "CUT") != NULL;
}

static bool check_cut(script_fixture *f, const cut_row *row, int nth, int way)
{
    scene s = {.f = f, .row = row, .nth = nth};

    s.fate = (fate)(way % FATES);
    s.is_backward = way >= FATES;
    if (!run_cut(&s))
        return false;
    add_living(&s, row->live);
    end_actor(&s);
    judge_believers(&s);
    delete_field(&s);
    judge_end(&s);
    judge_copies(&s);
    heal(&s);
    judge_rest(&s);
    return true;
}

void cut_check(script_fixture *f, const cut_row *row)
{
    int nth = 1;

    while (nth < CUTS_MOST && check_cut(f, row, nth, 0)) {
        for (int way = 1; way < 2 * FATES; way++)
            assert_true(check_cut(f, row, nth, way));
        nth++;
    }
    assert_in_range(nth, 2, CUTS_MOST - 1);
}
