/* SPDX-License-Identifier: MIT */

/*
 * OpenSSL is loaded when a client needs it: linked in, it would make every
 * program slower to start, those without TLS as well. It stays loaded, since it
 * leaves things of its own with every thread.
 */

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "world/tls_openssl.h"

lk__tls_api lk__openssl;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char trouble[160]; /* empty: it is loaded */

static void call_find(void *library, const char *name, void *at)
{
    void *found = dlsym(library, name);

    memcpy(at, &found, sizeof(found));
    if (found == NULL)
        (void)snprintf(trouble, sizeof(trouble), LK_OPENSSL " has no %s", name);
}

static void load(void)
{
    void *library = dlopen(LK_OPENSSL, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

    if (library == NULL) {
        (void)snprintf(trouble, sizeof(trouble), "%s", dlerror());
        return;
    }
#define X(call) call_find(library, #call, &lk__openssl.call);
    LK__TLS_CALLS(X)
#undef X
    if (trouble[0] != '\0')
        return;
    /* The program may still use it, and so may the loops' threads, when
       handlers at exit run. */
    (void)lk__openssl.OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}

const char *lk__tls_load(void)
{
    (void)pthread_once(&once, load);
    return trouble[0] != '\0' ? trouble : NULL;
}
