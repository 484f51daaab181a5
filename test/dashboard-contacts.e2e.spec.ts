import { DASHBOARD } from '#locales';
import { type Client, NOBODY, SharedApi } from './harness.js';
import { signedIn, type Visitor } from './people-in.js';
import { call } from './petition-page.js';
import { longIt } from './length.js';

const { en, de } = DASHBOARD;

let api: SharedApi;
let client: Client;
let editor: Visitor;
let editors = 0;
beforeAll(async () => {
  api = await SharedApi.open();
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
  // A new person for each test, because one person may not open this many pages per second.
  editor = await signedIn(api, client, 'EDITOR', `editor-${(editors += 1)}@example.org`);
});

/** The same person, in the language of these words. */
const speaking = (words: typeof en) => editor.at(api.origin, words.locale);

const at = (path: string) => `/dashboard/${client.organizationId}/${path}`;

const linkTo = (path: string, name: string) => `<a href="${at(path)}">${name}</a>`;

async function shown(path: string, visitor = editor): Promise<string> {
  const { status, text } = await visitor.get(at(path));
  expect([path, status]).toEqual([path, 200]);
  return text;
}

async function person(email: string, details: object = {}): Promise<string> {
  const { organizationId } = client;
  return (await call(client, 'contact.create-contact', { organizationId, email, ...details })).contactId;
}

const group = async (kind: 'list' | 'tag', name: string): Promise<string> =>
  (await call(client, `${kind}.create-${kind}`, { name }))[`${kind}Id`];

describe('suppressed addresses', () => {
  it.each(['ada', 'ada@', 'ada@example', 'example.org'])(
    'are found only by the complete address, which the page explains: %s',
    async (typed) => {
      await call(client, 'suppression.create-suppression', { email: 'ada@example.org' });
      for (const words of [en, de]) {
        const text = await shown(`suppressions?email=${encodeURIComponent(typed)}`, speaking(words));
        expect(text).toContain(words.suppressions.wholeAddress);
        expect(text).not.toContain('ada@example.org</');
        expect(text).toContain(`value="${typed}"`);
      }
    },
  );

  it('are found by their own address only', async () => {
    await call(client, 'suppression.create-suppression', { email: 'ada@example.org' });
    expect(await shown('suppressions?email=Ada@example.org')).toContain('>ada@example.org<');
    const other = await shown('suppressions?email=alan@example.org');
    expect(other).toContain(en.nothingFound);
    expect(other).not.toContain(en.suppressions.wholeAddress);
  });
});

describe.each([
  ['lists', 'list'],
  ['tags', 'tag'],
] as const)('%s', (section, kind) => {
  it('explain what happens when one contact is removed, not when the group is deleted', async () => {
    const contactId = await person('ada@example.org');
    const id = await group(kind, 'Friends');
    await call(client, `${kind}.add-contacts`, { [`${kind}Id`]: id, contactIds: [contactId] });
    for (const words of [en, de]) {
      const text = await shown(`${section}/${id}/contacts/${contactId}`, speaking(words));
      expect(text).toContain(words[section].removeText);
      expect(text).not.toContain(words[section].deleting.text);
    }
  });

  const formAt = (text: string) =>
    Object.fromEntries(
      [...text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]) => [
        name!,
        value!,
      ]),
    );

  it('ask for confirmation once before a second one of the same name is created', async () => {
    await group(kind, 'Friends');
    const path = at(`${section}/new`);
    const response = await editor.post(path, {
      ...formAt(await shown(`${section}/new`)),
      name: ' Friends',
      description: 'mine',
    });
    expect(response.status).toBe(422);
    expect(response.text).toContain(en[section].sameName);
    expect(response.text).toContain('mine</textarea>');
    // Another existing name asks again.
    await group(kind, 'Family');
    const again = { ...formAt(response.text), description: 'mine' };
    expect((await editor.post(path, { ...again, name: 'Family' })).status).toBe(422);
    expect((await editor.post(path, { ...again, name: 'Friends' })).status).toBe(303);
    expect((await client.get(`${kind}.list-${section}`, { q: 'Friends' })).body.data).toHaveLength(2);
  });

  it('ask nothing if a form is sent twice', async () => {
    const form = { ...formAt(await shown(`${section}/new`)), name: 'Friends' };
    const [first, second] = [
      await editor.post(at(`${section}/new`), form),
      await editor.post(at(`${section}/new`), form),
    ];
    expect([first.status, second.status]).toEqual([303, 303]);
    expect(second.location).toBe(first.location);
    expect((await editor.post(at(`${section}/new`), { ...form, once: 'another' })).status).toBe(422);
  });

  it('ask when a rename takes an existing name, but not when the name stays', async () => {
    await group(kind, 'Friends');
    const id = await group(kind, 'Family');
    const path = at(`${section}/${id}/edit`);
    const response = await editor.post(path, {
      ...formAt(await shown(`${section}/${id}/edit`)),
      name: 'Friends',
    });
    expect([response.status, response.text.includes(en[section].sameName)]).toEqual([422, true]);
    expect((await editor.post(path, { ...formAt(response.text), name: 'Friends' })).status).toBe(303);
    const kept = await editor.post(path, {
      ...formAt(await shown(`${section}/${id}/edit`)),
      name: 'Friends',
      description: 'Both of them',
    });
    expect(kept.status).toBe(303);
  });

  it('ask in German, too', async () => {
    await group(kind, 'Freunde');
    const { text } = await speaking(de).post(at(`${section}/new`), { name: 'Freunde' });
    expect(text).toContain(de[section].sameName);
  });
});

