-- SPDX-License-Identifier: MIT
-- part_permit_room: giving and taking back permits, and the semaphore's room.
-- Needs: part_error, part_permit_record, part_clock, looked at, part_lease,
-- part_permit_ids, part_line.
--
-- Whatever is done, the counter and the number of permits in the zset add up
-- to the same: who takes from one gives to the other, or it is undone.
--
-- An entry is what a claim asks for: ticket (0: it never queued), need, lease
-- in ms, inbox, reason.
--
-- permits.free, .taken  of the record, as they are now
-- permits.short         claims that wait for more than there is, if they were
--                       put aside

local permits = {free = record.free, taken = record.taken, short = {}}
local room = {family = 'semaphore'}

-- Where Redisson's hosts end leases by their own clocks, a permit of theirs is
-- taken back so much later than it says, and one of ours says so much more.
local SKEW_MS = 10000
-- At most so many permits whose lease has ended are taken back in one call. It
-- is as many as one claim may have.
local SWEEP = 1000
-- At most so many waiters that need too much are put aside in one call, and so
-- many are told where N becomes less.
local LOOKS, TOLD = 64, 1000

local skew = ARGV[3] == '1' and SKEW_MS or 0
local last_fence, open_since = record.fence, record.open or 0
local last_end = record.ends or 0
local given_up, is_swept = {}, false

-- Adds to what is free, if there is a number at all. Returns an error or nil.
local function add(n)
    if n == 0 or not permits.free then
        return nil
    end
    local free = redis.pcall('INCRBY', lock, n)
    if failed(free) then
        return free
    end
    permits.free = free
    return nil
end

-- ---- leases that have ended ----

