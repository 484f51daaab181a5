import { parse } from 'csv-parse/sync';
import { DASHBOARD } from '#locales';
import { faultIn } from '../src/dashboard/index.js';
import { Api, type Client } from './harness.js';
import { signedIn, type Visitor } from './people-in.js';
import { call } from './petition-page.js';
import { eventually, ServerProcess } from './processes.js';
import { isLong, longDescribe, longIt, someOf } from './length.js';

const { en, de } = DASHBOARD;

let api: Api;
let client: Client;
let editor: Visitor;
beforeAll(async () => {
  api = await Api.start({ environment: { TRUST_PROXY: '1' } });
  api.startWorkers();
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
  editor = await signedIn(api, client, 'EDITOR');
});

const at = (path: string) => `/dashboard/${client.organizationId}/${path}`;

type Content = string | Uint8Array<ArrayBuffer>;

const tableOf = (content: Content) => ({ field: 'file', name: 'people.csv', type: 'text/csv', content });

/** Uploads a file. If it is accepted, the response leads to the review page. */
function bring(content: Content, onConflict = 'fail') {
  return editor.upload(at('contacts/import'), tableOf(content), { onConflict });
}

/** The fields that the page suggests for each column. */
function chosenIn(page: string): Record<string, string> {
  const selects = page.matchAll(/<select id="(column-\d+)"[^]*?<\/select>/g);
  return Object.fromEntries(
    [...selects].map(([select, name]) => [name!, /value="([^"]*)" selected/.exec(select)?.[1] ?? '']),
  );
}

/** Uploads and imports a file as the page suggests, apart from these changes, and waits for the end. */
async function imported(
  content: Content,
  { onConflict = 'fail', ...changes }: Record<string, string> = {},
): Promise<{ page: string; facts: string[]; wrong: string[][]; path: string }> {
  const { location } = await bring(content, onConflict);
  const path = location!;
  const chosen = chosenIn((await editor.get(path)).text);
  expect((await editor.post(path, { ...chosen, ...changes })).status).toBe(303);
  return resultAt(path);
}

/** Waits for the end. @returns the numbers of created, updated, unchanged and failed contacts, and each failed line. */
async function resultAt(
  path: string,
  whose = editor,
  words: typeof en = en,
  state = words.contacts.imports.done,
) {
  let page = '';
  await eventually(async () => {
    ({ text: page } = await whose.get(path));
    expect(page).toContain(state);
  });
  const facts = [...page.matchAll(/<dd>([^<]*)<\/dd>/g)].map(([, fact]) => fact!);
  const [, rows = ''] = /<tbody[^>]*>([^]*)<\/tbody>/.exec(page) ?? [];
  const wrong = [...rows.matchAll(/<tr[^>]*>([^]*?)<\/tr>/g)].map(([, row]) =>
    [...row!.matchAll(/<t[hd][^>]*>([^<]*)</g)].map(([, cell]) => cell!),
  );
  return { page, facts, wrong, path };
}

async function person(details: object): Promise<void> {
  await call(client, 'contact.create-contact', { organizationId: client.organizationId, ...details });
}

async function contacts(): Promise<Record<string, any>[]> {
  return (await client.get('contact.list-contacts', { limit: '100' })).body.data;
}

/** The subscriptions by address. */
async function subscribed(): Promise<Record<string, boolean>> {
  return Object.fromEntries((await contacts()).map(({ email, subscribed }) => [email, subscribed]));
}

/** With a byte order mark, as Windows writes "Unicode text". */
function utf16(text: string, isBigEndian = false): Uint8Array<ArrayBuffer> {
  const bytes = Buffer.from(`\uFEFF${text}`, 'utf16le');
  return new Uint8Array(isBigEndian ? bytes.swap16() : bytes);
}

