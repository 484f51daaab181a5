import { Client, SharedApi } from './harness.js';

let api: SharedApi;
let client: Client;
let contactId: string;
let people = 0;
beforeAll(async () => {
  api = await SharedApi.open();
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
  contactId = await person();
});

async function ask(operation: string, fields: object, headers = {}): Promise<any> {
  const { status, body } = await client.post(operation, fields, headers);
  expect([operation, status, body.error]).toEqual([operation, 200, undefined]);
  return body.data;
}
const person = async (): Promise<string> => {
  const { organizationId } = client;
  const email = `person-${(people += 1)}@example.org`;
  return (await ask('contact.create-contact', { organizationId, email })).contactId;
};
const write = async (text: string, to = contactId): Promise<string> =>
  (await ask('note.create-note', { contactId: to, text })).noteId;
const list = async (of = contactId, query = {}) =>
  (await client.get('note.list-notes', { contactId: of, ...query })).body;
const texts = async (of = contactId, query = {}) =>
  (await list(of, query)).data.map(({ text }: { text: string }) => text);
const merge = (survivor: string, ...otherIds: string[]) =>
  client.post('contact.merge-contacts', { contactId: survivor, otherIds });

it('notes are created, changed and deleted, and listed newest first with their author', async () => {
  const [first, second] = [await write('Called'), await write('Wants to help\nat the stall')];
  const { body } = await client.post('note.update-note', { contactId, noteId: first, text: 'Called twice' });
  expect(body.data).toMatchObject({ id: first, contactId, text: 'Called twice', version: 2 });
  expect(body.data.author).toEqual({ type: 'api-key', id: expect.any(String) });
  expect(await texts()).toEqual(['Wants to help\nat the stall', 'Called twice']);

  const shown = (await client.get('note.get-note', { contactId, noteId: first })).body.data;
  expect(shown).toEqual(body.data);
  const deletion = { contactId, noteId: second };
  for (let repeats = 0; repeats < 2; repeats += 1)
    expect((await client.delete('note.delete-note', deletion)).body.data).toEqual(deletion);
  expect((await client.get('note.get-note', deletion)).status).toBe(404);
  expect((await client.post('note.update-note', { ...deletion, text: 'Too late' })).status).toBe(404);
  expect(await texts()).toEqual(['Called twice']);
});

it('a note is found only with its own contact', async () => {
  const noteId = await write('Called');
  const other = { contactId: await person(), noteId };
  expect((await client.get('note.get-note', other)).status).toBe(404);
  expect((await client.post('note.update-note', { ...other, text: 'Not mine' })).status).toBe(404);
  expect((await client.delete('note.delete-note', other)).status).toBe(404);
  expect(await texts()).toEqual(['Called']);
});

