/** A receiver of webhooks in a separate process. Counts events and their delays, and reports both on GET. */
import { createServer } from 'node:http';

const received = new Set();
const delays = [];
let requests = 0;

const server = createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8').on('data', (chunk) => (text += chunk));
  request.on('end', () => {
    if (request.method === 'GET') {
      const sorted = delays.toSorted((a, b) => a - b);
      const at = (share) => sorted[Math.floor(share * (sorted.length - 1))] ?? NaN;
      response.end(
        JSON.stringify({
          events: received.size,
          requests,
          'p50 ms': at(0.5),
          'p99 ms': at(0.99),
          'max ms': at(1),
        }),
      );
      return;
    }
    requests += 1;
    received.add(request.headers['webhook-id']);
    delays.push(Date.now() - Date.parse(JSON.parse(text).occurredAt));
    response.end();
  });
});
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
