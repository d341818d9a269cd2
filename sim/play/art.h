/* SPDX-License-Identifier: MIT */
#ifndef SIM_PLAY_ART_H
#define SIM_PLAY_ART_H

#include "play/run.h"

/* For so long a redlock waits for a server's answer: less than a lease is, and not
   more than a client has for a command. */
enum { SIM_NODE_TIMEOUT_MS = 100 };

/* What each primitive's functions are called; NULL: it has none such. */
typedef struct sim_art {
    sim_family family;
    bool fenced; /* each has a larger fence than those before */
    bool joint;  /* its hold is of several names, or at several servers */
    lk_status (*make)(void **ret_handle, const sim_client *home,
                      const char *name, const sim_plan *plan);
    void (*free)(void *handle);
    lk_status (*acquire)(void *handle, const sim_want *want,
                         const lk_acquire_options *options, lk_acquire_cb cb,
                         void *data);
    lk_status (*import)(void *handle, const char *text,
                        const lk_acquire_options *options, lk_hold **ret_hold);
    lk_status (*revoke)(void *handle, const char *owner, lk_revoke_cb cb,
                        void *data);
    lk_status (*force)(void *handle, lk_done_cb cb, void *data);
    bool probed; /* what nobody holds can be had at the end; see probe.h */
    /* What its rounds are where nothing is held; NULL: acquire, and so on. */
    void (*errand)(sim_actor *actor);
} sim_art;

extern const sim_art sim_arts[SIM_PRIMITIVES];

#endif /* SIM_PLAY_ART_H */