it('in German, erasing is called “endgültig löschen”, because “vergessen” sounds accidental', async () => {
  const contactId = await person('ada@example.org', { firstName: 'Ada', lastName: 'Lovelace' });
  const german = speaking(de);
  expect(await shown(`contacts/${contactId}`, german)).toContain('>Endgültig löschen</a>');
  const text = await shown(`contacts/${contactId}/erase`, german);
  expect(text).toContain('<button class="button final">Ada Lovelace endgültig löschen</button>');
  const { location } = await german.post(at(`contacts/${contactId}/erase`));
  expect((await german.get(location!)).text).toContain('Kontakt endgültig gelöscht.');
  expect(JSON.stringify([de.contacts, de.events, de.history])).not.toContain('vergessen');
});

describe('a contact', () => {
  it('is merged with a duplicate after its confirmation, and the duplicate is found by its address', async () => {
    const kept = await person('ada@example.org', { firstName: 'Ada', lastName: 'Lovelace' });
    const other = await person('countess@example.org', { firstName: 'Countess', city: 'London' });
    expect(await shown(`contacts/${kept}`)).toContain(at(`contacts/${kept}/merge`));
    const none = await editor.post(at(`contacts/${kept}/merge`), { email: 'nobody@example.org' });
    expect([none.status, none.text]).toEqual([422, expect.stringContaining('href="#email"')]);
    const { location } = await editor.post(at(`contacts/${kept}/merge`), { email: 'Countess@example.org' });
    expect(location).toBe(at(`contacts/${kept}/merge?other=${other}`));
    const question = (await editor.get(location!)).text;
    for (const text of ['countess@example.org', en.contacts.merging.sure('Ada Lovelace', 'Countess')])
      expect(question).toContain(text);
    const merged = await editor.post(location!, { other });
    const page = (await editor.get(merged.location!)).text;
    expect(page).toContain(en.contacts.done.merged);
    expect(factIn(page, en.contacts.fields.city)).toContain('>London</a>');
  });

  it('is added to a list and tags, and exported as JSON', async () => {
    const contactId = await person('ada@example.org');
    const list = await group('list', 'Friends');
    const { location } = await editor.post(at(`contacts/group?contact=${contactId}`), {
      addTags: 'Donor, Member',
      addListIds: list,
    });
    expect(location).toContain(contactId);
    const page = (await editor.get(location!)).text;
    for (const name of ['Donor', 'Member', 'Friends', en.contacts.done.grouped]) expect(page).toContain(name);
    // Each is removed where it is shown.
    expect(page).toMatch(/<details><summary>Add tags<\/summary>/);
    expect(page).toContain(`action="${at(`contacts/group?contact=${contactId}`)}"`);
    const removing = [...page.matchAll(/<button name="(\w+)" value="([^"]*)"/g)].map(([, ...field]) => field);
    expect(removing.toSorted()).toEqual([
      ['removeListIds', list],
      ['removeTags', 'Donor'],
      ['removeTags', 'Member'],
    ]);
    const exported = JSON.parse(await shown(`contacts/${contactId}/export`));
    expect(exported.tags.map(({ name }: { name: string }) => name).sort()).toEqual(['Donor', 'Member']);
    expect(exported.contact.email).toBe('ada@example.org');
  });
});

