import { LOCALES } from '#locales';
import { type Client } from './harness.js';
import { call, type PetitionPage, Public, PUBLIC_URL } from './petition-page.js';
import { eventually } from './processes.js';
import { longIt } from './length.js';

let people: Public;
let client: Client;
beforeAll(async () => {
  people = await Public.start({ instances: 2 });
});
afterAll(() => people.stop());
beforeEach(async () => {
  client = await people.api.organization();
  await call(client, 'organization.update-organization', {
    mailFrom: { name: 'Rivers', address: 'office@example.org' },
  });
});

const DE = {
  title: 'Rettet den Fluss',
  target: 'Die Gemeinde',
  description: 'Er wird zugebaut.',
  ask: 'Baut nicht.',
  content: '**Der** Fluss',
  consent: 'Ich will Nachrichten.',
  thankYou: { title: 'Danke schön', text: null, nextUrl: null, nextLabel: null },
  thankYouMail: { subject: 'Danke, {{ contact.firstName }}', content: 'Für {{ petition.title }}' },
};
const OWN = {
  title: 'Save the river',
  target: 'The council',
  description: 'They build on it.',
  ask: 'Do not build.',
  content: '**The** river',
  thankYou: { title: 'Thanks a lot' },
  thankYouMail: { subject: 'Thanks, {{ contact.firstName }}', content: 'For {{ petition.title }}' },
};

const get = async (petitionId: string) =>
  (await client.get('petition.get-petition', { petitionId })).body.data;
/** A page as a browser with these languages requests it. */
const read = (path: string, languages?: string) =>
  people.get(path, {
    Accept: 'text/html',
    ...(languages === undefined ? {} : { 'Accept-Language': languages }),
  });
const titleIn = ({ text }: { text: string }) => /<h1[^>]*>([^<]*)</.exec(text)?.[1];
/** Submits the form of a page, as a browser would. */
async function signOn(page: PetitionPage, path: string, more: Record<string, string>) {
  const { text } = await people.get(path);
  const [, action = ''] = /<form method="post" action="([^"]+)"/.exec(text) ?? [];
  const [, consent = ''] = /name="consent" value="([^"]+)"/.exec(text) ?? [];
  const token = people.token(page.petitionId);
  const sent = await people.post(action.replaceAll('&amp;', '&'), {
    token,
    consent,
    firstName: 'Ada',
    ...more,
  });
  return { action, ...sent };
}
async function linkTo(email: string): Promise<string> {
  await eventually(() => expect(people.mailsTo(email).length).toBeGreaterThanOrEqual(1));
  const whole = people
    .mailsTo(email)[0]!
    .content!.replace(/=\r?\n/g, '')
    .replaceAll('=3D', '=');
  return /https:\/\/act\.example\.org(\/\S*\/confirm\/[\w-]+(?:\?lang=[\w-]+)?)/.exec(whole)![1]!;
}

longIt(
  'emails of many languages that take long to check are rejected together, and accepted one by one',
  async () => {
    const loops =
      '{% for i in (1..200) %}{% for j in (1..100) %}{% if contact.firstName == "x" %}{% endif %}{% endfor %}{% endfor %}';
    const texts = (n: number) => ({ title: 'x', thankYouMail: { subject: 'x', content: `${n} ${loops}` } });
    const languages =
      'bg cs da de el es et fi fr ga hr hu it lt lv mt nl pl pt ro sk sl sv no is tr uk ru sr sq'.split(' ');
    const many = Object.fromEntries(languages.map((language, n) => [language, texts(n)]));
    const { petitionId } = await call(client, 'petition.create-petition', {
      name: 'River',
      thankYouMail: OWN.thankYouMail,
    });
    const refused = await client.post('petition.update-petition', { petitionId, translations: many });
    expect([refused.status, refused.body.error.issues]).toMatchObject([400, [{ path: 'translations' }]]);
    expect(
      (await client.post('petition.update-petition', { petitionId, translations: { de: texts(1) } })).status,
    ).toBe(200);
  },
);

