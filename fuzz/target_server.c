/* SPDX-License-Identifier: MIT */

/*
 * A hostile server: calls of every primitive, and answers made of the input.
 *
 *   1 byte   whether the greeting is answered as a server would
 *   24 bytes what is called, and when
 *   the rest what is answered
 */

#include "things.h"

enum { ACTIONS = 24 };

static void act(things *t, input *in)
{
    switch (input_below(in, 8)) {
    case 0:
        host_run_ms(t->calls->h, 1 + 8U * input_byte(in));
        break;
    case 1:
        calls_use(t->calls, in);
        break;
    case 2:
        lk_cancel_fire(t->calls->cancel);
        break;
    case 3:
    case 4:
        things_call(t, in);
        break;
    default:
        things_acquire(t, in);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    input in = {.at = bytes, .left = size};
    unsigned bits = input_byte(&in);
    input actions = input_cut(&in, ACTIONS);
    host h;
    calls c;
    things t;

    host_open(&h, in, NULL);
    h.is_rude = (bits & 1) != 0;
    calls_begin(&c, &h);
    things_new(&t, &c);
    host_run_ms(&h, 20);
    while (actions.left > 0) {
        act(&t, &actions);
        host_run_ms(&h, 10);
    }
    calls_end(&c);
    things_free(&t);
    host_close(&h);
    return 0;
}
