-- SPDX-License-Identifier: MIT
-- past: the record of a name as a script finds it.

local past = {}

-- What is there where nothing is known. Of another family's record only the
-- fences count, its place in the queue's order and its turn do not.
function past.none(layout, fence, spare)
    return {layout = layout, fence = fence, spare = spare, floor = '0',
        flag = '-', turn = '-', more = '-', since = '0', claim = '-',
        nonce = '-', mode = '-', need = '0', lease = '0', base = '-',
        inbox = '-', reason = ''}
end

-- The record that a text holds; false: there is none. Or nil and an error.
function past.read(text, layout)
    if not text then
        return past.none(layout, '0', '0')
    end
    local was = record.read(text)
    if not was or string.sub(was.layout, 1, 1) ~= '2' then
        return nil, redis.error_reply('LKLAYOUT the name is in use by a '
            .. 'release with another layout of keys')
    elseif was.layout ~= layout then
        return past.none(layout, was.fence, was.spare)
    end
    return was
end
