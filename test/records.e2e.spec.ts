import { idFieldOf } from '#libs/rpc';
import { type Fields, Fixture, png } from './fixture.js';
import { type Answer, Api, type Client } from './harness.js';
import { isLong } from './length.js';
import { type CreateColumn, OPERATIONS } from './operations.js';
import { eventually } from './processes.js';
import { type Random, pick, randomOf } from './random.js';
import { type RandomHistory, RECORD_KINDS, requestsFor, type Step } from './record-kinds.js';

/** Behaviour of all records on two instances, by the columns `create` of operations.ts and `past` of record-kinds.ts. */
let api: Api;
let client: Client;
let elsewhere: Client;
/** Part of each name, so that tests share none. */
let test = 0;
beforeAll(async () => {
  api = await Api.start({ instances: 2 });
  client = await api.organization();
  elsewhere = client.at(api.instances[1]!.origin);
});
afterAll(() => api.stop());
beforeEach(() => {
  test += 1;
});

/** Records of one kind in the test's organization. */
class Records {
  constructor(
    private readonly operation: string,
    readonly kind: CreateColumn,
  ) {}

  nameOf(word: string): string {
    return this.kind.nameOf(`${word}-${test}`);
  }

  ask(word: string, caller = client, headers: Record<string, string> = {}): Promise<Answer> {
    const { organizationId } = caller;
    const name = { [this.kind.field]: this.nameOf(word) };
    return caller.post(this.operation, { organizationId, ...name, ...this.kind.also }, headers);
  }

  async create(word: string, caller = client, headers: Record<string, string> = {}): Promise<string> {
    const { status, body } = await this.ask(word, caller, headers);
    expect([this.operation, status, body.error]).toEqual([this.operation, 200, undefined]);
    return Object.values<string>(body.data)[0]!;
  }

  async change(id: string, changes: object): Promise<void> {
    const { status } = await client.post(this.kind.update!, { [this.idField]: id, ...changes });
    expect(status).toBe(200);
  }

  rename(id: string, word: string): Promise<void> {
    return this.change(id, { [this.kind.field]: this.nameOf(word) });
  }

  async end(id: string): Promise<void> {
    expect((await client.delete(this.kind.end, { [this.idField]: id })).status).toBe(200);
  }

  /** The ids of existing records with this name. */
  async find(word: string, caller = client): Promise<string[]> {
    const name = this.nameOf(word);
    const { body } = await caller.get(this.kind.list, { q: name, limit: '100' });
    const having = body.data.filter((record: any) => record[this.kind.field] === name && !record.revokedAt);
    return having.map(({ id }: { id: string }) => id);
  }

  private get idField(): string {
    const [service] = this.operation.split('.') as [string];
    return `${service.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())}Id`;
  }
}

const all = Object.entries(OPERATIONS).flatMap(([operation, { create }]) =>
  create ? [[operation, new Records(operation, create)] as const] : [],
);
const renamed = all.filter(([, { kind }]) => kind.update !== undefined);

describe.each(all)('%s again', (_, records) => {
  it('returns the existing record, and creates another after it was deleted', async () => {
    const first = await records.create('a');
    expect(await records.create('a', elsewhere)).toBe(first);
    await records.end(first);
    const second = await records.create('a', elsewhere);
    expect(second).not.toBe(first);
    expect(await records.create('a')).toBe(second);
    expect((await records.ask('a')).headers.get('idempotent-replayed')).toBe('true');
    expect(await records.find('a')).toEqual([second]);
  });
});

describe.each(renamed)('%s again', (_, records) => {
  it('creates another record after the first was renamed, and returns that one from then on', async () => {
    const first = await records.create('a');
    await records.rename(first, 'b');
    const second = await records.create('a', elsewhere);
    expect(second).not.toBe(first);
    expect(await records.create('a')).toBe(second);
    expect(await records.find('a')).toEqual([second]);
    expect(await records.find('b')).toEqual([first]);
  });
});

/** The same code decides for all kinds, so `npm test` tries one that is named by an address and one that is named by a name. */
const thorough = renamed.filter(([name]) => isLong || /^(contact|list)\./.test(name));

