import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Checker, fact, type Intent, type Outcome } from './checker.js';

/** A client gives up an attempt after this time. The request's outcome is then unknown. */
const PATIENCE_MS = 5_000;
/** Shorter than the second of Retry-After, because the retries measure the recovery. */
const PAUSE_MS = 200;
/** After this many invalid responses, the clients give up. */
const MOST_OUTSIDE = 200;
const CLIENTS = 12;
/** An instance is stable after acknowledging all writes for this long. */
const STABLE_MS = 2_000;
/** The time limit for recovery. */
const LONGEST_RECOVERY_MS = 90_000;

/** An organization with a key, and with a published petition and a list after they are created. */
export type Caller = {
  organizationId: string;
  key: string;
  records?: { petitionId: string; listId: string };
};

/** Sends a request until it is acknowledged. @returns the data of the response. */
type Ask = (
  method: Intent['method'],
  operation: string,
  fields: object,
  leaves: Intent['leaves'],
) => Promise<any>;

/** One attempt at a write, to measure recovery. */
type Attempt = { at: number; acknowledged: boolean };

/**
 * Clients of every instance that work like organizers. They retry each failed request at the next instance until it is
 * acknowledged. Requests without an Idempotency-Key are safe to repeat late. Those with a key need not be.
 */
export class Load {
  private readonly attempts: Attempt[][];
  private readonly agent = new http.Agent({ keepAlive: true });
  private readonly begun = performance.now();
  private readonly clients: Promise<void>[];
  private stories = 0;
  private isEnding = false;

  /**
   * @param origins of the instances, or of their load balancer
   * @param readsAtOnce whether every instance must immediately return what another one wrote. Otherwise it only lists contacts.
   * @param restMs the pause of each client between two stories
   */
  constructor(
    private readonly origins: readonly string[],
    private readonly caller: Caller,
    private readonly checker: Checker,
    private readonly readsAtOnce = true,
    private readonly restMs = 0,
  ) {
    this.attempts = origins.map(() => []);
    this.clients = origins.flatMap((_, home) =>
      // The checker has the reason if a client gives up.
      Array.from({ length: CLIENTS / origins.length }, () => this.work(home).catch(() => undefined)),
    );
  }

  /** Resolves once every instance has acknowledged all writes for a while, or recovery is hopeless. */
  async stable(ms = STABLE_MS): Promise<void> {
    const since = performance.now();
    const isStable = (attempts: Attempt[]) => {
      const from = Math.max(since, performance.now() - ms);
      const last = attempts.filter(({ at }) => at >= from);
      return last.length >= 5 && last.every(({ acknowledged }) => acknowledged);
    };
    for (; performance.now() - since < LONGEST_RECOVERY_MS && !this.isHopeless; await sleep(50)) {
      if (performance.now() - since >= ms && this.attempts.every(isStable)) return;
    }
  }

  /** Lets every client finish its story. */
  async end(): Promise<void> {
    this.isEnding = true;
    const all = Promise.all(this.clients);
    // The checker's numbers show requests that are never acknowledged.
    await Promise.race([all, sleep(LONGEST_RECOVERY_MS, undefined, { ref: false })]);
    this.agent.destroy();
  }

  /**
   * Seconds from a moment to the first acknowledged write, and to the first one after the last failure, each of the slowest
   * instance. Undefined if an instance never recovered.
   */
  recovery(from: number): { first: number | undefined; stable: number | undefined } {
    const secondsTo = (moments: (number | undefined)[]) =>
      moments.some((moment) => moment === undefined)
        ? undefined
        : (Math.max(...(moments as number[])) - from) / 1_000;
    const acknowledgedAfter = (attempts: Attempt[], moment: number) =>
      attempts.find(({ at, acknowledged }) => acknowledged && at >= moment)?.at;
    return {
      first: secondsTo(this.attempts.map((attempts) => acknowledgedAfter(attempts, from))),
      stable: secondsTo(
        this.attempts.map((attempts) => {
          const failed = attempts.findLast(({ at, acknowledged }) => !acknowledged && at >= from);
          return acknowledgedAfter(attempts, failed?.at ?? from);
        }),
      ),
    };
  }

  /** The longest time, in seconds, in which no instance acknowledged any write. */
  get longestPause(): number {
    const moments = this.attempts
      .flat()
      .filter(({ acknowledged }) => acknowledged)
      .map(({ at }) => at)
      .sort((a, b) => a - b);
    return Math.max(...moments.map((at, n) => at - (moments[n - 1] ?? this.begun))) / 1_000;
  }

  /** Permanently rejected requests would be retried forever. */
  private get isHopeless(): boolean {
    return this.checker.outside.length > MOST_OUTSIDE;
  }

  private async work(home: number): Promise<void> {
    while (!this.isEnding) {
      await this.story(home, this.stories++);
      await sleep(this.restMs);
    }
  }

