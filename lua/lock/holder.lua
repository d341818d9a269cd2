-- SPDX-License-Identifier: MIT
-- holder: who has the lock, and making somebody its owner.
-- needs: clock failed

local holder = {}

-- Those of the queue that a lock may be given to; the others are strangers.
local MODES = 'lf'

holder.MODES = MODES

-- The record of a grant to a member.
function holder.sign(was, it, fence, spare, ticket, turn_text)
    return record.write({layout = form.layout_lock,
        fence = string.format('%.0f', fence),
        spare = spare,
        floor = string.format('%.0f', math.max(was.floor, ticket)),
        flag = '-', turn = turn_text, more = '-', since = clock.ms,
        member = it.text})
end

-- The record with another turn, or another flag.
function holder.note(was, name, value)
    local it = {}
    for key, old in pairs(was) do
        it[key] = old
    end
    it[name] = value
    return record.write(it)
end

-- Writes the record with another turn, to live for ms at least and no shorter than
-- before: another client may keep its fences for longer. Returns an error or nil.
function holder.turn(key, was, text, ms)
    local left = redis.pcall('PTTL', key)
    return failed(left) or failed(redis.pcall('SET', key,
        holder.note(was, 'turn', text), 'PX',
        string.format('%.0f', math.max(left, ms))))
end

-- The error for a hash that is no lock of this kind, or nil. Looked at only
-- where one of theirs has the name, so a large map costs one command.
function holder.stranger(lock)
    local fields = redis.call('HLEN', lock) == 1 and redis.call('HGETALL', lock)
    if not fields or not string.find(fields[1], ':%d+$')
            or not string.find(fields[2], '^%d+$') then
        return redis.error_reply('LKTYPE the key is not a lock')
    end
    return nil
end

-- The error of a reply about the lock's key, in our words.
function holder.wrong(reply)
    if string.find(reply.err, 'WRONGTYPE', 1, true) then
        return redis.error_reply('LKTYPE the key is not a lock')
    end
    return reply
end
