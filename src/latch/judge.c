/* SPDX-License-Identifier: MIT */

/* What became of the generation that somebody waits for. */

#include "latch/judge.h"

#include "latch_table.h"

bool lk__latch_is_gap(uint64_t number)
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
    bool waits_for_armed = *mark != 0 && !lk__latch_is_gap(*mark);

    if (verdict != LK__VERDICT_WAIT || says_nothing(facts))
        return verdict;
    if (waits_for_armed && (facts->open || lk__latch_is_gap(facts->gen)))
        return LK__VERDICT_GONE; /* the server knows nothing of it any more */
    if (waits_for_armed && facts->gen < *mark)
        return LK__VERDICT_GONE; /* it came back with an older state */
    if (facts->open)
        return LK__VERDICT_OK;
    if (*mark == 0 || !lk__latch_is_gap(facts->gen))
        *mark = facts->gen;
    return LK__VERDICT_WAIT;
}

lk__verdict lk__latch_judge(uint64_t *mark, const void *reply)
{
    lk__latch_acquire_answer a;
    lk__latch_facts facts = {.open = false};

    if (lk__answer_read(&lk__latch_acquire_answers, reply, &a) != LK_OK ||
        a.kind == LK__LATCH_ACQUIRE_BUSY)
        return LK__VERDICT_WAIT;
    if (a.kind == LK__LATCH_ACQUIRE_OPENED) {
        facts.open = true;
        facts.gen = (uint64_t)a.opened.gen;
        facts.opened = (uint64_t)a.opened.opened;
        facts.gone = (uint64_t)a.opened.gone;
    } else {
        facts.gen = (uint64_t)a.waits.gen;
        facts.opened = (uint64_t)a.waits.opened;
        facts.gone = (uint64_t)a.waits.gone;
    }
    return lk__latch_judge_facts(mark, &facts);
}
