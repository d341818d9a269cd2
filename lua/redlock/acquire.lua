-- SPDX-License-Identifier: MIT
-- acquire: plant a token under a plain key.
--
-- left: of what stands there, in ms; -1: it has no end.
--
-- Invariants: `SET NX PX` and nothing else is written, so any library of plain
-- token keys excludes it and is excluded. Sent again it does no more than once: a
-- token that stands keeps the lease it has. A key of another type is an error and
-- is not touched. A full server refuses it.

if redis.call('SET', name_key, token, 'NX', 'PX', lease)
        or redis.call('GET', name_key) == token then
    return {HELD}
end
return {BUSY, redis.call('PTTL', name_key)}