describe('choosing contacts in the list', () => {
  const tagsOf = async (contactId: string) => {
    const { tags } = JSON.parse(await shown(`contacts/${contactId}/export`));
    return tags.map(({ name }: { name: string }) => name).toSorted();
  };

  it('changes the tags and lists of those that are ticked, and returns to the same search', async () => {
    const [one, other, third] = [
      await person('ada@example.org', { city: 'Turin' }),
      await person('eve@example.org', { city: 'Turin' }),
      await person('bob@example.org', { city: 'Turin' }),
    ];
    const listId = await group('list', 'Friends');
    const list = await shown('contacts?city=Turin');
    for (const text of [
      `type="checkbox" name="contact" value="${one}" aria-label="${en.contacts.grouping.one('ada@example.org')}"`,
      '<input type="hidden" name="city" value="Turin"',
      `action="${at('contacts/group')}"`,
    ])
      expect(list).toContain(text);
    const chosen = `contacts/group?city=Turin&contact=${one}&contact=${other}&contact=${one}`;
    for (const words of [en, de])
      expect(await shown(chosen, speaking(words))).toContain(words.contacts.grouping.titleOfMany(2));
    const added = await editor.post(at(chosen), { addTags: ' Donor , Member', addListIds: listId });
    expect(added.location).toMatch(/contacts\?city=Turin&undo=[^&]+&done=contacts\.grouped$/);
    expect((await editor.get(added.location!)).text).toContain(en.contacts.done.grouped);
    const removed = `contacts/group?contact=${one}`;
    await editor.post(at(removed), { removeTags: 'donor', removeListIds: listId });
    expect(await Promise.all([one, other, third].map(tagsOf))).toEqual([['Member'], ['Donor', 'Member'], []]);
    expect((await client.get('list.get-list', { listId })).body.data.contacts).toBe(1);

    const [, undo] = /href="([^"]+\/undo\?[^"]+)"/.exec((await editor.get(added.location!)).text)!;
    const address = undo!.replaceAll('&amp;', '&');
    expect((await editor.get(address)).text).toContain(en.contacts.grouping.undo.title);
    expect((await editor.post(address, {})).location).toBe(
      `${at('contacts?city=Turin')}&done=contacts.ungrouped`,
    );
    expect(await Promise.all([one, other, third].map(tagsOf))).toEqual([[], [], []]);
    expect((await client.get('list.get-list', { listId })).body.data.contacts).toBe(0);
  });

  it('changes all that match the search and the filters', async () => {
    const ids = [
      await person('ada@example.org', { city: 'Turin', subscribed: true }),
      await person('adam@example.org', { city: 'Turin', subscribed: false }),
      await person('eve@example.org', { city: 'Milan', subscribed: true }),
    ];
    const { found, all, noneTitle, titleOfMany } = en.contacts.grouping;
    expect(await shown('contacts')).toContain(all);
    expect(await shown('contacts?q=ada')).toContain(found);
    for (const [n, [query, matching]] of (
      [
        ['', [0, 1, 2]],
        ['q=ada', [0, 1]],
        ['q=ada&subscribed=true', [0]],
        ['city=Milan', [2]],
        // Ticks are ignored.
        [`city=Milan&contact=${ids[0]}`, [2]],
        ['q=nobody', []],
      ] as const
    ).entries()) {
      const path = `contacts/group?${query}&all=true`;
      const page = await shown(path);
      expect(page).toContain(matching.length === 0 ? noneTitle : titleOfMany(matching.length));
      await editor.post(at(path), { addTags: `Case ${n}` });
      const tags = await Promise.all(ids.map(tagsOf));
      expect([query, tags.map((names) => names.includes(`Case ${n}`))]).toEqual([
        query,
        ids.map((_, place) => matching.includes(place as never)),
      ]);
    }
  });

  it('unsubscribes those that are chosen, after naming their number', async () => {
    const ids = [
      await person('ada@example.org', { city: 'Turin', subscribed: true }),
      await person('adam@example.org', { city: 'Turin', subscribed: true }),
      await person('eve@example.org', { city: 'Milan', subscribed: true }),
    ];
    const subscribed = async () =>
      Promise.all(
        ids.map(async (contactId) => {
          const { body } = await client.get('contact.get-contact', {
            organizationId: client.organizationId,
            contactId,
          });
          return body.data.subscribed;
        }),
      );
    const { unsubscribe, erase } = en.contacts.grouping;
    const group = await shown('contacts/group?city=Turin&all=true');
    const [, href] = /href="([^"]+\/unsubscribe\?[^"]+)"/.exec(group)!;
    const path = href!.replaceAll('&amp;', '&');
    for (const words of [en, de])
      expect((await speaking(words).get(path)).text).toContain(words.contacts.grouping.unsubscribe.title(2));
    expect(await subscribed()).toEqual([true, true, true]);
    const done = await editor.post(path, {});
    expect(done.location).toBe(`${at('contacts?city=Turin')}&done=contacts.unsubscribed`);
    expect((await editor.get(done.location!)).text).toContain(en.contacts.done.unsubscribed);
    expect(await subscribed()).toEqual([false, false, true]);
    await editor.post(at(`contacts/group/unsubscribe?contact=${ids[2]}`), {});
    expect(await subscribed()).toEqual([false, false, false]);
    // The page of one contact has its own form for this.
    expect(await shown(`contacts/group?contact=${ids[2]}`)).not.toContain(unsubscribe.open);
    expect(await shown(`contacts/group?contact=${ids[2]}`)).not.toContain(erase.open);
  });

  it('exports and erases those that are chosen, after naming their number', async () => {
    const ids = [
      await person('ada@example.org', { city: 'Turin' }),
      await person('adam@example.org', { city: 'Turin' }),
      await person('eve@example.org', { city: 'Milan' }),
    ];
    const known = async () =>
      (await client.get('contact.list-contacts', {})).body.data.map(({ email }: { email: string }) => email);
    const hrefTo = async (page: string, query: string) => {
      const group = await shown(`contacts/group?${query}`);
      return new RegExp(`href="([^"]+/${page}\\?[^"]+)"`).exec(group)![1]!.replaceAll('&amp;', '&');
    };
    const ticked = `city=Turin&contact=${ids[0]}&contact=${ids[2]}`;
    for (const [query, emails] of [
      [ticked, ['ada@example.org', 'eve@example.org']],
      ['city=Turin&all=true', ['ada@example.org', 'adam@example.org']],
    ] as const) {
      const file = (await editor.get(await hrefTo('export', query))).text;
      expect([query, file.match(/[a-z]+@example\.org/g)]).toEqual([query, emails]);
    }

    const path = await hrefTo('erase', 'city=Turin&all=true');
    for (const words of [en, de])
      expect((await speaking(words).get(path)).text).toContain(words.contacts.grouping.erase.title(2));
    // Someone else matches the filters by now.
    const late = await person('late@example.org', { city: 'Turin' });
    expect((await editor.post(path, { contacts: '2' })).location).toBe(path);
    expect(await known()).toHaveLength(4);
    const done = await editor.post(path, { contacts: '3' });
    expect(done.location).toBe(`${at('contacts?city=Turin')}&done=contacts.erasedMany`);
    expect((await editor.get(done.location!)).text).toContain(en.contacts.done.erasedMany);
    expect(await known()).toEqual(['eve@example.org']);
    await editor.post(at(`contacts/group/erase?contact=${ids[2]}&contact=${late}`), {});
    expect(await known()).toEqual([]);
  });

  it('rejects an empty form, and contacts of another organization', async () => {
    const own = await person('ada@example.org');
    const empty = await editor.post(at(`contacts/group?contact=${own}`), { addTags: ' , ' });
    expect([empty.status, empty.text]).toEqual([422, expect.stringContaining('href="#addTags"')]);
    expect(await shown('contacts/group')).toContain(en.contacts.grouping.none);
    const stranger = await api.organization();
    const { contactId } = await call(stranger, 'contact.create-contact', {
      organizationId: stranger.organizationId,
      email: 'eve@example.org',
    });
    const path = `contacts/group?contact=${own}&contact=${contactId}`;
    expect((await editor.get(at(path))).status).toBe(404);
    expect((await editor.post(at(path), { addTags: 'Donor' })).status).toBe(404);
    expect(await tagsOf(own)).toEqual([]);
    const viewer = await signedIn(api, client, 'VIEWER', `viewer-${(editors += 1)}@example.org`);
    expect(await shown('contacts', viewer)).not.toContain('type="checkbox" name="contact"');
    expect((await viewer.get(at(`contacts/group?contact=${own}`))).status).toBe(403);
    expect(await shown(`contacts/${own}`, viewer)).not.toMatch(/class="chip"|Add tags/);
  });
});

