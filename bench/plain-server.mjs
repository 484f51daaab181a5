/** Sends the same bytes to everyone, as the upper limit of Node.js. Prints its port. */
import http from 'node:http';

process.once('message', ({ body, headers }) => {
  const bytes = Buffer.from(body);
  const server = http.createServer((_request, response) => {
    response.writeHead(200, { ...headers, 'Content-Length': bytes.length });
    response.end(bytes);
  });
  server.listen(0, '127.0.0.1', () => process.send(server.address().port));
});