it('the same text creates a note once, unless an Idempotency-Key tells the requests apart', async () => {
  const body = { contactId, text: 'Called' };
  const first = await client.post('note.create-note', body);
  const again = await client.post('note.create-note', body);
  expect(again.body.data).toEqual(first.body.data);
  expect([first, again].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true']);

  const keyed = (key: string) => ask('note.create-note', body, { 'Idempotency-Key': key });
  const [one, other] = [await keyed('one'), await keyed('other')];
  await write('In between');
  expect(await keyed('one')).toEqual(one);
  expect(await texts()).toEqual(['In between', 'Called', 'Called', 'Called']);

  // A deleted note is not repeated.
  for (const noteId of [first.body.data.noteId, one.noteId, other.noteId])
    await client.delete('note.delete-note', { contactId, noteId });
  expect(await write('Called')).not.toBe(first.body.data.noteId);
});

it('parallel notes are all kept, on every instance', async () => {
  const all = Array.from({ length: 12 }, (_, n) => `Note ${n}`);
  const clients = api.instances.map(({ origin }) => client.at(origin));
  const made = await Promise.all(
    all.map((text, n) => clients[n % clients.length]!.post('note.create-note', { contactId, text })),
  );
  expect(made.map(({ status }) => status)).toEqual(all.map(() => 200));
  expect((await texts()).toSorted()).toEqual(all.toSorted());
});

it('update-note and delete-note return 412 if someone changed the note, but not if another note was changed', async () => {
  const [noteId, other] = [await write('Called'), await write('Other')];
  await client.post('note.update-note', { contactId, noteId: other, text: 'Other, changed' });
  const change = { contactId, noteId, text: 'Mine', expectedVersion: 1 };
  expect((await client.post('note.update-note', change)).body.data).toMatchObject({
    text: 'Mine',
    version: 2,
  });
  for (const refused of [
    await client.post('note.update-note', { ...change, text: 'Late' }),
    await client.delete('note.delete-note', { contactId, noteId, expectedVersion: 1 }),
  ])
    expect([refused.status, refused.body.error.code]).toEqual([412, 'VERSION_MISMATCH']);
  expect(await texts()).toEqual(['Other, changed', 'Mine']);
});

it('pages end where the next begins, also if notes are deleted in between', async () => {
  const ids: string[] = [];
  for (let n = 0; n < 5; n += 1) ids.push(await write(`Note ${n}`));
  const first = await list(contactId, { limit: '2' });
  expect(first.pagination).toEqual({ cursor: ids[3], hasMore: true });
  await client.delete('note.delete-note', { contactId, noteId: ids[3] });
  await write('Newer');
  const second = await list(contactId, { limit: '3', cursor: first.pagination.cursor });
  expect(second.data.map(({ id }: { id: string }) => id)).toEqual([ids[2], ids[1], ids[0]]);
  expect(second.pagination).toEqual({ cursor: null, hasMore: false });
  expect((await list(contactId, { cursor: 'x' })).error.issues[0].path).toBe('cursor');
});

it('asOf returns the notes as they were', async () => {
  const noteId = await write('Before');
  const { updatedAt: asOf } = (await list()).data[0];
  await client.post('note.update-note', { contactId, noteId, text: 'After' });
  await write('Later');
  expect(await texts(contactId, { asOf })).toEqual(['Before']);
  const then = (await client.get('note.get-note', { contactId, noteId, asOf })).body.data;
  expect(then).toMatchObject({ text: 'Before', version: 1 });
  expect((await list(contactId, { asOf: '2020-01-01T00:00:00Z' })).error.code).toBe('NOT_FOUND');
});

it('get-contact includes notes, export-person exports them, and both need the scope or permission', async () => {
  await write('Called');
  const { organizationId } = client;
  const query = { contactId, organizationId, include: 'notes' };
  const { notes } = (await client.get('contact.get-contact', query)).body.data;
  expect(notes).toEqual({ data: [expect.objectContaining({ text: 'Called' })], hasMore: false });
  const { key } = await api.createKey(organizationId, { scopes: ['contact:read'] });
  const limited = new Client(client.origin, organizationId, key);
  expect((await limited.get('contact.get-contact', query)).status).toBe(403);
  expect((await limited.get('note.list-notes', { contactId })).status).toBe(403);
  const exported = (await client.get('contact.export-person', { contactId })).body;
  expect(exported.notes).toMatchObject([{ text: 'Called' }]);
});

it('erasing the contact destroys the texts, also in the history', async () => {
  await write('Secret of Ada');
  const { updatedAt: asOf } = (await list()).data[0];
  await client.delete('contact.delete-contact', { contactId });
  expect((await list()).error.code).toBe('NOT_FOUND');
  const past = await client.get('note.list-notes', { contactId, asOf });
  const events = await client.get('history.list-events', { limit: '100' });
  expect(JSON.stringify([past.body, events.body])).not.toContain('Secret of Ada');
  const created = events.body.data.find(({ type }: { type: string }) => type === 'NoteCreated');
  expect(created.data).toMatchObject({ contactId });
  expect(created.personal ?? null).toBeNull();
});

describe('a merge', () => {
  it('moves the notes with their author, times and versions', async () => {
    const other = await person();
    const [early, late] = [await write('From the duplicate', other), await write('Deleted', other)];
    await client.delete('note.delete-note', { contactId: other, noteId: late });
    await client.post('note.update-note', { contactId: other, noteId: early, text: 'From the other' });
    const mine = await write('Mine');
    const [before] = (await list(other)).data;
    expect((await merge(contactId, other)).status).toBe(200);
    const { data } = await list();
    expect(data.map(({ id }: { id: string }) => id)).toEqual([mine, early]);
    expect(data[1]).toEqual({ ...before, contactId });
    expect((await list(other)).error).toMatchObject({ reason: 'MERGED', mergedInto: contactId });
    const change = { contactId, noteId: early, text: 'Changed', expectedVersion: 2 };
    expect((await client.post('note.update-note', change)).body.data.version).toBe(3);
  });

  it('loses no note that is added while it runs', async () => {
    const [one, two] = api.instances.map(({ origin }) => client.at(origin));
    for (let round = 0; round < 12; round += 1) {
      const [survivor, other] = [await person(), await person()];
      if (round % 2 === 0) await write('Earlier', other);
      const note = { contactId: other, text: 'Just now' };
      const [merged, noted] = await Promise.all([
        one!.post('contact.merge-contacts', { contactId: survivor, otherIds: [other] }),
        two!.post('note.create-note', note),
      ]);
      expect(merged.status).toBe(200);
      const expected = round % 2 === 0 ? ['Earlier'] : [];
      if (noted.status === 200) expected.unshift('Just now');
      else expect(noted.body.error.reason).toBe('MERGED');
      expect(await texts(survivor)).toEqual(expected);
    }
  });
});
