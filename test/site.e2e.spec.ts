import { getStorageToken } from '@nestjs/throttler';
import { Parser } from 'htmlparser2';
import sharp from 'sharp';
import { networkOf, type WindowStorage } from '#libs/rate-limit';
import { type PetitionPage, Public, PUBLIC_URL, call, linkIn, randomAddress } from './petition-page.js';
import { picture } from './pictures.js';
import { eventually } from './processes.js';
import { comeDue } from './timers.js';
import { isLong } from './length.js';
import { LOCALES } from '#locales';

let people: Public;
beforeAll(async () => {
  people = await Public.start({ instances: 2 });
});
afterAll(() => people.stop());

const counted = async ({ client, petitionId }: PetitionPage) => {
  const { signatures, pendingSignatures } = (await client.get('petition.get-petition', { petitionId })).body
    .data;
  return [signatures, pendingSignatures];
};
const contacts = async ({ client }: PetitionPage) =>
  (await client.get('contact.list-contacts', { limit: '100' })).body.data as { email: string }[];
const ALL = { fields: ['firstName', 'zip', 'city'].map((field) => ({ field, required: false })) };
const asked = (...fields: string[]) => fields.map((field) => ({ field, required: false }));
const confirm = async (link: string) => {
  const { text } = await people.get(link);
  const [, request = ''] = /name="request" value="([^"]+)"/.exec(text) ?? [];
  return people.post(link, request === '' ? {} : { request });
};

describe('signatures on paper', () => {
  it('count on the page and towards the goal, separately from the others, until they are withdrawn', async () => {
    const page = await people.petition({ goal: 50, ask: 'Stop the dam', target: 'The council', form: ALL });
    const { client, petitionId, path } = page;
    await call(client, 'petition.add-signature', { petitionId, contact: { email: 'ada@example.org' } });
    const fields = { petitionId, count: 48, collectedOn: '2026-11-20', note: 'Market square' };
    const { offlineCountId } = await call(client, 'petition.record-offline-signatures', fields);
    expect(await call(client, 'petition.record-offline-signatures', fields)).toEqual({ offlineCountId });
    const twin = { 'Idempotency-Key': offlineCountId as string };
    const other = await client.post('petition.record-offline-signatures', fields, twin);
    expect(other.body.data.offlineCountId).not.toBe(offlineCountId);
    const before = new Date().toISOString();

    const shown = async () =>
      JSON.parse((await people.get(`${path}/count.json`)).text) as { signatures: number };
    await eventually(async () => expect((await shown()).signatures).toBe(97));
    expect((await people.get(path)).text).toContain('97 signatures');
    const listed = (await client.get('petition.list-offline-signatures', { petitionId })).body.data;
    expect(listed).toMatchObject([
      { petitionId, count: 48, status: 'COUNTED' },
      { id: offlineCountId, collectedOn: '2026-11-20', note: 'Market square' },
    ]);
    await eventually(async () =>
      expect(await people.api.eventTypes(client.organizationId)).toContain('PetitionGoalReached'),
    );

    const withdraw = () =>
      client.delete('petition.withdraw-offline-signatures', { offlineCountId: offlineCountId as string });
    expect((await withdraw()).body.data).toMatchObject({ count: 48, status: 'WITHDRAWN' });
    expect((await withdraw()).status).toBe(200);
    const counts = async (query: object = {}) => {
      const { signatures, offlineSignatures } = (
        await client.get('petition.get-petition', { petitionId, ...query })
      ).body.data;
      return { signatures, offlineSignatures };
    };
    expect(await counts()).toEqual({ signatures: 1, offlineSignatures: 48 });
    expect(await counts({ asOf: before })).toEqual({ signatures: 1, offlineSignatures: 96 });
    expect((await client.get('petition.get-stats', { petitionId, asOf: before })).body.data).toMatchObject({
      signatures: 1,
      offlineSignatures: 96,
    });
    // Withdrawn ones can be recorded again.
    expect((await call(client, 'petition.record-offline-signatures', fields)).offlineCountId).not.toBe(
      offlineCountId,
    );

    const sheet = (await people.get(`${path}/paper`)).text;
    expect(sheet).toContain('Stop the dam');
    expect(sheet).toMatch(/<th scope="col">Postcode<\/th>/);
    expect(sheet.match(/<tr>/g)).toHaveLength(13);
    expect(sheet).toContain(`src="${path}/qr.svg"`);
    expect(sheet).toContain('may send me email updates');
  });

  it.each([
    ['count', { count: 0 }],
    ['count', { count: 1.5 }],
    ['collectedOn', { collectedOn: '2026-02-30' }],
    ['collectedOn', { collectedOn: '2999-01-01' }],
    ['note', { note: 'x'.repeat(501) }],
  ])('record-offline-signatures returns 400 that names %s for %j', async (path, wrong) => {
    const { client, petitionId } = await people.petition();
    const fields = { petitionId, count: 1, collectedOn: '2026-11-20', ...wrong };
    const { status, body } = await client.post('petition.record-offline-signatures', fields);
    expect([status, body.error.issues]).toEqual([400, [{ path, message: expect.any(String) }]]);
  });
});

