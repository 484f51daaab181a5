/** Sends the requests with autocannon if wrk is not installed. They are the same as in `load.lua`. */
import autocannon from 'autocannon';
import { readFileSync } from 'node:fs';

const {
  url,
  method,
  path,
  body,
  authorization,
  ids: file,
  prefix,
  connections,
  seconds,
} = JSON.parse(process.argv[2]);
const ids = file ? readFileSync(file, 'utf8').trim().split('\n') : [];
const headers = {
  ...(body ? { 'Content-Type': 'application/json' } : {}),
  ...(authorization ? { Authorization: authorization } : {}),
};
let sent = 0;

const result = await autocannon({
  ...{ url, connections, duration: seconds, timeout: 30 },
  requests: [
    {
      method,
      setupRequest(request) {
        const values = { id: ids[sent % ids.length], n: `${prefix}-${sent}` };
        sent += 1;
        const fill = (text) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
        return { ...request, headers, path: fill(path), ...(body ? { body: fill(body) } : {}) };
      },
    },
  ],
});
const { requests, non2xx, errors, duration, latency } = result;
const figures = { sent, answered: requests.total, refused: non2xx, failed: errors };
console.log(JSON.stringify({ ...figures, seconds: duration, p50: latency.p50, p99: latency.p99 }));
