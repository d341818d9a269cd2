/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_CHECK_LOG_H
#define LK_SIM_CHECK_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "check/history.h"

/*
 * A file of events that a process writes. The pages are the kernel's: what was
 * written stays, however the process ends. Any thread may write.
 */

typedef struct history_log history_log;

/* room: so many events at most. NULL: errno says why. */
history_log *history_log_open(const char *path, uint32_t process, size_t room);
/* NULL is allowed. */
void history_log_close(history_log *log);

/* Writes a copy with the next sequence. What is 0 is filled in: the time now, and
   the log's process unless it is a fault, which may be everybody's. False: the
   log is full. */
bool history_log_write(history_log *log, const history_event *event);

/* Nanoseconds of CLOCK_BOOTTIME. */
uint64_t history_now(void);

/*
 * Reads files, which may still be written, and tells their events in the order
 * of time, each as long as it is told. False, with words on stderr: one of them cannot be read.
 */
bool history_read(const char *const *paths, size_t count,
                  void (*tell)(const history_event *event, void *data),
                  void *data);

#endif /* LK_SIM_CHECK_LOG_H */
