/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_REFUSED_H
#define LK_TESTS_SUPPORT_REFUSED_H

#include <latchkey/client.h>

/* Waits until a client says that it cannot connect, with this status and these
   words in what it says; fails the running test if it never does. */
void assert_refused(lk_client *client, lk_status status, const char *words);

#endif /* LK_TESTS_SUPPORT_REFUSED_H */
