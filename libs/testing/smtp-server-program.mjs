// A mail server that stores nothing. It writes each message that it accepts as a line of JSON, before it responds to the client.
// Each line of JSON on its input sets its behaviour from then on (null: no change) and gets a response. `smtp-server.ts` starts it
// and declares the types of both.
import { createInterface } from 'node:readline';
import { SMTPServer } from 'smtp-server';

const {
  port,
  login,
  tls = 'none',
  keepContent = false,
  hide = [],
  size,
} = JSON.parse(process.argv[2] ?? '{}');
let behaviour = {};
/** Continues the connections that are on hold, when the behaviour changes. */
let held = [];

function hold(stage, resume) {
  held.push(resume);
  say({ holding: stage });
}

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

/** Applies the behaviour set for a stage. Without one, calls `go`, which does what any server does. */
function at(stage, session, go, refuse) {
  const { silent, holds, cut, refuses = {}, delay = 0, greetingDelay = 0 } = behaviour;
  if (silent === stage) return;
  if (holds === stage) return hold(stage, go);
  if (cut === stage) return socketOf(session)?.destroy();
  const { codes, share = 1, text = 'not now' } = refuses[stage] ?? {};
  const code = codes && Math.random() < share && codes[Math.floor(Math.random() * codes.length)];
  const answer = code ? () => refuse(Object.assign(new Error(text), { responseCode: code })) : go;
  if (stage === 'end' && delay > 0) setTimeout(answer, delay);
  else if (stage === 'greeting' && greetingDelay > 0) setTimeout(answer, greetingDelay);
  else answer();
}

function socketOf({ id }) {
  return [...server.connections].find(({ session }) => session?.id === id)?._socket;
}

const server = new SMTPServer({
  banner: 'tests',
  logger: false,
  secure: tls === 'implicit',
  disabledCommands: [...(tls === 'starttls' ? [] : ['STARTTLS']), ...(login ? [] : ['AUTH'])],
  authOptional: !login,
  disableReverseLookup: true,
  closeTimeout: 100,
  ...(size ? { size, rejectOversized: true } : {}),
  ...Object.fromEntries(hide.map((extension) => [`hide${extension}`, true])),
  onConnect: (session, callback) => at('greeting', session, callback, callback),
  onAuth({ username, password }, session, callback) {
    if (username === login.user && password === login.password) callback(null, { user: username });
    else callback(Object.assign(new Error('Authentication failed'), { responseCode: 535 }));
  },
  onMailFrom: (_, session, callback) => at('mail', session, callback, callback),
  onRcptTo({ address }, session, callback) {
    if (address === behaviour.dreads) socketOf(session)?.destroy();
    else at('rcpt', session, callback, callback);
  },
  onData(stream, session, callback) {
    const pieces = [];
    let bytes = 0;
    stream.on('error', () => undefined);
    stream.on('data', (piece) => {
      bytes += piece.length;
      if (keepContent) pieces.push(piece);
      if (behaviour.cut === 'middle') socketOf(session)?.destroy();
      if (behaviour.holds !== 'middle' || stream.isPaused()) return;
      stream.pause();
      hold('middle', () => stream.resume());
    });
    // Not emitted if the message is incomplete.
    stream.on('end', () => {
      const { mailFrom, rcptTo, smtpUtf8 = false } = session.envelope;
      const accept = () => {
        say({
          accepted: rcptTo.map(({ address }) => address),
          from: mailFrom.address,
          bytes,
          user: session.user ?? null,
          isSecure: session.secure,
          isUtf8: smtpUtf8,
          ...(keepContent ? { content: Buffer.concat(pieces).toString('base64') } : {}),
        });
      };
      if (behaviour.cut === 'end') accept();
      at('end', session, () => (accept(), callback()), callback);
    });
  },
});

// Errors of connections are ignored, because tests kill clients.
server.on('error', (error) => {
  if (error.code === 'EADDRINUSE') throw error;
});
server.listen(port, '127.0.0.1', () => say({ isListening: true }));

createInterface({ input: process.stdin }).on('line', (line) => {
  const next = JSON.parse(line);
  behaviour = next ?? behaviour;
  say({ isBehaving: true });
  if (next) for (const resume of held.splice(0)) resume();
});
