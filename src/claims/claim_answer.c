/* SPDX-License-Identifier: MIT */

/*
 * What the server answers a claim that seeks, and when the claim looks again.
 *
 * Acquire answers granted, queued or busy. Queued, the claim looks again about
 * every second, and as soon as the holder's lease ends; each answer "still
 * queued" moves bound forward, from which the deadline of a pushed grant is
 * counted.
 */

#include "base/deadline.h"
#include "base/words.h"
#include "claims/claim_private.h"
#include "claims/node.h"
#include "claims/refusal.h"
#include "server/reply.h"

enum {
    LOOK_MS = 1000,      /* the longest sleep between two looks */
    LOOK_SOONEST_MS = 5, /* the shortest, but for a name that others hold */
    CONTEND_MS = 20,     /* the longest pause at that, */
    CONTEND_PART = 16,   /* which is such a part of the time at it */
    CONTEND_LOST = 2,    /* too late so often, it looks in between, */
    CONTEND_LOOKS = 4,   /* so often in each hold of others */
    REFUSED_MS = 20      /* the first pause after a refusal that may pass */
};

/* ---- when it looks again ----------------------------------------------------- */

/* The answer leads nowhere: it is to be asked once more. */
static void ask_again(const lk__claim *claim)
{
    lk__wait *head = lk__place_head(claim);

    if (head != NULL)
        lk__tempo_again(&head->tempo, lk__client_now(claim->place->client));
}

void lk__claim_look_after(lk__claim *claim, uint64_t ms)
{
    lk_client *client = claim->place->client;

    lk__alarm_set(&client->alarms, &claim->alarm,
                  lk__client_now(client) + ms * LK__MS);
}

/* The next look: within a second, jittered, or when the lease has ended. */
static void look_later(lk__claim *claim, int64_t ttl_ms)
{
    uint64_t ms =
        LOOK_MS - lk__client_random(claim->place->client, LOOK_MS / 4);

    if (ttl_ms >= 0 && (uint64_t)ttl_ms + LOOK_SOONEST_MS < ms)
        ms = (uint64_t)ttl_ms + LOOK_SOONEST_MS;
    lk__claim_look_after(claim, ms);
}

/*
 * A name that goes from hand to hand is free for moments only, and the one that
 * just released it may be back sooner than anybody who is told: so it looks in
 * between as well. The looks come a little unevenly: else they would fall
 * into step with holds of even length.
 */
static void look_between(lk__claim *claim, uint64_t pause_ns)
{
    lk_client *client = claim->place->client;
    uint64_t ns = pause_ns;

    if (ns < LK__MS)
        ns = LK__MS;
    if (ns > CONTEND_MS * LK__MS)
        ns = CONTEND_MS * LK__MS;
    lk__alarm_set(&client->alarms, &claim->alarm,
                  lk__client_now(client) + ns / 2 +
                      lk__client_random(client, ns));
}

/*
 * Others hold the name, or it lies free for them, and nobody will hand it over:
 * it looks when that changes. Where it is not known until when the name is
 * theirs, it asks. Where changes are not told the first looks come fast; the
 * longer it takes, the less is lost by waiting.
 */
static void contend(lk__claim *claim, int64_t left_ms, bool is_held)
{
    uint64_t now = lk__client_now(claim->place->client);
    lk__contest *contest = &claim->seek->contest;

    contest->is_on = true;
    contest->lost = is_held ? contest->lost + contest->told : 0;
    contest->told = false;
    if (contest->since == 0)
        contest->since = now;
    if ((!is_held && left_ms < 0) || !lk__track_want(claim->place, is_held))
        look_between(claim, (now - contest->since) / CONTEND_PART);
    else if (contest->lost >= CONTEND_LOST)
        look_between(claim, contest->held_ns / CONTEND_LOOKS);
    else
        look_later(claim, left_ms);
}

/* Where the name stood open, the others' turn is first. */
static uint64_t opened_ms(const lk__claim *claim)
{
    return claim->place->kind->holdless ? 0 : 1;
}

void lk__claim_opened(lk__claim *claim)
{
    claim->opened = lk__claim_is_looking(claim);
    if (claim->state == LK__CLAIM_QUEUED)
        lk__claim_look_after(claim, opened_ms(claim));
}