it('the outcome of a closed petition is shown in the visitor’s language', async () => {
  const de = { ...DE, outcomeText: '**Gewonnen!**' };
  const page = await people.petition({ ...OWN, translations: { de } }, client);
  const { petitionId } = page;
  await call(client, 'petition.close-petition', { petitionId });
  await call(client, 'petition.update-petition', { petitionId, outcome: 'WON', outcomeText: 'We **won**.' });
  expect((await get(petitionId)).translations.de.outcomeText).toBe('**Gewonnen!**');
  await eventually(async () => {
    expect((await read(page.path, 'de')).text).toContain('<strong>Gewonnen!</strong>');
    expect((await read(page.path, 'en')).text).toContain('We <strong>won</strong>.');
  });
});

describe('the API', () => {
  it('merges translations by language, keeps the petition’s own language, and records only what changed', async () => {
    const { petitionId } = await call(client, 'petition.create-petition', {
      name: 'River',
      translations: { DE: { title: ' Rettet den Fluss ', target: '' }, 'pt-br': { title: 'Salve o rio' } },
    });
    expect(await get(petitionId)).toMatchObject({
      language: 'en',
      translations: { de: { title: 'Rettet den Fluss' }, 'pt-BR': { title: 'Salve o rio' } },
    });
    const changed = await call(client, 'petition.update-petition', {
      petitionId,
      translations: {
        de: DE,
        'pt-BR': { title: 'Salve o rio' },
        fr: { title: 'Sauvez la rivière' },
        it: null,
      },
    });
    expect(changed.translations).toEqual({
      de: DE,
      'pt-BR': { title: 'Salve o rio' },
      fr: { title: 'Sauvez la rivière' },
    });
    const { data: events } = (await client.get('history.list-events', { recordId: petitionId })).body;
    expect(events.at(-1).data).toEqual({ translations: { de: DE, fr: { title: 'Sauvez la rivière' } } });
    // What was shown and is sent back changes nothing.
    const { language, translations } = await get(petitionId);
    await call(client, 'petition.update-petition', { petitionId, language, translations });
    // Nor does the organization's language change what the texts are written in.
    await call(client, 'organization.update-organization', { language: 'de' });
    expect((await get(petitionId)).language).toBe('en');
    const rest = { de: null, 'pt-BR': null, fr: null };
    expect(await call(client, 'petition.update-petition', { petitionId, translations: rest })).toMatchObject({
      language: 'en',
      translations: {},
    });
    const copied = await call(client, 'petition.duplicate-petition', { petitionId, name: 'Copy' });
    expect(await get(copied.petitionId)).toMatchObject({ language: 'en', translations: {} });
    const { data: all } = (await client.get('history.list-events', { recordId: petitionId })).body;
    expect(all).toHaveLength(3);
  });

  it('lets two people translate into two languages at the same time', async () => {
    const { petitionId } = await call(client, 'petition.create-petition', { name: 'River' });
    const languages = ['de', 'fr', 'es', 'it', 'nl', 'pl'];
    await Promise.all(
      languages.map((language) =>
        call(client, 'petition.update-petition', {
          petitionId,
          translations: { [language]: { title: language } },
        }),
      ),
    );
    expect(Object.keys((await get(petitionId)).translations).toSorted()).toEqual(languages.toSorted());
  });

  const many = (n: number) =>
    Object.fromEntries(
      [...Array(n).keys()].map((at) => [
        `en-${String.fromCharCode(65 + (at % 26), 65 + Math.floor(at / 26))}`,
        { title: 'x' },
      ]),
    );
  it.each<[string, object, string]>([
    ['no tag', { translations: { german: { title: 'x' } } }, 'translations.german'],
    ['an underscore', { translations: { de_DE: { title: 'x' } } }, 'translations.de_DE'],
    ['an extension', { translations: { 'de-u-co-phonebk': { title: 'x' } } }, 'translations.de-u-co-phonebk'],
    ['a private tag', { translations: { 'x-river': { title: 'x' } } }, 'translations.x-river'],
    ['no language', { translations: { und: { title: 'x' } } }, 'translations.und'],
    ['an empty tag', { translations: { '': { title: 'x' } } }, 'translations.'],
    [
      'the name of a prototype',
      JSON.parse('{"translations":{"__proto__":{"title":"x"}}}'),
      'translations.__proto__',
    ],
    ['one language twice', { translations: { de: { title: 'x' }, DE: { title: 'y' } } }, 'translations.DE'],
    ['no title', { translations: { de: { target: 'x' } } }, 'translations.de.title'],
    ['an empty title', { translations: { de: { title: ' ' } } }, 'translations.de.title'],
    ['an unknown text', { translations: { de: { title: 'x', goal: 3 } } }, 'translations.de.goal'],
    ['a text that is none', { translations: { de: { title: 'x', ask: 3 } } }, 'translations.de.ask'],
    [
      'half a button',
      { translations: { de: { title: 'x', thankYou: { nextLabel: 'x' } } } },
      'translations.de.thankYou.nextUrl',
    ],
    [
      'an unknown merge field',
      {
        translations: { de: { title: 'x', thankYouMail: { subject: 'x', content: '{{ contact.salary }}' } } },
      },
      'translations.de.thankYouMail.content',
    ],
    ['a translation that is none', { translations: { de: 'x' } }, 'translations.de'],
    ['a list', { translations: [] }, 'translations'],
    ['the own language', { language: 'fr', translations: { fr: { title: 'x' } } }, 'translations.fr'],
    ['the organization’s language', { translations: { en: { title: 'x' } } }, 'translations.en'],
    ['a language that is none', { language: 'klingon!' }, 'language'],
    ['too many languages', { translations: many(31) }, 'translations'],
    [
      'too many bytes',
      {
        translations: Object.fromEntries(
          ['de', 'fr'].map((one) => [one, { title: 'x', content: 'x'.repeat(140_000) }]),
        ),
      },
      'translations',
    ],
  ])('rejects %s with the field', async (_, fields, path) => {
    const created = await client.post('petition.create-petition', { name: 'River', ...fields });
    const { petitionId } = await call(client, 'petition.create-petition', { name: 'Lake' });
    const updated = await client.post('petition.update-petition', { petitionId, ...fields });
    for (const { status, body } of [created, updated])
      expect([status, body.error?.issues?.[0].path]).toEqual([400, path]);
  });

  it('rejects the language of a translation as the petition’s own', async () => {
    const { petitionId } = await call(client, 'petition.create-petition', {
      name: 'River',
      translations: { de: DE },
    });
    const { status, body } = await client.post('petition.update-petition', { petitionId, language: 'de' });
    expect([status, body.error.issues[0].path]).toEqual([400, 'language']);
    const swapped = {
      petitionId,
      language: 'de',
      translations: { de: null, en: { title: 'Save the river' } },
    };
    expect(await call(client, 'petition.update-petition', swapped)).toMatchObject({ language: 'de' });
  });
});

