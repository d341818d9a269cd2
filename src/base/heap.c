/* SPDX-License-Identifier: MIT */

/*
 * A pairing heap. Each timer is due no later than its children, which hang in
 * a list from it. Setting one is a single comparison; taking the soonest out
 * joins its children in pairs, in O(log n) on average over all calls.
 */

#include "base/heap.h"

#include <stddef.h>

/* Joins two trees, either of which may be NULL, and returns the root. */
static lk__timer *meld(lk__timer *a, lk__timer *b)
{
    if (a == NULL)
        return b;
    if (b == NULL)
        return a;
    if (b->at < a->at) {
        lk__timer *swap = a;

        a = b;
        b = swap;
    }
    b->prev = a;
    b->next = a->child;
    if (b->next != NULL)
        b->next->prev = b;
    a->child = b;
    return a;
}

/* Takes the front off a list of trees. The list is singly linked by next. */
static lk__timer *take(lk__timer **list)
{
    lk__timer *timer = *list;

    if (timer != NULL) {
        *list = timer->next;
        timer->next = NULL;
        timer->prev = NULL;
    }
    return timer;
}

/*
 * Joins a list of siblings into one tree: in pairs from the left, then the
 * pairs from the right. A loop and not a recursion, since the list may be as
 * long as the heap.
 */
static lk__timer *meld_list(lk__timer *list)
{
    lk__timer *pairs = NULL;
    lk__timer *root = NULL;

    while (list != NULL) {
        lk__timer *left = take(&list);
        lk__timer *pair = meld(left, take(&list));

        pair->next = pairs;
        pairs = pair;
    }
    while (pairs != NULL)
        root = meld(root, take(&pairs));
    return root;
}

static void root_set(lk__heap *heap, lk__timer *root)
{
    heap->first = root;
    if (root != NULL)
        root->prev = root;
}

bool lk__timer_is_set(const lk__timer *timer)
{
    return timer->prev != NULL;
}

void lk__timer_clear(lk__heap *heap, lk__timer *timer)
{
    lk__timer *rest;

    if (!lk__timer_is_set(timer))
        return;
    rest = meld_list(timer->child);
    if (timer == heap->first) {
        root_set(heap, rest);
    } else {
        if (timer->prev->child == timer)
            timer->prev->child = timer->next;
        else
            timer->prev->next = timer->next;
        if (timer->next != NULL)
            timer->next->prev = timer->prev;
        root_set(heap, meld(heap->first, rest));
    }
    timer->child = NULL;
    timer->next = NULL;
    timer->prev = NULL;
}

void lk__timer_set(lk__heap *heap, lk__timer *timer, uint64_t at)
{
    if (lk__timer_is_set(timer) && timer->at == at)
        return;
    lk__timer_clear(heap, timer);
    timer->at = at;
    root_set(heap, meld(heap->first, timer));
}

lk__timer *lk__heap_first(const lk__heap *heap)
{
    return heap->first;
}

lk__timer *lk__heap_take_due(lk__heap *heap, uint64_t now)
{
    lk__timer *timer = heap->first;

    if (timer == NULL || timer->at > now)
        return NULL;
    lk__timer_clear(heap, timer);
    return timer;
}
