/* SPDX-License-Identifier: MIT */

#include "play/profile.h"

#include <string.h>

const char *sim_primitive_word(sim_primitive primitive)
{
    static const char *const words[SIM_PRIMITIVES] =
        {"lock",        "spin lock", "fair lock",       "leader",  "read",
         "upgradeable", "write",     "semaphore",       "siglock", "stripe",
         "multilock",   "latch",     "plain semaphore", "redlock", "barrier",
         "cell",        "flight",    "timed latch",     "observer"};

    return words[primitive];
}

const char *sim_profile_word(sim_profile profile)
{
    static const char *const words[SIM_PROFILES + 1] =
        {"lock",     "fairlock",  "rwlock",  "semaphore", "siglock",
         "stripes",  "multilock", "latch",   "plain",     "redlock",
         "barrier",  "cell",      "flight",  "export",    "limit",
         "timed",    "nameless",  "newborn", "turns",     "extended",
         "election", "all"};

    return words[profile];
}

bool sim_profile_find(const char *word, sim_profile *ret_profile)
{
    for (int i = 0; i <= SIM_PROFILES; i++) {
        if (strcmp(sim_profile_word((sim_profile)i), word) == 0) {
            *ret_profile = (sim_profile)i;
            return true;
        }
    }
    return false;
}
