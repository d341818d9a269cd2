-- SPDX-License-Identifier: MIT
-- message: what an inbox is told; see docs/protocol.md, "Messages".
-- needs: inbox_of publish

local message = {}

-- queue_at: the key of the queue in which it waits.
function message.inbox(it, queue_at)
    return inbox_of(it.claim, it.inbox, queue_at)
end

-- The hold itself.
function message.granted(it, queue_at, db, family, ticket, fence, spare, ms,
                         name)
    return publish(message.inbox(it, queue_at), grant.write({
        word = 'grant', db = db, family = family, claim = it.claim,
        nonce = it.nonce, ticket = ticket, fence = fence, spare = spare,
        lease = ms, name = name}))
end

-- There is room, and others may take it as well.
function message.opened(it, queue_at, db, family, ticket, name)
    return publish(message.inbox(it, queue_at), open.write({
        word = 'open', db = db, family = family, claim = it.claim,
        nonce = it.nonce, ticket = ticket, name = name}))
end

-- The hold is lost; fence tells which. Said where each client listens that holds
-- something.
function message.revoked(it, db, family, name)
    return publish(message.inbox(it), revoked.write({
        word = 'revoked', db = db, family = family, claim = it.claim,
        nonce = it.nonce, fence = it.fence, name = name}))
end
