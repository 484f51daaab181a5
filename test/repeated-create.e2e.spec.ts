import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Answer, Api, type Client } from './harness.js';

let api: Api;
let client: Client;
let elsewhere: Client;
beforeAll(async () => {
  api = await Api.start({ instances: 2 });
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
  elsewhere = client.at(api.instances[1]!.origin);
});

/** How a kind of record is named, changed, found and ended. Names are made of one letter and digits. */
type Kind = {
  /** What names it, of the body of its create. */
  field: 'name' | 'email' | 'url';
  nameOf(word: string): string;
  /** undefined: once made it is never changed. */
  update: string | undefined;
  /** A change that leaves the name as it is. */
  otherChange: object;
  list: string;
  end: string;
};

const named = { field: 'name' as const, nameOf: (word: string) => `Name ${word}` };

const KINDS: { [create: string]: Kind } = {
  'contact.create-contact': {
    field: 'email',
    nameOf: (word) => `${word}@example.org`,
    update: 'contact.update-contact',
    otherChange: { firstName: 'Ada' },
    list: 'contact.list-contacts',
    end: 'contact.delete-contact',
  },
  'list.create-list': {
    ...named,
    update: 'list.update-list',
    otherChange: { description: 'Other' },
    list: 'list.list-lists',
    end: 'list.delete-list',
  },
  'broadcast.create-broadcast': {
    ...named,
    update: 'broadcast.update-broadcast',
    otherChange: { subject: 'Other' },
    list: 'broadcast.list-broadcasts',
    end: 'broadcast.delete-broadcast',
  },
  'tag.create-tag': {
    ...named,
    update: 'tag.update-tag',
    otherChange: { description: 'Other' },
    list: 'tag.list-tags',
    end: 'tag.delete-tag',
  },
  'webhook.create-webhook': {
    field: 'url',
    nameOf: (word) => `https://example.org/${word}`,
    update: 'webhook.update-webhook',
    otherChange: { description: 'Other' },
    list: 'webhook.list-webhooks',
    end: 'webhook.delete-webhook',
  },
  'petition.create-petition': {
    ...named,
    update: 'petition.update-petition',
    otherChange: { goal: 7, title: 'Other' },
    list: 'petition.list-petitions',
    end: 'petition.delete-petition',
  },
  'post.create-post': {
    ...named,
    update: 'post.update-post',
    otherChange: { title: 'Other' },
    list: 'post.list-posts',
    end: 'post.delete-post',
  },
  'api-key.create-api-key': {
    ...named,
    update: undefined,
    otherChange: {},
    list: 'api-key.list-api-keys',
    end: 'api-key.revoke-api-key',
  },
};

function operations(): string[] {
  const { paths } = JSON.parse(readFileSync(join(__dirname, 'openapi.json'), 'utf8')) as { paths: object };
  return Object.keys(paths).flatMap((path) => path.split('/v1/')[1] ?? []);
}

/** One kind of record in the organization of the test. */
class Records {
  constructor(
    private readonly operation: string,
    readonly kind: Kind,
  ) {}

  ask(word: string, caller = client, headers: Record<string, string> = {}): Promise<Answer> {
    const { organizationId } = caller;
    const name = { [this.kind.field]: this.kind.nameOf(word) };
    return caller.post(this.operation, { organizationId, ...name }, headers);
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
    return this.change(id, { [this.kind.field]: this.kind.nameOf(word) });
  }

  async end(id: string): Promise<void> {
    expect((await client.delete(this.kind.end, { [this.idField]: id })).status).toBe(200);
  }

  /** Ids of the standing records that have this name now. */
  async find(word: string, caller = client): Promise<string[]> {
    const name = this.kind.nameOf(word);
    const { body } = await caller.get(this.kind.list, { q: name, limit: '100' });
    const having = body.data.filter((record: any) => record[this.kind.field] === name && !record.revokedAt);
    return having.map(({ id }: { id: string }) => id);
  }

  private get idField(): string {
    const [service] = this.operation.split('.') as [string];
    return `${service.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())}Id`;
  }
}

const all = Object.entries(KINDS).map(
  ([operation, kind]) => [operation, new Records(operation, kind)] as const,
);
const renamed = all.filter(([, { kind }]) => kind.update !== undefined);

it('every create is tried here, and what can be renamed is', () => {
  // A suppression is not made, but an address put into a state: the same stream each time.
  const creates = operations().filter(
    (operation) => operation.includes('.create-') && operation !== 'suppression.create-suppression',
  );
  expect(creates.sort()).toEqual(Object.keys(KINDS).sort());
  const updates = operations().filter((operation) => operation.includes('.update-'));
  // An organization is not made by a request, an image is what its bytes are (image.e2e), and a member has no name.
  const others = ['organization.update-organization', 'image.update-image', 'team.update-member'];
  expect(updates.filter((operation) => !others.includes(operation)).sort()).toEqual(
    renamed.map(([, { kind }]) => kind.update).sort(),
  );
});

