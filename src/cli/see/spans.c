/* SPDX-License-Identifier: MIT */

/* How long holds and waits took. */

#include "cli/see/spans.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const double see_times_ends[SEE_TIMES - 1] = {0.5, 1,   2.5, 5,   10,  30,
                                              60,  120, 300, 900, 3600};

void see_spans_done(see_spans *spans)
{
    for (size_t i = 0; i < spans->count; i++) {
        free(spans->items[i].name);
        free(spans->items[i].owner);
    }
    free(spans->items);
    *spans = (see_spans){.count = 0};
}

static bool room_make(see_spans *spans)
{
    size_t room = spans->room * 2 + 64;
    see_span *items;

    if (spans->count < spans->room)
        return true;
    items = realloc(spans->items, room * sizeof(*items));
    if (items == NULL)
        return false;
    spans->items = items;
    spans->room = room;
    return true;
}

bool see_spans_add(see_spans *seen, const char *name, lk_kind kind,
                   const lk_party *party, uint64_t now_ms)
{
    see_span made = {.fence = party->fence, .kind = kind};

    if (!room_make(seen))
        return false;
    made.since_ms = party->since_ms < now_ms ? now_ms - party->since_ms : 0;
    made.name = strdup(name);
    made.owner = strdup(party->owner);
    if (made.name == NULL || made.owner == NULL) {
        free(made.name);
        free(made.owner);
        return false;
    }
    seen->items[seen->count++] = made;
    return true;
}

static int compare(const void *left, const void *right)
{
    const see_span *a = left, *b = right;
    int order = strcmp(a->name, b->name);

    if (order == 0)
        order = strcmp(a->owner, b->owner);
    if (order == 0 && a->fence != b->fence)
        order = a->fence < b->fence ? -1 : 1;
    return order;
}

static int compare_names(const void *name, const void *item)
{
    return strcmp(name, *(const char *const *)item);
}

static void times_add(see_times *times, const see_span *span, uint64_t end_ms)
{
    uint64_t ms = end_ms > span->since_ms ? end_ms - span->since_ms : 0;
    double seconds = (double)ms / 1000;
    int step = 0;

    while (step < SEE_TIMES - 1 && seconds > see_times_ends[step])
        step++;
    times->counts[span->kind][step]++;
    times->sums[span->kind] += seconds;
}

void see_spans_turn(see_spans *spans, see_spans *seen, uint64_t now_ms,
                    const char *const *blind, size_t blind_count,
                    see_times *times)
{
    uint64_t end_ms = spans->looked_ms + (now_ms - spans->looked_ms) / 2;
    size_t at = 0;

    if (seen->count > 0)
        qsort(seen->items, seen->count, sizeof(*seen->items), compare);
    for (size_t i = 0; i < spans->count; i++) {
        const see_span *old = &spans->items[i];
        int order = 1;

        while (at < seen->count && (order = compare(&seen->items[at], old)) < 0)
            at++;
        if (at < seen->count && order == 0)
            continue;
        if (blind_count == 0 || bsearch(old->name, blind, blind_count,
                                        sizeof(*blind), compare_names) == NULL)
            times_add(times, old, end_ms);
    }
    see_spans_done(spans);
    *spans = *seen;
    spans->looked_ms = now_ms;
    *seen = (see_spans){.count = 0};
}

/* ---- text -------------------------------------------------------------------- */

static void
put_kind(FILE *to, const see_times *times, const char *metric, lk_kind kind)
{
    const char *word = lk_kind_text(kind);
    uint64_t count = 0;

    for (int i = 0; i < SEE_TIMES - 1; i++) {
        count += times->counts[kind][i];
        (void)fprintf(to,
                      "latchkey_%s_bucket{kind=\"%s\",le=\"%g\"} %" PRIu64 "\n",
                      metric, word, see_times_ends[i], count);
    }
    count += times->counts[kind][SEE_TIMES - 1];
    (void)fprintf(to,
                  "latchkey_%s_bucket{kind=\"%s\",le=\"+Inf\"} %" PRIu64 "\n"
                  "latchkey_%s_sum{kind=\"%s\"} %.3f\n"
                  "latchkey_%s_count{kind=\"%s\"} %" PRIu64 "\n",
                  metric, word, count, metric, word, times->sums[kind], metric,
                  word, count);
}

void see_put_times(FILE *to, const see_times *times, const char *metric,
                   const char *help)
{
    (void)fprintf(to, "# HELP latchkey_%s %s\n# TYPE latchkey_%s histogram\n",
                  metric, help, metric);
    for (int i = LK_KIND_LOCK; i < SEE_KINDS; i++)
        put_kind(to, times, metric, (lk_kind)i);
}
