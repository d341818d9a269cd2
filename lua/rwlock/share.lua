-- SPDX-License-Identifier: MIT
-- share: making claims readers, or one the writer, and ending holds.
-- calls: DEL HDEL HSET PEXPIRE SET ZREM
-- needs: clock failed queue readers hold message publish room vacate

local share = {}

local CLAIM_MS = 3000
-- The hash is not made shorter by less than that.
local NEAR_MS = 10

-- Does commands in turn. Returns the first error, or nil.
local function do_all(commands)
    for i = 1, #commands do
        local bad = failed(redis.pcall(unpack(commands[i])))
        if bad then
            return bad
        end
    end
    return nil
end

-- The first of a grant's fences to a writer. Or nil and an error.
local function next_fence()
    local fence = math.max(hold.top + 1, clock.us)
    if fence > 9007199254740991 then
        return nil, redis.error_reply(
            'LKRANGE the name has no more fences: one was set to 2^53')
    end
    return fence
end

function share.writes(it)
    return it.mode == 'w' or it.mode == 'x'
end

-- How long one that was let in has at first.
function share.claim_ms(it)
    return math.min(tonumber(it.lease), CLAIM_MS)
end

-- What entries get, as parts of commands: the fields of the hash, the readers'
-- grants, the timeout keys; the texts of their members. With it the longest lease
-- and the highest ticket.
local function shares_of(to, ins, out, ms_of, fence)
    local is_writer = share.writes(ins[1])
    local parts = {texts = {}, fields = {}, grants = {}, timeouts = {}, most = 1,
        floor = tonumber(hold.was.floor), is_writer = is_writer}
    -- Redisson's mode; a read beside the own write leaves it.
    if is_writer or hold.mode ~= 'write' then
        parts.fields = {'mode', is_writer and 'write' or 'read'}
    end
    local fields, grants = parts.fields, parts.grants
    for i = 1, #ins do
        local it, ms = ins[i], ms_of(ins[i])
        parts.most = math.max(parts.most, ms)
        parts.floor = math.max(parts.floor, it.ticket)
        parts.texts[i] = it.text
        fields[#fields + 1] = is_writer and it.claim .. ':write' or it.claim
        fields[#fields + 1] = '1'
        if not is_writer then
            grants[#grants + 1] = it.claim
            grants[#grants + 1] = reader.write({
                fence = queue.text(it.fence or fence), nonce = it.nonce,
                ticket = queue.text(it.ticket), mode = it.mode,
                since = queue.text(clock.ms), lease = it.lease, flag = '-',
                inbox = it.inbox, reason = it.reason})
        end
        if not is_writer or out.stays then
            parts.timeouts[#parts.timeouts + 1] = {'SET',
                readers.key(to.lock, it.claim), '1', 'PX', queue.text(ms)}
        end
    end
    return parts
end

-- Notes in hold.marks that they came in. Where a read lengthens the hash beside
-- a writer, the writer's lease stands aside: returns the command for that, or
-- nil.
local function note(to, ins, out)
    local is_writer = share.writes(ins[1])
    if is_writer then
        hold.marks.wave = '-1'
        hold.marks.aside = out.stays and ins[1].claim or '-'
        return nil
    end
    for i = 1, #ins do
        if ins[i].mode == 'u' then
            hold.marks.upgrader = ins[i].claim
        end
    end
    if hold.mode ~= 'write' then
        if tonumber(hold.marks.wave) < 0 then
            hold.marks.wave = queue.text(room.last_reader(to))
        end
    elseif out.stays and hold.is_ours
            and hold.marks.aside ~= hold.was.claim then
        hold.marks.aside = hold.was.claim
        local command = {'SET', readers.key(to.lock, hold.was.claim), '1', 'PX',
            queue.text(math.max(to.left, 1))}
        return command
    end
    return nil
end

-- The record behind it.
local function record_with(first, fence, floor, turn_text)
    local changes = {floor = queue.text(floor), turn = turn_text}
    if share.writes(first) then
        changes.fence, changes.spare, changes.flag = queue.text(fence), '0', '-'
        changes.since = queue.text(clock.ms)
        for _, name in ipairs({'claim', 'nonce', 'mode', 'need', 'lease',
                'base', 'inbox', 'reason'}) do
            changes[name] = first[name]
        end
    elseif hold.top == 0 then
        changes.fence = queue.text(fence)
    end
    return hold.record(changes)
end

-- The commands that let them in, in their order: what leaves does so last.
local function commands_for(to, parts, out, aside, record_text, is_new)
    local ttl = out.stays and math.max(to.left, parts.most) or parts.most
    local commands = {}
    -- What is told of a free name ends with this grant; else others need it too.
    local function life_of(key)
        return to.left == -2 and queue.text(ttl + to.life)
            or hold.life(key, ttl + to.life)
    end
    local function add(...)
        commands[#commands + 1] = {...}
    end
    -- They change nothing: a full server refuses the first, and whoever may let
    -- nobody out lets nobody in, but a reader beside those who stay.
    local ousts = to.left ~= -2 and (parts.is_writer or #out.fields > 0)
    if is_new and ousts then
        add('HSET', to.lock, 'mode', hold.told_mode())
    end
    if not is_new or ousts then
        add('HDEL', to.lock, '')
    end
    commands[#commands + 1] = aside
    local lives = to.left ~= -2 and not is_new
    if lives then
        add('PEXPIRE', to.lock, queue.text(ttl))
    end
    add('HSET', to.lock, unpack(parts.fields))
    if not lives then
        add('PEXPIRE', to.lock, queue.text(ttl))
    end
    if not is_new then
        add('ZREM', to.queue, unpack(parts.texts))
    end
    if to.left == -2 then
        add('DEL', to.holders) -- they ended with the hash
    end
    for i = 1, #parts.timeouts do
        commands[#commands + 1] = parts.timeouts[i]
    end
    if #parts.grants > 0 then
        add('HSET', to.holders, unpack(parts.grants))
        add('PEXPIRE', to.holders, life_of(to.holders))
    end
    add('SET', to.record, record_text, 'PX', life_of(to.record))
    for i = 1, #out.fields, 32 do
        add('HDEL', to.lock, unpack(out.fields, i,
            math.min(i + 31, #out.fields)))
    end
    return commands
end

-- Takes away what those who left had beside their fields.
local function clear_behind(to, out)
    local names = out.fields
    if out.claim then
        redis.pcall('DEL', out.key)
        if names[1] ~= out.claim then
            names = {out.claim, unpack(names)}
        end
    end
    for i = 1, #names, 32 do
        redis.pcall('HDEL', to.holders, unpack(names, i,
            math.min(i + 31, #names)))
    end
end

-- Lets in entries: readers, or one writer. to: the keys, channel, db, life, left
-- (the hash's, -2: there is none). out: fields, of those that leave; claim and key, the
-- one of them whose keys go; stays: others hold on. ms_of says for how long each
-- is let in; is_new: nobody was queued and a full server is to refuse it.
-- Returns the fence; or nil, an error, and true if something was written and
-- taken back.
function share.let_in(to, ins, out, turn_text, ms_of, is_new)
    local first = ins[1]
    local old_marks, old_top = marks.write(hold.marks), hold.top
    local fence = hold.top
    local bad
    if share.writes(first) or hold.top == 0 then
        fence, bad = next_fence()
        if bad then
            return nil, bad
        end
    end
    local parts = shares_of(to, ins, out, ms_of, fence)
    local aside = note(to, ins, out)
    bad = do_all(commands_for(to, parts, out, aside, record_with(first, fence,
        parts.floor, turn_text), is_new))
    if bad then
        share.take_back(to, ins, out)
        hold.marks, hold.top = marks.read(old_marks), old_top
        return nil, bad, true
    end
    if is_new and first.ticket > 0 then
        redis.pcall('ZREM', to.queue, first.text)
    end
    clear_behind(to, out)
    hold.top = fence
    return fence
end

-- Takes a let_in back: nobody of them holds, and they wait as before. Of out: mode,
-- as the hash had it, if not as hold says; aside, the one whose key stays.
function share.take_back(to, ins, out)
    for i = 1, #ins do
        local it = ins[i]
        local field = share.writes(it) and it.claim .. ':write' or it.claim
        redis.pcall('HDEL', to.lock, field)
        if it.claim ~= out.aside then
            redis.pcall('DEL', readers.key(to.lock, it.claim))
        end
        redis.pcall('HDEL', to.holders, it.claim)
        if it.ticket > 0 then
            redis.pcall('ZADD', to.queue, queue.score(room.band(it.mode),
                it.ticket), it.text)
            redis.pcall('PEXPIRE', to.queue, queue.LIFE)
        end
    end
    local mode = out.mode or hold.told_mode()
    if to.left == -2 then
        if redis.pcall('DEL', to.lock) ~= 1 then
            redis.pcall('HDEL', to.lock, 'mode')
        end
    elseif mode then
        redis.pcall('HSET', to.lock, 'mode', mode)
    end
end

-- Tells one that was let in. An error takes nothing back.
function share.tell(to, it, fence)
    return failed(message.granted(it, to.queue, to.db, 'rwlock',
        queue.text(it.ticket), queue.text(fence), 0, share.claim_ms(it), to.lock))
end

-- Has the hash end with the last lease in it, as Redisson does, and not with one
-- that was given up. In doubt it ends later. fields and values are those of the hash,
-- nil: of more than a few; those who came last are looked at first, as their leases
-- end last. is_out: the fields that went.
local function shorten(to, fields, is_out)
    local longest = 0
    for i = fields and #fields - 1 or 0, 1, -2 do
        local holds = is_out[fields[i]] and 0 or tonumber(fields[i + 1]) or 0
        local writer = string.match(fields[i], '^(.*):write$')
        if writer and writer ~= hold.marks.aside and not is_out[fields[i]]
                or holds > readers.HOLDS then
            return
        end
        for j = 1, holds do
            local left = redis.pcall('PTTL', readers.key(to.lock,
                writer or fields[i], j))
            if failed(left) or left == -1 or left + NEAR_MS >= to.left then
                return
            end
            longest = math.max(longest, left)
        end
    end
    if longest > 0 and longest < to.left then
        redis.pcall('PEXPIRE', to.lock, queue.text(longest))
    end
end

-- Ends a hold and lets nobody in. out as in let_in, its own field the first;
-- wrote: it was the writer.
-- Returns an error, and then nothing has changed, or nil.
function share.free(to, out, wrote)
    local bad
    if not out.stays then
        return vacate(to.lock, out.key, to.holders)
    end
    local fields, is_out = readers.all(to.lock, 64), {}
    if wrote then
        hold.marks.wave = queue.text(room.last_reader(to))
    end
    if wrote or hold.lapsed then
        -- Changes nothing: a full server lets through what follows, and whoever may
        -- not let the writer out does not make it a reader.
        bad = failed(redis.pcall('HDEL', to.lock, ''))
            or failed(redis.pcall('HSET', to.lock, 'mode', 'read'))
    end
    bad = bad or failed(redis.pcall('HDEL', to.lock, unpack(out.fields, 1,
        math.min(#out.fields, 64))))
    if bad then
        return bad
    end
    clear_behind(to, out)
    if wrote then
        redis.pcall('SET', to.record, hold.record({}), 'PX',
            hold.life(to.record, to.left + to.life))
    end
    for i = 1, #out.fields do
        is_out[out.fields[i]] = true
    end
    shorten(to, fields, is_out)
    return nil
end

-- Tells Redisson's waiters in its way: 1 has all of them look, 0 one in each
-- process.
function share.tell_theirs(to, wrote)
    return failed(publish(to.channel, wrote and '1' or '0'))
end