describe('the subscriptions of imported contacts', () => {
  const yes = ['ja', 'JA ', 'yes', 'Y', 'j', '1', 'x', 'X', 'true', 'WAHR'];
  const no = ['nein', ' Nein', 'no', 'N', '0', 'false', 'FALSCH'];

  it('are read from many spellings of yes and no', async () => {
    const rows = [...yes, ...no].map((cell, n) => `p${n}@example.org,${cell}`);
    const { facts } = await imported(`email,Newsletter\n${rows.join('\n')}\n`);
    expect(facts).toEqual(['17', '0', '0', '0']);
    const answers = Object.entries(await subscribed()).sort(
      ([a], [b]) => a.length - b.length || (a < b ? -1 : 1),
    );
    expect(answers.map(([, is]) => is)).toEqual([...yes.map(() => true), ...no.map(() => false)]);
  });

  it('use the default of the import if a cell is empty', async () => {
    await imported('email,Newsletter\nada@example.org,\nalan@example.org,x\ngrace@example.org,nein\n');
    expect(await subscribed()).toEqual({
      'ada@example.org': false,
      'alan@example.org': true,
      'grace@example.org': false,
    });
    await imported('email\nedsger@example.org\n');
    await imported('email\nkonrad@example.org\n', { agreed: 'true' });
    await imported('email,Newsletter\nlise@example.org,\nemmy@example.org,nein\n', { agreed: 'true' });
    expect(await subscribed()).toMatchObject({
      'edsger@example.org': false,
      'konrad@example.org': true,
      'lise@example.org': true,
      'emmy@example.org': false,
    });
  });

  it.each(['fail', 'update'])(
    'default to no, and stay unchanged for existing contacts, with %s',
    async (onConflict) => {
      await person({ email: 'ada@example.org', subscribed: true });
      await person({ email: 'alan@example.org', subscribed: false });
      const table =
        'email,Newsletter\nada@example.org,\nalan@example.org,\nnew@example.org,\nsure@example.org,ja\n';
      const { location } = await bring(table, onConflict);
      const { text } = await editor.get(location!);
      expect(text).toContain(en.contacts.imports.agreed);
      expect(text).not.toContain(' checked');
      expect((await editor.post(location!, chosenIn(text))).status).toBe(303);
      expect((await resultAt(location!)).facts).toEqual(['2', '0', '2', '0']);
      expect(await subscribed()).toEqual({
        'ada@example.org': true,
        'alan@example.org': false,
        'new@example.org': false,
        'sure@example.org': true,
      });
    },
  );

  it.each([
    ['nonsubscribed_email_audience_export.csv', true],
    ['cleaned_email_audience_export.csv', true],
    ['subscribed_email_audience_export.csv', false],
  ])('are not asked for without a warning if the name of the file says no: %s', async (name, warns) => {
    const { location } = await editor.upload(at('contacts/import'), {
      ...tableOf('email\na@example.org\n'),
      name,
    });
    const { text } = await editor.get(location!);
    expect(text.includes(en.contacts.imports.unsubscribedHint)).toBe(warns);
  });

  it('apply the ticked default to new contacts only', async () => {
    await person({ email: 'alan@example.org', subscribed: false });
    await imported('email\nalan@example.org\nnew@example.org\n', { onConflict: 'update', agreed: 'true' });
    expect(await subscribed()).toEqual({ 'alan@example.org': false, 'new@example.org': true });
  });
});

describe('consent', () => {
  it.each([
    ['Keine Werbung (Widerspruch)', 'ja'],
    ['Keine Post', 'x'],
    ['Left us on', '2024-05-01'],
    // The name says nothing, and no other column states consent.
    ['Kreuz', 'x'],
  ])('a column that may contain opt-outs, %s, cannot be skipped without an answer', async (column, cell) => {
    const { location } = await bring(`email,${column}\nada@example.org,${cell}\nalan@example.org,\n`);
    const page = (await editor.get(location!)).text;
    expect(page).toContain(en.contacts.imports.undecided);
    const refused = await editor.post(location!, { ...chosenIn(page), agreed: 'true' });
    expect([
      refused.status,
      refused.text.includes(faultIn(en.faults, 'may state who gets no email')),
    ]).toEqual([422, true]);
    expect(await contacts()).toEqual([]);
    const answered = { 'column-0': 'email', 'column-1': 'optOut', agreed: 'true' };
    expect((await editor.post(location!, answered)).status).toBe(303);
    await resultAt(location!);
    expect(await subscribed()).toEqual({ 'ada@example.org': false, 'alan@example.org': true });
  });

  it('such a column can be left out, or become a custom field, if someone says so', async () => {
    const { location: other } = await bring('email,Consent form\ngrace@example.org,paper\n');
    const unrelated = { 'column-0': 'email', 'column-1': 'unrelated' };
    expect((await editor.post(other!, unrelated)).status).toBe(303);
    const { facts } = await imported('email,Volunteer\nada@example.org,yes\n', { 'column-1': 'newField' });
    expect(facts[0]).toBe('1');
    expect(await contacts()).toContainEqual(
      expect.objectContaining({ customFields: { volunteer: 'yes' }, subscribed: false }),
    );
  });

  it('does not ask what a column of another question means if a column states who gets email', async () => {
    const { location } = await bring('email,subscribed,Volunteer\nada@example.org,yes,no\n');
    const page = (await editor.get(location!)).text;
    expect(chosenIn(page)).toEqual({ 'column-0': 'email', 'column-1': 'subscribed', 'column-2': '' });
    expect((await editor.post(location!, chosenIn(page))).status).toBe(303);
  });
});

