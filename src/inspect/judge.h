/* SPDX-License-Identifier: MIT */
#ifndef LK_INSPECT_JUDGE_H
#define LK_INSPECT_JUDGE_H

#include "inspect/facts.h"
#include "inspect/report.h"

/* What judge.c and its parts tell each other. */

/* failover=fast */
void lk__judge_fast(lk__report *report);

/* ---- judge_sentinels.c ---- */

/* Whom the sentinels name, and whether they know each other; nothing where the URL
   names none. */
void lk__judge_sentinels(lk__report *report, const lk__facts *facts);

/* ---- judge_master.c ---- */

/* What a master says of its cluster; nothing of another server. */
void lk__judge_master(lk__report *report, const lk__facts *facts);

#endif /* LK_INSPECT_JUDGE_H */
