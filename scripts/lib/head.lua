-- head reads the bounded first part of a job's body (scripts/body.go writes it);
-- nil when the text is none. Every field is text, '' when it does not apply. Only
-- runs of schedules have next and own, and not those that layout 1 wrote.
local function head(text)
  local h, extra = {}, nil
  h.kind, h.arrival, h.created, h.due, h.expiry, h.queue, h.name, h.retention, h.unique, h.schedule, h.incarnation,
    h.superseded, h.tick, extra, h.trigger = string.match(text, '^([PX])\t(%x+)\t(%d+)\t(%d*)\t(%d*)\t([^\t\n]*)\t([^\t\n]*)\t(%d*)\t([^\t\n]*)\t([^\t\n]*)\t(%d*)\t(%d*)\t(%d*)\t([%d\t]*)(%a*)\t')
  if not h.kind then return nil end
  if h.schedule ~= '' then h.next, h.own = string.match(extra, '^(%d*)\t(1?)\t') end
  h.next, h.own = h.next or '', h.own or ''
  return h
end

-- read_head fetches the head of job id: nil and the reason when there is no
-- readable body, so that one spoilt id never stops a batch.
local function read_head(id)
  local text = redis.pcall('GETRANGE', K.job .. id, 0, 1279)
  if type(text) ~= 'string' then return nil, 'the body has the wrong type' end
  if text == '' then return nil, 'the body is missing' end
  local h = head(text)
  if not h then return nil, 'the body is not readable' end
  h.member = h.arrival .. ':' .. h.queue .. ':' .. id
  return h
end
