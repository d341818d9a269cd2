-- SPDX-License-Identifier: MIT
-- memo: the changes that were made, so that one that is sent again is not made
-- again.
--
-- In the hash, by the number of the change: "<server ms> <words>". The field "#"
-- is "<server ms of the next sweep> <cursor>".
-- needs: failed clock

local memo = {}

-- For ten minutes a client may ask again; nothing is forgotten before.
local KEEP = 660000
local SWEEP = 60000
-- So many are dropped in one call.
local DROPS = 128

-- Sets memo.words, those of a change; nil: it was not made. Ends the script where
-- the key is none.
function memo.look(key, id)
    clock.look()
    local found = redis.call('HMGET', key, id, '#')
    memo.key, memo.id = key, id
    memo.words = string.match(found[1] or '', '^%d+ (.+)$')
    memo.sweep_at, memo.cursor = string.match(found[2] or '', '^(%d+) (%d+)$')
end

-- A first write that a full server does not refuse; it lets through what follows.
-- Returns an error or nil.
function memo.open()
    return failed(redis.pcall('PEXPIRE', memo.key, KEEP))
end

-- Drops changes of long ago, a few at a time. A server that keeps long hashes in
-- one piece answers all of them at once.
local function drop_old()
    local found = redis.pcall('HSCAN', memo.key, memo.cursor, 'COUNT', 64)
    if failed(found) then
        return
    end
    local old = {}
    for i = 1, #found[2], 2 do
        local ms = tonumber(string.match(found[2][i + 1], '^(%d+)'))
        if #old < DROPS and (not ms or ms + KEEP < clock.ms) then
            old[#old + 1] = found[2][i]
        end
    end
    if #old > 0 then
        redis.pcall('HDEL', memo.key, unpack(old))
    end
    local next_ms = found[1] == '0' and #old < DROPS and SWEEP or 0
    redis.pcall('HSET', memo.key, '#',
        string.format('%.0f %s', clock.ms + next_ms, found[1]))
end

-- Takes the note of the change away, or has it say nothing. Returns an error or
-- nil.
function memo.drop()
    local bad = failed(redis.pcall('HDEL', memo.key, memo.id,
        memo.sweep_at and '' or '#'))
    return bad and failed(redis.pcall('HSET', memo.key, memo.id, '-'))
end

-- Remembers the change with its words. Returns an error, and then it is not
-- remembered, or nil. A full server refuses it unless something else was written
-- before.
function memo.note(words)
    local is_new = not memo.sweep_at
    local bad = failed(redis.pcall('HSET', memo.key, memo.id,
        string.format('%.0f ', clock.ms) .. words, unpack(is_new
            and {'#', string.format('%.0f 0', clock.ms + SWEEP)} or {})))
    if bad then
        return bad
    end
    bad = memo.open()
    if bad then
        memo.drop()
        return bad
    elseif not is_new and (tonumber(memo.sweep_at) <= clock.ms
            or tonumber(memo.sweep_at) > clock.ms + SWEEP) then
        drop_old()
    end
    return nil
end
