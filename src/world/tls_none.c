/* SPDX-License-Identifier: MIT */

/* A build without OpenSSL. There is no lk__tls, and so no session either. */

#include <errno.h>

#include "base/error.h"
#include "world/tls.h"

lk_status lk__tls_new(lk__tls **ret_tls, const lk__tls_wishes *wishes)
{
    (void)ret_tls;
    (void)wishes;
    return lk__fail(LK_ENOTSUP,
                    "the URL asks for TLS, and this latchkey was built without "
                    "it: build it where libssl-dev is installed");
}

void lk__tls_free(lk__tls *tls)
{
    (void)tls;
}

bool lk__tls_facts_get(lk__tls *tls, const char *host, uint16_t port,
                       lk__tls_facts *ret_facts)
{
    (void)tls;
    (void)host;
    (void)port;
    (void)ret_facts;
    return false;
}

lk_status lk__tls_check_name(const char *name)
{
    (void)name;
    return LK_OK;
}

lk__tls_session *
lk__tls_session_new(lk__tls *tls, const char *host, uint16_t port)
{
    (void)tls;
    (void)host;
    (void)port;
    return NULL;
}

void lk__tls_session_free(lk__tls_session *session)
{
    (void)session;
}

void lk__tls_feed(lk__tls_session *session, const char *bytes, size_t size)
{
    (void)session;
    (void)bytes;
    (void)size;
}

bool lk__tls_is_idle(const lk__tls_session *session)
{
    (void)session;
    return true;
}

int lk__tls_handshake(lk__tls_session *session)
{
    (void)session;
    return -EPROTO;
}

ssize_t lk__tls_read(lk__tls_session *session, char *bytes, size_t size)
{
    (void)session;
    if (size > 0)
        bytes[0] = '\0';
    return -EPROTO;
}

int lk__tls_write(lk__tls_session *session, const char *bytes, size_t size)
{
    (void)session;
    (void)bytes;
    (void)size;
    return -EPROTO;
}

size_t lk__tls_pending(const lk__tls_session *session, const char **ret_bytes)
{
    (void)session;
    *ret_bytes = "";
    return 0;
}

void lk__tls_sent(lk__tls_session *session, size_t size)
{
    (void)session;
    (void)size;
}

void lk__tls_words(const lk__tls_session *session, char *words, size_t size)
{
    (void)session;
    if (size > 0)
        words[0] = '\0';
}
