-- SPDX-License-Identifier: MIT
-- rwlock_renew: lengthen the leases of many holds at once.
-- uses: part_error part_clock part_lease
--
-- KEYS  lock, state, holders, void, and the claim's timeout key of each hold in
--       turn
-- ARGV  owner, fence, lease in ms of each hold in turn
--
-- returns  {index, code, ...} of the holds that are lost, index from 1; codes
--              as in lock_renew
--
-- Invariants: a lease is only lengthened, a key is never made. A hash lives no
-- shorter than a reader that is renewed in it, whoever set its TTL. One name
-- does not keep another from being renewed, whatever its keys hold. A full
-- server does not refuse it.

-- The code of a lost hold, or an error, or nothing and how it is held.
local function look(lock, owner)
    local fields = redis.pcall('HMGET', lock, 'mode', owner, owner .. ':write')
    if failed(fields) and not string.find(fields.err, 'WRONGTYPE', 1, true) then
        return nil, fields
    elseif failed(fields) then
        return 2
    elseif fields[1] == 'write' and fields[3] then
        return nil, nil, 'write'
    elseif fields[2] then
        return nil, nil, 'read'
    end
    return fields[1] == 'write' and 2 or 0
end

-- Whether the record of a hold, if there is one, has another fence; when its
-- state was last kept; and whether a writer has a key of its own, as a reader
-- has; see part_rw_record. The hash is the truth: a record that cannot be read
-- says nothing.
local function compare(state, holders, how, owner, fence)
    local marks = redis.pcall('HMGET', state, 'v', 'claim', 'fence', 'kept',
        'aside')
    if failed(marks) or marks[1] ~= '1' then
        return false, nil
    elseif how == 'write' then
        return marks[2] == owner and marks[3] ~= fence,
            tonumber(marks[4]) or 0, marks[2] == owner and marks[5] == owner
    end
    local packed = redis.pcall('HGET', holders, owner)
    local own = type(packed) == 'string' and string.match(packed, '^(%d+) ')
    return own and own ~= fence, tonumber(marks[4]) or 0
end

-- Returns a code if the hold is lost, or an error.
local function lengthen(lock, timeout, has_key, ms)
    local left = ms
    if has_key then
        left = lease.lengthen(timeout, ms)
        if left == -2 then
            return 0
        end
    end
    return nil, failed(left) or failed(lease.lengthen(lock, left))
end

local lost, DAY = {}, 86400000

clock.look()
for i = 1, #KEYS / 5 do
    local lock, state, holders, void, timeout = unpack(KEYS, i * 5 - 4, i * 5)
    local owner, fence, ms = unpack(ARGV, i * 3 - 2, i * 3)
    local is_other, kept, aside
    local code, bad, how = look(lock, owner)
    if how then
        is_other, kept, aside = compare(state, holders, how, owner, fence)
        if is_other then
            code = 3
        elseif type(redis.pcall('ZSCORE', void, owner)) == 'string' then
            code = 4
        else
            code, bad = lengthen(lock, timeout, how == 'read' or aside,
                tonumber(ms))
        end
    end
    if bad then
        return bad
    elseif code then
        lost[#lost + 1] = i
        lost[#lost + 1] = code
    elseif kept and kept < clock.ms + 6 * DAY + ms then -- about once a day
        lease.keep(state, kept, tonumber(ms))
        redis.pcall('PEXPIRE', holders, 8 * DAY + ms)
    end
end
return lost