describe.each(all)('%s again', (_, records) => {
  it('answers the record while it stands, and makes another once it was ended', async () => {
    const first = await records.create('a');
    expect(await records.create('a', elsewhere)).toBe(first);
    await records.end(first);
    const second = await records.create('a', elsewhere);
    expect(second).not.toBe(first);
    expect(await records.create('a')).toBe(second);
    expect(await records.find('a')).toEqual([second]);
  });
});

describe.each(renamed)('%s again', (_, records) => {
  it('makes another record once the first one has another name, and answers that from then on', async () => {
    const first = await records.create('a');
    await records.rename(first, 'b');
    const second = await records.create('a', elsewhere);
    expect(second).not.toBe(first);
    expect(await records.create('a')).toBe(second);
    expect(await records.find('a')).toEqual([second]);
    expect(await records.find('b')).toEqual([first]);
  });

  it('answers the record that was changed, but not in its name', async () => {
    const first = await records.create('a');
    await records.change(first, records.kind.otherChange);
    expect(await records.create('a')).toBe(first);
  });

  it('answers the record that has its name back', async () => {
    const first = await records.create('a');
    await records.rename(first, 'b');
    await records.rename(first, 'a');
    expect(await records.create('a')).toBe(first);
  });

  it('answers the newer one for as long as that has the name', async () => {
    const first = await records.create('a');
    await records.rename(first, 'b');
    const second = await records.create('a');
    await records.rename(second, 'c');
    await records.rename(first, 'a');
    // Another record has the name, but not by this request; of a contact's address there is only one.
    const { status, body } = await records.ask('a');
    if (records.kind.field === 'email') {
      expect([status, body.error.reason]).toEqual([409, 'EMAIL_TAKEN']);
      return;
    }
    expect([first, second]).not.toContain(Object.values(body.data)[0]);
    expect(await records.find('a')).toHaveLength(2);
  });

  it('answers the first one to its Idempotency-Key, whatever it is called by now', async () => {
    const headers = { 'Idempotency-Key': 'same' };
    const first = await records.create('a', client, headers);
    await records.rename(first, 'b');
    expect(await records.create('a', elsewhere, headers)).toBe(first);
    expect(await records.find('a')).toEqual([]);
  });

  it('50 at once on two instances after a rename: one new record, 50 equal answers', async () => {
    const first = await records.create('a');
    await records.rename(first, 'b');
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => records.create('a', n % 2 ? client : elsewhere)),
    );
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).not.toBe(first);
    expect(await records.find('a')).toEqual([answers[0]]);
    expect(await records.find('a', elsewhere)).toEqual([answers[0]]);
  });

  it('beside a rename: answers the old one or the new one, and afterwards exactly one has the name', async () => {
    for (let round = 0; round < 12; round += 1) {
      const word = `a${round}`;
      const first = await records.create(word);
      const asked = [client, elsewhere, client, elsewhere].map((caller) => records.create(word, caller));
      const [answers] = await Promise.all([Promise.all(asked), records.rename(first, `b${round}`)]);
      const after = await records.create(word);
      expect(after).not.toBe(first);
      expect([first, after]).toEqual(expect.arrayContaining(answers));
      expect(await records.find(word)).toEqual([after]);
    }
  });
});

describe('contact.create-contact', () => {
  const contacts = new Records('contact.create-contact', KINDS['contact.create-contact']!);

  it('takes the address for the same in another case: that is no rename', async () => {
    const first = await contacts.create('a');
    await contacts.change(first, { email: 'A@Example.org' });
    expect(await contacts.create('a')).toBe(first);
  });

  it('409 when the first one has another address and somebody else has this one', async () => {
    const first = await contacts.create('a');
    await contacts.rename(first, 'b');
    const other = await contacts.create('c');
    await contacts.rename(other, 'a');
    const { status, body } = await contacts.ask('a');
    expect([status, body.error.reason]).toEqual([409, 'EMAIL_TAKEN']);
  });

  it('a person who signs inline is found by the address of now, and made anew when nobody has it', async () => {
    const petition = await client.post('petition.create-petition', { name: 'Save the river' });
    const { petitionId } = petition.body.data;
    await client.post('petition.publish-petition', { petitionId });
    const sign = async () => {
      const contact = { email: 'a@example.org' };
      return (await client.post('petition.add-signature', { petitionId, contact })).body.data.contactId;
    };
    const first = await sign();
    await contacts.rename(first, 'b');
    const second = await sign();
    expect(second).not.toBe(first);
    expect(await contacts.find('a')).toEqual([second]);
  });
});
