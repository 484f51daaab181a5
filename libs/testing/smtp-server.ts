import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { eventually } from './eventually.js';
import { killAtExit } from './kill-at-exit.js';
import { findFreePort } from './ports.js';

export type SmtpServerOptions = {
  /** Default: a free port. */
  port?: number;
  /** The only user who may send. Default: no login is required. */
  login?: { user: string; password: string };
  /** Its certificate is self-signed. */
  tls?: 'none' | 'starttls' | 'implicit';
  /** Whether `accepted` also contains the messages themselves. */
  keepContent?: boolean;
  /** Extensions that it does not support. */
  hide?: readonly ('SMTPUTF8' | 'PIPELINING' | '8BITMIME')[];
  /** The maximum size of a message in bytes. */
  size?: number;
};

export type SmtpStage = 'greeting' | 'mail' | 'rcpt' | 'end';

/** How the server behaves from now on. Anything not set works as in any mail server. */
export type SmtpBehaviour = {
  /** Responds with one of these codes to this share of the commands. At `end`: to the dot after the message. */
  refuses?: Partial<Record<SmtpStage, { codes: number[]; share?: number; text?: string }>>;
  /** Never responds at this stage. */
  silent?: SmtpStage;
  /**
   * Does not respond until the behaviour changes; at `middle`, also stops reading. {@link SmtpServer.reaches} waits until a connection
   * is on hold.
   */
  holds?: SmtpStage | 'middle';
  /** Closes the connection: at `middle` while reading the message, at `end` after accepting it but before responding. */
  cut?: SmtpStage | 'middle';
  /** Closes the connection when a client names this recipient. */
  dreads?: string;
  /** Milliseconds before it confirms a message. */
  delay?: number;
  /** Milliseconds before it sends the greeting. */
  greetingDelay?: number;
};

export type AcceptedMail = {
  to: string;
  from: string;
  bytes: number;
  user: string | null;
  isSecure: boolean;
  isUtf8: boolean;
  content?: string;
};

type Line = Partial<Omit<AcceptedMail, 'to'>> & {
  accepted?: string[];
  isListening?: true;
  isBehaving?: true;
  holding?: SmtpStage | 'middle';
};

/**
 * A mail server (npm's smtp-server) in a separate process that can be killed, frozen and restarted on the same port. It reports each
 * message to us before it confirms it to the client. So `accepted` contains every confirmed message, even if the server or the client
 * crashes.
 */
export class SmtpServer {
  /**
   * Messages accepted by all processes on this port, in order. Complete only after {@link SmtpServer.settle} or
   * {@link SmtpServer.stop}, because the confirmation can reach a client before the report reaches us.
   */
  readonly accepted: AcceptedMail[] = [];
  private child: ChildProcess | undefined;
  private behaving: (() => void)[] = [];
  /** Stages at which connections are on hold since the behaviour last changed. */
  private readonly held = new Set<SmtpStage | 'middle'>();
  private release: (() => void) | undefined;

  private constructor(
    readonly port: number,
    private readonly options: SmtpServerOptions,
  ) {}

  static async start(options: SmtpServerOptions = {}): Promise<SmtpServer> {
    const server = new SmtpServer(options.port ?? (await findFreePort()), options);
    await server.start();
    return server;
  }

  /** Includes the user and password if a login is required. */
  get url(): string {
    const { login, tls } = this.options;
    const credentials = login
      ? `${encodeURIComponent(login.user)}:${encodeURIComponent(login.password)}@`
      : '';
    const options =
      tls === undefined || tls === 'none' ? '?requireTLS=false' : '?tls.rejectUnauthorized=false';
    return `smtp${tls === 'implicit' ? 's' : ''}://${credentials}127.0.0.1:${this.port}${options}`;
  }

  /** The number of messages to each address. */
  get addresses(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { to } of this.accepted) counts.set(to, (counts.get(to) ?? 0) + 1);
    return counts;
  }

  /** Resolves when it accepts connections. It starts with the behaviour of any mail server. */
  async start(): Promise<void> {
    const program = join(process.cwd(), 'libs/testing/smtp-server-program.mjs');
    const child = spawn(process.execPath, [program, JSON.stringify({ ...this.options, port: this.port })], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.child = child;
    this.release = killAtExit(() => void child.kill('SIGKILL'));
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (status) => reject(new Error(`the mail server ended with ${status}`)));
      createInterface({ input: child.stdout }).on('line', (text) => {
        const line = JSON.parse(text) as Line;
        if (line.isListening) resolve();
        if (line.isBehaving) this.behaving.shift()?.();
        if (line.holding) this.held.add(line.holding);
        if (line.accepted) this.keep(line);
      });
    });
  }

  /** Changes the behaviour. Resolves when the change is in effect. */
  async behave(behaviour: SmtpBehaviour): Promise<void> {
    await this.ask(behaviour);
  }

  isHolding(stage: SmtpStage | 'middle'): boolean {
    return this.held.has(stage);
  }

  /** Resolves when a connection is on hold at this stage. */
  async reaches(stage: SmtpStage | 'middle'): Promise<void> {
    await eventually(() => {
      if (!this.isHolding(stage)) throw new Error(`the mail server holds no connection at ${stage}`);
    });
  }

  /** Resolves when `accepted` contains every message that the server has confirmed so far. */
  async settle(): Promise<void> {
    await this.ask(null);
  }

  /** Kills it like a crash. {@link SmtpServer.start} starts it again. */
  async stop(): Promise<void> {
    this.release?.();
    const { child } = this;
    this.behaving = [];
    if (child?.exitCode !== null || child.signalCode !== null) return;
    // Emitted when all its output has been read.
    const closed = once(child, 'close');
    child.kill('SIGKILL');
    await closed;
  }

  /** It keeps its connections and the operating system accepts new ones, but it does not respond until {@link SmtpServer.resume}. */
  freeze(): void {
    this.child!.kill('SIGSTOP');
  }

  resume(): void {
    this.child!.kill('SIGCONT');
  }

  private async ask(behaviour: SmtpBehaviour | null): Promise<void> {
    const answered = new Promise<void>((resolve) =>
      this.behaving.push(() => {
        // Cleared here and not after awaiting, because the next line may already report a connection on hold.
        if (behaviour) this.held.clear();
        resolve();
      }),
    );
    this.child!.stdin!.write(`${JSON.stringify(behaviour)}\n`);
    await answered;
  }

  private keep({ accepted = [], content, ...line }: Line): void {
    for (const to of accepted) {
      this.accepted.push({
        ...(line as Omit<AcceptedMail, 'to'>),
        to,
        ...(content === undefined ? {} : { content: Buffer.from(content, 'base64').toString() }),
      });
    }
  }
}
