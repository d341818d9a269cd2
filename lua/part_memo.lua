-- SPDX-License-Identifier: MIT
-- part_memo: the changes that were made, so that one that is sent again is not
-- made again.
-- Needs: part_error, part_clock, whose clock was looked at for note, and the
-- local memory, which is the key of a hash; the argument owner, which here is
-- the id of the change.
--
-- In the hash, by id: "<server ms> <words>". The field "#" is "<server ms of
-- the next sweep> <cursor>".
--
-- memo.words  those of ARGV[1]'s change; nil: it was not made

local memo = {}
local sweep_at, cursor
local is_open = false

-- For ten minutes a client may ask again; nothing is forgotten before.
local KEEP_MS = 660000
local SWEEP_MS = 60000

do
    local found = redis.call('HMGET', memory, ARGV[1], '#')
    memo.words = string.match(found[1] or '', '^%d+ (.+)$')
    sweep_at, cursor = string.match(found[2] or '', '^(%d+) (%d+)$')
end

-- A first write that a full server does not refuse; it lets through what
-- follows. Returns an error or nil.
function memo.open()
    local bad = failed(redis.pcall('PEXPIRE', memory, KEEP_MS))
    is_open = not bad
    return bad
end

-- Drops changes of long ago, a few at a time.
local function sweep()
    local found = redis.pcall('HSCAN', memory, cursor, 'COUNT', 64)
    if failed(found) then
        return
    end
    local old = {}
    for i = 1, #found[2], 2 do
        local ms = tonumber(string.match(found[2][i + 1], '^(%d+)'))
        if not ms or ms + KEEP_MS < clock.ms then
            old[#old + 1] = found[2][i]
        end
    end
    if #old > 0 then
        redis.pcall('HDEL', memory, unpack(old))
    end
    local next_ms = found[1] == '0' and SWEEP_MS or 0
    redis.pcall('HSET', memory, '#',
        string.format('%.0f %s', clock.ms + next_ms, found[1]))
end

-- Remembers ARGV[1]'s change. Returns an error, and then nothing is
-- remembered, or nil: who may not set a TTL is refused before.
function memo.note(words)
    local bad = not is_open and memo.open()
    if bad then
        return bad
    end
    local fields = {ARGV[1], string.format('%.0f ', clock.ms) .. words}
    if not sweep_at then
        fields[3] = '#'
        fields[4] = string.format('%.0f 0', clock.ms + SWEEP_MS)
    end
    bad = failed(redis.pcall('HSET', memory, unpack(fields)))
    if bad then
        return bad
    elseif not sweep_at then
        memo.open() -- the hash is a new one
    elseif tonumber(sweep_at) <= clock.ms
            or tonumber(sweep_at) > clock.ms + SWEEP_MS then
        sweep()
    end
    return nil
end

-- Forgets ARGV[1]'s change. Returns an error or nil.
function memo.drop()
    return failed(redis.pcall('HDEL', memory, ARGV[1]))
end

-- Returns the answer, having forgotten changes of the same client that it will
-- not ask for again: numbers in a text. This is the last write, so that a full
-- server has refused the first by now.
function memo.answer(answer, numbers)
    local client = string.match(ARGV[1], '^(.*:)%d+$') or ''
    local settled = {}
    for number in string.gmatch(numbers or '', '%d+') do
        settled[#settled + 1] = client .. number
    end
    if #settled > 0 then
        redis.pcall('HDEL', memory, unpack(settled))
    end
    return answer
end