describe('signing', () => {
  it('counts after confirmation with the button on the emailed page, and only then creates a contact', async () => {
    const form = {
      fields: [{ field: 'firstName', required: true }, ...asked('lastName', 'country', 'comment')],
    };
    const page = await people.petition({ goal: 2, publicComments: true, form });
    const signed = await people.sign(page, {
      lastName: 'Lovelace',
      country: 'GB',
      comment: 'I swim <there>',
      appearance: 'FIRST_NAME',
      source: 'newsletter',
    });
    expect([signed.status, signed.location]).toEqual([200, null]);
    expect(signed.text).toMatch(/<h1>Check your email<\/h1>[^]*We’ve emailed a link to ada@example\.org/);
    expect(await counted(page)).toEqual([0, 1]);

    const link = await people.linkTo('ada@example.org');
    expect(await contacts(page)).toEqual([]);
    // Mail scanners follow links with any method except POST.
    for (const method of ['GET', 'HEAD']) await fetch(people.api.origin + link, { method });
    const confirmation = await people.get(link);
    expect(confirmation.text).toContain('Ada Lovelace');
    expect(confirmation.text).toContain('I swim &lt;there&gt;');
    expect([confirmation.headers.get('cache-control'), confirmation.headers.get('referrer-policy')]).toEqual([
      'private, no-store',
      'no-referrer',
    ]);
    expect(await counted(page)).toEqual([0, 1]);

    const confirmed = await confirm(link);
    expect([confirmed.status, confirmed.location]).toEqual([303, link]);
    expect((await people.get(link)).text).toContain('<h1>Thank you for signing</h1>');
    expect(await counted(page)).toEqual([1, 0]);
    expect(await contacts(page)).toMatchObject([
      {
        email: 'ada@example.org',
        firstName: 'Ada',
        lastName: 'Lovelace',
        country: 'GB',
        subscribed: false,
      },
    ]);
    const { petitionId, client } = page;
    expect((await client.get('petition.list-signatures', { petitionId })).body.data).toMatchObject([
      { comment: 'I swim <there>', status: 'CONFIRMED', source: 'newsletter', suspicion: [] },
    ]);
    // A confirmation is not attributed to an API key.
    const { data: events } = (await client.get('history.list-events', { type: 'PetitionSigned' })).body;
    expect(events[0].actor).toEqual({ type: 'public', id: null });
    await eventually(async () => {
      const { text } = await people.get(page.path);
      expect(text).toContain('1 signature</span>');
      expect(text).toContain('I swim &lt;there&gt;');
    });
  });

  it.each(['en', 'de', 'fr', 'es'])(
    'requires what the form requires, with clear messages in %s',
    async (language) => {
      const client = await people.api.organization();
      await call(client, 'organization.update-organization', { language });
      const details = ['lastName', 'zip', 'city', 'region', 'country', 'phone', 'comment'] as const;
      const fields = ['firstName', ...details].map((field) => ({ field, required: true }));
      const consent = { text: 'I agree to <b>everything</b>', required: true };
      const page = await people.petition({ form: { fields, consent } }, client);
      const { faults } = LOCALES[language]!.site;
      const missing = await people.sign(page, { firstName: ' ', country: 'Atlantis', phone: 'call me' });
      expect(missing.status).toBe(422);
      const shown = [...missing.text.matchAll(/id="(\w+)-fault">([^<]*)</g)].map(([, ...found]) => found);
      expect(Object.fromEntries(shown)).toEqual({
        ...{ firstName: faults.firstNameMissing, lastName: faults.lastNameMissing, zip: faults.zipMissing },
        ...{ city: faults.cityMissing, region: faults.regionMissing, comment: faults.commentMissing },
        ...{ country: faults.choice, phone: faults.phone, subscribe: faults.unchecked },
      });
      expect(missing.text).toContain('I agree to &lt;b&gt;everything&lt;/b&gt;');

      const given = {
        lastName: 'L',
        zip: '1',
        city: 'Lyon',
        region: 'Rhône',
        country: 'FR',
        phone: '+33 4 72 00',
      };
      const email = `complete-${language}@example.org`;
      const signed = await people.sign(page, { ...given, email, comment: 'Ω', subscribe: 'yes' });
      expect(signed.status).toBe(200);
      const link = await people.linkTo(email);
      const { text } = await people.get(link);
      for (const value of ['Lyon', 'Rhône', '+33 4 72 00', 'I agree to &lt;b&gt;everything'])
        expect(text).toContain(value);
      await confirm(link);
      const { organizationId } = client;
      const { data: contact } = (await client.get('contact.get-contact', { organizationId, email })).body;
      expect(contact).toMatchObject({ ...given, subscribed: true });
      const { data: consents } = (await client.get('contact.list-consents', { contactId: contact.id })).body;
      expect(consents).toMatchObject([{ text: consent.text, given: true }]);
    },
  );

  it('records only details that the form asks for, and consent only to the text that was shown', async () => {
    const consent = { text: 'Write to me' };
    const page = await people.petition({ form: { fields: asked('firstName'), consent } });
    const { client, petitionId } = page;
    const { text } = await people.get(page.path);
    expect(text).not.toMatch(/name="(zip|country|phone|comment|appearance)"/);
    const [, seen = ''] = /name="consent" value="([^"]+)"/.exec(text) ?? [];
    const fields = { email: 'agrees@example.org', zip: '66666', comment: 'unasked', phone: '+1 2345' };
    await call(client, 'petition.update-petition', {
      ...{ petitionId, form: { fields: asked('firstName'), consent: { text: 'Call me' } } },
    });
    let again = '';
    await eventually(async () => expect((await people.get(page.path)).text).toContain('Call me'));
    await eventually(async () => {
      const sent = await people.sign(page, { ...fields, subscribe: 'yes', consent: seen });
      expect(sent.status).toBe(422);
      again = sent.text;
    });
    expect(again).toContain(LOCALES.en!.site.faults.consentChanged);
    expect(again).toContain('Call me');
    expect(again).not.toMatch(/name="subscribe"[^>]* checked/);
    await people.sign(page, { ...fields, subscribe: 'yes' });
    await confirm(await people.linkTo('agrees@example.org'));
    const [contact] = (await contacts(page)) as unknown as { id: string }[];
    expect(contact).toMatchObject({ zip: null, phone: null });
    const { data } = (await client.get('contact.list-consents', { contactId: contact!.id })).body;
    expect(data).toMatchObject([{ text: 'Call me' }]);
  });

  it('shows a comment with the name that its signer chose, until they are erased', async () => {
    const page = await people.petition({ comments: 'SHOWN' });
    const { client } = page;
    const choices: [firstName: string, choice: object][] = [
      ['Full', { appearance: 'FULL_NAME' }],
      ['Half', { appearance: 'FIRST_NAME' }],
      ['Hidden', { appearance: 'NONE' }],
      ['Unasked', {}],
      ['Forged', { appearance: 'EVERYTHING' }],
      // Pages of the previous version.
      ['Earlier', { isCommentPublic: 'yes' }],
    ];
    for (const [firstName, choice] of choices) {
      const email = `${firstName.toLowerCase()}-name@example.org`;
      await people.sign(page, {
        firstName,
        lastName: 'Last<b>',
        email,
        comment: `Says ${firstName}`,
        ...choice,
      });
      const link = await people.linkTo(email);
      const { text } = await people.get(link);
      const { commentPublic } = LOCALES.en!.site.confirm;
      const agreed = Object.values(commentPublic).filter((one) => text.includes(one));
      expect([firstName, agreed]).toEqual([
        firstName,
        firstName === 'Full'
          ? [commentPublic.FULL_NAME]
          : ['Half', 'Earlier'].includes(firstName)
            ? [commentPublic.FIRST_NAME]
            : [],
      ]);
      await confirm(link);
    }
    const shown = async (origin = people.api.origin) => {
      const text = await (await fetch(origin + page.path)).text();
      return [...text.matchAll(/<p>Says (\w+)<\/p>\s*<p class="small"><bdi>([^]*?)<\/bdi>/g)].map(
        ([, who, name]) => `${who}: ${name}`,
      );
    };
    const others = ['Earlier: Earlier', 'Half: Half'];
    const all = [...others, 'Full: Full Last&lt;b&gt;'];
    await eventually(async () => expect(await shown()).toEqual(all));
    // A team member hides and approves comments. Both instances follow within the second for which pages are cached.
    const signatures = (await client.get('petition.list-signatures', { petitionId: page.petitionId })).body
      .data;
    const idOf = (who: string) =>
      signatures.find(({ comment }: { comment: string }) => comment === `Says ${who}`).id as string;
    const everywhere = (comments: string[]) =>
      eventually(async () => {
        for (const { origin } of people.api.instances) expect(await shown(origin)).toEqual(comments);
      });
    await call(client, 'petition.hide-comment', { signatureId: idOf('Half') });
    await everywhere(all.filter((one) => !one.startsWith('Half')));
    await call(client, 'petition.update-petition', { petitionId: page.petitionId, comments: 'APPROVED' });
    await everywhere([]);
    expect((await people.get(page.path)).text).toContain('name="appearance"');
    for (const who of ['Earlier', 'Half', 'Full'])
      await call(client, 'petition.show-comment', { signatureId: idOf(who) });
    await everywhere(all);
    const { organizationId } = client;
    const { data } = (
      await client.get('contact.get-contact', { organizationId, email: 'full-name@example.org' })
    ).body;
    expect(
      (await client.delete('contact.delete-contact', { organizationId, contactId: data.id })).status,
    ).toBe(200);
    await eventually(async () => expect(await shown()).toEqual(others));
  });

  it('has a QR code of its address as SVG and PNG', async () => {
    const page = await people.petition();
    const read = async (path: string) => {
      const response = await fetch(people.api.origin + path);
      const body = Buffer.from(await response.arrayBuffer());
      return [response.status, response.headers.get('content-type'), body] as const;
    };
    const [svgStatus, svgType, svg] = await read(`${page.path}/qr.svg`);
    expect([svgStatus, svgType]).toEqual([200, 'image/svg+xml; charset=utf-8']);
    const [pngStatus, , png] = await read(`${page.path}/qr.png`);
    const { format, width, height } = await sharp(png).metadata();
    expect([pngStatus, format, width]).toEqual([200, 'png', height]);
    const [, , other] = await read(`${(await people.petition()).path}/qr.svg`);
    expect(svg.equals(other)).toBe(false);
    expect((await read('/nobody/petitions/nothing/qr.png'))[0]).toBe(404);
  });

  it('asks about a mistyped domain, and counts the address that the visitor chooses', async () => {
    const page = await people.petition();
    const typed = { email: 'ada@gmial.com', lastName: 'Lovelace', subscribe: 'yes' };
    const asked = await people.sign(page, typed);
    expect(asked.status).toBe(422);
    expect(asked.text).toMatch(
      /Did you mean ada@gmail\.com\?[^]*value="ada@gmail\.com"[^]*value="ada@gmial\.com"/,
    );
    expect(asked.text).toMatch(/value="Lovelace"[^]*value="yes" checked/);
    expect(await counted(page)).toEqual([0, 0]);

    const questioned = 'ada@gmial.com';
    const sentTo = async (form: Record<string, string>) =>
      /emailed a link to (\S+)\. Open/.exec((await people.sign(page, { ...typed, ...form })).text)?.[1];
    expect(await sentTo({ questioned, useEmail: 'ada@gmail.com' })).toBe('ada@gmail.com');
    expect(await sentTo({ questioned, useEmail: questioned })).toBe(questioned);
    // Pressing “Sign now” again keeps the address, too.
    expect(await sentTo({ questioned })).toBe(questioned);
    // An address that was changed since is neither.
    expect(await sentTo({ questioned, useEmail: 'ada@gmail.com', email: 'ada@example.net' })).toBe(
      'ada@example.net',
    );
    expect((await people.sign(page, { ...typed, questioned, email: 'ada@hotmial.de' })).text).toContain(
      'ada@hotmail.de',
    );
    expect((await people.sign(page, { ...typed, questioned, useEmail: 'nobody' })).status).toBe(422);
  });

  it('offers the webmail and a correction of the address, which repeats all other input', async () => {
    const page = await people.petition({ publicComments: true });
    const { text } = await people.sign(page, {
      ...{ email: 'first@gmail.com', lastName: '"Lovelace"', comment: 'I swim\nthere', subscribe: 'yes' },
    });
    expect(text).toContain('href="https://mail.google.com/"');
    const [, form = ''] = /(<form[^]*?<\/form>)/.exec(text) ?? [];
    const inputs: Record<string, string> = {};
    const parser = new Parser({
      onopentag: (name, { name: input, value = '' }) => {
        if (name === 'input' && input) inputs[input] = value;
      },
    });
    parser.end(form);
    expect(inputs).toMatchObject({ email: 'first@gmail.com', lastName: '"Lovelace"' });
    const corrected = await people.post(`${page.path}/sign`, { ...inputs, email: 'second@gmail.com' });
    expect([corrected.status, corrected.text]).toEqual([
      200,
      expect.stringContaining('emailed a link to second@gmail.com'),
    ]);
    const { text: confirmation } = await people.get(await people.linkTo('second@gmail.com'));
    expect(confirmation).toMatch(/Ada &quot;Lovelace&quot;[^]*I swim\s+there[^]*may send me email updates/);
  });

  it('asks for custom fields, keeps answers after an error, and gives them to the contact once confirmed', async () => {
    const client = await people.api.organization();
    const { organizationId } = client;
    const fieldIds: Record<string, string> = {};
    for (const [name, type, options] of [
      ['Note', 'TEXT'],
      ['Shoe size', 'NUMBER'],
      ['Born', 'DATE'],
      ['Volunteer', 'BOOLEAN'],
      ['Shirt', 'CHOICE', ['S', 'X "L"']],
      ['Skills', 'CHOICES', ['Design', 'Law', 'Sums']],
      ['Gone', 'TEXT'],
    ] as const)
      fieldIds[name] = (
        await call(client, 'field.create-field', { name, type, ...(options ? { options } : {}) })
      ).fieldId;
    const required = ['Born', 'Volunteer', 'Shirt', 'Skills', 'Gone'];
    const formFields = Object.entries(fieldIds).map(([name, fieldId]) => ({
      fieldId,
      required: required.includes(name),
    }));
    const form = { fields: asked('firstName', 'country') };
    const page = await people.petition({ form }, client);
    await call(client, 'petition.update-petition', { petitionId: page.petitionId, formFields });
    await client.delete('field.delete-field', { fieldId: fieldIds.Gone });
    const shown = async (path: string) => (await people.get(path)).text;
    await eventually(async () => {
      const text = await shown(page.path);
      expect(text).toContain('name="fields.shoeSize"');
      expect(text).not.toContain('fields.gone');
    });

    const wrong = new URLSearchParams({
      ...{
        token: people.token(page.petitionId),
        firstName: 'Ada',
        email: 'asked@example.org',
        country: 'GB',
      },
      ...{ 'fields.note': 'x'.repeat(1_001), 'fields.shoeSize': 'many', 'fields.born': '2024-02-30' },
      ...{ 'fields.shirt': 'XXL', 'fields.skills': 'Law' },
    });
    wrong.append('fields.skills', 'Sums');
    for (const embed of ['', '?embed']) {
      const answer = await fetch(`${people.api.origin}${page.path}/sign${embed}`, {
        ...{
          method: 'POST',
          body: wrong,
          headers: { Accept: 'text/html', 'X-Forwarded-For': randomAddress() },
        },
      });
      const text = await answer.text();
      expect(answer.status).toBe(422);
      const faults = [...text.matchAll(/id="fields\.(\w+)-fault">([^<]*)</g)].map(([, ...found]) => found);
      const { faults: words } = LOCALES.en!.site;
      // Optional fields are in the section that expands.
      expect(faults).toEqual([
        ['born', words.date],
        ['volunteer', words.unchecked],
        ['shirt', words.choice],
        ['note', words.tooLong],
        ['shoeSize', words.number],
      ]);
      expect(text).toContain('<details open>');
      expect(text).toContain(`<a href="#fields.shoeSize">Shoe size: ${words.number}</a>`);
      for (const kept of [
        'value="many"',
        '<option value="GB" selected>',
        /value="Law" checked/,
        /value="Sums" checked/,
      ])
        expect(text).toMatch(kept);
    }
    expect(await counted(page)).toEqual([0, 0]);

    const answers = {
      ...{ 'fields.note': ' Hello ', 'fields.shoeSize': '41,5', 'fields.born': '1985-05-31' },
      ...{
        'fields.volunteer': 'yes',
        'fields.shirt': 'X "L"',
        'fields.skills': 'Law',
        'fields.unasked': 'x',
      },
    };
    const values = {
      ...{
        note: 'Hello',
        shoeSize: 41.5,
        born: '1985-05-31',
        volunteer: true,
        shirt: 'X "L"',
        skills: ['Law'],
      },
    };
    expect((await people.sign(page, { ...answers, email: 'asked@example.org' })).status).toBe(200);
    const link = await people.linkTo('asked@example.org');
    const confirmation = await shown(link);
    for (const text of ['41.5', 'X &quot;L&quot;', '31 May 1985', 'Volunteer'])
      expect(confirmation).toContain(text);
    // No one can read them before, not even in the history once the request has ended.
    await confirm(link);
    const contact = async (email: string) =>
      (await client.get('contact.get-contact', { organizationId, email })).body.data;
    expect((await contact('asked@example.org')).customFields).toEqual(values);
    const exported = (
      await client.get('petition.export-signatures', {
        ...{ petitionId: page.petitionId, format: 'csv', contacts: 'true' },
      })
    ).body as string;
    expect(exported.split('\r\n')[0]).toMatch(/,fields\.note,fields\.shoeSize,/);
    expect(exported).toContain('41.5');

    // A contact who exists: empty values are filled in. Others are only replaced if the address is proved.
    const [proved, unproved] = [
      page,
      await people.petition({ formFields: formFields.slice(0, -1), confirmation: 'NONE' }, client),
    ];
    for (const [name, signed, note] of [
      ['proved', proved, 'Hello'],
      ['unproved', unproved, 'old'],
    ] as const) {
      const email = `${name}@example.org`;
      await call(client, 'contact.create-contact', {
        organizationId,
        email,
        customFields: { note: 'old', shirt: null },
      });
      await people.sign(signed, { ...answers, email });
      if (signed === proved) await confirm(await people.linkTo(email));
      await eventually(async () => expect((await contact(email)).customFields).toEqual({ ...values, note }));
    }
  });

  it('counts once for repeated confirmations, another spelling of the mailbox, and contacts who signed with a key', async () => {
    const page = await people.petition();
    await people.sign(page, { email: 'grace.hopper@gmail.com' });
    const link = await people.linkTo('grace.hopper@gmail.com');
    await Promise.all([confirm(link), confirm(link), people.post(link, {}, { at: 1 })]);
    expect(await counted(page)).toEqual([1, 0]);

    await people.sign(page, { email: 'GraceHopper+again@googlemail.com' });
    await eventually(() => expect(people.mailsTo('GraceHopper+again@googlemail.com')).toHaveLength(1));
    const [mail] = people.mailsTo('GraceHopper+again@googlemail.com');
    expect(mail!.content).toContain('already signed');
    expect(() => linkIn(mail!)).toThrow('no link to confirm');
    await eventually(async () => expect(await counted(page)).toEqual([1, 0]));

    const { client, petitionId } = page;
    await call(client, 'petition.add-signature', { petitionId, contact: { email: 'wangari@example.org' } });
    await people.sign(page, { email: 'wangari+2@example.org' });
    await eventually(() =>
      expect(people.mailsTo('wangari+2@example.org')[0]?.content).toContain('already signed'),
    );
    await eventually(async () => expect(await counted(page)).toEqual([2, 0]));
    expect(await contacts(page)).toHaveLength(2);
  });

  it('signing again sends another email, and older links lead to the latest form', async () => {
    const page = await people.petition();
    await people.sign(page, { email: 'rosa@example.org', firstName: 'Rosa' });
    const first = await people.linkTo('rosa@example.org');
    await people.sign(page, { email: 'rosa@example.org', firstName: 'Rosa Luise' });
    const second = await people.linkTo('rosa@example.org', 2);
    expect(second).not.toBe(first);
    expect((await people.get(first)).text).toContain('Rosa Luise');
    expect(await counted(page)).toEqual([0, 1]);
    await confirm(first);
    expect((await people.get(second)).text).toContain('Thank you for signing');
    expect(await counted(page)).toEqual([1, 0]);
    expect(await contacts(page)).toMatchObject([{ firstName: 'Rosa Luise' }]);
  });

  it('subscribes a signer who agrees, even if they had unsubscribed before', async () => {
    const page = await people.petition();
    const { client } = page;
    const { organizationId } = client;
    const email = 'again@example.org';
    const { contactId } = await call(client, 'contact.create-contact', {
      organizationId,
      email,
      subscribed: false,
    });
    await call(client, 'suppression.create-suppression', { email, reason: 'UNSUBSCRIBED' });
    const subscribed = async () =>
      (await client.get('contact.get-contact', { contactId, organizationId })).body.data.subscribed;
    await people.sign(page, { email, firstName: 'Other', subscribe: 'yes' });
    const link = await people.linkTo(email);
    expect(await subscribed()).toBe(false);
    await confirm(link);
    expect(await subscribed()).toBe(true);
    expect((await client.get('suppression.list-suppressions')).body.data).toEqual([]);
    expect(await counted(page)).toEqual([1, 0]);
    // Signing does not change an existing contact's details.
    expect(await contacts(page)).toMatchObject([{ email, firstName: null }]);
  });

  it('thanks with a count that includes the signer, on every instance', async () => {
    const page = await people.petition({ goal: 10 });
    await people.sign(page, { email: 'first@example.org' });
    const link = await people.linkTo('first@example.org');
    const thanked = () =>
      Promise.all(
        people.api.instances.map(async ({ origin }) => {
          const answer = await fetch(origin + link, { headers: { Accept: 'text/html' } });
          return (await answer.text()).replace(/<[^>]*>/g, '');
        }),
      );
    for (const text of await thanked()) expect(text).not.toContain('Thank you');
    await confirm(link);
    for (const text of await thanked()) expect(text).toMatch(/Thank you[^]*1 signature\s+Goal: 10/);
  });

  it('confirms only what was shown', async () => {
    const page = await people.petition();
    const email = 'shown@example.org';
    await people.sign(page, { email, comment: 'mine' });
    const link = await people.linkTo(email);
    const [, request = ''] = /name="request" value="([^"]+)"/.exec((await people.get(link)).text) ?? [];
    await people.sign(page, { email, comment: 'somebody else’s' });
    await people.linkTo(email, 2);
    await people.post(link, { request });
    expect(await counted(page)).toEqual([0, 1]);
    expect((await people.get(link)).text).toContain('somebody else’s');
  });

  it('counts immediately if no confirmation is required, unless it is suspicious', async () => {
    const page = await people.petition({ confirmation: 'NONE' });
    const signed = await people.sign(page, { email: 'quick@example.org' });
    expect((await people.get(signed.location!)).text).toContain('<h1>Thank you for signing</h1>');
    await eventually(async () => expect(await counted(page)).toEqual([1, 0]));
    await people.sign(page, { email: 'filled@example.org', website: 'https://spam.example' });
    const link = await people.linkTo('filled@example.org');
    expect(await counted(page)).toEqual([1, 1]);
    const { client, petitionId } = page;
    const pending = (await client.get('petition.list-signatures', { petitionId, status: 'PENDING' })).body
      .data;
    expect(pending).toMatchObject([{ status: 'PENDING', suspicion: ['HONEYPOT'], contactId: null }]);
    await confirm(link);
    expect(await counted(page)).toEqual([2, 0]);
  });

  it('expires without confirmation in seven days, and leaves no readable data', async () => {
    const page = await people.petition();
    await people.sign(page, { email: 'late@example.org', comment: 'too late' });
    const link = await people.linkTo('late@example.org');
    const { source } = people.api.database;
    await source.query(`UPDATE timers SET next_at = now() WHERE organization_id = $1`, [
      page.client.organizationId,
    ]);
    await eventually(async () => expect(await counted(page)).toEqual([0, 0]));
    expect((await people.get(link)).status).toBe(410);
    expect((await confirm(link)).status).toBe(303);
    expect([await counted(page), await contacts(page)]).toEqual([[0, 0], []]);
    const events = (await page.client.get('history.list-events', { type: 'SignatureRequested' })).body.data;
    expect(events).toMatchObject([{ data: { personal: null } }]);
    expect(
      (await page.client.get('history.list-events', { type: 'SignatureExpired' })).body.data,
    ).toHaveLength(1);
  });

  it.each(['signer', 'no one'])(
    'a pending signature ends when its petition is deleted, and is erased by: %s',
    async (by) => {
      const page = await people.petition();
      const { client, petitionId } = page;
      const { organizationId } = client;
      await people.sign(page, { email: 'waits@example.org', comment: 'secret' });
      const link = await people.linkTo('waits@example.org');
      await call(client, 'petition.close-petition', { petitionId });
      await client.delete('petition.delete-petition', { petitionId });
      if (by === 'signer') {
        const contact = { organizationId, email: 'Waits@example.org' };
        const { contactId } = await call(client, 'contact.create-contact', contact);
        expect((await client.delete('contact.delete-contact', { contactId })).status).toBe(200);
      }
      const events = async (type: string) => (await client.get('history.list-events', { type })).body.data;
      if (by !== 'signer')
        await eventually(async () => expect(await events('SignatureExpired')).toHaveLength(1));
      expect(await events('SignatureRequested')).toMatchObject([{ data: { personal: null } }]);
      expect(await events('SignatureExpired')).toMatchObject([
        { data: { petitionId, reason: expect.stringMatching(/^(ERASED|PETITION_DELETED)$/) } },
      ]);
      expect((await people.get(link)).status).not.toBe(200);
    },
  );

  it('a closed petition accepts no more signatures or confirmations', async () => {
    const page = await people.petition();
    await people.sign(page, { email: 'slow@example.org' });
    const link = await people.linkTo('slow@example.org');
    await call(page.client, 'petition.close-petition', { petitionId: page.petitionId });
    await eventually(async () =>
      expect((await people.get(page.path)).text).toContain('This petition is closed'),
    );
    expect((await confirm(link)).status).toBe(410);
    expect((await people.sign(page, { email: 'later@example.org' })).location).toBeNull();
    expect(await counted(page)).toEqual([0, 1]);
  });
});

