-- SPDX-License-Identifier: MIT
-- part_touch: many waiters at once say that they are alive.
-- Needs: part_error, part_line, and that part_clock's clock was looked at.

-- Notes for those of the claims that wait that they are alive, as line.touch
-- does for one. Returns their tickets, 0 for one that does not wait; or nil and
-- an error.
local function touch_all(claims)
    line.forget()
    local found = redis.call('HMGET', tickets, unpack(claims))
    local given, packed, back, lanes = {}, {}, {}, {}
    for i = 1, #claims do
        local entry = line.unpack(found[i])
        given[i] = entry and entry.ticket or 0
        if entry then
            local zset = line.lane(entry)
            entry.seen = clock.ms
            packed[#packed + 1] = claims[i]
            packed[#packed + 1] = line.pack(entry)
            back[#back + 1] = claims[i]
            lanes[zset] = lanes[zset] or {}
            table.insert(lanes[zset], entry.ticket)
            table.insert(lanes[zset], claims[i])
        end
    end
    if #packed == 0 then
        return given
    end
    local bad = failed(redis.pcall('PEXPIRE', tickets, LINE_MS))
        or failed(redis.pcall('HSET', tickets, unpack(packed)))
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
