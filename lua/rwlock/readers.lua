-- SPDX-License-Identifier: MIT
-- readers: which of the readers in the hash live.
--
-- A reader is its field and its timeout key, which lives as long as its own
-- lease; either alone is nothing. A dead reader's field stays until somebody
-- finds it. Thousands may read, so they are looked at a few at a time, and no
-- more of them than the question needs.
-- needs: failed

local readers = {}

-- So many keys are read at first, as most often one of them lives, and then.
local FIRST, CHUNK = 2, 32
-- A reader of Redisson's with more holds than this is taken to live.
readers.HOLDS = 64

-- What was found out, by field; and where the looking has come to.
local known = {}
local page, dead, place, pages = {}, {}, 1, 0

-- The key that lives as long as a reader's lease; count: which of its holds.
function readers.key(lock, claim, count)
    local prefix = string.find(lock, '{', 1, true) and lock or '{' .. lock .. '}'
    return prefix .. ':' .. claim .. form.timeout .. (count or 1)
end

local function look_at_some(lock)
    local keys, whose, most = {}, {}, next(known) and CHUNK or FIRST
    while place < #page and #keys < most do
        local field, count = page[place], tonumber(page[place + 1]) or 1
        place = place + 2
        if field == 'mode' or string.sub(field, -6) == ':write'
                or known[field] ~= nil then
            count = 0
        elseif count > readers.HOLDS then
            known[field], count = true, 0
        end
        for i = 1, count do
            keys[#keys + 1] = readers.key(lock, field, i)
            whose[#keys] = field
        end
    end
    local found = #keys > 0 and redis.pcall('MGET', unpack(keys)) or {}
    if failed(found) then
        return found
    end
    for i = 1, #found do
        known[whose[i]] = known[whose[i]] or found[i] ~= false
    end
    for i = 1, #found do
        if whose[i] ~= whose[i - 1] and not known[whose[i]] then
            dead[#dead + 1] = whose[i]
        end
    end
    return nil
end

local function turn_page(lock)
    local reply
    place, pages = 1, pages + 1
    if pages == 1 then
        reply = redis.pcall('HSCAN', lock, '0', 'COUNT', '32')
        if not failed(reply) then
            page, pages = reply[2], reply[1] == '0' and 2 or 1
        end
    else
        reply = redis.pcall('HGETALL', lock)
        page = failed(reply) and {} or reply
    end
    return failed(reply)
end

-- Whether a reader lives, other than these two; nil and an error if that cannot
-- be told. Where none does, readers.gone() has those that are to be taken out.
function readers.any(lock, but, also)
    while true do
        for field, lives in pairs(known) do
            if lives and field ~= but and field ~= also then
                return true
            end
        end
        local bad
        if place < #page then
            bad = look_at_some(lock)
        elseif pages < 2 then
            bad = turn_page(lock)
        else
            return false
        end
        if bad then
            return nil, bad
        end
    end
end

-- Whether this one lives; '-' is nobody. is_there: its field is known to be there.
function readers.lives(lock, claim, is_there)
    if claim ~= '-' and known[claim] == nil then
        known[claim] = (is_there
            or redis.call('HEXISTS', lock, claim) == 1)
            and redis.call('EXISTS', readers.key(lock, claim)) == 1 or nil
    end
    return known[claim] == true
end

-- The whole hash as it was read, fields and values in turn, behind its look if
-- there was none; nil: it has more than most fields, or cannot be read.
function readers.all(lock, most)
    local bad = pages == 0 and turn_page(lock)
    if not bad and pages == 1 then
        local count = redis.pcall('HLEN', lock)
        bad = failed(count) or count > most or turn_page(lock)
    end
    return not bad and #page <= most * 2 and page or nil
end

-- Those in the hash that were found to be dead, 1024 at most.
function readers.gone()
    local gone = {}
    for i = 1, math.min(#dead, 1024) do
        gone[i] = dead[i]
    end
    return gone
end