describe('the page', () => {
  it('is in the language that the browser prefers, and caches each language for itself', async () => {
    const page = await people.petition(
      { ...OWN, translations: { de: DE, 'pt-BR': { title: 'Salve o rio' } } },
      client,
    );
    const cases: [string | undefined, string, string][] = [
      [undefined, 'Save the river', 'en'],
      ['fr, it;q=0.8', 'Save the river', 'en'],
      ['de', 'Rettet den Fluss', 'de'],
      ['en;q=0.5, de-AT;q=0.9', 'Rettet den Fluss', 'de'],
      ['de;q=0, en;q=0.1', 'Save the river', 'en'],
      ['pt-PT', 'Salve o rio', 'en'],
    ];
    // Twice, so that the second responses are cached.
    for (const [languages, title, language] of [...cases, ...cases]) {
      for (const end of ['', '/embed']) {
        const shown = await read(page.path + end, languages);
        const { headers } = shown;
        expect([shown.status, languages, headers.get('vary'), headers.get('content-language')]).toEqual([
          200,
          languages,
          'Accept-Language, Accept-Encoding',
          language,
        ]);
        expect(shown.text).toContain(`<html lang="${language}">`);
        expect(shown.text).toContain(title);
      }
    }
  });

  it('names its language in the address, whatever the browser prefers', async () => {
    const page = await people.petition({ ...OWN, translations: { de: DE } }, client);
    const german = await read(`${page.path}?lang=de`, 'en');
    expect([titleIn(german), german.headers.get('vary'), german.headers.get('cache-control')]).toEqual([
      'Rettet den Fluss',
      'Accept-Encoding',
      'public, max-age=1',
    ]);
    expect(titleIn(await read(`${page.path}?lang=en`, 'de'))).toBe('Save the river');
    // Unknown ones count as not given.
    for (const lang of ['xx', '', 'de_DE', '__proto__', 'de&lang=en'])
      expect(titleIn(await read(`${page.path}?lang=${lang}`, 'de'))).toBe('Rettet den Fluss');
    const url = PUBLIC_URL + page.path;
    for (const part of [
      `<link rel="canonical" href="${url}?lang=de" />`,
      `<link rel="alternate" hreflang="en" href="${url}?lang=en" />`,
      `<link rel="alternate" hreflang="de" href="${url}?lang=de" />`,
      `<link rel="alternate" hreflang="x-default" href="${url}" />`,
      '<meta property="og:locale" content="de_DE" />',
      '<meta property="og:locale:alternate" content="en_GB" />',
      '<meta property="og:title" content="Rettet den Fluss" />',
      '<meta property="og:description" content="Er wird zugebaut." />',
      '<nav class="languages" aria-label="Sprachen">',
      '<span lang="de" dir="auto" aria-current="true">Deutsch</span>',
      `<a lang="en" dir="auto" hreflang="en" href="${page.path}?lang=en">English</a>`,
      encodeURIComponent(`${url}?lang=de`),
      '<strong>Der</strong>',
      'Die Gemeinde',
      'Ich will Nachrichten.',
      'Jetzt unterschreiben',
    ])
      expect(german.text).toContain(part);
    const switched = await read(`${page.path}?lang=de&source=poster&via=abc`);
    expect(switched.text).toContain(`href="${page.path}?lang=en&amp;source=poster&amp;via=abc"`);
    const { text: map } = await people.get(`${page.path.split('/petitions/')[0]}/sitemap.xml`);
    for (const end of ['', '?lang=en', '?lang=de']) expect(map).toContain(`<loc>${url}${end}</loc>`);
    const { text: count } = await people.get(`${page.path}/count.json?lang=de`);
    expect(JSON.parse(count).texts.counted).toBe('0 Unterschriften');
  });

  it('marks texts whose language differs from that of the page, and shows those that are not translated', async () => {
    await call(client, 'organization.update-organization', { language: 'de' });
    const translations = { pl: { title: 'Ratujmy rzekę' }, ar: { title: 'أنقذوا النهر' } };
    const fields = {
      ...OWN,
      language: 'en',
      translations,
      form: { fields: [], consent: { text: 'Write to me.' } },
    };
    const page = await people.petition(fields, client);
    // The nearest language to Polish is the organization's.
    const { text } = await read(`${page.path}?lang=pl`);
    expect(text).toContain('<html lang="de">');
    expect(text).toContain('<h1 lang="pl" dir="auto">Ratujmy rzekę</h1>');
    expect(text).toContain('<p class="lead" lang="en" dir="auto">They build on it.</p>');
    expect(text).toContain('<label for="subscribe" lang="en" dir="auto">Write to me.</label>');
    expect((await read(`${page.path}?lang=ar`)).text).toContain('<h1 lang="ar" dir="auto">');
  });

  it('has no links to other languages and no Vary for them if there are none', async () => {
    const page = await people.petition(OWN, client);
    const shown = await read(page.path, 'de');
    expect([titleIn(shown), shown.headers.get('vary')]).toEqual(['Save the river', 'Accept-Encoding']);
    expect(shown.text).not.toMatch(/hreflang|class="languages"|href="[^"]*lang=/);
  });
});

