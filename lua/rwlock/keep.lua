-- SPDX-License-Identifier: MIT
-- keep: lengthen a hold, see whether it is still the one that the client means,
-- whether anybody waits for it to end, and whether its lease has a key of its own,
-- besides the hash: one that has it will have it to its end.
--
-- code: 0 nobody holds instead, 2 another does, 3 the same claim under another
-- fence, 4 it was revoked.
--
-- Invariants: a lease is only lengthened, a key is never made. The hash lives no
-- shorter than the lease. A reader without its grant is lost, whatever its fence;
-- a writer without its record goes on. A full server does not refuse it.
-- needs: audience failed clock hold queue room turns

clock.look()
local bad = hold.look(lock_key, record_key, claim)
if bad then
    return string.find(bad.err, 'LKTYPE', 1, true) and {LOST, 2} or bad
elseif not hold.writes and not hold.reads then
    return {LOST, hold.code}
end
local grant = hold.grant(holders_key, claim)
if grant and grant.fence ~= fence then
    return {LOST, 3}
elseif not grant and hold.reads then
    return {LOST, 0}
elseif grant and grant.flag == 'v' then
    return {LOST, 4}
end
local to = {lock = lock_key, queue = queue_key, holders = holders_key}
local counts = audience({channel})
local waits = interop == '1' or failed(counts) or counts[2] > 0
    or redis.call('EXISTS', spin_key) == 1 or room.is_waited_for(to)
    or turns.is_met(turns.read(hold.was.turn))

-- Returns how long the key lives then, or an error.
local function lengthen(key, ms)
    local left = redis.call('PTTL', key)
    if left < ms then
        return failed(redis.pcall('PEXPIRE', key, queue.text(ms))) or ms
    end
    return left
end

-- Changes nothing; a full server lets through what follows.
bad = failed(redis.pcall('HDEL', lock_key, ''))
if bad then
    return bad
end
local left = tonumber(lease)
local is_apart = hold.lasts_by(lock_key, claim) ~= lock_key
if is_apart then
    left = lengthen(timeout_key, left)
end
local all = failed(left) and left or lengthen(lock_key, left)
if failed(all) then
    return all
elseif not is_apart then
    left = all
end
for _, key in ipairs({record_key, holders_key}) do
    if redis.call('PTTL', key) >= 0 then
        lengthen(key, all + life)
    end
end
return {KEPT, left, waits and 1 or 0, is_apart and 1 or 0}
