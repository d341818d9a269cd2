/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_STANDIN_SCRIPTS_H
#define LK_TESTS_SUPPORT_STANDIN_SCRIPTS_H

/* The scripts of the stand-in, for standin.c. */
enum {
    STANDIN_ACQUIRE,
    STANDIN_RELEASE,
    STANDIN_FORCE,
    STANDIN_RENEW,
    STANDIN_FAIR_ACQUIRE,
    STANDIN_FAIR_GIVE_UP,
    STANDIN_FAIR_RELEASE,
    STANDIN_FAIR_FORCE,
    STANDIN_STEPS
};

extern const char *const standin_scripts[STANDIN_STEPS];

#endif /* LK_TESTS_SUPPORT_STANDIN_SCRIPTS_H */