it('a background import is recorded as done by the user who started it', async () => {
  const before = await api.lastPosition();
  await imported('email\nada@example.org\n');
  const { data } = (await client.get('team.list-members')).body;
  const made = (await api.eventsAfter(client.organizationId, before)).filter(
    ({ streamType }) => streamType === 'contact',
  );
  expect(made.map(({ actor }) => actor)).toEqual([`user ${data[0].userId}`]);
});

describe('failed lines', () => {
  const NO_STATUS = 'must be yes or no, or a status such as subscribed, unsubscribed';
  const content = [
    'email;Vorname;Nachname;Newsletter;Ort',
    '',
    'ada@example.org;Ada;Lovelace;ja;Oxford',
    ';No;Body;ja;Bern',
    'grace@example.org;Grace;"Hopper',
    'of New York";ja;New York',
    '',
    ';;;;',
    'nobody;No;Body;ja;Bern',
    `alan@example.org;${'A'.repeat(201)};Turing;vielleicht;Wilmslow`,
    'emmy@example.org;Emmy;Noether;ja;Erlangen;Göttingen',
    'lise@example.org;Lise;Meitner;nein;Wien;',
  ];

  it.each([
    ['LF', '\n'],
    ['CR and LF', '\r\n'],
  ])(
    'are listed with line number, address and a reason in the language of the page, with %s line ends',
    async (_, end) => {
      await person({ email: 'ada@example.org', city: 'London' });
      const { facts, wrong, path } = await imported(content.join(end), { agreed: 'true' });
      expect(facts).toEqual(['2', '0', '0', '5']);
      const { contacts: words, faults } = en;
      expect(wrong).toEqual([
        ['3', 'ada@example.org', words.imports.taken],
        ['4', '', `${words.fields.email}: ${faultIn(faults, 'is required')}`],
        ['9', 'nobody', `${words.fields.email}: ${faultIn(faults, 'must be an email address')}`],
        [
          '10',
          'alan@example.org',
          [
            `${words.subscribed}: ${faultIn(faults, NO_STATUS)}`,
            `${words.fields.firstName}: ${faultIn(faults, 'must have at most 200 characters')}`,
          ].join('; '),
        ],
        ['11', 'emmy@example.org', words.imports.overlong],
      ]);

      const german = await resultAt(path, editor.at(api.origin, 'de'), de);
      expect(german.wrong.map(([, , why]) => why)).toEqual([
        de.contacts.imports.taken,
        `E‑Mail-Adresse: ${faultIn(de.faults, 'is required')}`,
        `E‑Mail-Adresse: ${faultIn(de.faults, 'must be an email address')}`,
        `Abonniert: ${faultIn(de.faults, NO_STATUS)}; Vorname: ${faultIn(de.faults, 'must have at most 200 characters')}`,
        de.contacts.imports.overlong,
      ]);
      expect(faultIn(de.faults, NO_STATUS)).not.toContain('yes or no');
      const people = await contacts();
      expect(people.map(({ email }) => email).sort()).toEqual([
        'ada@example.org',
        'grace@example.org',
        'lise@example.org',
      ]);
      expect(people.find(({ email }) => email === 'grace@example.org')!.lastName).toBe(
        `Hopper${end}of New York`,
      );
    },
  );

  it('are listed up to one hundred in their order, including overlong ones, and all are counted', async () => {
    const rows = Array.from({ length: 300 }, (_, n) =>
      n % 2 === 0 ? `nobody ${n},Bern` : `p${n}@example.org,Bern,too much`,
    );
    const { facts, wrong } = await imported(['email,Ort', ...rows].join('\n'));
    expect(facts).toEqual(['0', '0', '0', '300']);
    expect(wrong.map(([line]) => Number(line))).toEqual(Array.from({ length: 100 }, (_, n) => n + 2));
    expect([wrong[0]![1], wrong[99]![1]]).toEqual(['nobody 0', 'p99@example.org']);
  });

  it('can all be downloaded with their columns in a file that can be imported again', async () => {
    const count = isLong ? 1_300 : 300;
    const rows = Array.from({ length: count }, (_, n) =>
      n === 7 ? '"=2+3, x",Bern' : `nobody ${n},"Bern; West"`,
    );
    const { page, path } = await imported(['email,Ort', ...rows, 'ada@example.org,Bern'].join('\n'));
    expect(page).toContain(en.contacts.imports.more(count - 100));
    expect(page).toContain(`<a href="${path}/wrong-lines">${en.contacts.imports.download(count)}</a>`);
    for (const words of [en, de]) {
      const { status, text, headers } = await editor.at(api.origin, words.locale).get(`${path}/wrong-lines`);
      expect([status, headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
      const { fields, imports } = words.contacts;
      const [names, ...lines] = parse(text, { delimiter: words === de ? ';' : ',' });
      expect(names).toEqual(['email', 'Ort', imports.why]);
      const why = `${fields.email}: ${faultIn(words.faults, 'must be an email address')}`;
      // Escaped, so that no spreadsheet runs it as a formula.
      const cells = (n: number) => (n === 7 ? ["'=2+3, x", 'Bern'] : [`nobody ${n}`, 'Bern; West']);
      expect(lines).toEqual(rows.map((_, n) => [...cells(n), why]));
      const { location } = await bring(text);
      expect(chosenIn((await editor.get(location!)).text)['column-0']).toBe('email');
    }
    const other = await signedIn(api, await api.organization(), 'EDITOR', 'another@example.org');
    expect((await other.get(`${path}/wrong-lines`)).status).toBe(404);
  });

  longIt('are all in that file, however many', async () => {
    const rows = Array.from({ length: 10_050 }, (_, n) => `nobody ${n}`);
    const { facts, page, path } = await imported(['email', ...rows].join('\n'));
    expect(facts[3]).toBe('10,050');
    expect(page).toContain(en.contacts.imports.download(10_050));
    const lines = parse((await editor.get(`${path}/wrong-lines`)).text);
    expect([lines.length, lines.at(-1)![0]]).toEqual([10_051, 'nobody 10049']);
  });

  it('are stored encrypted, and nothing else of the file is stored', async () => {
    const kept = async (path: string): Promise<[files: number, pages: string[]]> => {
      const id = path.split('/').at(-1);
      const { source } = api.database;
      const files = await source.query('SELECT FROM contact_import_chunks WHERE import_id = $1', [id]);
      const pages = await source.query('SELECT sealed FROM contact_import_pages WHERE import_id = $1', [id]);
      return [files.length, pages.map(({ sealed }: { sealed: Buffer }) => sealed.toString('latin1'))];
    };
    const { path } = await imported('email,Ort\nada@example.org,hidden\nnobody,secret\n');
    const [files, pages] = await kept(path);
    expect([files, pages.length, pages.join().includes('nobody')]).toEqual([0, 1, false]);
    const { text } = await editor.get(`${path}/wrong-lines`);
    expect([text.includes('secret'), text.includes('hidden')]).toEqual([true, false]);
  });

  it('are listed even if only addresses are imported', async () => {
    const { facts, wrong } = await imported('email,Ort\n,Bern\n\nada@example.org,Bern\n', { 'column-1': '' });
    expect(facts).toEqual(['1', '0', '0', '1']);
    expect(wrong[0]!.slice(0, 2)).toEqual(['2', '']);
  });
});

it('the import page recommends a list without claiming that emails need one', async () => {
  const { text } = await editor.get(at('contacts/import'));
  expect(text).toContain(en.contacts.imports.listFirst);
  await call(client, 'list.create-list', { name: 'Friends' });
  const { text: withList } = await editor.get(at('contacts/import'));
  expect(withList).toContain(en.contacts.imports.listHint);
  expect(text + withList).not.toContain('You send emails to lists');
});

it.each(['fail', 'update'])(
  'every contact of the file ends up on the list, even unchanged ones, with %s',
  async (onConflict) => {
    await person({ email: 'ada@example.org', city: 'London' });
    await person({ email: 'alan@example.org', city: 'Wilmslow' });
    const { listId } = await call(client, 'list.create-list', { name: 'Friends' });
    const file = tableOf(
      'email,Ort,Tags\nada@example.org,Oxford,poet\nalan@example.org,Wilmslow,\nnew@example.org,Bern,\nnobody,Bern,\n',
    );
    const { location } = await editor.upload(at('contacts/import'), file, { onConflict, listId });
    await editor.post(location!, chosenIn((await editor.get(location!)).text));
    const { facts, wrong } = await resultAt(location!);
    const isLeft = onConflict === 'fail';
    expect(facts).toEqual(isLeft ? ['1', '0', '1', '2'] : ['1', '1', '1', '1']);
    if (isLeft) expect(wrong[0]).toEqual(['2', 'ada@example.org', en.contacts.imports.takenAndListed]);
    const { data } = (await client.get('contact.list-contacts', { listId })).body;
    expect((data as { email: string }[]).map(({ email }) => email).toSorted()).toEqual([
      'ada@example.org',
      'alan@example.org',
      'new@example.org',
    ]);
    // The other cells of a skipped line are not imported.
    const [ada] = (await client.get('contact.list-contacts', { email: 'ada@example.org' })).body.data;
    expect(ada.city).toBe(isLeft ? 'London' : 'Oxford');
    const tags = (await client.get('tag.list-tags')).body.data;
    expect(tags).toHaveLength(isLeft ? 0 : 1);
  },
);

it.each(someOf([en, de]))(
  'imports the signatures of a petition, from its page of signatures: $locale',
  async (words) => {
    const { signatures } = words.contacts.imports;
    await person({ email: 'ada@example.org', city: 'London' });
    const { petitionId } = await call(client, 'petition.create-petition', { name: 'Save the bees' });
    const visitor = editor.at(api.origin, words.locale);
    const start = at(`contacts/import?petition=${petitionId}`);
    const table = tableOf(
      'email;city;Unterschrieben am;Kommentar\nada@example.org;Bern;4.3.2021;Ja\nnobody;;;\nb@b.org;;1969-12-31;\n',
    );
    const draft = await visitor.upload(start, table, {});
    expect([draft.status, draft.text]).toEqual([409, expect.stringContaining(words.faults.title)]);
    await call(client, 'petition.publish-petition', { petitionId });
    const list = await visitor.get(at(`petitions/${petitionId}/signatures`));
    expect(list.text).toContain(`href="${start}"`);
    const form = (await visitor.get(start)).text;
    expect(form).toContain(signatures.text('Save the bees'));
    const { location } = await visitor.upload(start, table, { onConflict: 'keep' });
    const preview = (await visitor.get(location!)).text;
    const chosen = chosenIn(preview);
    expect(Object.values(chosen)).toEqual(['email', 'city', 'signedAt', 'comment']);
    expect(preview).toContain(signatures.columns.source);
    expect((await visitor.post(location!, { ...chosen, agreed: 'true' })).status).toBe(303);
    const { facts, wrong } = await resultAt(location!, visitor, words);
    expect(facts).toEqual(['1', '0', '1', '0', '2']);
    expect(wrong[1]![2]).toBe(`${signatures.columns.signedAt}: ${words.faults.earlyTime}`);
    const done = (await visitor.get(location!)).text;
    expect(done).toContain(`href="${at(`petitions/${petitionId}/signatures`)}"`);
    const [signed] = (await client.get('petition.list-signatures', { petitionId })).body.data;
    expect([signed.comment, signed.signedAt.slice(0, 10)]).toEqual(['Ja', '2021-03-04']);
    const [ada] = (await client.get('contact.list-contacts', { email: 'ada@example.org' })).body.data;
    expect(ada.city).toBe('London');
    // Elsewhere, no column is part of a signature.
    const plain = await visitor.upload(at('contacts/import'), table);
    expect((await visitor.get(plain.location!)).text).not.toContain(signatures.columns.signedAt);
    expect((await visitor.get(at('contacts/import?petition=x'))).status).toBe(404);
  },
);

it('an import that fails completely shows the reason in the language of the page', async () => {
  const { listId } = await call(client, 'list.create-list', { name: 'Friends' });
  const { location } = await editor.upload(at('contacts/import'), tableOf('email\nada@example.org\n'), {
    listId,
  });
  expect((await client.delete('list.delete-list', { listId })).status).toBe(200);
  await editor.post(location!, { 'column-0': 'email' });
  await eventually(async () => {
    expect((await editor.get(location!)).text).toContain(en.contacts.imports.goneFailure);
  });
  const german = await editor.at(api.origin, 'de').get(location!);
  expect(german.text).toContain(de.contacts.imports.goneFailure);
});

it.each(someOf([en, de]))(
  'an import can be undone, after a page that shows what will be deleted: $locale',
  async (words) => {
    const visitor = editor.at(api.origin, words.locale);
    const { undo } = words.contacts.imports;
    const { path } = await imported('email\nada@example.org\nalan@example.org\ngrace@example.org\n');
    const [{ id: contactId }] = (await contacts()) as [{ id: string }];
    await call(client, 'contact.update-contact', { contactId, city: 'London' });
    expect((await visitor.get(path)).text).toContain(`href="${path}/undo"`);
    const { text: question } = await visitor.get(`${path}/undo`);
    for (const text of [undo.title, undo.text(2, 1), undo.button(2)]) expect(question).toContain(text);
    const { status, location } = await visitor.post(`${path}/undo`, {});
    expect([status, location!.startsWith(path)]).toEqual([303, true]);
    const { page, facts } = await resultAt(path, visitor, words, undo.states.DONE);
    expect(facts.slice(0, 2)).toEqual(['2', '1']);
    expect(page).toContain(undo.keptHint);
    expect(page).not.toContain(`href="${path}/undo"`);
    expect((await contacts()).map(({ id }) => id)).toEqual([contactId]);
    // For an import that is too old, the page has no link, and the form explains why.
    const old = await imported('email\nold@example.org\n');
    await api.database.source.query(
      `UPDATE contact_imports SET finished_at = finished_at - interval '24 hours' WHERE organization_id = $1`,
      [client.organizationId],
    );
    expect((await visitor.get(old.path)).text).not.toContain(`href="${old.path}/undo"`);
    const refused = await visitor.post(`${old.path}/undo`, {});
    expect([refused.status, refused.text.includes(words.reasons.UNDO_EXPIRED!)]).toEqual([409, true]);
  },
);

it.each(someOf([en, de]))('an export of the dashboard can be imported unchanged: $locale', async (words) => {
  await person({
    email: 'ada@example.org',
    firstName: 'Ada',
    phone: '+44 20',
    bio: '=1',
    city: 'Köln',
    subscribed: false,
  });
  const visitor = editor.at(api.origin, words.locale);
  const { text } = await visitor.get(at('contacts/export'));
  const { location } = await visitor.upload(at('contacts/import'), tableOf(text), { onConflict: 'fail' });
  const chosen = chosenIn((await visitor.get(location!)).text);
  await visitor.post(location!, chosen);
  expect((await resultAt(location!, visitor, words)).facts).toEqual(['0', '0', '1', '0']);
  expect(Object.values(chosen)).toEqual(
    expect.arrayContaining(['email', 'firstName', 'phone', 'bio', 'subscribed']),
  );
});

describe('an unreadable file', () => {
  const rowsAfter = (count: number) => Array.from({ length: count }, (_, n) => `c${n}@b.org,Bern\n`).join('');
  const zip = new Uint8Array([0x50, 0x4b, 3, 4, 20, 0, 6, 0, 8, 0]);
  const ole = new Uint8Array([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]);

  it.each([
    ['an Excel file', zip, 'is an Excel file'],
    ['an Excel file from before 2007', ole, 'is an Excel file'],
    [
      'a file without a header',
      'ada@example.org;Ada\nalan@example.org;Alan\n',
      'has an address in its first line',
    ],
    ['bytes', 'email\n\0\0\n', 'is not a readable table'],
  ])('is rejected with a reason: %s', async (_, content, why) => {
    const { status, text } = await bring(content);
    expect([status, text.includes(faultIn(en.faults, why))]).toEqual([422, true]);
    expect(faultIn(en.faults, why)).not.toBe(`This ${why}`);
    expect(faultIn(de.faults, why)).not.toContain(why);
  });

  it.each([
    ['an open quotation mark', 'email,Ort\na@b.org,Bern\n\n\nb@b.org,"Bern\nc@b.org,Bern\n', '5', 2],
    ['… and many rows after it', `email,Ort\n\n"a@b.org,Bern\n${rowsAfter(20)}`, '3', 20],
    ['… and very many', `email,Ort\r\na@b.org,"x\r\ny"\r\nb@b.org,"Bern\r\n${rowsAfter(500)}`, '4', 501],
  ])('loses only the affected row: %s', async (_, content, line, created) => {
    const { facts, wrong } = await imported(content);
    expect(facts).toEqual([String(created), '0', '0', '1']);
    expect(wrong.map(([at, , why]) => [at, why])).toEqual([[line, en.contacts.imports.unreadable]]);
  });

  it('does not include UTF-16 text saved by Windows', async () => {
    expect((await imported(utf16('email\tOrt\nada@example.org\tKöln\n'))).facts[0]).toBe('1');
    expect((await imported(utf16('email\tOrt\nalan@example.org\tŁódź\n', true))).facts[0]).toBe('1');
    const cities = (await contacts()).map(({ city }) => city);
    expect(cities.sort()).toEqual(['Köln', 'Łódź']);
  });

  it.each([
    ['sep=;', '\r\n', ';'],
    ['sep=;', '\n', ';'],
    ['"sep=,"', '\n', ','],
    ['SEP=\t', '\r\n', '\t'],
    // A separator that cannot be guessed from the header.
    ['sep=|', '\r\n', '|'],
  ])('a first line that only names the separator is not a header: %j', async (first, end, divider) => {
    const rows = [
      ['email', 'Notes'],
      ['ada@example.org', 'a'],
      ['nobody', 'b'],
      ['alan@example.org', 'c'],
    ];
    const lines = [first, ...rows.map((row) => row.join(divider))];
    const { location } = await bring(lines.join(end));
    expect(chosenIn((await editor.get(location!)).text)).toEqual({ 'column-0': 'email', 'column-1': 'bio' });
    const { facts, wrong } = await imported(lines.join(end));
    expect(facts).toEqual(['2', '0', '0', '1']);
    expect(wrong.map(([line, address]) => [line, address])).toEqual([['4', 'nobody']]);
    expect((await contacts()).map(({ bio }) => bio).toSorted()).toEqual(['a', 'c']);
  });

  it('a file is read correctly across chunk boundaries', async () => {
    const table = `email,Notes\nada@example.org,"${'x'.repeat(9_000)}"\n`;
    const rows = Array.from({ length: 40 }, (_, n) => `p${n}@example.org,${'🎈'.repeat(2_500 + n)}`);
    const { facts } = await imported(`${table}${rows.join('\n')}`);
    expect(facts).toEqual(['41', '0', '0', '0']);
    expect((await contacts()).filter(({ bio }) => bio.includes('\uFFFD'))).toEqual([]);
  });
});

describe('an import in progress', () => {
  it('is found again for a week by members of the same organization only', async () => {
    const foreign = await api.organization();
    const other = await signedIn(api, foreign, 'EDITOR', 'other@example.org');
    const { location: kept } = await bring('email\nnobody@example.org\n');
    const { path } = await imported('email\nada@example.org\n');
    const { text } = await editor.get(at('contacts/import'));
    expect(text).toContain(`href="${path}"`);
    expect(text).toContain('people.csv');
    expect(text).toContain(en.contacts.imports.states.DONE);
    expect(text).not.toContain(kept!);
    const theirs = await other.get(`/dashboard/${foreign.organizationId}/contacts/import`);
    expect(theirs.text).not.toContain('people.csv');

    await api.database.source.query(
      `UPDATE contact_imports SET made_at = made_at - interval '8 days' WHERE organization_id = $1`,
      [client.organizationId],
    );
    expect((await editor.get(at('contacts/import'))).text).not.toContain('people.csv');
  });
});

// `imports.e2e.spec.ts` always kills an instance that imports; the same jobs are behind the pages.
longDescribe('if an instance is killed in the middle', () => {
  const PEOPLE = 12_000;
  const programs: ServerProcess[] = [];
  let own: Api;
  beforeAll(async () => {
    // This instance runs no background workers. It shows the pages while others import.
    own = await Api.start({ environment: { TRUST_PROXY: '1' } });
  });
  afterAll(async () => {
    await Promise.all(programs.map((program) => program.end('SIGKILL')));
    await own.stop();
  });

  async function start(): Promise<ServerProcess> {
    const program = await ServerProcess.start({
      DATABASE_URL: own.database.url,
      ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    });
    programs.push(program);
    return program;
  }

  const rowOf = async (id: string): Promise<Record<string, any>> => {
    const [row] = await own.database.source.query(
      'SELECT status, lines_done, lease_expires_at > clock_timestamp() AS is_taken FROM contact_imports WHERE id = $1',
      [id],
    );
    return row as Record<string, any>;
  };

  it('another one finishes the import and creates each contact once', async () => {
    const whose = await own.organization();
    const visitor = await signedIn(own, whose, 'EDITOR');
    const rows = Array.from({ length: PEOPLE }, (_, n) => `p${n}@example.org,Bern`);
    const file = tableOf(['email,Ort', ...rows].join('\n'));
    const { location } = await visitor.upload(`/dashboard/${whose.organizationId}/contacts/import`, file);
    const id = location!.split('/').at(-1)!;
    const first = await start();
    await visitor.post(location!, { ...chosenIn((await visitor.get(location!)).text), agreed: 'true' });
    await eventually(async () => expect((await rowOf(id)).lines_done).toBeGreaterThan(0));
    await first.end('SIGKILL');
    const left = await rowOf(id);
    expect(left).toMatchObject({ status: 'RUNNING', is_taken: true });
    expect(left.lines_done).toBeLessThan(PEOPLE);

    await start();
    // Expires the lease of half a minute.
    await own.database.source.query(
      `UPDATE contact_imports SET lease_expires_at = lease_expires_at - interval '30 seconds' WHERE id = $1`,
      [id],
    );
    const { facts } = await resultAt(location!, visitor);
    const [created, , unchanged, failed] = facts.map((fact) => Number(fact.replaceAll(',', '')));
    expect([created, unchanged, failed]).toEqual([PEOPLE, 0, 0]);
    const types = await own.eventTypes(whose.organizationId);
    expect(types.filter((type) => type === 'ContactCreated')).toHaveLength(PEOPLE);
  });
});

it.each(someOf([en, de]))(
  'shows the guessed character set with a sample, and reads the file again in another: $locale',
  async (words) => {
    const { charset, done } = words.contacts.imports;
    const visitor = editor.at(api.origin, words.locale);
    // Hungarian ő in Windows-1250 is õ in Windows-1252, and nothing else in the file shows which one it is.
    const { location } = await bring(
      new Uint8Array(Buffer.from('email,Vorname\nada@example.org,Erd\xf5\n', 'latin1')),
    );
    const text = (name: keyof typeof charset.names, sample: string) =>
      charset.text(charset.names[name], sample);
    const { text: page } = await visitor.get(location!);
    expect(page).toContain(text('windows-1252', 'Erdõ'));
    const unknown = await visitor.post(`${location!}?charset=true`, { charset: 'ebcdic' });
    expect([unknown.status, (await visitor.get(location!)).text]).toEqual([
      303,
      expect.stringContaining('Erdõ'),
    ]);
    const again = await visitor.post(`${location!}?charset=true`, { charset: 'windows-1250' });
    expect([again.status, again.location]).toEqual([303, location]);
    const { text: changed } = await visitor.get(location!);
    expect(changed).toContain(text('windows-1250', 'Erdő'));
    await visitor.post(location!, chosenIn(changed));
    await resultAt(location!, visitor, words, done);
    expect(await contacts()).toMatchObject([{ firstName: 'Erdő' }]);
    // An import that was started is left as it is.
    expect((await visitor.post(`${location!}?charset=true`, { charset: 'utf-8' })).status).toBe(303);
    const ascii = await bring('email\nalan@example.org\n');
    expect((await visitor.get(ascii.location!)).text).not.toContain(charset.change);
  },
);

it('suggests custom fields for columns with their names, and imports the chosen ones', async () => {
  for (const name of ['Shoe size', 'Branch']) await call(client, 'field.create-field', { name });
  const { location } = await bring('email,shoe size,where\nada@example.org,42,Lyon\n');
  const { text } = await editor.get(location!);
  expect(chosenIn(text)).toEqual({
    'column-0': 'email',
    'column-1': 'customFields.shoeSize',
    'column-2': '',
  });
  expect(text).toContain('<option value="customFields.branch">Branch</option>');
  const { facts } = await imported('email,shoe size,where\nada@example.org,42,Lyon\n', {
    'column-2': 'customFields.branch',
  });
  expect(facts[0]).toBe('1');
  expect(await contacts()).toMatchObject([{ customFields: { shoeSize: '42', branch: 'Lyon' } }]);
});

it('names columns that are not recognized, and creates custom fields for those that were chosen', async () => {
  const file = 'email,MEMBER_RATING,Birthday,Empty\nada@example.org,5,03/14,\n';
  const { location } = await bring(file);
  for (const words of [en, de]) {
    const { text } = await editor.at(api.origin, words.locale).get(location!);
    const named = words.contacts.imports.leftOut(
      new Intl.ListFormat(words.locale).format(['MEMBER_RATING', 'Birthday']),
    );
    expect(text).toContain(named);
  }
  const chosen = { 'column-1': 'newField', 'column-2': 'newField' };
  const { facts } = await imported(file, chosen);
  expect(facts[0]).toBe('1');
  const customFields = { memberRating: '5', birthday: '03/14' };
  expect(await contacts()).toMatchObject([{ customFields }]);
});
