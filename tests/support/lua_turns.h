/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_LUA_TURNS_H
#define LK_TESTS_SUPPORT_LUA_TURNS_H

#include "support/lua_lock.h"

/*
 * For tests of turns between clients of ours and those that stand in no queue of
 * ours: ours are a:1, b:1 and c:1.
 */

enum { HOUR_MS = 3600000 };

/* What is answered to whoever has the lock. */
#define TURNS_HELD "2 30000 0 0 0 (0) (1 * 30000 *)"

/* a:1 holds, b:1 and c:1 wait and can be reached; it is 0. */
void turns_two_wait(script_fixture *f);
/* Redisson is there, unseen; a:1 has left the name open at 0. */
void turns_left_open(script_fixture *f);
/* A client of theirs takes the open name at this time, and gives it back later. */
void turns_theirs_had_it(script_fixture *f, long long from, long long till);

void turns_assert(script_fixture *f, char side, long long length);
void turns_assert_left_open(script_fixture *f);

#endif /* LK_TESTS_SUPPORT_LUA_TURNS_H */
