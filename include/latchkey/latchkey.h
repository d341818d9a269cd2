/* SPDX-License-Identifier: MIT */
#ifndef LK_LATCHKEY_H
#define LK_LATCHKEY_H

/**
 * @file
 * Everything this release offers.
 */

#include <latchkey/cell.h>
#include <latchkey/client.h>
#include <latchkey/fairlock.h>
#include <latchkey/flight.h>
#include <latchkey/hold.h>
#include <latchkey/inspect.h>
#include <latchkey/latch.h>
#include <latchkey/leader.h>
#include <latchkey/lock.h>
#include <latchkey/multilock.h>
#include <latchkey/plain_semaphore.h>
#include <latchkey/redlock.h>
#include <latchkey/rwlock.h>
#include <latchkey/semaphore.h>
#include <latchkey/siglock.h>
#include <latchkey/status.h>
#include <latchkey/stripes.h>
#include <latchkey/version.h>

#endif /* LK_LATCHKEY_H */