describe('the submitted form', () => {
  it.each([
    ['no email address', { email: '' }, 'Enter your email address'],
    ['an invalid address', { email: 'ada' }, 'Enter an email address in the correct format'],
    ['no first name', { firstName: ' ' }, 'Enter your first name'],
    ['a name of 201 characters', { firstName: 'x'.repeat(201) }, 'Your answer is too long'],
    ['a NUL', { lastName: 'a\0b' }, 'characters that can’t be saved'],
  ])('keeps its input on an error: %s', async (_, form, sentence) => {
    const page = await people.petition();
    const { status, text } = await people.sign(page, { comment: 'Keep "me" <safe>', ...form });
    expect(status).toBe(422);
    expect(text).toContain(sentence);
    expect(text).toContain('<title>Error: ');
    expect(text).toContain('Keep &quot;me&quot; &lt;safe&gt;');
    expect(text).toContain('role="alert"');
    expect(await counted(page)).toEqual([0, 0]);
  });

  it('must be submitted again if the page is too old, too new or forged', async () => {
    const page = await people.petition();
    const other = await people.petition();
    const tokens = ['', 'rubbish', people.token(page.petitionId, 25 * 3_600), people.token(other.petitionId)];
    // The request may take seconds, but not a minute.
    for (const token of [...tokens, people.token(page.petitionId, -60)]) {
      const { status, text } = await people.sign(page, { token, comment: 'kept' });
      expect([status, text.includes('submit the form again'), text.includes('kept')]).toEqual([
        422,
        true,
        true,
      ]);
      const [, next = ''] = /name="token" value="([^"]+)"/.exec(text) ?? [];
      expect(next).not.toBe('');
    }
    expect(await counted(page)).toEqual([0, 0]);
  });

  it('is rejected if it is malformed or too large, and the next one is accepted', async () => {
    const { path, petitionId } = await people.petition();
    const send = async (body: string, type: string) =>
      (
        await fetch(`${people.api.origin}${path}/sign`, {
          method: 'POST',
          body,
          headers: { 'Content-Type': type },
        })
      ).status;
    expect(await send('{}', 'application/json')).toBe(415);
    expect(await send(`comment=${'x'.repeat(200_000)}`, 'application/x-www-form-urlencoded')).toBe(413);
    const token = people.token(petitionId);
    expect(await send(`token=${token}&firstName=A&email=%FF`, 'application/x-www-form-urlencoded')).toBe(422);
  });
});

