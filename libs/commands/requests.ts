import { createHash } from 'node:crypto';
import { canonical, type EventStore, type JsonObject } from '#libs/event-store';
import { type Projections } from '#libs/projections';
import { type Input, operationOf, type RequestContext, RpcError, type StreamedInput } from '#libs/rpc';

/** What makes a request the same as another: its key, or (of creates) its input. */
export type Identity = { key?: Buffer; fingerprint?: Buffer; natural?: () => Buffer };

/** Tells whether a request was made before, and what it was answered. */
export class Requests {
  constructor(
    private readonly store: EventStore,
    private readonly projections: Projections,
  ) {}

  identify(input: Input): Identity {
    const { context, ...fields } = input;
    const operation = operationOf(input.constructor)?.name ?? input.constructor.name;
    const key = this.keyOf(context);
    if (key) {
      return { key, fingerprint: this.store.keyring.hash('request', operation, canonical(fields)) };
    }
    return {
      natural: () => this.store.keyring.hash('request', operation, canonical(withoutNulls(fields))),
    };
  }

  /** What a request with this Idempotency-Key was answered before. @throws RpcError IDEMPOTENCY_KEY_REUSED. */
  async findAnswer<Answer extends JsonObject>(
    context: RequestContext,
    { key, fingerprint }: Identity,
  ): Promise<Answer | undefined> {
    const found = await this.store.findIdempotent(context.organizationId, key!);
    return found && this.keptAnswer<Answer>(context, fingerprint!, found);
  }

  /** The record that a command with this Idempotency-Key has made or changed; undefined where there was none. */
  async findRecord(organizationId: string, idempotencyKey: string): Promise<string | undefined> {
    const key = this.keyOf({ idempotencyKey });
    const found = key && (await this.store.findIdempotent(organizationId, key));
    return found?.result.recordId as string | undefined;
  }

  /** @throws RpcError IDEMPOTENCY_KEY_REUSED where it was kept for a request of another fingerprint. */
  async keptAnswer<Answer extends JsonObject>(
    { onReplay }: RequestContext,
    fingerprint: Buffer,
    kept: { fingerprint: Buffer; result: JsonObject },
  ): Promise<Answer> {
    if (!fingerprint.equals(kept.fingerprint)) {
      throw new RpcError(
        'IDEMPOTENCY_KEY_REUSED',
        'This Idempotency-Key was already used for a different request. Use a new key for each request.',
      );
    }
    // What it rests on was stored by another command, whose own catch-up may still be under way.
    await this.projections.catchUpWithLog();
    onReplay?.();
    return kept.result as Answer;
  }

  /**
   * A figure in an answer that others' requests move on, such as a counter. Under an Idempotency-Key it is
   * the one that was answered first; otherwise the one of now.
   */
  async figure(input: Input, read: () => Promise<number> | number): Promise<number> {
    const key = this.keyOf(input.context);
    const now = await read();
    return key ? this.store.settleFigure(input.organizationId, key, now) : now;
  }

  /**
   * Runs a request whose body is streamed. With an Idempotency-Key its answer is kept, and the same fields and
   * bytes again are read without being worked on; without one, the work must be idempotent by its effect.
   *
   * @param work reads all bytes; its answer must hold no personal data, which no erasure would find there.
   * @throws RpcError IDEMPOTENCY_KEY_REUSED, and whatever `work` throws: then nothing is kept.
   */
  async runStreamed<Answer extends JsonObject>(
    input: StreamedInput,
    work: (bytes: AsyncIterable<Uint8Array>) => Promise<Answer>,
  ): Promise<Answer> {
    const { context, bytes, contentType: _, ...fields } = input;
    const { organizationId } = context;
    const key = this.keyOf(context);
    if (!key) return work(bytes);

    const { keyring } = this.store;
    const operation = operationOf(input.constructor)!.name;
    const body = createHash('sha256');
    const hashed = (async function* () {
      for await (const chunk of bytes) {
        body.update(chunk);
        yield chunk;
      }
    })();

    const before = await this.store.findIdempotent(organizationId, key);
    const answer = before ? await readToEnd(hashed) : await work(hashed);
    const fingerprint = keyring.hash('request', operation, canonical(fields), body.digest('hex'));
    if (before) return this.keptAnswer<Answer>(context, fingerprint, before);

    return this.keepAnswer(context, { key, fingerprint }, answer!);
  }

  /**
   * Runs a request that changes nothing here, such as a message that is sent. With an Idempotency-Key its answer is kept, and the
   * work not done again.
   *
   * @param work its answer must hold no personal data, which no erasure would find there.
   * @throws RpcError IDEMPOTENCY_KEY_REUSED, and whatever `work` throws: then nothing is kept.
   */
  async runOutside<Answer extends JsonObject>(input: Input, work: () => Promise<Answer>): Promise<Answer> {
    const { key, fingerprint } = this.identify(input);
    if (!key) return work();
    const before = await this.findAnswer<Answer>(input.context, { key, fingerprint: fingerprint! });
    return before ?? this.keepAnswer(input.context, { key, fingerprint: fingerprint! }, await work());
  }

  /** @returns what is kept: of a twin that was faster, its answer. */
  private async keepAnswer<Answer extends JsonObject>(
    context: RequestContext,
    { key, fingerprint }: { key: Buffer; fingerprint: Buffer },
    answer: Answer,
  ): Promise<Answer> {
    const { organizationId, actor, requestId, isGivenUp } = context;
    const idempotency = { key, fingerprint, result: answer };
    const metadata = { actor, requestId };
    const kept = await this.store.append({ organizationId, metadata, writes: [], idempotency, isGivenUp });
    if (kept.status === 'appended') return answer;
    if (kept.status !== 'replayed') throw new Error(`The response could not be stored: ${kept.status}.`);
    return this.keptAnswer<Answer>(context, fingerprint, kept);
  }

  private keyOf({ idempotencyKey }: Pick<RequestContext, 'idempotencyKey'>): Buffer | undefined {
    return idempotencyKey === undefined ? undefined : this.store.keyring.hash('idempotency', idempotencyKey);
  }
}

async function readToEnd(bytes: AsyncGenerator): Promise<undefined> {
  while (!(await bytes.next()).done);
}

/** A create treats a field that is null like one that is not there. */
function withoutNulls(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
