-- SPDX-License-Identifier: MIT
-- part_hold: making a claim the owner of a free name.
-- Needs: part_error, part_record, part_clock, part_lease.
--
-- An entry is what a claim asks for: ticket (0: it never queued), lease in ms,
-- inbox, reason.

local hold = {}

-- The next fence: above every earlier one of this name, and not behind the
-- server's clock, so that it goes on growing when the key of the last one is
-- lost. Redisson's counter of the same name is kept level where it exists.
-- Returns nil and an error if that cannot be read; else the fence and whether
-- the counter must be set.
local function next_fence()
    local fence = math.max((tonumber(record.fence) or 0) + 1, clock.us)
    local token = redis.pcall('GET', KEYS[6])
    if failed(token) then
        return nil, token
    elseif not token then
        return fence, ARGV[3] == '1'
    end
    local count = tonumber(token)
    if not count then
        return nil, redis.error_reply('LKTYPE the token key is not a counter')
    end
    return math.max(fence, count + 1), true
end

-- Writes the record of a grant. A turn of the others that was open ends here:
-- this side keeps the name for half as long as they had it. Numbers are passed
-- as such: Redis writes them out in full, Lua's own conversion does not.
local function write_record(claim, entry, fence)
    local open, till = record.open or 0, record.till or 0
    if open > 0 then
        local away = math.max(clock.ms - open, 0)
        till = clock.ms + math.floor(math.min(away / 2, 500))
    end
    return failed(redis.pcall('HSET', state, 'v', '1', 'fence', fence,
        'claim', claim, 'ticket', entry.ticket, 'since', clock.ms,
        'lease', entry.lease, 'inbox', entry.inbox, 'reason', entry.reason,
        'open', 0, 'until', till))
end

-- Gives a holder whose record is void a new one. Returns its fence, or nil and
-- an error.
function hold.sign(claim, entry)
    local fence, counts = next_fence()
    if not fence then
        return nil, counts
    end
    local bad = write_record(claim, entry, fence)
    if not bad then
        bad = lease.keep(state, record.kept, entry.lease)
        if bad and not record.kept then
            redis.pcall('DEL', state) -- a state without a TTL would stay
        end
    end
    if not bad and counts then
        bad = failed(redis.pcall('SET', KEYS[6], fence, 'KEEPTTL'))
    end
    if bad then
        return nil, bad
    end
    return fence
end

-- Makes the name free again after a grant that could not be finished.
function hold.undo(claim)
    if failed(redis.pcall('DEL', lock)) then
        redis.pcall('HDEL', lock, claim)
    end
end

-- Makes claim the owner of the free name for ms. Returns the fence; or nil and
-- an error, and then the name is as free as before.
function hold.take(claim, entry, ms)
    local bad = failed(redis.pcall('HSET', lock, claim, '1'))
    if bad then
        return nil, bad
    end
    bad = failed(redis.pcall('PEXPIRE', lock, ms))
    local fence
    if not bad then
        fence, bad = hold.sign(claim, entry)
    end
    if bad then
        hold.undo(claim)
        return nil, bad
    end
    return fence
end