describe('against fraud', () => {
  /** The hourly limit of a network, and the number of its earlier requests. */
  const [MOST, BEFORE] = [500, isLong ? 0 : 460];
  const FORMS = isLong ? 2_000 : 80;

  it(`${FORMS} scripted forms: none counts or creates a contact, each mailbox gets at most three emails, and others can sign`, async () => {
    const page = await people.petition();
    const from = '2001:db8:1:2::1';
    const storage = people.api.instances[0]!.app.get<WindowStorage>(getStorageToken());
    const ofNetwork = [{ key: `sign:${page.petitionId}:${networkOf(from)}`, limit: MOST }];
    for (let n = 0; n < BEFORE; n += 1) await storage.accept(ofNetwork, 3_600_000);
    const opened = people.token(page.petitionId);
    const script = (n: number): Promise<{ status: number }> => {
      const forms: Record<string, string>[] = [
        { token: '' },
        { token: people.token(page.petitionId, 25 * 3_600) },
        { token: people.token(page.petitionId, -60) },
        { website: 'x' },
        { email: 'one@example.org', token: opened },
        { email: `alias+${n}@example.org` },
        { email: `al.i.as+${n}@gmail.com` },
      ];
      // Most of these forms would be accepted.
      const form = n % 9 === 0 ? forms[(n / 9) % 3]! : forms[3 + (Math.floor(n / 2) % 4)]!;
      const address = n % 2 === 0 ? from : `2001:db8:1:2::${(n % 5_000).toString(16)}`;
      return people.sign(page, { email: `person-${n}@example.net`, ...form }, { from: address, at: n % 2 });
    };
    const statuses = new Map<number, number>();
    for (let n = 0; n < FORMS; n += 20) {
      const answers = await Promise.all(Array.from({ length: 20 }, (_, k) => script(n + k)));
      for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    expect([...statuses.keys()].toSorted()).toEqual([200, 422, 429]);
    // All addresses of a network count together.
    expect(statuses.get(200)).toBe(MOST - BEFORE);

    const honest = await people.sign(page, { email: 'honest@example.org' }, { from: randomAddress() });
    expect(honest.status).toBe(200);
    await confirm(await people.linkTo('honest@example.org'));
    expect((await counted(page))[0]).toBe(1);
    expect(await contacts(page)).toMatchObject([{ email: 'honest@example.org' }]);
    // Emails may arrive in another order.
    await people.linkTo('one@example.org');
    const perMailbox = new Map<string, Set<string>>();
    for (const { to, content } of people.mail.accepted) {
      const mailbox = to
        .replace(/\+[^@]*/, '')
        .replace(/^([^@]*)@gmail\.com$/, (_, name: string) => `${name.replaceAll('.', '')}@gmail.com`);
      // An email that timed out is sent again with the same id, even if it had arrived.
      const [, id = ''] = /^Message-ID:\s*(\S+)/im.exec(content!)!;
      perMailbox.set(mailbox, (perMailbox.get(mailbox) ?? new Set()).add(id));
    }
    // A repeated form is the same request.
    expect(perMailbox.get('one@example.org')!.size).toBe(1);
    expect(Math.max(...[...perMailbox.values()].map(({ size }) => size))).toBeLessThanOrEqual(3);
    const { client, petitionId } = page;
    const more = { petitionId, status: 'PENDING', limit: '100' };
    const pending = (await client.get('petition.list-signatures', more)).body.data as {
      suspicion: string[];
    }[];
    expect(pending.some(({ suspicion }) => suspicion.includes('MANY_FROM_NETWORK'))).toBe(true);
  });

  it('signatures of a network or suspicious ones are invalidated by condition, and restored', async () => {
    const page = await people.petition();
    const { client, petitionId } = page;
    const signAndConfirm = async (email: string, from: string, more = {}) => {
      await people.sign(page, { email, ...more }, { from });
      await confirm(await people.linkTo(email));
    };
    await signAndConfirm('a@bots.example', '192.0.2.1');
    await signAndConfirm('b@bots.example', '192.0.2.200', { website: 'x' });
    await signAndConfirm('c@people.example', '198.51.100.7');
    const dryRun = async (condition: object) =>
      (await call(client, 'petition.invalidate-signatures', { petitionId, dryRun: true, ...condition }))
        .signatures;
    expect(await dryRun({ clientAddress: '192.0.2.0/24' })).toBe(2);
    expect(await dryRun({ clientAddress: '192.0.2.1' })).toBe(1);
    expect(await dryRun({ clientAddress: '198.51.0.0/16' })).toBe(1);
    expect(await dryRun({ suspicion: 'HONEYPOT' })).toBe(1);
    expect(await dryRun({ suspicion: 'HONEYPOT', clientAddress: '198.51.100.0/24' })).toBe(0);
    const refused = await client.post('petition.invalidate-signatures', {
      petitionId,
      clientAddress: '192.0.2',
    });
    expect([refused.status, refused.body.error.issues[0].path]).toEqual([400, 'clientAddress']);

    const condition = { clientAddress: '192.0.2.0/24' };
    const { invalidationId } = await call(client, 'petition.invalidate-signatures', {
      petitionId,
      ...condition,
    });
    expect(await counted(page)).toEqual([1, 0]);
    const look = async () => (await client.get('petition.get-invalidation', { invalidationId })).body.data;
    expect(await look()).toMatchObject({ status: 'INVALIDATED', matched: 2, invalidated: 2, condition });
    await call(client, 'petition.restore-signatures', { invalidationId });
    expect(await counted(page)).toEqual([3, 0]);
    expect(await look()).toMatchObject({ status: 'RESTORED', restored: 2 });
  });
});

describe('consent', () => {
  const TEXT = 'Flüsse & Söhne darf mich per E‑Mail auf dem Laufenden halten';
  const FROM = '203.0.113.7';

  /** A petition of an organization whose language is German. */
  async function germanPetition(fields: object = {}): Promise<PetitionPage> {
    const page = await people.petition(fields);
    const names = { name: 'Flüsse & Söhne', language: 'de' };
    await call(page.client, 'organization.update-organization', names);
    await eventually(async () => expect((await people.get(page.path)).text).toContain('auf dem Laufenden'));
    return page;
  }
  async function consents({ client }: PetitionPage): Promise<any[]> {
    const [{ id: contactId }] = (await client.get('contact.list-contacts')).body.data;
    return (await client.get('contact.list-consents', { contactId })).body.data;
  }
  const seen = ({ path }: PetitionPage) => ({ source: path, text: TEXT, language: 'de', ip: FROM });

  it.each([
    ['yes', true, { subscribe: 'yes' }],
    ['no', false, {}],
  ])(
    'a confirmed signature records the %s with the text, language and time of the form',
    async (_, given, said) => {
      const page = await germanPetition();
      const email = `consent-${given}@example.org`;
      await people.sign(page, { email, ...said }, { from: FROM });
      const link = await people.linkTo(email);
      await call(page.client, 'organization.update-organization', { name: 'Renamed', language: 'fr' });
      await confirm(link);
      const { data } = (await page.client.get('history.list-events', { type: 'SignatureRequested' })).body;
      expect(await consents(page)).toEqual([
        {
          ...{ given, ...seen(page), at: data[0].occurredAt },
          ...{ actor: { type: 'public', id: null }, eventId: expect.any(String) },
        },
      ]);
    },
  );

  it('is recorded for a contact who agreed before, and subscribes one who had not', async () => {
    const page = await germanPetition();
    const { organizationId } = page.client;
    const person = { organizationId, email: 'returns@example.org', subscribed: false };
    await call(page.client, 'contact.create-contact', person);
    await people.sign(page, { email: 'returns@example.org', subscribe: 'yes' }, { from: FROM });
    await confirm(await people.linkTo('returns@example.org'));
    expect(await consents(page)).toMatchObject([
      { given: true, ...seen(page) },
      { given: false, text: null },
    ]);
  });

  it('without proof of the mailbox, is recorded for new contacts only', async () => {
    const page = await germanPetition({ confirmation: 'NONE' });
    await people.sign(page, { email: 'unproved@example.org', subscribe: 'yes' }, { from: FROM });
    await eventually(async () => expect(await counted(page)).toEqual([1, 0]));
    expect(await consents(page)).toMatchObject([{ given: true, ...seen(page) }]);
  });

  it('a confirmed signature leaves no second readable copy', async () => {
    const page = await germanPetition();
    await people.sign(page, { email: 'copy@example.org' }, { from: FROM });
    await confirm(await people.linkTo('copy@example.org'));
    const { data } = (await page.client.get('history.list-events', { type: 'ConsentRecorded' })).body;
    expect(data.map(({ data: { personal } }: any) => personal?.text ?? null)).toEqual([null, TEXT]);
  });
});

describe('abuse by someone who knows an address', () => {
  const bySelf = async ({ client }: PetitionPage, contactId: string) => {
    const { organizationId } = client;
    return (await client.get('contact.get-contact', { contactId, organizationId })).body.data;
  };

  it('without proof of the mailbox, cannot subscribe or speak for someone else', async () => {
    const page = await people.petition({ confirmation: 'NONE', publicComments: true });
    const { client } = page;
    const { organizationId } = client;
    const email = 'mary@example.org';
    const person = { organizationId, email, firstName: 'Mary', subscribed: false };
    const { contactId } = await call(client, 'contact.create-contact', person);
    await call(client, 'suppression.create-suppression', { email, reason: 'UNSUBSCRIBED' });
    const written = { comment: 'I hate rivers', appearance: 'FULL_NAME', subscribe: 'yes' };
    expect((await people.get(page.path)).text).not.toContain('name="appearance"');
    await people.sign(page, { email, firstName: 'Zoe', ...written });
    await eventually(async () => expect(await counted(page)).toEqual([1, 0]));
    expect((await bySelf(page, contactId)).subscribed).toBe(false);
    expect((await client.get('suppression.list-suppressions')).body.data).toHaveLength(1);
    // Earlier comments stay private after comments are enabled again.
    await call(client, 'petition.update-petition', { petitionId: page.petitionId, confirmation: 'EMAIL' });
    await eventually(async () => expect((await people.get(page.path)).text).toContain('name="appearance"'));
    expect((await people.get(page.path)).text).not.toMatch(/I hate rivers|Mary/);
  });

  it('the confirmation page shows everything that the signer agrees to', async () => {
    const page = await people.petition({ form: { fields: asked('zip', 'country') } });
    const email = 'sees@example.org';
    await people.sign(page, { email, zip: '66666', country: 'KE', subscribe: 'yes' });
    const { text } = await people.get(await people.linkTo(email));
    for (const shown of ['66666', 'Kenya', 'may send me email updates']) expect(text).toContain(shown);
    const other = 'sees-less@example.org';
    await people.sign(page, { email: other });
    expect((await people.get(await people.linkTo(other))).text).not.toContain('send me email updates');
  });

  it('repeated forms send no further email, and at the limit the latest link stays valid', async () => {
    const page = await people.petition();
    const email = 'victor@example.org';
    await Promise.all(Array.from({ length: 6 }, () => people.sign(page, { email, firstName: 'Victor' })));
    await eventually(async () => expect(await counted(page)).toEqual([0, 1]));
    await eventually(() => expect(people.mailsTo(email)).toHaveLength(1));
    for (let n = 0; n < 8; n += 1) {
      await people.sign(page, { email, firstName: `Stranger ${n}` });
      await eventually(async () => expect(await counted(page)).toEqual([0, 1]));
    }
    await eventually(() => expect(people.mailsTo(email)).toHaveLength(3));
    const { text } = await people.get(await people.linkTo(email));
    expect(text).toContain('Stranger 1');
    await confirm(await people.linkTo(email));
    expect(await counted(page)).toEqual([1, 0]);
  });

  it('a pending signature is erased with the person', async () => {
    const page = await people.petition();
    const { client } = page;
    const { organizationId } = client;
    const email = 'erased@example.org';
    const { contactId } = await call(client, 'contact.create-contact', { organizationId, email });
    await people.sign(page, { email: 'Erased+x@example.org', firstName: 'Gone', comment: 'private words' });
    const link = await people.linkTo('Erased+x@example.org');
    expect((await people.get(link)).text).toContain('private words');
    expect((await client.delete('contact.delete-contact', { contactId, organizationId })).status).toBe(200);
    const after = await people.get(link);
    expect([after.status, after.text]).toEqual([410, expect.stringContaining('This link has expired')]);
    expect(after.text).not.toMatch(/private words|Gone/);
    expect(await counted(page)).toEqual([0, 0]);
    // A new signature after the erasure is accepted.
    await people.sign(page, { email });
    await confirm(await people.linkTo(email));
    expect(await counted(page)).toEqual([1, 0]);
  });

  it('quoted mailboxes and invisible names are rejected', async () => {
    const page = await people.petition();
    for (const email of ['"ada"@example.org', '"a\\da"@example.org'])
      expect((await people.sign(page, { email })).text).toContain(
        'Enter an email address in the correct format',
      );
    for (const firstName of ['\u200b', '\u3164', '\u202e', ' \u2066\u2069 '])
      expect((await people.sign(page, { firstName })).text).toContain('Enter your first name');
    const email = 'turned@example.org';
    await people.sign(page, { email, firstName: '\u202eAda', lastName: 'علی' });
    expect((await people.get(await people.linkTo(email))).text).toContain('<bdi>Ada علی</bdi>');
  });
});

describe('pages', () => {
  it('are found by the organization’s id, which no one else can use as a slug', async () => {
    const mine = await people.api.organization();
    const others = await people.api.organization();
    await call(mine, 'organization.update-organization', { name: 'Mine' });
    const slug = mine.organizationId;
    const { status, body } = await others.post('organization.update-organization', { slug });
    expect([status, body.error.issues]).toEqual([
      400,
      [{ path: 'slug', message: 'must not look like an ID' }],
    ]);
    // As if it had been registered before such slugs were rejected.
    await people.api.database.source.query(
      'INSERT INTO organization_slugs (slug, organization_id) VALUES ($1, $2)',
      [slug, others.organizationId],
    );
    expect((await people.get(`/${slug}`)).text).toContain('Mine');
  });

  it('redirect with the full query, allow returning to a former slug, and cover the last twenty slugs', async () => {
    const client = await people.api.organization();
    const slugOf = (n: number) => `moves-${n}-${client.organizationId.slice(-12)}`;
    const move = (n: number) => call(client, 'organization.update-organization', { slug: slugOf(n) });
    for (let n = 0; n < 24; n += 1) await move(n);
    await eventually(async () =>
      expect(await people.get(`/${slugOf(22)}?source=x`)).toMatchObject({
        status: 302,
        location: `/${slugOf(23)}?source=x`,
      }),
    );
    expect((await people.get(`/${slugOf(22)}`)).headers.get('cache-control')).toBe('no-cache');
    await move(22);
    await eventually(async () => expect((await people.get(`/${slugOf(22)}`)).status).toBe(200));
    expect((await people.get(`/${slugOf(0)}`)).status).toBe(404);
    const other = await people.api.organization();
    await call(other, 'organization.update-organization', { slug: slugOf(0) });
  });

  it('rate-limit a client that guesses slugs', async () => {
    const from = { 'X-Forwarded-For': randomAddress(), Accept: 'text/html' };
    // A machine that stalls spreads them over several seconds.
    await eventually(async () => {
      const statuses = await Promise.all(
        Array.from({ length: 30 }, (_, n) => people.get(`/nobody-${n}`, from).then(({ status }) => status)),
      );
      expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(10);
      expect(new Set(statuses)).toEqual(new Set([404, 429]));
    });
  });

  it('describe themselves to sharers, load nothing from elsewhere, and run no injected code', async () => {
    const client = await people.api.organization();
    const slug = `rivers-${Date.now()}`;
    const bytes = await picture(1_200, 630);
    const uploaded = await client.request(
      'POST',
      '/v1/image.upload-image?name=River&alt=A+%22river%22',
      bytes,
      {
        'Content-Type': 'image/jpeg',
      },
    );
    const { imageId } = uploaded.body.data;
    const evil = `"><script>alert(1)</script><img src=x onerror=alert(2)>`;
    await call(client, 'organization.update-organization', {
      name: `Rivers ${evil}`,
      slug,
      colour: '#FFFF00',
      imageId,
      privacyUrl: 'https://rivers.example.org/privacy',
      language: 'de',
    });
    const page = await people.petition(
      {
        title: evil,
        description: evil,
        ask: evil,
        target: evil,
        imageId,
        content: `${evil}\n\n[x](javascript:alert(3))`,
      },
      client,
    );
    expect(page.path).toBe(`/${slug}/petitions/save-the-river`);
    const { status, headers, text } = await people.get(page.path);
    expect(status).toBe(200);
    expect(text).toContain('<html lang="de">');
    expect(text.match(/<script[^>]*>/g)).toEqual(['<script src="/site/page.js" defer>']);
    const unsafe: string[] = [];
    const parser = new Parser({
      onopentag(name, attributes) {
        const isUnsafe = Object.entries(attributes).some(
          ([attribute, value]) => /^on|^style$/.test(attribute) || /^\s*javascript:/i.test(value),
        );
        if (isUnsafe) unsafe.push(name);
      },
    });
    parser.end(text);
    expect(unsafe).toEqual([]);
    expect(text.match(/<h1>/g)).toHaveLength(1);
    expect(text).toContain(`<meta property="og:url" content="${PUBLIC_URL}${page.path}"`);
    expect(text).toContain('<meta property="og:image:width" content="1200"');
    expect(text).toMatch(new RegExp(`<meta property="og:image" content="${PUBLIC_URL}/images/`));
    expect(text).toContain('alt="A &quot;river&quot;"');
    expect(text).toContain(`<link rel="canonical" href="${PUBLIC_URL}${page.path}"`);
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; img-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
    );
    expect(Buffer.byteLength(text)).toBeLessThan(50 * 1_024);
  });

  it('redirect from former slugs to current ones, and are found by id without a slug', async () => {
    const client = await people.api.organization();
    const { organizationId } = client;
    const page = await people.petition({ slug: 'first' }, client);
    expect(page.path).toBe(`/${organizationId}/petitions/first`);
    const slug = `moved-${Date.now()}`;
    await call(client, 'organization.update-organization', { slug });
    await call(client, 'petition.update-petition', { petitionId: page.petitionId, slug: 'second' });
    const now = `/${slug}/petitions/second`;
    await eventually(async () => {
      for (const path of [page.path, `/${slug}/petitions/first`, `/${slug}/petitions/${page.petitionId}`])
        expect((await people.get(path)).location).toBe(now);
    });
    expect((await people.get(now)).status).toBe(200);
    expect((await people.get(`/${organizationId}`)).location).toBe(`/${slug}`);

    const taken = await client.post('petition.create-petition', { name: 'Other', slug: 'first' });
    expect([taken.status, taken.body.error.reason]).toEqual([409, 'SLUG_TAKEN']);
    const other = await people.api.organization();
    const stolen = await other.post('organization.update-organization', { slug });
    expect([stolen.status, stolen.body.error.reason]).toEqual([409, 'SLUG_TAKEN']);
    for (const reserved of ['docs', 'v1', 'images', 'dashboard']) {
      const refused = await other.post('organization.update-organization', { slug: reserved });
      expect([reserved, refused.status]).toEqual([reserved, 400]);
    }
    // The petition may take its former slug back.
    await call(client, 'petition.update-petition', { petitionId: page.petitionId, slug: 'first' });
  });

  it('derive unique slugs from names, even for eight in parallel', async () => {
    const client = await people.api.organization();
    const slugs = await Promise.all(
      Array.from({ length: 8 }, async (_, n) => {
        const fields = { name: 'Über die Brücke!', goal: n + 1 };
        const { petitionId } = await call(client, 'petition.create-petition', fields);
        return (await client.get('petition.get-petition', { petitionId })).body.data.slug as string;
      }),
    );
    expect(new Set(slugs).size).toBe(8);
    for (const slug of slugs) expect(slug).toMatch(/^uber-die-brucke(-\w+)?$/);
  });

  it('never show drafts, foreign petitions or deleted records', async () => {
    const client = await people.api.organization();
    const other = await people.petition();
    const { petitionId } = await call(client, 'petition.create-petition', { name: 'Draft' });
    const paths = [
      `/${client.organizationId}/petitions/draft`,
      `/${client.organizationId}/petitions/${petitionId}`,
      `/${client.organizationId}/petitions/${other.petitionId}`,
      `/${client.organizationId}/posts/none`,
      '/nobody-has-this',
      `/${petitionId}`,
    ];
    for (const path of paths) {
      const seen = await people.get(path);
      expect([path, seen.status, seen.text.includes('Page not found')]).toEqual([path, 404, true]);
      const json = await people.get(path, { Accept: 'application/json' });
      expect([json.status, JSON.parse(json.text).error.code]).toEqual([404, 'NOT_FOUND']);
    }
    expect((await people.post(`/${client.organizationId}/petitions/draft/sign`, {})).status).toBe(404);
  });

  it('count.json shows the count publicly and may be cached', async () => {
    const page = await people.petition({ goal: 7 });
    const { headers, text } = await people.get(`${page.path}/count.json`);
    expect(JSON.parse(text)).toEqual({ signatures: 0, goal: 7 });
    expect([headers.get('access-control-allow-origin'), headers.get('cache-control')]).toEqual([
      '*',
      'public, max-age=2, stale-while-revalidate=30',
    ]);
  });

  it('can be framed only as embeds, whose form works, too', async () => {
    const page = await people.petition();
    const { headers, text } = await people.get(`${page.path}/embed`);
    expect(headers.get('content-security-policy')).toContain('frame-ancestors *');
    expect(headers.get('x-frame-options')).toBeNull();
    expect(text).toContain(`action="${page.path}/sign?embed"`);
    const script = await people.get('/embed.js');
    expect([script.headers.get('content-type'), script.text.includes('advocacy-petition')]).toEqual([
      'text/javascript; charset=utf-8',
      true,
    ]);
  });

  it('a foreign, changed or unknown token shows the same error page without details', async () => {
    const page = await people.petition();
    await people.sign(page, { email: 'token@example.org' });
    const link = await people.linkTo('token@example.org');
    const changed = link.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'));
    for (const path of [changed, `${page.path}/confirm/x`, `${page.path}/confirm/${'A'.repeat(64)}`]) {
      const { status, text } = await people.get(path);
      expect([status, text.includes('This link doesn’t work')]).toEqual([404, true]);
      expect((await people.post(path, {})).status).toBe(404);
    }
    expect(await counted(page)).toEqual([0, 1]);
  });
});