-- Of these permits, with their scores, those whose lease has ended: ours are
-- known by the record of who holds, all others have the skew's time left.
local function ended(found)
    local ids, gone = {}, {}
    for i = 1, #found, 2 do
        ids[#ids + 1] = found[i]
    end
    local records = redis.call('HMGET', holders, unpack(ids))
    for i = 1, #ids do
        local _, own_skew = permit.owner(records[i])
        local score = tonumber(found[i * 2])
        if score - (own_skew or -SKEW_MS) <= clock.ms then
            gone[#gone + 1] = ids[i]
        end
    end
    return gone
end

-- Permits whose lease has ended, which nobody took back yet.
local function find_ended()
    if skew == 0 then
        return redis.call('ZRANGEBYSCORE', zset, '-inf', clock.ms, 'LIMIT', 0,
            SWEEP)
    end
    local found = redis.call('ZRANGEBYSCORE', zset, '-inf', clock.ms + skew,
        'WITHSCORES', 'LIMIT', 0, SWEEP)
    return #found > 0 and ended(found) or found
end

-- Takes back what there is of these permits, and forgets who had them. Returns
-- an error or nil; after an error as many are there as before, and have ended.
-- The first write is one that a full server does not refuse.
local function take_back(ids)
    local n = redis.pcall('ZREM', zset, unpack(ids))
    local bad = failed(n) or add(n)
    if bad then
        if not failed(n) and n > 0 then
            permit.put(zset, {unpack(ids, 1, n)}, clock.ms)
        end
        return bad
    end
    redis.pcall('HDEL', holders, unpack(ids))
    permits.taken = permits.taken - n
    return nil
end

-- Takes back what has ended, once. Returns an error or nil.
local function sweep()
    local gone = is_swept and {} or find_ended()
    is_swept = true
    return #gone > 0 and take_back(gone) or nil
end

-- Forgets permits of ours that Redisson took back: a few, where more are known
-- than there are. Any number is a place to begin the scan.
function permits.tidy()
    if redis.call('HLEN', holders) <= permits.taken then
        return
    end
    local found = redis.pcall('HSCAN', holders, clock.us % 1073741824, 'COUNT',
        16)
    for i = 1, failed(found) and 0 or #found[2], 2 do
        local id = found[2][i]
        if not redis.call('ZSCORE', zset, id) then
            redis.pcall('HDEL', holders, id)
        end
    end
end

-- Puts the permits of ours back that went with the zset, which somebody deleted
-- or the server evicted: it is empty, and just as many as are known of here are
-- missing to N. Where it still has some, Redisson took the others; where all
-- leases have ended, it may have taken all. The leases of those that come back
-- are not known any more: they end with the record of the holders, unless they
-- are given back before.
function permits.recover()
    local missing = (record.all or 0) - (permits.free or 0)
    local known = permits.free and permits.taken == 0 and missing > 0
        and redis.call('HLEN', holders) or 0
    if known < missing or known > SWEEP or missing <= 0
            or record.ends and not permit.may_live(holders, record.ends) then
        return
    end
    local lost = {}
    for _, id in ipairs(redis.call('HKEYS', holders)) do
        if not redis.call('ZSCORE', zset, id) then
            lost[#lost + 1] = id
        end
    end
    if #lost == missing and not failed(permit.put(zset, lost, clock.ms
            + math.max(redis.call('PTTL', holders), 0))) then
        permits.taken = permits.taken + missing
    end
end

-- ---- who holds ----

-- What is recorded of a claim; .till, if it holds.
function permits.find(claim)
    return permit.look(zset, holders, claim)
end

-- Has a release give up these permits, any number of them.
function permits.give_up(ids)
    given_up = ids
end

-- Has those waiters look who need more than there is: they wait for nothing.
local function tell_the_short()
    local claims = redis.call('ZRANGE', queue, 0, TOLD - 1)
    local packed = #claims > 0 and redis.call('HMGET', tickets, unpack(claims))
    for i = 1, #claims do
        local entry = line.unpack(packed[i])
        if entry and entry.need > permits.free + permits.taken then
            redis.pcall('PUBLISH', entry.inbox, string.format(
                'open semaphore %s %.0f ', claims[i], entry.ticket) .. lock)
        end
    end
end

-- Makes n the number of permits. The first write is one that a full server
-- refuses. Returns an error or nil.
function permits.set(n)
    local free = n - permits.taken
    local is_less = permits.free and free < permits.free
    local reply
    if permits.free then
        reply = redis.pcall('INCRBY', lock, free - permits.free)
    else
        reply = redis.pcall('SET', lock, free)
    end
    if failed(reply) then
        return reply
    end
    permits.free = free
    if is_less then
        tell_the_short()
    end
    reply = redis.pcall('HSET', state, 'v', '1', 'kind', 'leased', 'n', n)
    if record.kind == 'leased' then
        return nil
    end
    return failed(reply) or lease.keep(state, record.kept, 0)
end

-- How many are free when what has ended is taken back.
function permits.available()
    return permits.free + #find_ended()
end

-- Milliseconds until the next lease ends by itself; -1: it cannot be told.
function permits.left()
    local next_one = redis.call('ZRANGE', zset, 0, 0, 'WITHSCORES')
    local left = (tonumber(next_one[2]) or 0) - clock.ms
    return left > 0 and left < 1e13 and left or -1
end

-- How long this side keeps to itself what it has, after the others' turn: half
-- as long as that was, and longer the fewer of the permits it has.
local function turn_ms()
    local away = math.max(clock.ms - open_since, 0)
    local all = permits.free + permits.taken
    local ours = math.max(redis.call('HLEN', holders), 1)
    return math.floor(math.min(away * (math.max(all / ours, 1) - 0.5), 500))
end

-- Writes the record of a grant of n for ms. A turn of the others that was open
-- ends here.
local function write_state(fence, n, ms)
    last_end = math.max(last_end, clock.ms + ms + skew)
    local fields = {'v', '1', 'kind', 'leased', 'fence', fence,
        'n', permits.free + permits.taken + n, 'ends', last_end}
    if open_since > 0 then
        for _, word in ipairs({'open', 0, 'until', clock.ms + turn_ms()}) do
            fields[#fields + 1] = word
        end
    end
    local bad = failed(redis.pcall('HSET', state, unpack(fields)))
    if not bad then
        last_fence, open_since = fence, 0
    end
    return bad
end

-- Writes down who holds, for ms; n of the permits are new. Returns an error or
-- nil.
local function sign(claim, entry, ids, fence, ms, n)
    local own = {claim = claim, fence = fence, ticket = entry.ticket,
        since = clock.ms, skew = skew, inbox = entry.inbox,
        reason = entry.reason}
    local bad = failed(redis.pcall('HSET', holders,
            unpack(permit.fields(own, ids))))
        or permit.keep(holders, ms + skew)
        or write_state(fence, n, ms)
    if bad then
        return bad
    end
    bad = lease.keep(state, record.kept, ms)
    if bad and not record.kept then
        redis.pcall('DEL', state) -- a state without a TTL would stay
    end
    return bad
end

-- Makes claim a holder for ms, if what has ended makes room for it. Returns its
-- fence, or nil and an error, and then it holds nothing. The first write is one
-- that a full server refuses. As in Redisson, the zset ends with the counter.
function permits.take(claim, entry, ms)
    local ids = permit.ids(claim, entry.need)
    local far = beyond(last_fence + 1, 'fences')
    if far then
        return nil, far
    end
    local added = permit.put(zset, ids, clock.ms + ms + skew)
    if failed(added) then
        return nil, added
    end
    local fence = math.max(last_fence + 1, clock.us)
    local bad = permits.free < added and sweep() or add(-added)
    local paid = bad and 0 or added
    bad = bad or sign(claim, entry, ids, fence, ms, added)
    if not bad then
        local end_ms = redis.pcall('PTTL', lock)
        bad = failed(end_ms) or end_ms > 0
            and failed(redis.pcall('PEXPIRE', zset, end_ms)) or nil
    end
    if bad then
        local n = redis.pcall('ZREM', zset, unpack(ids))
        add((failed(n) and 0 or n) + paid - added)
        redis.pcall('HDEL', holders, unpack(ids))
        return nil, bad
    end
    permits.taken = permits.taken + added
    return fence
end

-- ---- what part_pass asks ----

-- The first waiter, if it fits: nobody passes it by, however little he needs.
-- Where something is free, one that is dead is to be skipped whether it fits or
-- not, and one that needs more than there is is put aside until it looks. Who
-- looks is alive. The third value is true if it fits.
function room.next()
    for _ = 1, LOOKS do
        local claim, entry = line.first()
        if not permits.free or not entry then
            return permits.free and claim
        elseif permits.free < entry.need then
            sweep()
        end
        if permits.free >= entry.need then
            return claim, entry, true
        elseif permits.free <= 0 then
            return nil
        elseif entry.need <= permits.free + permits.taken then
            local dead = claim ~= ARGV[1] and line.is_alive(entry) == false
            return dead and claim or nil, entry, false
        elseif line.skip(claim, entry) then
            return nil
        end
        permits.short[claim] = true
    end
    return nil
end

function room.take(claim, entry, ms)
    local fence, bad = permits.take(claim, entry, ms)
    if not fence then
        return nil, bad
    end
    return {fence = fence, top = fence}
end

function room.undo(claim, entry)
    take_back(permit.ids(claim, entry.need))
end

-- Takes back what the script gives up. Where that is nothing the write changes
-- nothing, but a full server lets what follows through. Returns an error or
-- nil.
function room.free()
    if #given_up == 0 then
        return failed(redis.pcall('ZREM', zset, ''))
    end
    for i = 1, #given_up, SWEEP do
        local bad = take_back({unpack(given_up, i,
            math.min(i + SWEEP - 1, #given_up))})
        if bad then
            return bad
        end
    end
    return nil
end

-- Redisson's waiters are told how many are free.
function room.word()
    if (permits.free or 0) <= 0 then
        return nil
    end
    return string.format('%.0f', permits.free)
end

-- 1 if claim is next and some permits are held by somebody who will never hand
-- them over: then its client must try for itself.
function permits.contends(claim)
    return line.first() == claim
        and permits.taken > redis.call('HLEN', holders) and 1 or 0
end
