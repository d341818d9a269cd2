/* SPDX-License-Identifier: MIT */
#ifndef LK_BASE_GUEST_H
#define LK_BASE_GUEST_H

/*
 * What hangs on a client beside its places, as a hold that is made of several
 * clients does: it is told what becomes of the client. Intrusive. All of it
 * inside the client's monitor; tell may take away its own guest, no other.
 */
typedef struct lk__guest lk__guest;

struct lk__guest {
    lk__guest *next, **link; /* in the list; link NULL: in none */
    void (*tell)(lk__guest *guest);
};

void lk__guest_add(lk__guest **list, lk__guest *guest);

/* Allowed when it is in no list. */
void lk__guest_remove(lk__guest *guest);

void lk__guests_tell(lk__guest *first);

#endif /* LK_BASE_GUEST_H */
