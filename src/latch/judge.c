/* SPDX-License-Identifier: MIT */

/* What became of the generation that somebody waits for. */

#include "latch/judge.h"

#include "server/reply.h"

/* Answers of the scripts; see lua/latch_wait.lua. */
enum { ANSWER_WAIT = 0, ANSWER_OPEN = 1 };

static bool is_gap(uint64_t number)
{
    return number % 2 == 1;
}

/* If it opened and was deleted since, it opened first. */
static lk__verdict passed(uint64_t mark, const lk__latch_facts *facts)
{
    if (facts->opened >= mark)
        return LK__VERDICT_OK;
    return facts->gone >= mark ? LK__VERDICT_GONE : LK__VERDICT_WAIT;
}

/* No script answers so. */
static bool says_nothing(const lk__latch_facts *facts)
{
    return !facts->open && facts->gen == 0;
}

lk__verdict lk__latch_judge_facts(uint64_t *mark, const lk__latch_facts *facts)
{
    lk__verdict verdict = *mark == 0 ? LK__VERDICT_WAIT : passed(*mark, facts);
    bool waits_for_armed = *mark != 0 && !is_gap(*mark);

    if (verdict != LK__VERDICT_WAIT || says_nothing(facts))
        return verdict;
    if (waits_for_armed && (facts->open || is_gap(facts->gen)))
        return LK__VERDICT_GONE; /* the server knows nothing of it any more */
    if (waits_for_armed && facts->gen < *mark)
        return LK__VERDICT_GONE; /* it came back with an older state */
    if (facts->open)
        return LK__VERDICT_OK;
    if (*mark == 0 || !is_gap(facts->gen))
        *mark = facts->gen;
    return LK__VERDICT_WAIT;
}

static uint64_t number_at(const redisReply *reply, size_t i)
{
    int64_t number = lk__reply_integer_at(reply, i, 0);

    return number < 0 ? 0 : (uint64_t)number;
}

lk__verdict lk__latch_judge(uint64_t *mark, const void *reply)
{
    int64_t answer = lk__reply_integer_at(reply, 0, -1);
    bool open = answer == ANSWER_OPEN;
    lk__latch_facts facts = {
        .open = open,
        .gen = number_at(reply, open ? 1 : 2),
        .opened = number_at(reply, open ? 4 : 6),
        .gone = number_at(reply, open ? 5 : 7),
    };

    if (!open && answer != ANSWER_WAIT)
        return LK__VERDICT_WAIT;
    return lk__latch_judge_facts(mark, &facts);
}