void lk__claim_told(lk__claim *claim)
{
    lk__contest *contest = &claim->seek->contest;
    uint64_t now = lk__client_now(claim->place->client);

    contest->held_ns = contest->told_at == 0 ? 0 : now - contest->told_at;
    contest->told_at = now;
    contest->told = true;
    claim->opened = lk__claim_is_looking(claim);
    lk__claim_seek(claim);
}

void lk__claim_look_again(lk__claim *claim)
{
    claim->opened = lk__claim_is_looking(claim);
    lk__claim_look_now(claim);
}

/* Not while a pause lasts: that would never end. */
void lk__claim_hinted(lk__claim *claim)
{
    lk__wait *head = lk__place_head(claim);
    uint64_t now = lk__client_now(claim->place->client);

    if (head != NULL && head->tempo.until <= now)
        head->tempo.until = lk__tempo_hint(&head->hints, now);
    lk__claim_look_again(claim);
}

void lk__claim_look_now(lk__claim *claim)
{
    if (claim->state == LK__CLAIM_QUEUED)
        lk__claim_look_after(claim, 0);
}

void lk__claim_ask_again(lk__claim *claim)
{
    ask_again(claim);
    lk__claim_look_now(claim);
}

/* ---- answers -------------------------------------------------------------- */

/* Nobody waits who wants to hear of it at once. */
static bool rides_out(const lk__claim *claim)
{
    const lk__wait *head = lk__place_head(claim);

    return head == NULL || !head->try_only;
}

/* What was too late once is so again, if a lease is no longer than an answer's
   way: others of the line have their turn in between. */
static void let_others(const lk__claim *claim)
{
    if (claim->line == LK__LINE_COMMON && claim->place->first_wait != NULL)
        lk__wait_step_back(claim->place->first_wait);
}

/*
 * The lease counts from when the server was asked. An answer that took longer
 * than that brings a hold that is over already: it is given back, and the wait
 * goes on. A try has no time to wait with.
 */
static void
hold_answered(lk__claim *claim, uint64_t lease_ms, lk__grant_how how)
{
    uint64_t deadline = lk__deadline_ns(claim->seek->look.sent_at, lease_ms);

    lk_client *client = claim->place->client;
    bool gives = lk__node_gives(claim->place->node);

    if (gives && deadline > lk__client_now(client)) {
        lk__claim_hold(claim, deadline, how);
        return;
    }
    claim->state = LK__CLAIM_UNSURE; /* at the server: it is given back */
    if (rides_out(claim)) {
        ask_again(claim);
        let_others(claim);
        lk__claim_give_up(claim, LK_OK, NULL);
    } else {
        lk__claim_give_up(claim, LK_EINDOUBT,
                          gives ? "the lease ended before the answer came"
                                : "the server was not believed any more when "
                                  "it answered");
    }
}

/* What is left was counted when the server answered, after this was sent. */
static void on_granted(lk__claim *claim, const lk__seek_answer *answer)
{
    uint64_t lease_ms = answer->left_ms < 0 ? 0 : (uint64_t)answer->left_ms;

    if (lease_ms > claim->lease_ms)
        lease_ms = claim->lease_ms;
    lk__claim_set_fence(claim, answer->fence, answer->top_fence);
    hold_answered(claim, lease_ms,
                  answer->found && lease_ms < claim->lease_ms
                      ? LK__GRANT_FOUND
                      : LK__GRANT_ANSWERED);
}

/* From now on it looks with the others of its place. */
static void touch_on(lk__claim *claim, int64_t left_ms)
{
    lk__alarm_clear(&claim->place->client->alarms, &claim->alarm);
    lk__touch_later(claim->place, left_ms);
}

static void on_queued(lk__claim *claim, const lk__seek_answer *answer)
{
    claim->state = LK__CLAIM_QUEUED;
    claim->seek->contest.is_on = false;
    claim->seek->ticket = answer->ticket;
    lk__claim_still_queued(claim, claim->seek->look.sent_at);
    if (answer->more) {
        ask_again(claim);
        lk__claim_look_after(claim, 0);
    } else if (claim->opened) {
        lk__claim_look_after(claim, opened_ms(claim));
    } else if (answer->next != LK__NEXT_NOT) {
        contend(claim, answer->left_ms, answer->next == LK__NEXT_HELD);
    } else if (claim->line == LK__LINE_OWN) {
        touch_on(claim, answer->left_ms);
    } else {
        look_later(claim, answer->left_ms);
    }
}

