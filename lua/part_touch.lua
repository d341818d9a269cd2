-- SPDX-License-Identifier: MIT
-- part_touch: many waiters at once say that they are alive.
-- Needs: part_error, part_line, and that part_clock's clock was looked at.

-- Notes for those of the claims that wait that they are alive, as line.touch
-- does for one. Returns their tickets, 0 for one that does not wait; or nil and
-- an error. There may be many: nothing is taken apart but for the time at which
-- each was seen, and a ticket goes to the queue as the text it is.
local function touch_all(claims)
    line.forget()
    local found = redis.call('HMGET', tickets, '@', '!', unpack(claims))
    local given, packed, back, lanes = {}, {}, {}, {}
    local now = string.format('%.0f', clock.ms)
    for i = 1, #claims do
        local ticket, kind, before, after = string.match(found[i + 2] or '',
            '^(%d+) (%S+)( %d+ %d+ )%d+( %d+ %S* .*)$')
        given[i] = tonumber(ticket) or 0
        if ticket then
            local zset = line.lanes[kind] or queue
            local members = lanes[zset] or {}
            lanes[zset] = members
            members[#members + 1] = ticket
            members[#members + 1] = claims[i]
            packed[#packed + 1] = claims[i]
            packed[#packed + 1] = ticket .. ' ' .. kind .. before .. now
                .. after
            back[#back + 1] = claims[i]
        end
    end
    if #packed == 0 then
        return given
    end
    local bad = failed(redis.pcall('PEXPIRE', tickets, LINE_MS))
    line.beat(found)
    bad = bad or failed(redis.pcall('HSET', tickets, '@', now,
        unpack(packed)))
    for zset, members in pairs(lanes) do
        bad = bad or failed(redis.pcall('ZADD', zset, 'NX', unpack(members)))
            or failed(redis.pcall('PEXPIRE', zset, LINE_MS))
    end
    if bad then
        return nil, bad
    end
    redis.pcall('ZREM', skipped, unpack(back))
    return given
end