describe('the page of a contact', () => {
  const getsMails = (text: string, words = en) => factIn(text, words.contacts.subscribed);

  it('shows if their address is suppressed, and why', async () => {
    const contactId = await person('ada@example.org', { subscribed: true });
    expect(getsMails(await shown(`contacts/${contactId}`))).toBe(en.yes);
    await call(client, 'suppression.create-suppression', { email: 'Ada@example.org' });
    for (const words of [en, de]) {
      const text = await shown(`contacts/${contactId}`, speaking(words));
      const message = words.contacts.blocked(words.suppressions.reasons.MANUAL);
      const path = at('suppressions?email=ada%40example.org');
      expect(getsMails(text, words)).toBe(`<a href="${path}">${message}</a>`);
      expect((await editor.get(path)).text).toMatch(/>ada@example.org</i);
    }
    await client.delete('suppression.delete-suppression', { email: 'ada@example.org' });
    expect(getsMails(await shown(`contacts/${contactId}`))).toBe(en.yes);
  });

  /** A contact with a list, a tag and a signature, and with a former list and tag. */
  async function contactInGroups() {
    const email = 'ada@example.org';
    const contactId = await person(email);
    const contactIds = [contactId];
    const [listId, formerListId] = [await group('list', 'Press & radio'), await group('list', 'Friends')];
    const [tagId, formerTagId] = [await group('tag', 'donor'), await group('tag', 'member')];
    for (const id of [listId, formerListId])
      await call(client, 'list.add-contacts', { listId: id, contactIds });
    for (const id of [tagId, formerTagId]) await call(client, 'tag.add-contacts', { tagId: id, contactIds });
    await client.delete('list.remove-contacts', { listId: formerListId, contactIds });
    await client.delete('tag.remove-contacts', { tagId: formerTagId, contactIds });
    const petition = { name: 'lake', title: 'Save the lake' };
    const { petitionId } = await call(client, 'petition.create-petition', petition);
    await call(client, 'petition.publish-petition', { petitionId });
    await call(client, 'petition.add-signature', { petitionId, contact: { email } });
    // Groups of other contacts are not shown.
    const other = await person('alan@example.org');
    const othersListId = await group('list', 'Others');
    await call(client, 'list.add-contacts', { listId: othersListId, contactIds: [other] });
    return { contactId, listId, formerListId, tagId, formerTagId, petitionId };
  }

  it('shows consents with their evidence, page by page', async () => {
    const consent = { source: 'Fair <Lyon>', text: 'Keep me informed', ip: '203.0.113.7' };
    const contactId = await person('ada@example.org', { subscribed: true, consent });
    for (const words of [en, de]) {
      const { consents } = words.contacts;
      const text = await shown(`contacts/${contactId}`, speaking(words));
      expect(text).toContain(`<h2>${consents.title}</h2>`);
      for (const evidence of [
        consents.yes,
        '<q lang="">Keep me informed</q>',
        consents.source('Fair &lt;Lyon&gt;'),
        consents.ip('203.0.113.7'),
      ])
        expect(text).toContain(evidence);
      expect(text).not.toContain(consents.older);
    }
    for (let n = 0; n < 10; n += 1)
      await call(client, 'contact.update-contact', {
        contactId,
        subscribed: n % 2 === 1,
        consent: { text: `Text ${n}` },
      });
    const newest = await shown(`contacts/${contactId}`);
    expect(newest).toContain('Text 9');
    expect(newest).not.toContain('Keep me informed');
    const [, older] = /href="([^"]*consents=[^"]*)"/.exec(newest)!;
    const { text } = await editor.get(older!.replace(/#.*/, '').replaceAll('&amp;', '&'));
    expect(text).toContain('Keep me informed');
  });

  it('shows the newest notes, and adds, edits and deletes them', async () => {
    const contactId = await person('ada@example.org');
    const page = `contacts/${contactId}`;
    expect(await shown(page)).toContain(en.contacts.notes.none);
    const add = (text: string) => editor.post(at(`${page}/notes`), { text });
    for (let n = 1; n <= 4; n += 1) {
      const { status, location } = await add(`Note ${n} <b>`);
      expect([status, location]).toEqual([303, expect.stringContaining(page)]);
    }
    const text = await shown(page);
    expect([...text.matchAll(/class="note">([^<]*)/g)].map(([, note]) => note)).toEqual([
      ...['Note 4 &lt;b&gt;', 'Note 3 &lt;b&gt;', 'Note 2 &lt;b&gt;'],
    ]);
    expect(text).toMatch(/editor\S*@example.org · <a/);
    expect(text).toContain(`href="${at(`${page}/notes`)}">${en.contacts.notes.all}`);
    expect(await shown(`${page}/notes`)).toContain('Note 1 &lt;b&gt;');

    // An error keeps what was typed.
    const refused = await add('x'.repeat(5_001));
    expect([refused.status, refused.text.includes('x'.repeat(5_001))]).toEqual([422, true]);
    expect((await add('')).text).toContain(`${en.contacts.notes.text}: `);

    const [, edit] = new RegExp(`href="([^"]*/notes/[^"]*)">${en.contacts.notes.edit}`).exec(text)!;
    const form = (await editor.get(edit!)).text;
    const [, since] = /name="since" value="([^"]*)"/.exec(form)!;
    const save = (note: string) => editor.post(edit!, { text: note, since: since! });
    expect((await save('Called twice')).status).toBe(303);
    expect(await shown(page)).toMatch(new RegExp(`Called twice[^]*?${en.contacts.notes.edited}`));
    // The form was opened before that change.
    expect((await save('Late')).status).toBe(422);
    const viewer = await signedIn(api, client, 'VIEWER', 'viewer-of-notes@example.org');
    const seen = await shown(page, viewer);
    expect([seen.includes('Called twice'), seen.includes(en.contacts.notes.add)]).toEqual([true, false]);

    expect((await editor.get(`${edit!}/delete`)).text).toContain('Called twice');
    expect((await editor.post(`${edit!}/delete`, {})).status).toBe(303);
    expect(await shown(page)).not.toContain('Called twice');
    expect((await editor.get(edit!)).status).toBe(404);
  });

  it('shows the newest emails that they received, and what became of them', async () => {
    const contactId = await person('ada@example.org');
    expect(await shown(`contacts/${contactId}`)).not.toContain(en.contacts.deliveries.title);
    const { broadcastId } = await call(client, 'broadcast.create-broadcast', { name: 'May & June' });
    const { source } = api.database;
    for (const [n, of] of [broadcastId, NOBODY].entries()) {
      const [{ id }] = await source.query(
        `INSERT INTO broadcast_sendings (id, organization_id, broadcast_id) VALUES (gen_random_uuid(), $1, $2) RETURNING id`,
        [client.organizationId, of],
      );
      await source.query(
        `INSERT INTO broadcast_recipients (sending_id, contact_id, status, at, bounced_at)
         VALUES ($1, $2, 'SENT', now(), CASE WHEN $3 THEN now() END)`,
        [id, contactId, n === 1],
      );
    }
    const { deliveries } = en.contacts;
    const text = await shown(`contacts/${contactId}`);
    const section = text.slice(text.indexOf(`<h2>${deliveries.title}`));
    expect(section).toContain(`href="${at(`broadcasts/${broadcastId}`)}">May &amp; June</a>`);
    expect(section).toMatch(new RegExp(`badge good">${en.broadcasts.recipients.statuses.SENT}`));
    expect(section).toMatch(
      new RegExp(`${deliveries.deleted} <span class="badge bad">${en.broadcasts.figures.bounced}`),
    );
  });

  it('links to their lists, tags and petitions', async () => {
    const { contactId, listId, tagId, petitionId } = await contactInGroups();
    for (const words of [en, de]) {
      const text = await shown(`contacts/${contactId}`, speaking(words));
      expect(factIn(text, words.sections.lists)).toContain(linkTo(`lists/${listId}`, 'Press &amp; radio'));
      expect(factIn(text, words.sections.tags)).toContain(linkTo(`tags/${tagId}`, 'donor'));
      expect(factIn(text, words.contacts.signed)).toBe(linkTo(`petitions/${petitionId}`, 'Save the lake'));
    }
    await client.delete('list.delete-list', { listId });
    expect(factIn(await shown(`contacts/${contactId}`), en.sections.lists)).not.toContain('<a');
  });

  longIt('lists the newest of very many groups, and states that more exist', async () => {
    const contactId = await person('ada@example.org');
    for (let n = 0; n < 51; n += 1) {
      const tagId = await group('tag', `Tag ${n}`);
      await call(client, 'tag.add-contacts', { tagId, contactIds: [contactId] });
    }
    const tags = factIn(await shown(`contacts/${contactId}`), en.sections.tags)!;
    expect(tags.match(/<a /g)).toHaveLength(50);
    expect(tags).toContain('>Tag 50</a>');
    expect(tags).not.toContain('>Tag 0</a>');
    expect(tags).toContain(en.contacts.andOthers);
  });

  const pastIn = (text: string) =>
    [.../<ul class="past">([^]*?)<\/ul>/.exec(text)![1]!.matchAll(/<li>\s*<p>([^]*?)<\/p>/g)].map(
      ([, what]) => what,
    );

  it('names lists, tags and petitions in the activity if they still exist', async () => {
    const { contactId, listId, formerListId, tagId, formerTagId, petitionId } = await contactInGroups();
    await client.delete('tag.delete-tag', { tagId: formerTagId });
    const { events } = en;
    expect(pastIn(await shown(`contacts/${contactId}`))).toEqual([
      `${events.PetitionSigned}: ${linkTo(`petitions/${petitionId}`, 'Save the lake')}`,
      events.ContactUntagged,
      `${events.ContactRemovedFromList}: ${linkTo(`lists/${formerListId}`, 'Friends')}`,
      events.ContactTagged,
      `${events.ContactTagged}: ${linkTo(`tags/${tagId}`, 'donor')}`,
      `${events.ContactAddedToList}: ${linkTo(`lists/${formerListId}`, 'Friends')}`,
      `${events.ContactAddedToList}: ${linkTo(`lists/${listId}`, 'Press &amp; radio')}`,
      events.ContactCreated,
    ]);
    // The page of a petition does not repeat which petition it is.
    expect(pastIn(await shown(`petitions/${petitionId}`))).toEqual([
      events.PetitionPublished,
      events.PetitionCreated,
    ]);
  });
});