void lk__claim_still_queued(lk__claim *claim, uint64_t sent_at)
{
    if (claim->seek->bound == LK__NEVER || sent_at > claim->seek->bound)
        claim->seek->bound = sent_at;
}

/* Not queued: the wait wanted one try, or the inbox does not stand yet. */
bool lk__claim_is_spinning(const lk__claim *claim)
{
    return claim->seek != NULL && claim->seek->spin.most_ms != 0;
}

/* Full jitter: claims that failed together do not try together. */
static void spin_on(lk__claim *claim)
{
    lk_client *client = claim->place->client;
    lk__seeking *seek = claim->seek;
    uint64_t limit =
        seek->spin_ms == 0 ? seek->spin.first_ms : seek->spin_ms * 2;

    seek->spin_ms = limit < seek->spin.most_ms ? limit : seek->spin.most_ms;
    lk__alarm_set(&client->alarms, &claim->alarm,
                  lk__client_now(client) +
                      lk__client_random(client, seek->spin_ms * LK__MS) + 1);
}

/* Not to be handed over either: told by the signal, or found by looking. */
static void listen_on(lk__claim *claim, int64_t left_ms)
{
    lk__signal_want(claim->place);
    if (claim->opened)
        lk__claim_seek(claim);
    else
        look_later(claim, left_ms);
}

static void on_busy(lk__claim *claim, int64_t left_ms)
{
    lk__place *place = claim->place;
    const lk__wait *head = lk__place_head(claim);

    claim->signaled = claim->signaled && claim->opened;
    if (head == NULL || head->try_only) {
        lk__claim_pass_signal(claim);
        lk__claim_kill(claim);
        lk__place_failed(place, claim, LK_EBUSY, place->kind->busy);
        return;
    }
    if (lk__claim_is_spinning(claim)) {
        spin_on(claim);
        return;
    }
    if (place->kind->signals) {
        listen_on(claim, left_ms);
        return;
    }
    ask_again(claim);
    lk__topics_await(place);
    if (lk__place_can_queue(place))
        lk__claim_look_after(claim, 0);
    else
        look_later(claim, left_ms);
}

/* The server does not know the claim: a new one takes its place in line. */
static void on_gone(lk__claim *claim)
{
    lk__place *place = claim->place;

    ask_again(claim);
    lk__claim_kill(claim);
    lk__place_failed(place, claim, LK_OK, NULL);
}

void lk__claim_give_up(lk__claim *claim, lk_status status, const char *words)
{
    lk__place *place = claim->place;

    lk__claim_ref(claim);
    lk__claim_leave(claim);
    lk__place_failed(place, claim, status, words);
    lk__claim_unref(claim);
}

/* It must not hold any more, or its wait is over: an operator revoked it. Before
   its answer was lost it may have been granted. */
static void on_void(lk__claim *claim)
{
    ask_again(claim);
    lk__claim_give_up(claim, LK_OK, NULL);
}

/* What it asks for cannot be had, now or ever: the server has nothing of it. */
static void on_ends(lk__claim *claim, const lk__seek_answer *answer)
{
    lk__place *place = claim->place;
    const lk__terms *terms = lk__claim_terms(claim);
    const lk__found found = {.number = answer->all,
                             .asked = answer->end == LK_EMISMATCH
                                          ? terms->number
                                          : terms->need};
    char text[LK__REFUSAL_SIZE];

    lk__claim_kill(claim);
    lk__place_failed(place, claim, answer->end,
                     lk__refusal_words(place, answer->end, NULL, found, text));
}

void lk__claim_settle(lk__claim *claim)
{
    lk__place_taken(claim->place, claim);
}

/* The server refuses for now. What it was asked for changes nothing if it is
   asked for again, and whoever waits has a time of his own. */
