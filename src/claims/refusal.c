/* SPDX-License-Identifier: MIT */

/* What is wrong with a name, for people. */

#include "claims/refusal.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "claims/place.h"

static bool is_about_a_name(lk_status status)
{
    return status == LK_ETYPE || status == LK_EMISMATCH ||
           status == LK_ERANGE || status == LK_EUNSET;
}

const char *lk__refusal_words(const lk__place *place, lk_status status,
                              const char *words, lk__found found,
                              char text[LK__REFUSAL_SIZE])
{
    const lk__kind *kind = place != NULL ? place->kind : NULL;

    if (kind == NULL || !is_about_a_name(status))
        return words;
    if (found.number > 0 && kind->has != NULL)
        snprintf(text, LK__REFUSAL_SIZE,
                 "%s '%.100s' %s %" PRId64 "%s, not %" PRIu64, kind->word,
                 place->name, kind->has, found.number, kind->has_what,
                 found.asked);
    else if (status == LK_EUNSET)
        snprintf(text, LK__REFUSAL_SIZE, "%s '%.100s' is not set yet",
                 kind->word, place->name);
    else
        snprintf(text, LK__REFUSAL_SIZE, "%s '%.100s': %s", kind->word,
                 place->name, words != NULL ? words : lk_status_text(status));
    return text;
}
