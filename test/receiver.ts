import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, type Socket } from 'node:net';

/** What a receiver of webhooks was told. */
export type Told = {
  path: string;
  id: string;
  headers: IncomingHttpHeaders;
  text: string;
  body: any;
  at: number;
};

/** A receiver of webhooks, that does what a test has it do: by path. */
export class Receiver {
  readonly told: Told[] = [];
  private readonly sockets = new Set<Socket>();
  private server!: Server;
  private port = 0;

  /** @param answer of each request; 200 where it does nothing else. */
  private constructor(private readonly answer: (told: Told, response: ServerResponse) => void) {}

  static async start(
    answer: (told: Told, response: ServerResponse) => void = (_, response) => void response.end('thanks'),
  ): Promise<Receiver> {
    const receiver = new Receiver(answer);
    await receiver.comeBack();
    return receiver;
  }

  at(path: string): string {
    return `http://127.0.0.1:${this.port}/${path}`;
  }

  /** In the order in which they came. */
  of(path: string): Told[] {
    return this.told.filter((told) => told.path === `/${path}`);
  }

  /** Nobody listens there any more. */
  async goAway(): Promise<void> {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
    await once(this.server, 'close');
  }

  async comeBack(): Promise<void> {
    this.server = createServer((request, response) => {
      let text = '';
      request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      request.on('end', () => {
        const { headers, url = '' } = request;
        const told = {
          path: url,
          id: String(headers['webhook-id']),
          headers,
          text,
          body: JSON.parse(text),
          at: Date.now(),
        };
        this.told.push(told);
        this.answer(told, response);
      });
    });
    this.server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket)).on('error', () => undefined);
    });
    this.server.listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
    ({ port: this.port } = this.server.address() as AddressInfo);
  }
}