it('a closing time beyond the year 9999 is rejected', async () => {
  const { client, petitionId } = await people.petition();
  const closesAt = '9999-12-31T23:59:59-15:00';
  expect((await client.post('petition.update-petition', { petitionId, closesAt })).status).toBe(400);
});

it.each([
  ['UTC', 'UTC'],
  ['Asia/Kolkata', 'GMT'],
])('shows when it closes in the time zone %s of the organization', async (timeZone, name) => {
  const client = await people.api.organization();
  await call(client, 'organization.update-organization', { timeZone });
  const page = await people.petition({ closesAt: '2098-12-31T20:00:00Z' }, client);
  const { text } = await people.get(page.path);
  const [, datetime, shown] = /<time datetime="([^"]+)" data-dates="en-GB"\s*>([^<]+)</.exec(text) ?? [];
  expect(datetime).toBe('2098-12-31T20:00:00.000Z');
  expect(shown).toContain(timeZone === 'UTC' ? '31 December 2098' : '1 January 2099');
  expect(shown).toContain(timeZone === 'UTC' ? '20:00' : '01:30');
  expect(shown).toContain(name);
});

it('published posts about a petition are updates on its page, newest first, and link to it', async () => {
  const page = await people.petition({ name: 'Save the lake' });
  const { client, petitionId } = page;
  const write = async (name: string) =>
    (await call(client, 'post.create-post', { name, petitionId, description: `${name} <more>` }))
      .postId as string;
  const [first, second] = [await write('First news'), await write('Second news'), await write('Draft')];
  expect((await people.get(page.path)).text).not.toContain('>Updates</h2>');
  // The one written first is the newer one.
  for (const postId of [second, first]) await call(client, 'post.publish-post', { postId });
  await eventually(async () => {
    const { text } = await people.get(page.path);
    const [, updates] = /<h2 id="updates">Updates<\/h2>([^]*?)<\/section>/.exec(text)!;
    const found = [...updates!.matchAll(/<a href="([^"]+)">([^<]+)<\/a>/g)].map(([, , title]) => title);
    expect(found).toEqual(['First news', 'Second news']);
    expect(updates).toContain('First news &lt;more&gt;');
    expect(updates).toContain('/posts/first-news"');
  });
  const { text } = await people.get(page.path.replace(/petitions\/.*/, 'posts/first-news'));
  expect(text).toContain(`<a href="${page.path}">Save the lake</a>`);
  expect(text).toContain(`href="${page.path}#sign"`);
  await call(client, 'post.archive-post', { postId: first });
  await eventually(async () => expect((await people.get(page.path)).text).not.toContain('First news'));
});

