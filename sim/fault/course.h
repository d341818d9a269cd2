/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_FAULT_COURSE_H
#define LK_SIM_FAULT_COURSE_H

#include "fault/crew.h"
#include "fault/seeker.h"

/*
 * A crew and a seeker while masters change: faults that are written down, the
 * work that goes on, and what the histories say in the end.
 */

enum { COURSE_LEFT = 64 };

typedef struct course {
    crew crew;
    seeker seeker;
    const char *left[COURSE_LEFT]; /* keys that nothing ends; ended by NULL */
    size_t left_count;
} course;

/* The directory without histories. False: errno tells why. */
bool course_open(const course *c);
/* The crew has come to its end; the directory is emptied if nothing was found. */
void course_close(course *c, bool is_clean);

/* A fault begins (HISTORY_INVOKE) or is over (HISTORY_OK). loses: what was
   acknowledged may be gone, places in queues and counts; all else is claimed. */
void course_fault(course *c, const char *name, history_phase phase, bool loses);

/* There are so many more grants from now on. False: it says that there are not. */
bool course_wait_grants(const course *c, uint64_t more);
/* The seeker has had more than so many, likewise. */
bool course_wait_found(const course *c, uint64_t before);

/* Notes the keys of a server that have no end, but those that may stay. */
void course_look(course *c, server *at);

/* allows_two: two may hold at a time, and so may a fence be behind. Prints what was
   found, and returns the exit status. played: all of it was. */
int course_verdict(course *c, bool played, bool allows_two);

/* Prints the least, the most and the median of some times, if there are any, and
   sorts them. */
void course_tell_times(const char *what, uint64_t *ms, size_t count);

#endif /* LK_SIM_FAULT_COURSE_H */
