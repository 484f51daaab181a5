import { createHash } from 'node:crypto';
import { canonical, type EventStore, type JsonObject } from '#libs/event-store';
import { type Projections } from '#libs/projections';
import {
  expectedVersionOf,
  type Input,
  operationOf,
  type RequestContext,
  RpcError,
  type StreamedInput,
} from '#libs/rpc';

/** Identifies equal requests: by the Idempotency-Key or, for creates, by the input. */
export type Identity = { key?: Buffer; fingerprint?: Buffer; natural?: () => Buffer };

/** Finds repeated requests and their stored results. */
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
      const expectedVersion = expectedVersionOf(input);
      const body = canonical(expectedVersion === undefined ? fields : { ...fields, expectedVersion });
      return { key, fingerprint: this.store.keyring.hash('request', operation, body) };
    }
    return {
      natural: () => this.store.keyring.hash('request', operation, canonical(withoutNulls(fields))),
    };
  }

  /** The stored result of the request with this Idempotency-Key, if any. @throws RpcError IDEMPOTENCY_KEY_REUSED. */
  async findAnswer<Answer extends JsonObject>(
    context: RequestContext,
    { key, fingerprint }: Identity,
  ): Promise<Answer | undefined> {
    const found = await this.store.findIdempotent(context.organizationId, key!);
    return found && this.keptAnswer<Answer>(context, fingerprint!, found);
  }

  /** The record that the command with this Idempotency-Key created or changed; undefined if there was none. */
  async findRecord(organizationId: string, idempotencyKey: string): Promise<string | undefined> {
    const key = this.keyOf({ idempotencyKey });
    const found = key && (await this.store.findIdempotent(organizationId, key));
    return found?.result.recordId as string | undefined;
  }

  /** Returns a stored result. @throws RpcError IDEMPOTENCY_KEY_REUSED if it belongs to a request with another fingerprint. */
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
    // The other command's own catch-up may still be running.
    await this.projections.catchUpWithLog();
    onReplay?.();
    return kept.result as Answer;
  }

  /**
   * A figure in a response that other requests change, such as a counter. With an Idempotency-Key, it is the figure of the
   * first response; otherwise the current one.
   */
  async figure(input: Input, read: () => Promise<number> | number): Promise<number> {
    const key = this.keyOf(input.context);
    const now = await read();
    return key ? this.store.settleFigure(input.organizationId, key, now) : now;
  }

  /**
   * Runs a request with a streamed body. With an Idempotency-Key, its result is stored, and a repeated request is read but
   * not processed. Without one, `work` must be idempotent itself.
   *
   * @param work reads all bytes. Its result must not contain personal data, because an erasure would not find it there.
   * @throws RpcError IDEMPOTENCY_KEY_REUSED, and the errors of `work`, after which nothing is stored.
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
   * Runs a request whose effect is outside the database, such as sending a message. With an Idempotency-Key, its result is
   * stored, and a repeated request does not run `work` again.
   *
   * @param work its result must not contain personal data, because an erasure would not find it there.
   * @throws RpcError IDEMPOTENCY_KEY_REUSED, and the errors of `work`, after which nothing is stored.
   */
  async runOutside<Answer extends JsonObject>(input: Input, work: () => Promise<Answer>): Promise<Answer> {
    const { key, fingerprint } = this.identify(input);
    if (!key) return work();
    const before = await this.findAnswer<Answer>(input.context, { key, fingerprint: fingerprint! });
    return before ?? this.keepAnswer(input.context, { key, fingerprint: fingerprint! }, await work());
  }

  /** @returns the stored result, which is that of a concurrent duplicate if it was faster. */
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

/** Creates treat null like a missing field. */
function withoutNulls(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