describe('signing', () => {
  it('goes on in the language of the page, counts together, and records the consent as it was shown', async () => {
    const page = await people.petition({ ...OWN, translations: { de: DE } }, client);
    const { petitionId, path } = page;
    const sent = await signOn(page, `${path}?lang=de`, { email: 'ada@example.org', subscribe: 'yes' });
    expect([sent.status, sent.action]).toEqual([200, `${path}/sign?lang=de`]);
    expect(sent.text).toContain('<html lang="de">');
    const link = await linkTo('ada@example.org');
    expect(link).toMatch(/\?lang=de$/);
    const [{ content = '' } = {}] = people.mailsTo('ada@example.org');
    expect(content).toMatch(/^Subject: [^]*Rettet_den_Fluss/m);
    const confirmation = await read(link, 'en');
    expect(confirmation.text).toContain('Rettet den Fluss');
    expect(confirmation.text).toContain('Ich will Nachrichten.');
    expect(await people.post(link, {})).toMatchObject({ status: 303, location: link });
    expect(titleIn(await read(link, 'en'))).toBe('Danke schön');
    await eventually(() => {
      const thanks = people
        .mailsTo('ada@example.org')
        .filter((mail) => /^Subject: Danke, Ada/m.test(mail.content!));
      expect(thanks).toHaveLength(1);
      expect(thanks[0]!.content).toContain('Rettet den Fluss');
      expect(thanks[0]!.content).toMatch(/<html lang=(3D)?"de"/);
    });

    const english = await signOn(page, `${path}?lang=en`, { email: 'bob@example.org', subscribe: 'yes' });
    expect(english.text).toContain('<html lang="en">');
    const second = await linkTo('bob@example.org');
    await people.post(second, {});
    expect((await get(petitionId)).signatures).toBe(2);
    const { data: signatures } = (await client.get('petition.list-signatures', { petitionId })).body;
    expect(signatures.map(({ language }: { language: string }) => language)).toEqual(['en', 'de']);
    const of = async (email: string) => {
      const [{ id }] = (await client.get('contact.list-contacts', { email })).body.data;
      const { data: consents } = (await client.get('contact.list-consents', { contactId: id })).body;
      return consents.map(({ text, language }: { text: string; language: string }) => [text, language]);
    };
    expect(await of('ada@example.org')).toEqual([['Ich will Nachrichten.', 'de']]);
    expect(await of('bob@example.org')).toEqual([[LOCALES.en!.site.subscribe('Test organization'), 'en']]);
  });

  it('repeats the form in the same language, and asks again if the text of the consent changed there', async () => {
    const page = await people.petition({ ...OWN, translations: { de: DE } }, client);
    const wrong = await signOn(page, `${page.path}?lang=de`, { email: 'nothing' });
    expect([wrong.status, titleIn(wrong)]).toEqual([422, 'Rettet den Fluss']);
    expect(wrong.text).toContain(`action="${page.path}/sign?lang=de"`);
    const { text } = await people.get(`${page.path}?lang=de`);
    const [, consent = ''] = /name="consent" value="([^"]+)"/.exec(text) ?? [];
    // The digest of the German text does not fit the English form.
    const other = await people.post(`${page.path}/sign?lang=en`, {
      ...{ token: people.token(page.petitionId), firstName: 'Ada', email: 'eve@example.org' },
      ...{ consent, subscribe: 'yes' },
    });
    expect([other.status, titleIn(other)]).toEqual([422, 'Save the river']);
  });

  it('tells people in their language that they have signed before, and leads to their language after signing at once', async () => {
    const page = await people.petition({ ...OWN, confirmation: 'NONE', translations: { de: DE } }, client);
    const sent = await signOn(page, `${page.path}?lang=de`, { email: 'now@example.org' });
    expect([sent.status, sent.location]).toEqual([303, `${page.path}/thanks?lang=de`]);
    expect(titleIn(await read(sent.location!, 'en'))).toBe('Danke schön');
  });
});

it('preview-thank-you and send-thank-you-test write in the language of a translation', async () => {
  const { petitionId } = await call(client, 'petition.create-petition', {
    name: 'River',
    ...OWN,
    translations: { de: DE },
  });
  const subject = async (more: object) =>
    (await client.get('petition.preview-thank-you', { petitionId, ...more })).body.data.subject;
  expect([await subject({}), await subject({ language: 'de' }), await subject({ language: 'xx' })]).toEqual([
    'Thanks,',
    'Danke,',
    'Thanks,',
  ]);
  await call(client, 'petition.send-thank-you-test', {
    petitionId,
    language: 'de',
    to: ['test@example.org'],
  });
  await eventually(() => expect(people.mailsTo('test@example.org')[0]?.content).toContain('Danke'));
});
