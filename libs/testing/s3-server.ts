import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, request as ask, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from './ports.js';
import { ServerProgram } from './server-program.js';

/**
 * A server that speaks S3, with one bucket: s3rver, and before it what it lacks. No server was found in npm's registry that
 * knows conditional writes, so the proxy before it does that part: it answers 412 to a PUT with `If-None-Match: *` where there is
 * something, one PUT at a time. Lists and errors are s3rver's; it looks whose access key it is, and at no signature.
 */
export type S3Server = {
  bucket: string;
  /** What programs find it by. */
  environment: { [name: string]: string };
  /** What it was asked so far: `GET /anchors?list-type=2`. */
  readonly asked: string[];
  /** Set to false it overwrites, whatever a PUT says, as s3rver does by itself. */
  isConditional: boolean;
  /** Set to false it stores what is put and says nothing, as where the network breaks. */
  answersPuts: boolean;
  stop(): Promise<void>;
};

/** s3rver's own. */
const KEY = 'S3RVER';

/** @param bucket its one bucket. */
export async function startS3Server(bucket = 'anchors'): Promise<S3Server> {
  const directory = await mkdtemp(join(tmpdir(), 's3-'));
  const port = await findFreePort();
  const script = createRequire(join(process.cwd(), 'package.json')).resolve('s3rver/bin/s3rver.js');
  // It cuts lists by a cipher that OpenSSL 3 calls legacy.
  const program = new ServerProgram(
    process.execPath,
    [
      ...['--openssl-legacy-provider', '--no-deprecation', script, '--silent', '--no-vhost-buckets'],
      ...['-d', directory, '-a', '127.0.0.1', '-p', String(port), '--configure-bucket', bucket],
    ],
    port,
  );
  await program.start();

  let turn: Promise<unknown> = Promise.resolve();
  const proxy = createServer((request, response) => {
    server.asked.push(`${request.method} ${request.url}`);
    const isPut = request.method === 'PUT';
    const work = async (): Promise<void> => {
      if (isPut && request.headers['if-none-match'] === '*' && server.isConditional) {
        const there = await send(port, 'HEAD', request.url!);
        if (there.statusCode === 200) return refuse(request, response);
      }
      const answer = await send(port, request.method!, request.url!, request);
      if (isPut && !server.answersPuts) return void answer.resume();
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    };
    const done = (isPut ? turn : Promise.resolve()).then(work).catch(() => response.destroy());
    if (isPut) turn = done;
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');

  const server: S3Server = {
    bucket,
    environment: {
      AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: KEY,
      AWS_SECRET_ACCESS_KEY: KEY,
      // Nothing of whoever runs the tests.
      AWS_CONFIG_FILE: '/dev/null',
      AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
      AWS_EC2_METADATA_DISABLED: 'true',
    },
    asked: [],
    isConditional: true,
    answersPuts: true,
    async stop() {
      proxy.closeAllConnections();
      proxy.close();
      await program.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
  return server;
}

/** With the host of the one who asks, for that is signed. */
async function send(
  port: number,
  method: string,
  path: string,
  from?: IncomingMessage,
): Promise<IncomingMessage> {
  const asking = ask({ host: '127.0.0.1', port, method, path, headers: from?.headers ?? {} });
  if (from) from.pipe(asking);
  else asking.end();
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  return answer;
}

function refuse(request: IncomingMessage, response: ServerResponse): void {
  request.resume();
  response.writeHead(412, { 'Content-Type': 'application/xml' });
  response.end(
    '<?xml version="1.0"?><Error><Code>PreconditionFailed</Code><Message>It is there.</Message></Error>',
  );
}
