/* SPDX-License-Identifier: MIT */
#ifndef LK_BASE_ERROR_H
#define LK_BASE_ERROR_H

#include <latchkey/status.h>

/*
 * The words behind the last failure on this thread; lk_last_error() shows
 * them. At most 255 bytes are kept, control characters become '?'. Nothing
 * here allocates or changes errno. Never hand a password to it.
 */

/* Notes the words and returns status, so that a check is one line. */
lk_status lk__fail(lk_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Notes text as it is, for example a server's reply. NULL: as clear. */
void lk__error_set(const char *text);

/* Forgets the words. */
void lk__error_clear(void);

#endif /* LK_BASE_ERROR_H */