/** The value of one fact on a record's page. */
function factIn(text: string, name: string): string | undefined {
  const facts = [...text.matchAll(/<dt>([^<]*)<\/dt><dd>([^]*?)<\/dd>/g)];
  return facts.find(([, one]) => one === name)?.[2]!.trim();
}

it('the form of a contact lists countries in the reader’s language, and keeps a country as it was entered', async () => {
  const contactId = await person('ada@example.org', { country: 'germany' });
  const stored = async () =>
    (await client.get('contact.get-contact', { contactId, organizationId: client.organizationId })).body.data
      .country;
  expect(await shown(`contacts/${contactId}/edit`, speaking(de))).toContain(
    '<option value="germany" selected>Deutschland</option>',
  );
  for (const country of ['germany', 'FR', 'Utopia']) {
    const form = { email: 'ada@example.org', country };
    expect((await editor.post(at(`contacts/${contactId}/edit`), form)).status).toBe(303);
    expect(await stored()).toBe(country);
    const text = await shown(`contacts/${contactId}`, speaking(de));
    expect(factIn(text, de.contacts.fields.country)).toBe(
      linkTo(`contacts?country=${country}`, country === 'FR' ? 'Frankreich' : country),
    );
  }
});

describe('segments', () => {
  type Row = [subject: string, op: string, value: string];
  const formOf = (match: string, ...rows: Row[]) => ({
    name: 'Friends',
    match,
    ...Object.fromEntries(
      rows.flatMap(([subject, op, value], n) => [
        [`subject-${n}`, subject],
        [`op-${n}`, op],
        [`value-${n}`, value],
      ]),
    ),
  });
  const filterOf = async (segmentId: string) =>
    (await client.get('segment.get-segment', { segmentId })).body.data.filter;
  const idIn = (location: string | null) => /segments\/([0-9a-f-]{36})/.exec(location ?? '')![1]!;

  it('are created and edited by a form, which names records; the page shows conditions and contacts', async () => {
    await person('ada@example.org', { city: 'Bonn' });
    await person('ben@example.org', { city: 'Bonn', phone: '+49 228' });
    const tagId = await group('tag', 'Donor');
    const created = await editor.post(
      at('segments/new'),
      formOf(
        'all',
        ['city', 'is', 'bonn'],
        ['', 'is', ''],
        ['phone', 'isNotSet', ''],
        ['tag', 'isNot', 'Donor'],
      ),
    );
    expect(created.status).toBe(303);
    const id = idIn(created.location);
    const city = { field: 'city', op: 'is', value: 'bonn' };
    const noPhone = { not: { field: 'phone', op: 'isSet' } };
    expect(await filterOf(id)).toEqual({ all: [city, noPhone, { not: { tag: tagId } }] });
    const page = await shown(`segments/${id}`);
    expect(page).toContain('1 contact matches now.');
    expect(page).toContain('ada@example.org');
    expect(page).not.toContain('ben@example.org');
    for (const text of ['City is “bonn”', 'Tag is “Donor”', en.segments.described.not])
      expect(page).toContain(text);
    expect(await shown(`contacts?segmentId=${id}`)).not.toContain('ben@example.org');

    // A second tag with the same name does not replace the first.
    await group('tag', 'Donor');
    const form = await shown(`segments/${id}/edit`);
    expect(form).toContain('<option value="isNotSet" selected>');
    expect(form).toContain('value="Donor"');
    const edited = await editor.post(
      at(`segments/${id}/edit`),
      formOf('any', ['subscribed', 'is', ''], ['createdAt', 'inLast', '7'], ['tag', 'is', 'Donor']),
    );
    expect(edited.status).toBe(303);
    expect((await filterOf(id)).any.slice(0, 2)).toEqual([
      { field: 'subscribed', op: 'is', value: true },
      { field: 'createdAt', op: 'inLast', value: 7 },
    ]);
    expect((await filterOf(id)).any[2].tag).toBeDefined();
    for (const words of [en, de])
      expect(await shown(`segments/${id}`, speaking(words))).toContain(words.segments.conditions);
  });

  it('name a tag without regard to case, as names of tags are compared everywhere', async () => {
    await call(client, 'tag.create-tag', { name: 'Harbour' });
    const made = await editor.post(at('segments/new'), formOf('all', ['tag', 'is', 'harbour']));
    expect([made.status, made.text]).toEqual([303, expect.anything()]);
  });

  it('adapt a row to the type of a custom field, also before it is saved', async () => {
    const field = (name: string, type: string, options?: string[]) =>
      call(client, 'field.create-field', { name, type, ...(options ? { options } : {}) });
    await field('Shirt', 'CHOICE', ['S', 'XL']);
    await field('Visits', 'NUMBER');
    await person('big@example.org', { customFields: { shirt: 'XL', visits: 3 } });
    await person('small@example.org', { customFields: { shirt: 'S', visits: 9 } });
    const rows: Row[] = [
      ['fields.shirt', 'is', 'XL'],
      ['fields.visits', 'between', '2'],
    ];
    const again = await editor.post(at('segments/new'), { ...formOf('all', ...rows), again: 'more' });
    expect(again.status).toBe(200);
    expect(again.text).toContain('<option value="XL" selected>');
    expect(again.text).toMatch(/name="until-1"[^>]* type="number"/);
    expect(again.text).toContain('name="subject-2"');
    // Choices cannot be compared by their order.
    const row = again.text.slice(again.text.indexOf('id="op-0"'), again.text.indexOf('id="value-0"'));
    expect([...row.matchAll(/value="(\w+)"/g)].map(([, op]) => op)).toEqual([
      ...['is', 'isNot', 'isSet', 'isNotSet'],
    ]);

    const wrong = await editor.post(at('segments/new'), { ...formOf('all', ...rows), 'until-1': '1' });
    expect(wrong.text).toContain(`<p class="fault" id="value-1-fault">${en.faults.order}</p>`);
    const made = await editor.post(at('segments/new'), { ...formOf('all', ...rows), 'until-1': '3' });
    const id = idIn(made.location);
    expect(await filterOf(id)).toEqual({
      all: [
        { field: 'fields.shirt', op: 'is', value: 'XL' },
        { field: 'fields.visits', op: 'between', value: [2, 3] },
      ],
    });
    const page = await shown(`segments/${id}`);
    for (const text of ['Shirt is “XL”', 'Visits is between 2 and 3', 'big@example.org'])
      expect(page).toContain(text);
    expect(page).not.toContain('small@example.org');
    expect(await shown(`segments/${id}/edit`)).toContain('<option value="between" selected>');
  });

  it.each<[what: string, rows: Row[], field: string, fault: string]>([
    ['no condition', [['', 'is', '']], 'subject-0', en.faults.required],
    ['no value', [['city', 'is', '']], 'value-0', en.faults.required],
    [
      'a value without a field',
      [
        ['city', 'is', 'Bonn'],
        ['', 'is', 'Donors'],
      ],
      'subject-1',
      en.faults.required,
    ],
    ['an unknown field', [['fields.gone', 'isSet', '']], 'subject-0', en.faults.choice],
    ['a tag that starts with', [['tag', 'startsWith', 'D']], 'op-0', en.faults.choice],
    ['an unknown tag', [['tag', 'is', 'Nobody']], 'value-0', en.faults.noRecord],
    [
      'a search in an encrypted field',
      [
        ['', 'is', ''],
        ['phone', 'contains', '7'],
      ],
      'op-1',
      en.faults.sealed,
    ],
    ['no number of days', [['createdAt', 'inLast', 'x']], 'value-0', en.faults.wholeNumber('1', '36500')],
    [
      'no date',
      [
        ['city', 'is', 'Bonn'],
        ['updatedAt', 'atMost', '30 May'],
      ],
      'value-1',
      en.faults.time,
    ],
  ])('show a form with %s again, with the error at its field', async (_, rows, field, fault) => {
    const { status, text } = await editor.post(at('segments/new'), formOf('all', ...rows));
    expect(status).toBe(422);
    expect(text).toContain(`<p class="fault" id="${field}-fault">${fault}</p>`);
  });

  it('show a filter that the form cannot express as text, and keep it when the name changes', async () => {
    const filter = {
      not: {
        any: [
          { field: 'city', op: 'isSet' },
          { field: 'zip', op: 'isSet' },
        ],
      },
    };
    const { segmentId } = await call(client, 'segment.create-segment', { name: 'Nowhere', filter });
    const text = await shown(`segments/${segmentId}/edit`);
    expect(text).toContain(en.segments.complex);
    expect(text).not.toContain('subject-0');
    expect((await editor.post(at(`segments/${segmentId}/edit`), { name: 'Somewhere' })).status).toBe(303);
    expect(await filterOf(segmentId)).toEqual(filter);
  });
});

