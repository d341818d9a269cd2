/* SPDX-License-Identifier: MIT */

/*
 * A hand that takes names and gives them back without much thought: millions of
 * holds in the time in which the others have thousands. Mostly it is alone with
 * its name, which is what most locks are most of the time; now and then it wants
 * that of another one, so that each meets somebody.
 */

#include "fault/hand.h"

enum { PAUSE_US = 1000, STRAYS = 24, THINKS = 200 };

/* How often it writes under its hold, of so many. */
enum { WRITES = 4 };

static int64_t draw_wait(hand *h)
{
    return play_draw(&h->random, 8) == 0 ? 0 : 1000;
}

static unsigned draw_name(hand *h)
{
    if (play_draw(&h->random, STRAYS) != 0)
        return h->home;
    return PLAY_NAMES + (unsigned)play_draw(&h->random, PLAY_BRISK_NAMES);
}

void brisk_round(hand *h)
{
    const unsigned name = draw_name(h);
    grip g = grip_new(h, name, grip_draw_mode(h, name), NULL);

    if (!grip_acquire(&g, draw_wait(h))) {
        hand_work(h, PAUSE_US);
        return;
    }
    if (play_draw(&h->random, THINKS) == 0) {
        grip_use(h, &g);
        return;
    }
    if (grip_check(&g) && play_draw(&h->random, WRITES) == 0)
        grip_write(&g);
    grip_release(&g);
    if (play_draw(&h->random, 4) == 0)
        hand_work(h, PAUSE_US);
}

void brisk_last(hand *h)
{
    grip g = grip_new(h, h->home, grip_draw_mode(h, h->home), NULL);

    if (grip_acquire(&g, PLAY_FINAL_MS))
        grip_release(&g);
}
