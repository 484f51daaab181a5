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
  /** Nobody else may send. */
  login?: { user: string; password: string };
  /** Its certificate is self-signed. */
  tls?: 'none' | 'starttls' | 'implicit';
  /** Whether the messages themselves are stored too. */
  keepContent?: boolean;
  /** Extensions that it does not support. */
  hide?: readonly ('SMTPUTF8' | 'PIPELINING' | '8BITMIME')[];
  /** The maximum size of a message in bytes. */
  size?: number;
};

export type SmtpStage = 'greeting' | 'mail' | 'rcpt' | 'end';

/** What it does from now on; what is left out, it does as any server. */
export type SmtpBehaviour = {
  /** It answers with one of these codes, to this share of all. At `end`: to the dot after the message. */
  refuses?: Partial<Record<SmtpStage, { codes: number[]; share?: number; text?: string }>>;
  /** It never responds. */
  silent?: SmtpStage;
  /** It says nothing, and at `middle` reads no further, until it is to behave otherwise; {@link SmtpServer.reaches} waits for it. */
  holds?: SmtpStage | 'middle';
  /** It closes the connection: at `middle` while it reads the message, at `end` when it has taken it, and without saying so. */
  cut?: SmtpStage | 'middle';
  /** The recipient at whose name it closes the connection. */
  dreads?: string;
  /** Milliseconds before it says that it has taken a message. */
  delay?: number;
  /** Milliseconds before it greets. */
  greetingDelay?: number;
};

export type AcceptedMail = {
  to: string;
  from: string;
  bytes: number;
  /** The user who was logged in. */
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
 * A mail server (npm's smtp-server), in a process of its own that can be killed, frozen, and started again where it was. What
 * it took is told before it is answered, so that nothing that a client may count on is missing from `accepted`, whatever
 * becomes of either.
 */
export class SmtpServer {
  /**
   * Of all processes on this port, in the order in which they were taken; whole after {@link SmtpServer.settle} and
   * {@link SmtpServer.stop}: a client is told sooner than we.
   */
  readonly accepted: AcceptedMail[] = [];
  private child: ChildProcess | undefined;
  private behaving: (() => void)[] = [];
  /** Stages at which it holds a connection since it was told to behave so. */
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

  /** With user and password where it wants them. */
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

  /** Resolves when it takes connections; it behaves as any server then. */
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

  /** Resolves when it does. */
  async behave(behaviour: SmtpBehaviour): Promise<void> {
    await this.ask(behaviour);
  }

  /** Whether it holds a connection at this stage. */
  isHolding(stage: SmtpStage | 'middle'): boolean {
    return this.held.has(stage);
  }

  /** Resolves when it holds a connection at this stage. */
  async reaches(stage: SmtpStage | 'middle'): Promise<void> {
    await eventually(() => {
      if (!this.isHolding(stage)) throw new Error(`the mail server holds no connection at ${stage}`);
    });
  }

  /** Resolves when `accepted` has all that it has told clients of so far. */
  async settle(): Promise<void> {
    await this.ask(null);
  }

  /** Kills it, as a crash would; {@link start} starts it again. */
  async stop(): Promise<void> {
    this.release?.();
    const { child } = this;
    this.behaving = [];
    if (child?.exitCode !== null || child.signalCode !== null) return;
    // With its output read to the end.
    const closed = once(child, 'close');
    child.kill('SIGKILL');
    await closed;
  }

  /** It keeps its connections, and the system takes new ones for it, but it answers nothing until {@link resume}. */
  freeze(): void {
    this.child!.kill('SIGSTOP');
  }

  resume(): void {
    this.child!.kill('SIGCONT');
  }

  private async ask(behaviour: SmtpBehaviour | null): Promise<void> {
    const answered = new Promise<void>((resolve) =>
      this.behaving.push(() => {
        // Here, and not after the answer: what it holds from now on may stand in the next line.
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
