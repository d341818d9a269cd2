-- SPDX-License-Identifier: MIT
-- part_rw_readers: which of the readers in the hash live.
-- Needs: part_error, part_rw_record.
--
-- A dead reader's field stays in the hash until somebody finds it. Thousands
-- may read, so they are looked at a few at a time, and no more of them than the
-- question needs: one that lives is enough to keep a writer out.

local readers = {}

local CHUNK = 32
-- Of more readers than this nobody asks how long each may yet live.
local MANY = 64
-- A reader of Redisson's with more holds than this is taken to live.
local HOLDS = 64

-- What was found out, by field: true if it lives, false if it was taken out.
local known = {}
local dead = {} -- fields in the hash
local page, at, pages = {}, 1, 0
local denied -- the error because of which nothing more can be found out

-- Looks at the next few fields of the page. Returns an error or nil.
local function look_at_some()
    local keys, whose = {}, {}
    while at < #page and #keys < CHUNK do
        local field, count = page[at], tonumber(page[at + 1]) or 1
        local is_reader = field ~= 'mode' and string.sub(field, -6) ~= ':write'
        at = at + 2
        if is_reader and known[field] == nil and count > HOLDS then
            known[field] = true
        elseif is_reader and known[field] == nil then
            for i = 1, math.max(count, 1) do
                keys[#keys + 1] = timeout_key(field, i)
                whose[#keys] = field
            end
        end
    end
    local found = #keys > 0 and redis.pcall('MGET', unpack(keys)) or {}
    if failed(found) then
        return found
    end
    for i = 1, #found do
        known[whose[i]] = known[whose[i]] or found[i] ~= false or nil
    end
    for i = 1, #found do
        if whose[i] ~= whose[i - 1] and not known[whose[i]] then
            dead[#dead + 1] = whose[i]
        end
    end
    return nil
end

-- Reads fields: a few, or with the second call all. Returns an error or nil.
local function turn_page()
    local reply
    at, pages = 1, pages + 1
    if pages == 1 then
        reply = redis.pcall('HSCAN', lock, 0, 'COUNT', CHUNK)
        if not failed(reply) then
            page, pages = reply[2], reply[1] == '0' and 2 or 1
        end
    else
        dead = {}
        reply = redis.pcall('HGETALL', lock)
        page = failed(reply) and {} or reply
    end
    return failed(reply)
end

-- Whether a reader lives, other than this one; nil and an error if that cannot
-- be told.
function readers.any(but)
    while not denied do
        for field, lives in pairs(known) do
            if lives and field ~= but then
                return true
            end
        end
        if at < #page then
            denied = look_at_some()
        elseif record.mode and pages < 2 then
            denied = turn_page()
        else
            return false
        end
    end
    return nil, denied
end

-- Whether this one lives.
function readers.lives(claim)
    if known[claim] == nil and claim ~= '' and record.mode then
        known[claim] = redis.pcall('HEXISTS', lock, claim) == 1
            and redis.pcall('EXISTS', timeout_key(claim)) == 1 or nil
    end
    return known[claim] == true
end

-- Notes that one came, or that one went.
function readers.note(claim, lives)
    known[claim] = lives
end

-- Notes that the hash is gone.
function readers.forget()
    known, dead, page, pages, denied = {}, {}, {}, 2, nil
end

-- Takes those out of the hash that were found to be dead; it may be no more
-- then. Returns an error or nil.
function readers.bury()
    local bad
    for i = 1, #dead, CHUNK do
        local some = {unpack(dead, i, math.min(i + CHUNK - 1, #dead))}
        bad = bad or failed(redis.pcall('HDEL', lock, unpack(some)))
            or failed(redis.pcall('HDEL', holders, unpack(some)))
    end
    if not bad then
        dead = {}
    end
    return bad
end

-- The longest time in ms that a reader in the hash has left, 0 if there is
-- none; nil if they are too many to ask.
function readers.longest()
    local size = redis.pcall('HLEN', lock)
    local fields = not failed(size) and size <= MANY
        and redis.pcall('HGETALL', lock)
    local longest = 0
    if not fields or failed(fields) then
        return nil
    end
    for i = 1, #fields, 2 do
        local count = tonumber(fields[i + 1]) or 0
        for j = 1, math.min(count, HOLDS) do
            local left = redis.pcall('PTTL', timeout_key(fields[i], j))
            if failed(left) or left == -1 or count > HOLDS then
                return nil
            end
            longest = math.max(longest, left)
        end
    end
    return longest
end
