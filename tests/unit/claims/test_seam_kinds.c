/* SPDX-License-Identifier: MIT */

/* The kinds that a client has used, by which its inbox finds the claims. */

#include <stdio.h>

#include "claims/place.h"
#include "support/check.h"
#include "support/playing.h"

enum { KINDS = 40 };

PLAYED_TEST(any_number_of_families_is_found_by_its_word)
{
    static char words[KINDS][16];
    static lk__kind kinds[KINDS];
    lk__place *places[KINDS];
    lk_client *client = p->client;

    lk__client_lock(client);
    for (size_t i = 0; i < KINDS; i++) {
        snprintf(words[i], sizeof(words[i]), "family%zu", i);
        kinds[i] = (lk__kind){.family = words[i], .channel = ""};
        assert_null(lk__kind_find(client, words[i]));
        places[i] = lk__place_get(client, &kinds[i], "n");
        assert_non_null(places[i]);
    }
    for (size_t i = 0; i < KINDS; i++) {
        assert_ptr_equal(lk__kind_find(client, words[i]), &kinds[i]);
        lk__place_unref(places[i]);
    }
    assert_non_null(lk__kind_find(client, "lock"));
    lk__client_leave(client);
}
