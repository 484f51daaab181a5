/** A receiver of webhooks as a separate process that counts events, and reports the count on request. */
import { createServer } from 'node:http';

const told = new Set();
const lags = [];
let requests = 0;

const server = createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8').on('data', (chunk) => (text += chunk));
  request.on('end', () => {
    if (request.method === 'GET') {
      // Of all requests so far.
      const sorted = lags.toSorted((a, b) => a - b);
      const at = (share) => sorted[Math.floor(share * (sorted.length - 1))] ?? NaN;
      response.end(
        JSON.stringify({
          events: told.size,
          requests,
          'p50 ms': at(0.5),
          'p99 ms': at(0.99),
          'most ms': at(1),
        }),
      );
      return;
    }
    requests += 1;
    told.add(request.headers['webhook-id']);
    lags.push(Date.now() - Date.parse(JSON.parse(text).occurredAt));
    response.end();
  });
});
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
