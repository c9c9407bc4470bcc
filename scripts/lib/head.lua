-- head reads the bounded first part of a job's body (scripts/body.go writes it);
-- nil when the text is none. Every field is text, '' when it does not apply. Bodies
-- of layout 1 have neither next nor own.
local function head(text)
  local common = '^([PX])\t(%x+)\t(%d+)\t(%d*)\t(%d*)\t([^\t\n]*)\t([^\t\n]*)\t(%d*)\t([^\t\n]*)\t([^\t\n]*)\t(%d*)\t(%d*)\t(%d*)\t'
  local h = {}
  h.kind, h.arrival, h.created, h.due, h.expiry, h.queue, h.name, h.retention, h.unique, h.schedule, h.incarnation,
    h.superseded, h.tick, h.next, h.own, h.trigger = string.match(text, common .. '(%d*)\t(1?)\t(%a*)\t')
  if h.kind then return h end
  h.kind, h.arrival, h.created, h.due, h.expiry, h.queue, h.name, h.retention, h.unique, h.schedule, h.incarnation,
    h.superseded, h.tick, h.trigger = string.match(text, common .. '(%a*)\t')
  if not h.kind then return nil end
  h.next, h.own = '', ''
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