describe.each(thorough)('%s again', (_, records) => {
  it('returns the first record if something other than its name changed', async () => {
    const first = await records.create('a');
    await records.change(first, records.kind.otherChange);
    expect(await records.create('a')).toBe(first);
  });

  it('returns the first record after its name was changed back', async () => {
    const first = await records.create('a');
    await records.rename(first, 'b');
    await records.rename(first, 'a');
    expect(await records.create('a')).toBe(first);
  });

  it('returns neither record once another one has the name', async () => {
    const first = await records.create('a');
    await records.rename(first, 'b');
    const second = await records.create('a');
    await records.rename(second, 'c');
    await records.rename(first, 'a');
    // Another record has the name, but not from this request. For contacts, the address is unique.
    const { status, body } = await records.ask('a');
    if (records.kind.field === 'email') {
      expect([status, body.error.reason]).toEqual([409, 'EMAIL_TAKEN']);
      return;
    }
    expect([first, second]).not.toContain(Object.values(body.data)[0]);
    expect(await records.find('a')).toHaveLength(2);
  });

  it('returns the first record for its Idempotency-Key under any name', async () => {
    const headers = { 'Idempotency-Key': `same-${test}` };
    const first = await records.create('a', client, headers);
    await records.rename(first, 'b');
    expect(await records.create('a', elsewhere, headers)).toBe(first);
    expect(await records.find('a')).toEqual([]);
  });

  const TWINS = isLong ? 50 : 6;

  it(`${TWINS} requests on two instances after a rename create one record and return the same`, async () => {
    const first = await records.create('a');
    await records.rename(first, 'b');
    const answers = await Promise.all(
      Array.from({ length: TWINS }, (_, n) => records.create('a', n % 2 ? client : elsewhere)),
    );
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).not.toBe(first);
    expect(await records.find('a')).toEqual([answers[0]]);
    expect(await records.find('a', elsewhere)).toEqual([answers[0]]);
  });

  it('returns the old or the new record during a rename, and then exactly one has the name', async () => {
    for (let round = 0; round < (isLong ? 12 : 2); round += 1) {
      const word = `a${round}`;
      const first = await records.create(word);
      const requests = [client, elsewhere, client, elsewhere].map((caller) => records.create(word, caller));
      const [answers] = await Promise.all([Promise.all(requests), records.rename(first, `b${round}`)]);
      const after = await records.create(word);
      expect(after).not.toBe(first);
      expect([first, after]).toEqual(expect.arrayContaining(answers));
      expect(await records.find(word)).toEqual([after]);
    }
  });
});

describe('contact.create-contact', () => {
  const contacts = new Records('contact.create-contact', OPERATIONS['contact.create-contact']!.create!);

  it('treats the address in another case as the same', async () => {
    const first = await contacts.create('a');
    await contacts.change(first, { email: contacts.nameOf('a').replace('a', 'A') });
    expect(await contacts.create('a')).toBe(first);
  });

  it('returns 409 EMAIL_TAKEN if the first contact has another address and another contact has this one', async () => {
    const first = await contacts.create('a');
    await contacts.rename(first, 'b');
    const other = await contacts.create('c');
    await contacts.rename(other, 'a');
    const { status, body } = await contacts.ask('a');
    expect([status, body.error]).toEqual([
      409,
      expect.objectContaining({ reason: 'EMAIL_TAKEN', contactId: other }),
    ]);
  });

  it('finds an inline signer by the current address, or creates the contact', async () => {
    const petition = await client.post('petition.create-petition', { name: 'Save the river' });
    const { petitionId } = petition.body.data;
    await client.post('petition.publish-petition', { petitionId });
    const sign = async () => {
      const contact = { email: contacts.nameOf('a') };
      return (await client.post('petition.add-signature', { petitionId, contact })).body.data.contactId;
    };
    const first = await sign();
    await contacts.rename(first, 'b');
    const second = await sign();
    expect(second).not.toBe(first);
    expect(await contacts.find('a')).toEqual([second]);
  });
});

const idFieldIn = (streamType: string) => RECORD_KINDS[streamType]!.past?.idField ?? idFieldOf(streamType);

