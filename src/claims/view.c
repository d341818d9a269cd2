/* SPDX-License-Identifier: MIT */

/* What one master of a cluster says of it. */

#include "claims/view.h"

#include <string.h>

#include "base/mem.h"
#include "claims/node.h"

lk__view *lk__view_new(lk__node *node)
{
    lk__view *view = lk__alloc(sizeof(*view));

    if (view != NULL)
        view->node = node;
    return view;
}

void lk__view_free(lk__view *view)
{
    if (view == NULL)
        return;
    lk__slots_free(view->slots);
    lk__free(view->whom);
    lk__free(view);
}

lk__node *lk__view_owner(const lk__view *view, unsigned slot)
{
    unsigned number = view->slots == NULL ? 0 : view->slots->numbers[slot];

    return number == 0 ? NULL : view->whom[number - 1];
}

void lk__view_take(lk__view *view, lk__slots *slots, lk__node **whom,
                   uint64_t asked_at)
{
    lk__slots_free(view->slots);
    lk__free(view->whom);
    view->slots = slots;
    view->whom = whom;
    view->asked_at = asked_at;
    view->compared_at = 0;
}

bool lk__view_names(const lk__view *view, const lk__node *node)
{
    size_t count = view->slots == NULL ? 0 : view->slots->master_count;

    for (size_t i = 0; i < count; i++) {
        if (view->whom[i] == node)
            return true;
    }
    return false;
}

void lk__view_forget(lk__view *view)
{
    lk__view_take(view, NULL, NULL, 0);
}

/* Of a slot that moved after it was asked it says nothing. One that names nobody
   takes nothing away from whoever gives already; but it has yet to name one that is
   not elected: it may have named the one before, and so be counted by others. */
static bool is_denial(const lk__view *view, unsigned slot,
                      const lk__node *owner, uint64_t changed_at)
{
    const lk__node *named = lk__view_owner(view, slot);

    if (view->slots == NULL || named == owner)
        return false;
    return owner->belief.from == LK__NEVER ||
           (named != NULL && changed_at <= view->asked_at);
}

void lk__view_compare(lk__view *view, lk__node *const *owners,
                      const uint64_t *changed_at)
{
    view->compared_at = view->asked_at;
    memset(view->denies, 0, sizeof(view->denies));
    for (unsigned slot = 0; slot < LK__SLOTS; slot++) {
        unsigned number = owners[slot]->number;

        if (is_denial(view, slot, owners[slot], changed_at[slot]))
            view->denies[number / 8] |= (unsigned char)(1U << (number % 8));
    }
}

bool lk__view_denies(const lk__view *view, const lk__node *node)
{
    return (view->denies[node->number / 8] >> (node->number % 8) & 1U) != 0;
}

bool lk__view_disagrees(const lk__view *view)
{
    for (size_t i = 0; i < sizeof(view->denies); i++) {
        if (view->denies[i] != 0)
            return true;
    }
    return false;
}
