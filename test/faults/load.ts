import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Checker, fact, type Intent, type Outcome } from './checker.js';

/** A client gives an attempt up after so long, and the request's outcome is then unknown to it. */
const PATIENCE_MS = 5_000;
/** Short, although Retry-After says a second: recovery is measured by what is asked. */
const PAUSE_MS = 200;
/** So many answers that must not be, and the clients give up. */
const MOST_OUTSIDE = 200;
const CLIENTS = 12;
/** An instance is stable that has acknowledged writes, and nothing else, for so long. */
const STABLE_MS = 2_000;
/** Beyond it, nobody would call it a recovery. */
const LONGEST_RECOVERY_MS = 90_000;

/** Who asks: a key of an organization, and what the stories are about: a published petition and a list, once it has them. */
export type Caller = {
  organizationId: string;
  key: string;
  records?: { petitionId: string; listId: string };
};

/** Asks until it is acknowledged. @returns what the answer says. */
type Ask = (
  method: Intent['method'],
  operation: string,
  fields: object,
  leaves: Intent['leaves'],
) => Promise<any>;

/** One attempt at a write, as far as recovery is told by it. */
type Attempt = { at: number; acknowledged: boolean };

/**
 * Clients of every instance, who do what organizers do all day and repeat what failed, at another instance each time, until
 * it is acknowledged. What is asked without an Idempotency-Key is safe to repeat late, what is asked with one need not be.
 */
export class Load {
  private readonly attempts: Attempt[][];
  private readonly agent = new http.Agent({ keepAlive: true });
  private readonly begun = performance.now();
  private readonly clients: Promise<void>[];
  private stories = 0;
  private isEnding = false;

  /**
   * @param origins of the instances, or of what stands before them.
   * @param readsAtOnce whether every instance must show at once what another one wrote; otherwise it is only asked for a list
   * @param restMs of each client between two stories
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
      // What they give up for stands in the checker.
      Array.from({ length: CLIENTS / origins.length }, () => this.work(home).catch(() => undefined)),
    );
  }

  /** Resolves once every instance has acknowledged writes, and nothing else, for a while; at the latest when that is hopeless. */
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

  /** Lets every client finish what it is at. */
  async end(): Promise<void> {
    this.isEnding = true;
    const all = Promise.all(this.clients);
    // What is never acknowledged is told by the checker's numbers.
    await Promise.race([all, sleep(LONGEST_RECOVERY_MS, undefined, { ref: false })]);
    this.agent.destroy();
  }

  /**
   * Seconds from a moment to the first acknowledged write, and to the first after the last failure: each of the instance
   * that took longest. Undefined where one never recovered.
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

  /** Requests that are refused for good would be repeated for ever. */
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
   * A person's story, and now and then something besides. Every second one is told with keys, and only these end something:
   * a late repeat of what had none would undo it.
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

  /** What the person signs, joins and leaves. */
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

  /** Repeats the request until it is acknowledged. @returns what the answer says. */
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

  /** What was just written, asked of the next instance; one that cannot answer now is not asked again. */
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
      const patience = setTimeout(() => {
        resolve({ failure: 'timed out' });
        request.destroy();
      }, PATIENCE_MS);
      request.on('close', () => clearTimeout(patience));
      request.on('error', ({ code }: NodeJS.ErrnoException) =>
        resolve({ failure: code === 'ECONNREFUSED' ? 'connection refused' : 'connection lost' }),
      );
      request.end(body);
    });
  }
}
