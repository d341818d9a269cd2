/* SPDX-License-Identifier: MIT */
#ifndef LK_SIGLOCK_PROTOCOL_H
#define LK_SIGLOCK_PROTOCOL_H

#include "claims/protocol.h"

/* The scripts of the siglock: what they get and answer is in
   lua/siglock/siglock.table. */
extern const lk__protocol lk__protocol_siglock;

#endif /* LK_SIGLOCK_PROTOCOL_H */
