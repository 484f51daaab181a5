/** Sends the same bytes in every response, as the upper limit of Node.js. Gets them from its parent process, and sends its port back. */
import http from 'node:http';

process.once('message', ({ body, headers }) => {
  const bytes = Buffer.from(body);
  const server = http.createServer((_request, response) => {
    response.writeHead(200, { ...headers, 'Content-Length': bytes.length });
    response.end(bytes);
  });
  server.listen(0, '127.0.0.1', () => process.send(server.address().port));
});
