/* SPDX-License-Identifier: MIT */

/* Guests; see guest.h. */

#include "base/guest.h"

#include <stddef.h>

void lk__guest_add(lk__guest **list, lk__guest *guest)
{
    guest->next = *list;
    if (guest->next != NULL)
        guest->next->link = &guest->next;
    guest->link = list;
    *list = guest;
}

void lk__guest_remove(lk__guest *guest)
{
    if (guest->link == NULL)
        return;
    *guest->link = guest->next;
    if (guest->next != NULL)
        guest->next->link = guest->link;
    guest->link = NULL;
    guest->next = NULL;
}

void lk__guests_tell(lk__guest *first)
{
    while (first != NULL) {
        lk__guest *next = first->next;

        first->tell(first);
        first = next;
    }
}
