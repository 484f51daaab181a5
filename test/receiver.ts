import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, type Socket } from 'node:net';

/** A delivery that a receiver of webhooks got. */
export type Delivery = {
  path: string;
  id: string;
  headers: IncomingHttpHeaders;
  text: string;
  body: any;
  at: number;
};

/** A receiver of webhooks whose responses a test controls. */
export class Receiver {
  readonly deliveries: Delivery[] = [];
  private readonly sockets = new Set<Socket>();
  private server!: Server;
  private port = 0;

  /** @param answer to each request. Default: 200. */
  private constructor(private readonly answer: (delivery: Delivery, response: ServerResponse) => void) {}

  static async start(
    answer: (delivery: Delivery, response: ServerResponse) => void = (_, response) =>
      void response.end('thanks'),
  ): Promise<Receiver> {
    const receiver = new Receiver(answer);
    await receiver.listen();
    return receiver;
  }

  at(path: string): string {
    return `http://127.0.0.1:${this.port}/${path}`;
  }

  /** The deliveries to a path, in the order of arrival. */
  of(path: string): Delivery[] {
    return this.deliveries.filter((delivery) => delivery.path === `/${path}`);
  }

  /** Closes the port and all connections. */
  async stop(): Promise<void> {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
    await once(this.server, 'close');
  }

  async listen(): Promise<void> {
    this.server = createServer((request, response) => {
      let text = '';
      request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      request.on('end', () => {
        const { headers, url = '' } = request;
        const delivery = {
          path: url,
          id: String(headers['webhook-id']),
          headers,
          text,
          body: JSON.parse(text),
          at: Date.now(),
        };
        this.deliveries.push(delivery);
        this.answer(delivery, response);
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