describe('the past', () => {
  beforeEach(async () => {
    client = await api.organization();
  });

  const shownInPast = Object.values(RECORD_KINDS).flatMap(({ past }) => past?.shownBy ?? []);

  it.each(shownInPast)('%s returns 404 with advice before the record was created', async (operation) => {
    const own = new Fixture(api, client);
    const fields = await OPERATIONS[operation]!.ask(own);
    const { status, body } = await own.send(operation, { ...fields, asOf: '2020-01-01T00:00:00Z' });
    expect([status, body.error.code]).toEqual([404, 'NOT_FOUND']);
    expect(body.error.message).toContain('omit asOf');
    await own.ask(operation, fields);
  });

  const ROUNDS = isLong ? 50 : 3;
  type Question = { operation: string; fields: Fields };

  /** Random changes to an organization on both instances, with the resulting records. */
  class History implements RandomHistory {
    /** The fields of requests for each record. */
    private readonly records = new Map<string, Fields[]>();
    private names = 0;

    constructor(
      readonly random: Random,
      private readonly own: Fixture,
    ) {}

    /** Creates a record of each kind. */
    async begin(): Promise<void> {
      for (const [streamType, kind] of Object.entries(RECORD_KINDS)) {
        if (!kind.past) continue;
        const { id, ...more } = await kind.make(this.own);
        this.add(streamType, { [kind.past.idField]: id, ...more });
      }
    }

    name(): string {
      return `Name ${(this.names += 1)}`;
    }

    any(streamType: string): string {
      return this.the(streamType)[idFieldIn(streamType)] as string;
    }

    the(streamType: string): Fields {
      // Requests for a record that does not exist yet are rejected.
      return pick(this.random, this.records.get(streamType) ?? [{}]);
    }

    private add(streamType: string, made: Fields): void {
      const { also = [] } = RECORD_KINDS[streamType]!.past ?? {};
      const fields = Object.fromEntries([idFieldIn(streamType), ...also].map((name) => [name, made[name]]));
      this.records.set(streamType, [...(this.records.get(streamType) ?? []), fields]);
    }

    send(operation: string, fields: Fields = {}): Promise<Answer> {
      const { origin } = pick(this.random, api.instances);
      return this.own.send(operation, fields, { by: client.at(origin) });
    }

    async create(streamType: string, operation: string, fields: Fields): Promise<string | undefined> {
      const { body } = await this.send(operation, fields);
      const id = body.data?.[idFieldIn(streamType)] as string | undefined;
      if (id) this.add(streamType, body.data);
      return id;
    }

    async upload(streamType: string): Promise<unknown> {
      return this.create(streamType, 'image.upload-image', await png());
    }

    /** The requests of every operation with `asOf`, for each of its records. */
    questions(): Question[] {
      return Object.entries(RECORD_KINDS).flatMap(([streamType, { past }]) =>
        past ? (this.records.get(streamType) ?? []).flatMap((fields) => requestsFor(past, fields)) : [],
      );
    }
  }

  /** The time of the newest event, after the database's clock has passed it, so that no later event shares it. */
  async function momentPassed(): Promise<string> {
    let moment = '';
    await eventually(async () => {
      const [row] = await api.database.source.query(
        `SELECT max(recorded_at) AS moment, max(recorded_at) < date_trunc('milliseconds', clock_timestamp()) AS "isPast"
         FROM events`,
      );
      expect(row.isPast).toBe(true);
      moment = row.moment.toISOString();
    });
    return moment;
  }

  it.each(isLong ? [1, 2, 3] : [1])(
    'asOf returns what get-* returned at that time, in a random history (seed %i)',
    async (seed) => {
      const history = new History(randomOf(seed), new Fixture(api, client));
      await history.begin();
      const steps: Step[] = Object.values(RECORD_KINDS).flatMap(({ past }) => past?.steps(history) ?? []);
      const ask = async ({ operation, fields }: Question, asOf?: string) => {
        const { status, body } = await history.send(operation, { ...fields, ...(asOf ? { asOf } : {}) });
        return { status, data: body.data, asOf: body.asOf };
      };

      const past: { moment: string; question: Question; answer: { status: number; data: unknown } }[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        await pick(history.random, steps)();
        const moment = await momentPassed();
        const questions = history.questions();
        const answers = await Promise.all(questions.map((question) => ask(question)));
        for (const [n, question] of questions.entries()) past.push({ moment, question, answer: answers[n]! });
      }
      const shown = past.flatMap(({ question, answer }) => (answer.status === 200 ? question.operation : []));
      expect([...new Set(shown)].toSorted()).toEqual(shownInPast.toSorted());

      for (const { moment, question, answer } of past) {
        const { status, data, asOf } = await ask(question, moment);
        expect([question.operation, status, data]).toEqual([question.operation, answer.status, answer.data]);
        if (status === 200) expect(asOf).toEqual({ moment, position: expect.any(Number) });
      }
    },
  );
});
