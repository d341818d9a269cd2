/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_PYLOCK_H
#define LK_TESTS_SUPPORT_PYLOCK_H

#include <stdbool.h>

#include "support/server.h"

/*
 * A lock of python-redis-lock, played: its documented steps on the keys
 * `lock:<name>` and `lock-signal:<name>`. Acquiring is a try, then a blocking
 * pop of the signal and another try, again and again. Whatever cannot be had
 * aborts.
 */
typedef struct pylock pylock;

/* expire_s 0: it holds without an end. Strings are borrowed. */
pylock *
pylock_new(const server *s, const char *name, const char *id, int expire_s);
/* NULL is allowed. */
void pylock_free(pylock *p);

bool pylock_try(pylock *p);

/* Begins to wait for the signal, without limit. */
void pylock_listen(pylock *p);
/* Whether it came, within ms (scaled). */
bool pylock_heard(pylock *p, unsigned ms);

/* False: it did not hold. */
bool pylock_release(pylock *p);
/* 0: done; 1: not held; 2: it has no end. */
int pylock_extend(pylock *p, int expire_s);
void pylock_reset(pylock *p);

#endif /* LK_TESTS_SUPPORT_PYLOCK_H */
