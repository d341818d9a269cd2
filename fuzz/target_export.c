/* SPDX-License-Identifier: MIT */

/*
 * Exported text: whatever it is, an import answers. One of a server that
 * agrees to anything, and one of a server that does not.
 */

#include <stdlib.h>
#include <string.h>

#include "things.h"

/* What another process might say; the input takes the place of the end. */
static char *text_make(input *in)
{
    static const char *const beginnings[] =
        {"",
         "latchkey2 lock 01234567-0123-4123-8123-0123456789ab:7 ",
         "latchkey2 fairlock 01234567-0123-4123-8123-0123456789ab:7 9 9 ",
         "latchkey2 rwlock 01234567-0123-4123-8123-0123456789ab:7 ",
         "latchkey2 semaphore 01234567-0123-4123-8123-0123456789ab:7 9 ",
         "latchkey2 siglock 01234567-0123-4123-8123-0123456789ab:7 "};
    const char *begin = beginnings[input_below(in, 6)];
    size_t head = strlen(begin);
    char *text = malloc(head + in->left + 1);

    if (text == NULL)
        input_fail("no memory");
    memcpy(text, begin, head);
    if (in->left > 0)
        memcpy(text + head, in->at, in->left);
    text[head + in->left] = '\0';
    return text;
}

/* A hold that came of the text goes out as text again, and comes in. */
static void go_round(things *t, unsigned kind, lk_hold *before)
{
    char text[LK_EXPORT_SIZE];
    lk_status status = lk_hold_export(before, text, sizeof(text));
    lk_hold *hold = NULL;

    if (status == LK_ELOST) { /* a lease may be short */
        (void)lk_hold_release(before);
        return;
    }
    if (status != LK_OK)
        input_fail(lk_last_error());
    status = things_import(t, kind, text, NULL, &hold);
    if (status == LK_OK)
        (void)lk_hold_release(hold);
    else if (status != LK_ELOST)
        input_fail(lk_last_error());
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    input in = {.at = bytes, .left = size};
    unsigned kind = input_below(&in, THINGS_IMPORTS);
    unsigned bits = input_byte(&in);
    lk_hold *hold = NULL;
    char *text = text_make(&in);
    host h;
    calls c;
    things t;

    host_open(&h, (input){NULL, 0}, NULL);
    h.is_proper = (bits & 2) != 0;
    calls_begin(&c, &h);
    c.longest_ms = INT64_MAX;
    things_new(&t, &c);
    if (things_import(&t, kind, text, NULL, &hold) == LK_OK) {
        if (!h.may_have_given)
            input_fail("an import that nobody has confirmed");
        if ((bits & 1) != 0)
            (void)lk_hold_release(hold);
        else
            go_round(&t, kind, hold);
    }
    calls_end(&c);
    things_free(&t);
    host_close(&h);
    free(text);
    return 0;
}
