-- SPDX-License-Identifier: MIT
-- cell: what a cell is, the version that a change gives it, and what is kept beside
-- it.
--
-- cell.version  text; nil: the cell is unset
-- cell.ends     true if it has a TTL
-- needs: clock failed

local cell = {}

-- A week after the last fence or delete nobody comes with an earlier one.
local MARK_MS = 604800000

-- Reads it. Returns an error or nil: then the key is ours to use.
function cell.look(key)
    local found = redis.pcall('HMGET', key, 'v', 'version', 'ttl')
    local bad = failed(found)
    if bad and not string.find(bad.err, 'WRONGTYPE', 1, true) then
        return bad
    elseif bad or found[2] and not string.find(found[2], '^%d+$') then
        return redis.error_reply('LKTYPE the key is not a cell')
    elseif found[1] and found[1] ~= '1' then
        return redis.error_reply('LKLAYOUT the name is in use by a release '
            .. 'with another layout of keys')
    end
    cell.version = found[2] or nil
    cell.ends = found[3] == '1'
    return nil
end

-- Whether it is of another version than the one that is expected: 0 is an unset
-- cell, "" any.
function cell.is_other(expected)
    return expected ~= '' and expected ~= (cell.version or '0')
end

-- The version after this one, as text. A counter, that an unset cell begins at the
-- server's clock in microseconds: there are fewer changes than microseconds, so
-- what was deleted or lost has had none as high. The mark is for a clock that was
-- set back. Or nil and an error.
function cell.next_version(mark)
    local last = tonumber(cell.version or redis.call('HGET', mark, 'version')
        or '') or 0
    local version = last + 1
    if not cell.version and version < clock.us then
        version = clock.us
    end
    if version > 9007199254740991 then
        return nil, redis.error_reply('LKRANGE the name has no more versions: '
            .. 'one was set to 2^53')
    end
    return string.format('%.0f', version)
end

-- Writes a field of the mark. Returns an error or nil. The first write lets through
-- the second at a full server; the third is for a mark that is new.
function cell.mark(mark, field, number)
    return failed(redis.pcall('PEXPIRE', mark, MARK_MS))
        or failed(redis.pcall('HSET', mark, field, number))
        or failed(redis.pcall('PEXPIRE', mark, MARK_MS))
end

-- Forgets changes of the same client that it will not ask for again: numbers in a
-- text. This is the last write, so that a full server has refused the first by now.
function cell.settle(memory, op, numbers)
    local client = string.match(op, '^(.*:)%d+$') or ''
    local settled = {}
    for number in string.gmatch(numbers, '%d+') do
        settled[#settled + 1] = client .. number
    end
    if #settled > 0 then
        redis.pcall('HDEL', memory, unpack(settled))
    end
end
