/* SPDX-License-Identifier: MIT */
#include "support/story.h"

#include <string.h>

#include "support/check.h"
#include "support/ideal.h"

enum { SEEDS = 20, LEASE_MS = 1000, KEY = 1 };

typedef struct telling {
    const story *story;
    checker *checker;
    size_t told;
} telling;

static history_event event_of(const story *s, size_t i)
{
    history_event event = s->events[i];

    event.at *= STORY_MS;
    event.deadline *= STORY_MS;
    event.kind = (uint8_t)s->kind;
    event.sequence = i + 1;
    if (event.key == 0)
        event.key = KEY;
    if (event.owner == 0)
        event.owner = event.process;
    if (event.mode == HISTORY_EXCLUSIVE &&
        (s->kind == HISTORY_SEMAPHORE || s->kind == HISTORY_PLAIN))
        event.mode = HISTORY_PERMITS;
    if (event.lease_ms == STORY_UNNAMED)
        event.lease_ms = 0;
    else if (event.lease_ms == 0 && event.call == HISTORY_ACQUIRE &&
             s->kind != HISTORY_LATCH) {
        event.lease_ms = LEASE_MS;
        event.flags |= HISTORY_RENEWED;
    }
    return event;
}

/* Those up to then. */
static void tell_up_to(telling *t, uint64_t at)
{
    while (t->told < STORY_EVENTS) {
        const history_event event = event_of(t->story, t->told);

        if (event.phase == HISTORY_EMPTY || event.at > at)
            return;
        assert_true(checker_feed(t->checker, &event));
        t->told++;
    }
}

static void tell_others(const history_event *event, void *data)
{
    telling *t = data;

    tell_up_to(t, event->at);
    assert_true(checker_feed(t->checker, event));
}

static void judge(const story *s, const checker *c, uint64_t seed)
{
    size_t listed;
    uint64_t total;
    const checker_violation *found = checker_violations(c, &listed, &total);

    for (size_t i = 0; i < listed; i++)
        if (s->found == NULL || strcmp(found[i].name, s->found) != 0)
            fail_msg("%s, seed %llu: %s: %s", s->title,
                     (unsigned long long)seed, found[i].name, found[i].words);
    if (s->found != NULL && total == 0)
        fail_msg("%s, seed %llu: not found: %s", s->title,
                 (unsigned long long)seed, s->found);
}

void story_tell(const story *s, uint64_t seed)
{
    const checker_options options = ideal_options();
    telling t = {s, checker_new(&options), 0};
    uint64_t end;

    assert_non_null(t.checker);
    end = ideal_play(seed, tell_others, &t);
    tell_up_to(&t, UINT64_MAX);
    if (end < s->end * STORY_MS)
        end = s->end * STORY_MS;
    checker_end(t.checker, end);
    judge(s, t.checker, seed);
    checker_free(t.checker);
}

void story_tell_all(const story *stories, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (uint64_t seed = 0; seed < SEEDS; seed++)
            story_tell(&stories[i], seed);
}
