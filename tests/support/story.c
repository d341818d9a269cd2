/* SPDX-License-Identifier: MIT */
#include "support/story.h"

#include <string.h>

#include "support/check.h"

enum {
    TOLD_MOST = 40,
    IDS = 1000,
    LEASE_MS = 1000,
    KEY = 1,
    SOON_NS = 5 * STORY_MS
};

/* A story on its way. Ids of one are beyond those of another, and all end at one
   time. */
typedef struct telling {
    const story *story;
    uint64_t number, shift; /* shift: ms */
    size_t told;
} telling;

typedef struct tellings {
    telling each[TOLD_MOST];
    size_t count;
    uint64_t end; /* ms */
} tellings;

static const checker_options options = {.late_ns = SOON_NS,
                                        .told_ns = SOON_NS,
                                        .granted_ns = UINT64_C(400) * STORY_MS,
                                        .answer_ns = SOON_NS,
                                        .permits = 3};

static void number(const telling *t, uint64_t *id)
{
    if (*id != 0)
        *id += t->number * IDS;
}

static void number_all(const telling *t, history_event *event)
{
    number(t, &event->operation);
    number(t, &event->key);
    number(t, &event->hold);
    number(t, &event->owner);
    if (event->process != 0)
        event->process += (uint32_t)(t->number * IDS);
}

static history_event event_of(const telling *t)
{
    const story *s = t->story;
    history_event event = s->events[t->told];

    event.at = (event.at + t->shift) * STORY_MS;
    if (event.deadline != 0)
        event.deadline = (event.deadline + t->shift) * STORY_MS;
    event.kind = (uint8_t)s->kind;
    event.sequence = t->told + 1;
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
    number_all(t, &event);
    return event;
}

static bool is_over(const telling *t)
{
    return t->told == STORY_EVENTS ||
           t->story->events[t->told].phase == HISTORY_EMPTY;
}

/* NULL: all is told. */
static telling *next_of(tellings *all)
{
    telling *next = NULL;

    for (telling *t = all->each; t < all->each + all->count; t++) {
        if (!is_over(t) && (next == NULL || event_of(t).at < event_of(next).at))
            next = t;
    }
    return next;
}

static void judge(const story *s, const checker *c)
{
    size_t listed;
    uint64_t total;
    const checker_violation *found = checker_violations(c, &listed, &total);

    for (size_t i = 0; i < listed; i++)
        if (s->found == NULL || strcmp(found[i].name, s->found) != 0)
            fail_msg("%s: %s: %s", s->title, found[i].name, found[i].words);
    if (s->found != NULL && total == 0)
        fail_msg("%s: not found: %s", s->title, s->found);
}

static void add(tellings *all, const story *s)
{
    assert_true(all->count < TOLD_MOST);
    all->each[all->count] = (telling){.story = s, .number = all->count};
    all->count++;
    if (all->end < s->end)
        all->end = s->end;
}

static void story_tell(const story *s, const story *valid, size_t count)
{
    checker *c = checker_new(&options);
    tellings all = {.count = 0};
    telling *next;

    assert_non_null(c);
    add(&all, s);
    for (size_t i = 0; i < count; i++) {
        if (&valid[i] != s)
            add(&all, &valid[i]);
    }
    for (telling *t = all.each; t < all.each + all.count; t++)
        t->shift = all.end - t->story->end;
    while ((next = next_of(&all)) != NULL) {
        const history_event event = event_of(next);

        assert_true(checker_feed(c, &event));
        next->told++;
    }
    checker_end(c, all.end * STORY_MS);
    judge(s, c);
    checker_free(c);
}

void story_tell_all(const story *stories, size_t count, const story *valid,
                    size_t valid_count)
{
    for (size_t i = 0; i < count; i++)
        story_tell(&stories[i], valid, valid_count);
}
