-- Sends the requests with wrk: see `load` in load.mjs. `autocannon.mjs` sends the same.
-- Arguments: method, path, body or "", value of Authorization or "", file of ids or "", prefix of {n}.

local ids = {}
local headers = {}
local method, path, body, prefix
sent = 0

function setup(thread)
  sender = thread
end

function init(args)
  method, path, body, prefix = args[1], args[2], args[3], args[6]
  if body ~= "" then headers["Content-Type"] = "application/json" end
  if args[4] ~= "" then headers["Authorization"] = args[4] end
  if args[5] ~= "" then
    for line in io.lines(args[5]) do ids[#ids + 1] = line end
  end
end

function request()
  local values = { id = ids[sent % #ids + 1], n = prefix .. "-" .. sent }
  sent = sent + 1
  local filled = body ~= "" and body:gsub("{(%a+)}", values) or nil
  return wrk.format(method, path:gsub("{(%a+)}", values), headers, filled)
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"sent":%d,"answered":%d,"refused":%d,"failed":%d,"seconds":%.6f,"p50":%.3f,"p99":%.3f}\n',
    sender:get("sent"), summary.requests, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout, summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
