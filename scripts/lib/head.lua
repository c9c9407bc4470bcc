-- head reads the bounded first part of a job's body (scripts/body.go writes it);
-- nil when the text is none. Every field is text, '' when it does not apply.
local function head(text)
  local h = {}
  h.kind, h.arrival, h.created, h.due, h.expiry, h.queue, h.name, h.retention, h.unique, h.schedule, h.incarnation,
    h.superseded, h.tick = string.match(text, '^([PX])\t(%x+)\t(%d+)\t(%d*)\t(%d*)\t([^\t]*)\t([^\t]*)\t(%d*)\t([^\t]*)\t([^\t]*)\t(%d*)\t(%d*)\t(%d*)\t')
  if not h.kind then return nil end
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
