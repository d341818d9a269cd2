-- SPDX-License-Identifier: MIT
-- message: what an inbox is told; see docs/protocol.md, "Messages".
-- needs: inbox_of

local message = {}

function message.inbox(it)
    return inbox_of(it.claim, it.inbox)
end

-- The hold itself.
function message.granted(it, db, family, ticket, fence, spare, ms, name)
    return redis.pcall('PUBLISH', message.inbox(it), grant.write({
        word = 'grant', db = db, family = family, claim = it.claim,
        nonce = it.nonce, ticket = ticket, fence = fence, spare = spare,
        lease = ms, name = name}))
end

-- There is room, and others may take it as well.
function message.opened(it, db, family, ticket, name)
    return redis.pcall('PUBLISH', message.inbox(it), open.write({
        word = 'open', db = db, family = family, claim = it.claim,
        nonce = it.nonce, ticket = ticket, name = name}))
end

-- The hold is lost; fence tells which.
function message.revoked(it, db, family, name)
    return redis.pcall('PUBLISH', message.inbox(it), revoked.write({
        word = 'revoked', db = db, family = family, claim = it.claim,
        nonce = it.nonce, fence = it.fence, name = name}))
end
