/* SPDX-License-Identifier: MIT */
#ifndef LK_INSPECT_EXAM_H
#define LK_INSPECT_EXAM_H

#include "inspect/facts.h"
#include "inspect/probe.h"

/*
 * Finding out what one server is fit for, as a part of a probe: a few questions at
 * once, the rights one by one, and then round trips, one at a time. Everything that
 * may be denied is asked by itself.
 */

struct lk__exam;

enum {
    LK__EXAM_TRIALS = 24, /* of rights */
    LK__EXAM_TEXTS = 9    /* answers that are kept as they are */
};

/* A command under way, and who reads the answer. */
struct lk__exam_question {
    lk__probing probing; /* first */
    struct lk__exam *exam;
    void (*take)(struct lk__exam *exam, struct lk__exam_question *question,
                 const redisReply *reply);
};

/* One server. */
struct lk__exam {
    struct lk__exam *next;
    lk__probe *probe;
    struct lk__node *node;
    lk__facts facts;
    struct lk__exam_question texts[LK__EXAM_TEXTS], time, ping;
    struct lk__exam_question trials[LK__EXAM_TRIALS];
    size_t text_count;
    size_t left;                 /* questions under way */
    uint64_t first_us, first_at; /* the server's clock, and ours then */
    int64_t unsure_us;           /* by how much that may be wrong */
    int64_t apart_us;            /* this host's two clocks, then */
    unsigned repeats;
    bool measures;  /* the round trips have begun */
    bool is_missed; /* it did not answer, of a cluster */
    void (*over)(struct lk__exam *exam);
};

/* NULL: no memory. */
struct lk__exam *lk__exam_new(lk__probe *probe, struct lk__node *node);
void lk__exam_free(struct lk__exam *exam);

/* Begins it; over is set, and called when nothing of it is under way any more. */
void lk__exam_begin(struct lk__exam *exam);

/* When it is over: what is known without asking. Outside the monitor. */
void lk__exam_complete(struct lk__exam *exam);

#endif /* LK_INSPECT_EXAM_H */