  /**
   * The requests about one person, and occasionally others. Every second story has Idempotency-Keys. Only these delete
   * anything, because a late repeat without a key would undo it.
   */
  private async story(home: number, n: number): Promise<void> {
    let step = 0;
    const key = () => `story-${n}-${(step += 1)}`;
    const isKeyed = n % 2 === 0;
    const ask: Ask = (method, operation, fields, leaves) =>
      this.acknowledged(home, {
        ...{ method, operation, fields, leaves },
        idempotencyKey: isKeyed ? key() : undefined,
      });

    const { contacts } = this.checker;
    const [email, city] = [`person-${n}@example.org`, `City ${n}`];
    const created = await ask('POST', 'contact.create-contact', { email, city }, (data) => [
      fact.of('ContactCreated', data.contactId),
    ]);
    const { contactId } = created;
    contacts.set(contactId, { email, city, firstName: null });
    await this.readElsewhere(home, contactId);

    const firstName = `Person ${n}`;
    await ask('POST', 'contact.update-contact', { contactId, firstName }, () => [
      fact.of('ContactUpdated', contactId),
    ]);
    contacts.set(contactId, { email, city, firstName });
    await this.readElsewhere(home, contactId);

    const { records } = this.caller;
    if (records) await this.involve(ask, n, contactId, records);
    if (n % 6 === 0) {
      await ask('DELETE', 'contact.delete-contact', { contactId }, () => [
        fact.of('ContactErased', contactId),
      ]);
      contacts.set(contactId, null);
    }
  }

  /** Signs petitions, joins lists and leaves them. */
  private async involve(
    ask: Ask,
    n: number,
    contactId: string,
    { petitionId, listId }: Required<Caller>['records'],
  ): Promise<void> {
    await ask('POST', 'petition.add-signature', { petitionId, contactId }, () => [
      fact.link('PetitionSigned', petitionId, contactId),
    ]);
    const signer = { email: `signer-${n}@example.org`, city: `City ${n}` };
    const signed = await ask('POST', 'petition.add-signature', { petitionId, contact: signer }, (data) => [
      fact.of('ContactCreated', data.contactId),
      fact.link('PetitionSigned', petitionId, data.contactId),
    ]);
    this.checker.contacts.set(signed.contactId, { ...signer, firstName: null });

    if (n % 3 === 0) {
      await ask('POST', 'list.add-contacts', { listId, contactIds: [contactId] }, () => [
        fact.link('ContactAddedToList', listId, contactId),
      ]);
    }
    if (n % 5 === 1) {
      const petition = { name: `Petition ${n}` };
      const leaves = (data: any) => [fact.of('PetitionCreated', data.petitionId)];
      await ask('POST', 'petition.create-petition', petition, leaves);
    }
    if (n % 5 === 2) {
      const leaves = (data: any) => [fact.of('PostCreated', data.postId)];
      const { postId } = await ask('POST', 'post.create-post', { name: `Post ${n}` }, leaves);
      await ask('POST', 'post.publish-post', { postId }, () => [fact.of('PostPublished', postId)]);
    }
    if (n % 12 === 0) {
      await ask('DELETE', 'list.remove-contacts', { listId, contactIds: [contactId] }, () => [
        fact.link('ContactRemovedFromList', listId, contactId),
      ]);
    }
    if (n % 4 === 0) {
      await ask('DELETE', 'petition.remove-signature', { petitionId, contactId }, () => [
        fact.link('SignatureWithdrawn', petitionId, contactId),
      ]);
    }
  }

  /** Retries the request until it is acknowledged. @returns the data of the response. */
  private async acknowledged(
    home: number,
    request: Omit<Intent, 'fields'> & { fields: object },
  ): Promise<any> {
    const { organizationId } = this.caller;
    const intent: Intent = { ...request, fields: { organizationId, ...request.fields } };
    for (let instance = home; ; instance = (instance + 1) % this.origins.length, await sleep(PAUSE_MS)) {
      const verdict = await this.attempt(intent, instance);
      this.attempts[instance]!.push({ at: performance.now(), acknowledged: verdict.acknowledged });
      if (verdict.acknowledged) return verdict.data;
      if (this.isHopeless) throw new Error(this.checker.outside[0]);
    }
  }

  /** Reads a new write from the next instance, without a retry. */
  private async readElsewhere(home: number, contactId: string): Promise<void> {
    const { organizationId } = this.caller;
    const query = this.readsAtOnce
      ? { operation: 'contact.get-contact', fields: { organizationId, contactId } }
      : { operation: 'contact.list-contacts', fields: { organizationId, limit: '1' } };
    const intent: Intent = { method: 'GET', ...query, leaves: () => [] };
    const verdict = await this.attempt(intent, (home + 1) % this.origins.length);
    if (this.readsAtOnce && verdict.acknowledged) this.checker.read(contactId, verdict.data);
  }

  private async attempt(intent: Intent, instance: number) {
    return this.checker.judge(intent, await this.send(intent, this.origins[instance]!));
  }

  private send({ method, operation, fields, idempotencyKey }: Intent, origin: string): Promise<Outcome> {
    const query =
      method === 'GET' ? `?${new URLSearchParams(fields as Record<string, string>).toString()}` : '';
    const body = method === 'GET' ? undefined : JSON.stringify(fields);
    const headers = {
      Authorization: `Bearer ${this.caller.key}`,
      ...(body === undefined
        ? {}
        : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
      ...(idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }),
    };
    return new Promise((resolve) => {
      const url = `${origin}/v1/${operation}${query}`;
      const request = http.request(url, { method, headers, agent: this.agent }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('end', () => {
          const contentType = response.headers['content-type'] ?? '';
          resolve({ status: response.statusCode!, contentType, text });
        });
        response.on('error', () => resolve({ failure: 'connection lost' }));
      });
      const timeout = setTimeout(() => {
        resolve({ failure: 'timed out' });
        request.destroy();
      }, PATIENCE_MS);
      request.on('close', () => clearTimeout(timeout));
      request.on('error', ({ code }: NodeJS.ErrnoException) =>
        resolve({ failure: code === 'ECONNREFUSED' ? 'connection refused' : 'connection lost' }),
      );
      request.end(body);
    });
  }
}
