/**
 * A mail server in a separate process that accepts every message and stores only the addresses. Prints { "message": "listening",
 * "port" }. For each line on standard input, prints { "message": "counted", "messages", "addresses" } since the previous line.
 */
import { createInterface } from 'node:readline';
import { SMTPServer } from 'smtp-server';

const addresses = new Set();
let messages = 0;

const server = new SMTPServer({
  disabledCommands: ['AUTH', 'STARTTLS'],
  disableReverseLookup: true,
  onData(stream, session, callback) {
    stream.on('data', () => undefined);
    stream.on('end', () => {
      messages += 1;
      for (const { address } of session.envelope.rcptTo) addresses.add(address);
      callback();
    });
  },
});
const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
server.listen(0, '127.0.0.1', () => print({ message: 'listening', port: server.server.address().port }));
createInterface({ input: process.stdin }).on('line', () => {
  print({ message: 'counted', messages, addresses: addresses.size });
  messages = 0;
  addresses.clear();
});
