-- SPDX-License-Identifier: MIT
-- lock_renew: lengthen the leases of many holds at once.
-- uses: part_error part_clock part_lease
--
-- KEYS  lock, state of each name in turn, as in lock_acquire
-- ARGV  owner, fence, lease in ms of each hold in turn
--
-- returns  {index, code, ...} of the holds that are lost, index from 1; codes
--              as in lock_release; 4: it was revoked, and stands until it is
--              released or its lease ends
--
-- Invariants: a TTL is only lengthened, a key is never made. One name does
-- not keep another from being renewed, whatever its keys hold. A full server
-- does not refuse it.

-- The code of a lost hold, or the kept field of its state, or an error.
local function look(lock, state, owner, fence)
    local own = redis.pcall('HGET', lock, owner)
    if failed(own) and not string.find(own.err, 'WRONGTYPE', 1, true) then
        return nil, nil, own
    elseif not own or failed(own) then
        return redis.call('EXISTS', lock) * 2
    end
    local marks = redis.pcall('HMGET', state, 'v', 'claim', 'fence', 'kept',
        'revoked')
    if failed(marks) or marks[1] ~= '1' then
        return nil -- no record, or not for us to read: the hash is the truth
    elseif marks[2] == owner and marks[3] ~= fence then
        return 3
    elseif marks[2] == owner and marks[5] == fence then
        return 4
    end
    return nil, tonumber(marks[4]) or 0
end

local knows_gt = true -- Redis 7.0 or later

-- Makes the lock live for ms, text, at least; an error if that fails. With GT
-- it is one command, but for one without an end and one that lives longer.
local function lengthen(lock, ms)
    if knows_gt then
        local reply = redis.pcall('PEXPIRE', lock, ms, 'GT')
        if reply == 1 then
            return nil
        end
        knows_gt = not failed(reply)
    end
    return failed(lease.lengthen(lock, tonumber(ms)))
end

local lost = {}

clock.look()
for i = 1, #KEYS / 2 do
    local lock, state = KEYS[i * 2 - 1], KEYS[i * 2]
    local owner, fence = ARGV[i * 3 - 2], ARGV[i * 3 - 1]
    local ms = ARGV[i * 3]
    local code, kept, bad = look(lock, state, owner, fence)
    if not code and not bad then
        bad = lengthen(lock, ms)
    end
    if bad then
        return bad
    elseif code then
        lost[#lost + 1] = i
        lost[#lost + 1] = code
    elseif kept then
        lease.keep(state, kept, tonumber(ms))
    end
end
return lost