it('the page of a closed petition shows its outcome', async () => {
  const { client, petitionId, path } = await people.petition({ name: 'Save the lake' });
  await call(client, 'petition.close-petition', { petitionId });
  const outcome = { outcome: 'WON', outcomeText: 'The council **agreed**. <3' };
  await call(client, 'petition.update-petition', { petitionId, ...outcome });
  await eventually(async () => {
    const { text } = await people.get(path);
    expect(text).toContain('>This petition succeeded</h2>');
    expect(text).toContain('The council <strong>agreed</strong>. &lt;3');
  });
  const listed = await people.get(path.replace(/\/petitions\/.*/, ''));
  expect(listed.text).toContain('This petition succeeded');
});

it('a post is published automatically at its time, once, unless that was cancelled', async () => {
  const client = await people.api.organization();
  const publishAt = '2099-01-01T00:00:00.000Z';
  const [postId, cancelled] = await Promise.all(
    ['On time', 'Cancelled'].map(
      async (name) => (await call(client, 'post.create-post', { name, publishAt })).postId as string,
    ),
  );
  const found = async (id: string) => (await client.get('post.get-post', { postId: id })).body.data;
  await call(client, 'post.update-post', { postId: cancelled, publishAt: null });
  await comeDue(people.api.database, postId!, publishAt);
  await eventually(async () =>
    expect(await found(postId!)).toMatchObject({ status: 'PUBLISHED', publishAt: null }),
  );
  expect(await found(cancelled!)).toMatchObject({ status: 'DRAFT' });
  const { body } = await client.get('history.list-events', { recordId: postId!, type: 'PostPublished' });
  expect(body.data).toMatchObject([{ actor: { type: 'system', id: 'post-publication' } }]);
});

it('a petition closes automatically at its time, once, even if no instance was running', async () => {
  const closesAt = '2099-01-01T00:00:00.000Z';
  const page = await people.petition({ closesAt });
  const { client, petitionId } = page;
  const status = async () => (await client.get('petition.get-petition', { petitionId })).body.data.status;
  expect(await status()).toBe('PUBLISHED');
  await comeDue(people.api.database, petitionId, closesAt);
  await eventually(async () => expect(await status()).toBe('CLOSED'));
  const late = await client.post('petition.add-signature', {
    petitionId,
    contact: { email: 'late@example.org' },
  });
  expect(late.body.error.reason).toBe('PETITION_CLOSED');
  await call(client, 'petition.update-petition', { petitionId, closesAt: '2020-01-01T00:00:00.000Z' });
  const again = await client.post('petition.publish-petition', { petitionId });
  expect(again.body.error.reason).toBe('PETITION_CLOSED');
  await call(client, 'petition.update-petition', { petitionId, closesAt: null });
  await call(client, 'petition.publish-petition', { petitionId });
  const types = await people.api.eventTypes(client.organizationId);
  expect(types.filter((type) => type === 'PetitionClosed')).toHaveLength(1);
});