describe('custom fields', () => {
  const made = async (path: string, form: Record<string, string>) => {
    const { status, location } = await editor.post(at(path), form);
    expect([path, status]).toEqual([path, 303]);
    return location!.replace(/\?.*/, '').split('/').at(-1)!;
  };
  const faultsIn = (text: string) =>
    [...text.matchAll(/<p class="fault"[^>]*>([^<]*)</g)].map(([, fault]) => fault);

  it('are created, shown, edited and deleted', async () => {
    const refused = await editor.post(at('fields/new'), { name: 'Size', type: 'CHOICE', options: ' ' });
    expect([refused.status, faultsIn(refused.text)]).toEqual([422, [en.faults.noOptions]]);
    const wrong = await editor.post(at('fields/new'), { name: 'Size', type: 'TEXT', options: 'S' });
    expect([wrong.status, faultsIn(wrong.text)]).toEqual([422, [en.faults.notOptions]]);
    const id = await made('fields/new', { name: 'Size', type: 'CHOICE', options: 'S\r\n M \r\n' });
    for (const words of [en, de]) {
      const text = await shown(`fields/${id}`, speaking(words));
      expect(factIn(text, words.customFields.type)).toBe(words.customFields.types.CHOICE.name);
      expect(factIn(text, words.customFields.options)).toBe('<ul><li>S</li><li>M</li></ul>');
      expect(factIn(text, words.customFields.key)).toBe('size');
    }
    await person('ada@example.org', { customFields: { size: 'S' } });
    const used = await editor.post(at(`fields/${id}/edit`), { name: 'Size', options: 'M' });
    expect([used.status, used.text.includes(en.reasons.OPTION_IN_USE!)]).toEqual([409, true]);
    await made(`fields/${id}/edit`, { name: 'Shirt', options: 'S\nL' });
    const { data } = (await client.get('field.get-field', { fieldId: id })).body;
    expect(data).toMatchObject({ name: 'Shirt', key: 'size', options: ['S', 'L'] });
    expect(await shown('fields')).toContain('>Shirt</a>');
    expect((await editor.post(at(`fields/${id}/delete`))).status).toBe(303);
    expect(await shown('fields')).toContain(en.customFields.none.title);
  });

  it('have the right control for their type in the form of a contact, and are shown on its page', async () => {
    const create = (name: string, type: string, options?: string[]) =>
      call(client, 'field.create-field', { name, type, ...(options ? { options } : {}) });
    await create('Note', 'TEXT');
    await create('Shoe size', 'NUMBER');
    await create('Born', 'DATE');
    await create('Member', 'BOOLEAN');
    await create('Shirt', 'CHOICE', ['S', 'Very large']);
    await create('Skills', 'CHOICES', ['Design', 'Public speaking']);
    const form = await shown('contacts/new');
    for (const control of [
      /<input id="customFields\.note"[^>]* type="text"/,
      /<input id="customFields\.shoeSize"[^>]* type="number"/,
      /<input id="customFields\.born"[^>]* type="date"/,
      /<select id="customFields\.member"/,
      /<option value="Very large">/,
      /<input type="checkbox" name="customFields\.skills" id="customFields\.skills-1" value="Public speaking"/,
    ])
      expect(form).toMatch(control);

    const fields = {
      email: 'ada@example.org',
      region: 'Essex',
      externalIds: 'civicrm:1\r\nb:2',
      'customFields.note': ' <Ada> ',
      'customFields.shoeSize': '42.5',
      'customFields.born': '1985-05-31',
      'customFields.member': 'false',
      'customFields.shirt': 'Very large',
      'customFields.skills': 'Public speaking',
    };
    const wrong = await editor.post(at('contacts/new'), {
      ...fields,
      'customFields.shoeSize': 'many',
      externalIds: 'x',
    });
    expect([wrong.status, faultsIn(wrong.text)]).toEqual([422, [en.faults.externalIds]]);
    const number = await editor.post(at('contacts/new'), { ...fields, 'customFields.shoeSize': 'many' });
    expect([number.status, faultsIn(number.text)]).toEqual([422, [en.faults.number]]);
    expect(number.text).toContain('value="many"');
    const id = await made('contacts/new', fields);
    const read = async () =>
      (await client.get('contact.get-contact', { contactId: id, organizationId: client.organizationId })).body
        .data;
    expect(await read()).toMatchObject({
      region: 'Essex',
      externalIds: ['civicrm:1', 'b:2'],
      customFields: {
        note: '<Ada>',
        shoeSize: 42.5,
        born: '1985-05-31',
        member: false,
        shirt: 'Very large',
        skills: ['Public speaking'],
      },
    });
    const german = await shown(`contacts/${id}`, speaking(de));
    expect(factIn(german, 'Note')).toBe('&lt;Ada&gt;');
    expect(factIn(german, 'Shoe size')).toBe('42,5');
    expect(factIn(german, 'Born')).toBe('31.05.1985');
    expect(factIn(german, 'Member')).toBe(de.no);
    expect(factIn(german, 'Skills')).toBe('Public speaking');
    expect(factIn(german, de.contacts.fields.externalIds)).toBe('civicrm:1, b:2');

    const owner = await signedIn(api, client, 'OWNER', 'owner-of-fields@example.org');
    const [event] = (await client.get('history.list-events', { recordId: id })).body.data;
    const { text } = await owner.get(at(`history/events/${event.id}`));
    expect(factIn(text, 'Shoe size')).toBe('42.5');

    const edit = await shown(`contacts/${id}/edit`);
    expect(edit).toMatch(/<option value="false" selected>/);
    expect(edit).toMatch(/value="Public speaking"[^>]* checked/);
    await made(`contacts/${id}/edit`, { email: 'ada@example.org', 'customFields.shoeSize': '0' });
    expect(await read()).toMatchObject({ region: null, externalIds: [], customFields: { shoeSize: 0 } });
    expect((await read()).customFields).toEqual({ shoeSize: 0 });
  });

  it('are listed among the merge fields of a broadcast', async () => {
    await call(client, 'field.create-field', { name: 'Shoe size' });
    expect(await shown('broadcasts/new')).toContain('<code>{{ contact.fields.shoeSize }}</code>');
  });
});
