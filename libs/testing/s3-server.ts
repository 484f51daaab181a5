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
 * An S3 server with one bucket: s3rver behind a proxy that adds conditional writes, which no server in npm's registry supports.
 * The proxy handles one PUT at a time. It responds with 412 to a PUT with `If-None-Match: *` if the object exists. s3rver checks
 * the access key, but no signatures.
 */
export type S3Server = {
  bucket: string;
  /** The variables with which programs find it. */
  environment: { [name: string]: string };
  /** The requests so far: `GET /anchors?list-type=2`. */
  readonly asked: string[];
  /** Whether conditional writes work. If false, every PUT overwrites, as in s3rver itself. */
  isConditional: boolean;
  /** Whether PUTs get a response. If false, the object is stored without one, as if the network failed. */
  answersPuts: boolean;
  stop(): Promise<void>;
};

/** The access key and secret that s3rver accepts. */
const KEY = 'S3RVER';

/** @param bucket its name. */
export async function startS3Server(bucket = 'anchors'): Promise<S3Server> {
  const directory = await mkdtemp(join(tmpdir(), 's3-'));
  const port = await findFreePort();
  const script = createRequire(join(process.cwd(), 'package.json')).resolve('s3rver/bin/s3rver.js');
  // s3rver encrypts the cursors of lists with a cipher that OpenSSL 3 only has in its legacy provider.
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
      // Ignores the AWS configuration of the user who runs the tests.
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

/** Passes the headers of `from` on unchanged, because the signature covers the host. */
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
