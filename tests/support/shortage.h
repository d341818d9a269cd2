/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_SHORTAGE_H
#define LK_TESTS_SUPPORT_SHORTAGE_H

#include <stdbool.h>

#include "shims/fail.h"

/*
 * What programs do with the library, from opening a client to its end, each
 * as one function that any call of the C library may fail: see shims/fail.h.
 * Each is run in a process of its own, first as it is, so that what is made
 * once is there, and then with one failure, or with failures from one on.
 */

typedef struct shortage {
    const char *url;
    const char *name; /* of what it is about; nobody else uses it */
    char wrong[200];  /* what must not be; "": nothing */
    bool is_left;     /* it may be there yet: a call on it was in doubt */
} shortage;

typedef struct shortage_scene {
    const char *word;
    void (*play)(shortage *s);
} shortage_scene;

extern const shortage_scene shortage_scenes[];
extern const unsigned shortage_scene_count;

/* How one run ended. */
typedef enum shortage_end {
    SHORTAGE_FINE,   /* the n-th call failed, and all was as promised */
    SHORTAGE_BEYOND, /* there is no n-th call */
    SHORTAGE_WRONG   /* told on stderr */
} shortage_end;

/* One failure of one sort. */
typedef struct shortage_try {
    const shortage_scene *scene;
    fail_point point;
    int error;
    unsigned n;
    bool forever;
} shortage_try;

/*
 * Tries, some at a time: n of 1, 1 + step and so on, until there is none such,
 * of every share-th pair of a scene and an error. Returns how many were wrong;
 * *ret_runs grows by how many there were.
 */
typedef struct shortage_plan {
    fail_point point;
    const int *errors;
    unsigned error_count;
    bool forever;
    unsigned step, share;
} shortage_plan;

unsigned
shortage_run(const char *url, const shortage_plan *plan, unsigned *ret_runs);

#endif /* LK_TESTS_SUPPORT_SHORTAGE_H */