static void refused_for_now(lk__claim *claim)
{
    lk_client *client = claim->place->client;
    uint64_t limit = REFUSED_MS;

    for (unsigned i = 0; i < claim->seek->refusals && limit < LOOK_MS; i++)
        limit *= 2;
    if (limit > LOOK_MS)
        limit = LOOK_MS;
    claim->seek->refusals++;
    lk__claim_pass_signal(claim);
    lk__alarm_set(&client->alarms, &claim->alarm,
                  lk__client_now(client) +
                      lk__client_random(client, limit * LK__MS) + LK__MS);
}

/* A slot that was sent on twice within moments is followed when these are over: a
   try has time for an answer, and got none yet. */
static bool goes_on(const lk__claim *claim, const redisReply *reply)
{
    return lk__node_passes(&claim->seek->look, reply) &&
           (rides_out(claim) || lk__reply_is_error(reply, "MOVED"));
}

void lk__claim_refused(lk__claim *claim, lk_status status,
                       const redisReply *reply)
{
    char text[LK__REFUSAL_SIZE];

    if (goes_on(claim, reply)) {
        refused_for_now(claim);
        return;
    }
    if (lk__reply_is_noscript(reply)) {
        lk__claim_seek(claim);
        return;
    }
    if (lk__reply_is_void(reply)) {
        on_void(claim);
        return;
    }
    if (status == LK_ELOADING || status == LK_EREADONLY)
        return; /* the connection was left; what to send is seen again then */
    if (status == LK_EPROTO) {
        if (!lk__claim_is_seeking(claim))
            return; /* the connection was left, and with it what waited */
        claim->in_doubt = true; /* it may have been granted */
    }

    lk__claim_give_up(claim, status,
                      lk__refusal_words(claim->place, status,
                                        lk__reply_words(reply),
                                        (lk__found){.number = 0}, text));
}

static void on_garbage(lk__claim *claim, const redisReply *reply)
{
    lk__conn_break(&claim->place->node->command, LK_EPROTO,
                   "an answer of a script is not understood");
    lk__claim_refused(claim, LK_EPROTO, reply);
}

/* A wait that sat down after the look was sent has not been told anything yet. */
static void seek_on(lk__claim *claim)
{
    claim->state = LK__CLAIM_QUEUED;
    lk__claim_look_now(claim);
}

/* True: nobody is left for whom the claim waits. */
static bool judge_all(lk__claim *claim, const redisReply *reply)
{
    lk__place *place = claim->place;

    if (place->kind->judge == NULL)
        return false;
    lk__place_judge(claim, reply);
    return !lk__claim_is_seeking(claim);
}

static void on_held(lk__claim *claim, const lk__seek_answer *answer)
{
    const lk__kind *kind = claim->place->kind;

    if (kind->judge != NULL)
        seek_on(claim); /* for those that came in between */
    else if (kind->holdless)
        lk__claim_settle(claim);
    else
        on_granted(claim, answer);
}

void lk__claim_take_answer(lk__claim *claim, const redisReply *reply)
{
    lk__seek_answer answer = {.left_ms = -1};

    claim->in_doubt = false;
    claim->seek->refusals = 0;
    if (judge_all(claim, reply))
        return;
    if (lk__claim_protocol(claim)->read_seek(claim, reply, &answer) != LK_OK ||
        answer.top_fence > LK__NUMBER_MAX) {
        on_garbage(claim, reply);
        return;
    }
    switch (answer.what) {
    case LK__SEEK_QUEUED:
        on_queued(claim, &answer);
        break;
    case LK__SEEK_HELD:
        if (answer.more)
            lk__claim_hand_on(claim->place);
        on_held(claim, &answer);
        break;
    case LK__SEEK_BUSY:
        on_busy(claim, answer.left_ms);
        break;
    case LK__SEEK_GONE:
        on_gone(claim);
        break;
    case LK__SEEK_ENDS:
        on_ends(claim, &answer);
        break;
    }
}

void lk__claim_take_confirmation(lk__claim *claim, const redisReply *reply)
{
    lk__keep_answer answer = {.is_held = false};

    if (lk__claim_protocol(claim)->read_keep(reply, claim->fence, &answer) !=
        LK_OK)
        on_garbage(claim, reply);
    else if (answer.is_held)
        hold_answered(claim, lk__kept_ms(&answer, claim->lease_ms),
                      LK__GRANT_ANSWERED);
    else if (answer.loss == LK_LOSS_REVOKED)
        on_void(claim);
    else
        on_gone(claim);
}
