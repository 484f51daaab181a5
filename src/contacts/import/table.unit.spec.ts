import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isConsent, isUnknownAnswer, losesAnswer, recognize, refusesIn, suggestsOptOut } from './columns.js';
import {
  type Consent,
  type ConsentColumn,
  consentIn,
  isOptOutWord,
  isRefusalName,
  isRefusalNote,
  together,
} from './consent.js';
import { decoderOf } from './encodings.js';
import { completeRows, FormatDetector, formatOf, headOf, lookAt, rowsOf } from './table.js';

const CASES = join(import.meta.dirname, '../../../test/imported-files');
const expected = JSON.parse(readFileSync(join(CASES, 'expected.json'), 'utf8')) as Record<string, unknown[]>;

function look(bytes: Buffer) {
  const format = new FormatDetector();
  format.see(bytes);
  return lookAt(Readable.from([bytes]), format.format());
}

describe('files of other systems', () => {
  const files = Object.keys(expected).filter((name) => name !== 'about');
  it.each(files)('%s: no column is flagged without a reason', async (file) => {
    const { columns, values } = await look(readFileSync(join(CASES, file)));
    const meanings = recognize(columns, values);
    const suspects = columns.filter(
      (column, n) =>
        !isConsent(meanings[n]!) &&
        (suggestsOptOut(column, values[n] ?? [], columns) ||
          (meanings[n] === null && losesAnswer(column, values[n] ?? [], columns, meanings))),
    );
    expect(suspects).toEqual([]);
  });
});

describe('a cell', () => {
  const NO: Consent = { subscribed: false };
  it.each<[ConsentColumn, string[], Consent | undefined]>([
    [
      'subscribed',
      ['yes', 'TRUE', '1', 'x', 'Active', 'confirmed', 'Ja', 'oui', 'Sí', 'abonné', 'opted-in'],
      { subscribed: true },
    ],
    [
      'subscribed',
      [
        'no',
        '0',
        'Unsubscribed',
        'opted_out',
        'pending',
        'never subscribed',
        'Non',
        'abgemeldet',
        'désabonné',
      ],
      NO,
    ],
    ['subscribed', ['Soft bounced', 'inactive', 'blocklisted', 'unconfirmed', 'baja'], NO],
    ['subscribed', ['bounced', 'bouncing', 'Cleaned', 'hard bounce'], { ...NO, blocked: 'BOUNCED' }],
    ['subscribed', ['complained', 'SPAM'], { ...NO, blocked: 'COMPLAINED' }],
    ['subscribed', ['', ' ', 'n/a', 'NULL'], {}],
    ['subscribed', ['never', 'None', 'nie', 'jamais', 'nunca'], NO],
    ['optOut', ['never', 'none'], {}],
    ['subscribed', ['✓', '✔', '☑', '✅', 't', 'granted', 'erteilt', 'accordé'], { subscribed: true }],
    [
      'subscribed',
      ['✗', '✘', '✖', '❌', '☐', 'f', 'withdrawn', 'widerrufen', 'Refusé', 'gekündigt', 'revocado'],
      NO,
    ],
    ['subscribed', ['HardBounced', 'bereinigt', 'Nettoyé', 'limpiado'], { ...NO, blocked: 'BOUNCED' }],
    ['subscribed', ['Isspcomplained', 'DirectComplaint'], { ...NO, blocked: 'COMPLAINED' }],
    // Whether a box with a cross is chosen depends on the form.
    ['subscribed', ['perhaps', '12,50', 'member', '-1', '-', '?', '☒', '😀'], undefined],
    ['optOut', ['✓', '✗', '☒', '☑', '!', '?', 't'], NO],
    ['optOut', ['-', '–', '.', '☐', 'f', '0.0'], {}],
    ['complained', ['✓'], { ...NO, blocked: 'COMPLAINED' }],
    ['optOut', ['yes', '1', 'x', 'true', '2024-05-01 10:00:00', 'No longer interested', 'unsubscribed'], NO],
    ['optOut', ['', 'no', '0', 'false', 'nein', 'subscribed', 'active'], {}],
    ['optOut', ['Allow', 'send'], {}],
    ['optOut', ['Do Not Allow'], NO],
    ['subscribed', ['Previous Bounce', 'previous spam complaint', 'Unknown', 'withheld', 'verstorben'], NO],
    ['optOut', ['bounced'], { ...NO, blocked: 'BOUNCED' }],
    ['bounced', ['true', 'hard', '2024-05-01'], { ...NO, blocked: 'BOUNCED' }],
    ['bounced', ['', 'false', 'soft'], {}],
    ['complained', ['yes'], { ...NO, blocked: 'COMPLAINED' }],
  ])('of a column %s: %j', (kind, cells, consent) => {
    for (const cell of cells) expect([cell, consentIn(kind, cell)]).toEqual([cell, consent]);
  });

  it('one "no" outweighs every "yes"', () => {
    expect(together([{ subscribed: true }, {}, { subscribed: false, blocked: 'BOUNCED' }])).toEqual({
      subscribed: false,
      blocked: 'BOUNCED',
    });
    expect(together([{}, { subscribed: true }])).toEqual({ subscribed: true });
    expect(together([{}, {}])).toEqual({});
  });
});

describe('a column', () => {
  it.each<[string, string[], string | null]>([
    ['No Bulk Emails', [], 'optOut'],
    ['EMAIL_BLACKLISTED', [], 'optOut'],
    ['Désabonné', [], 'optOut'],
    ['E-Mail-Adresse', [], 'email'],
    ['Adresse électronique', [], 'email'],
    ['status', ['subscribed', 'cleaned'], 'subscribed'],
    ['status', ['donor'], null],
    ['Newsletter', ['weekly'], null],
    ['Hard bounce', ['x'], 'bounced'],
    ['state', ['active', 'cancelled'], 'subscribed'],
    ['state', ['NY', 'CA'], 'region'],
    ['state', ['NY', 'unsubscribed'], null],
    ['Bundesland', [], 'region'],
    ['External ID', [], 'externalIds'],
    ['Name', [], 'name'],
    ['Unsubscribed from all email', [], 'optOut'],
    ['Date of opt-out', [], 'optOut'],
    ['Ausgetragen am', [], 'optOut'],
    ['Verstorben', [], 'optOut'],
    ['Undeliverable', [], 'bounced'],
    ['Receive email', [], 'subscribed'],
    ['Statut', ['actif', 'désactivé'], 'subscribed'],
    ['State', ['ON', 'NO', 'OK'], 'region'],
    ['State', ['ON'], 'region'],
    ['Status', ['SI', 'NO'], 'subscribed'],
    ['Status', ['NO'], 'subscribed'],
    // Yes and no, or Slovenia and Norway.
    ['Estado', ['SI', 'NO'], null],
    ['State', ['NY', 'no'], null],
    // Each system has its own codes.
    ['Status', ['A', 'U'], null],
    ['Status', ['1', '2'], null],
    ['Status', ['1', '0', ''], 'subscribed'],
    ['Status', ['x', ''], 'subscribed'],
    ['State', ['a', 'u'], null],
    ['Status', ['J', 'N'], 'subscribed'],
    ['Estado', ['alta', 'baja'], 'subscribed'],
    ['Status', ['Subscribed', 'Previous Bounce', 'Unknown', 'Deceased'], 'subscribed'],
    ['Opted out of email: Marketing Information', [], 'optOut'],
    ['Verstorben am', [], 'optOut'],
    ['Do not allow Bulk Emails', ['Allow', 'Do Not Allow'], 'optOut'],
  ])('%s with %j is %s', (column, values, meaning) => {
    expect(recognize([column], [values])).toEqual([meaning]);
  });

  // No list of names can be complete: the words decide.
  it.each<[string, string[], string]>([
    [
      'optOut',
      ['x', '', '01/02/2024'],
      'No mailings|Do not send newsletter|Please do not email|Email unsubscribed|GlobalOptOut|Opt_Out_Email__c|Consent withdrawn|DNC|Removed from list|Not subscribed',
    ],
    [
      'optOut',
      ['ja', ''],
      'Nicht kontaktieren|Keine Werbung|Widerspruch|Werbewiderspruch|Einwilligung widerrufen|Mailsperre|Kein Newsletter gewünscht|Abmeldedatum',
    ],
    [
      'optOut',
      ['oui', ''],
      'Ne souhaite pas recevoir d’e-mails|Désabonné le|Liste noire|Opposition à l’e-mailing|Retrait du consentement|Stop mail',
    ],
    [
      'optOut',
      ['sí', ''],
      'No desea recibir correos|Baja del boletín|Se dio de baja|Lista negra|No acepta publicidad|Rechaza correos',
    ],
    [
      'subscribed',
      ['yes', 'no'],
      'Newsletter (yes/no)|Opt-in newsletter|Receives newsletter|newsletterOptIn|Email permission',
    ],
    [
      'subscribed',
      ['ja', 'nein'],
      'Newsletter (ja/nein)|Newsletter J/N|Bezieht Newsletter|Einwilligung E-Mail',
    ],
    ['subscribed', ['oui', 'non'], 'Newsletter (oui/non)|Reçoit la newsletter|Inscrit newsletter'],
    ['subscribed', ['sí', 'no'], 'Boletín (sí/no)|Suscrito al boletín|Recibe boletín'],
  ])('is %s with %j by the words of its name: %s', (meaning, values, names) => {
    for (const name of names.split('|'))
      expect([name, ...recognize([name], [values])]).toEqual([name, meaning]);
  });

  it.each([
    ['Not unsubscribed', 'yes'],
    ['Kein Widerspruch', 'ja'],
    ['Opt-in / Opt-out', 'yes'],
    ['Abmeldelink gesendet', 'ja'],
    ['Unsubscribe confirmation sent', 'yes'],
    ['Keine Post', 'x'],
    ['Oposición', 'sí'],
    ['Excluido de envíos', 'quizás'],
  ])('%s with %s is a question for the user', (column, cell) => {
    expect([recognize([column], [[cell]]), suggestsOptOut(column, [cell])]).toEqual([[null], true]);
  });

  it('of a number is not a refusal', () => {
    for (const name of ['Contact no', 'Mail no', 'No. of emails'])
      expect([name, ...recognize([name], [['', '12']]), ...recognize([name], [[]])]).toEqual([
        name,
        null,
        null,
      ]);
  });

  it('of names contains the last name next to one of first names, and is ignored next to both', () => {
    const meant = (...columns: string[]) => recognize(columns, []);
    expect(meant('Vorname', 'Name')).toEqual(['firstName', 'lastName']);
    expect(meant('Full name', 'First name')).toEqual([null, 'firstName']);
    expect(meant('Name', 'Given Name', 'Family Name')).toEqual([null, 'firstName', 'lastName']);
  });

  it('of reasons and dates of a refusal can be left out next to one that states who refused', () => {
    for (const column of ['UNSUB_REASON', 'Bounce date', 'Complaint date', 'UNSUB_CAMPAIGN_TITLE'])
      expect([column, suggestsOptOut(column, ['2024-01-01'], ['Email', 'UNSUB_TIME', column])]).toEqual([
        column,
        false,
      ]);
  });

  it('of paid subscriptions is not about email next to email_disabled', () => {
    expect(suggestsOptOut('active_subscription', [], ['email', 'email_disabled'])).toBe(false);
    expect(suggestsOptOut('active_subscription', [], ['email'])).toBe(true);
  });

  it.each([
    ['Mailing consent 2024', []],
    ['Newsletter', ['weekly']],
    ['Zustand', ['abgemeldet']],
    ['GDPR', []],
    ['Bitte keine Werbung (Widerspruch)', []],
    ['Keine Post', ['x']],
    ['Keine Post', []],
    ['Nicht anschreiben', ['ja', '']],
    ['Nicht mehr anschreiben', ['x']],
    ['Remove from list', ['yes', 'no']],
    ['Removed', ['1']],
    ['Left us on', ['2024-05-01']],
    ['Ausgetreten am', ['01.05.2024']],
    ['Wants news', ['no', 'yes']],
    ['Möchte Neuigkeiten', ['nein']],
    ['Ne plus écrire', ['oui']],
    ['Retiré de la liste', ['x']],
    ['No escribir', ['sí', '']],
    ['Do not write', ['TRUE']],
    ['Status', ['Subscribed', 'Held']],
    ['Type', ['subscriber', 'unsubscriber']],
    ['Emailable', ['TRUE', 'FALSE']],
    ['Communication preferences', ['email', 'none']],
    ['Werbesperre', ['nein', 'ja']],
    ['Sperrvermerk', ['x']],
    ['Werbung erlaubt', ['ja', 'nein']],
    ['DOI', ['ja', 'nein']],
    ['Zugestimmt', ['ja', 'nein']],
    ['Einverständnis', ['nein']],
    ['Datenschutz', ['ja', 'nein']],
    ['NPAI', ['oui']],
    ['STOP', ['STOP']],
    ['Lista Robinson', ['sí']],
    ['Abo', ['aktiv', 'gekündigt']],
    ['Sub status', ['S', 'U']],
    ['Mailings', ['yes', 'no']],
    ['News', ['yes', 'no']],
    ['Keep me informed', ['no']],
    ['May we contact you?', ['no']],
    ['E-mails', ['Yes please', 'No thanks']],
    ['Bounce date', ['2024-01-01']],
    ['Bounce count', ['3']],
    ['Complaint date', []],
    ['Email error', ['550 mailbox unavailable']],
    ['Estado', ['SI', 'NO']],
    ['Estado', ['SI', 'NO', 'NS']],
    ['Status', ['JA', 'AB', 'NO']],
    ['Status', ['donor', 'NEIN']],
    ['Status', ['A', 'U', 'B']],
    ['Status', ['1', '2', '3']],
    ['Estado', ['A', 'B']],
    ['state', ['S', 'U']],
    ['Opt', ['in', 'out']],
    ['Inaktiv', ['x', '']],
    ['Deleted', ['', '1']],
    ['Email valid', ['1', '0']],
    ['Membership', ['Unsubscribed']],
    ['Automatically unsubscribed', []],
    ['Opted out of email and SMS', []],
    ['Type', ['Subscriber', 'Ex-subscriber']],
    ['Verteiler', ['aus dem Verteiler nehmen']],
    ['Status', ['abgemeldet am 1.1.']],
    ['Email status', ['an', 'aus']],
    ['Mail ok?', ['ja', 'nein', 'unsicher']],
    ['Mail ok?', ['1', '0', '?']],
    ['mailok', ['1']],
    ['Darf mailen', ['ja', 'weiß nicht']],
    ['Kontakt erlaubt', ['JA', 'NEIN']],
    ['Erlaubnis', ['ja', 'lieber nicht']],
    ['Type', ['member', 'No more emails, please']],
    // Unless another column states who refused.
    ['UNSUB_REASON', ['No longer interested']],
  ])('%s with %j is not left out silently', (column, values) => {
    expect(suggestsOptOut(column, values)).toBe(true);
  });

  it.each([
    ['can2_sms_status', ['unsubscribed']],
    ['OPTIN_IP', ['192.0.2.1']],
    ['City', ['Bern']],
    ['House no', ['12', '7a']],
    ['House no', []],
    ['No', ['1']],
    ['N°', ['1', '2']],
    ['Removal van needed', ['large']],
    ['Volunteer', ['yes', 'no']],
    ['Left column', ['red']],
    ['Emails sent', ['0', '12']],
    ['Gender', ['Non-binary']],
    ['Nationality', ['NO', 'DE', 'SE']],
    ['Province', ['Baja California']],
    ['Status', ['donor', 'A']],
    ['Membership', ['gold', 'silver']],
    ['OptInTime', ['2024-05-01']],
    ['Newsletter ID', ['12']],
  ])('%s with %j can be left out', (column, values) => {
    expect(suggestsOptOut(column, values)).toBe(false);
  });
});

it.each([
  'opt-out|Opt out|OPTED OUT 2024|Unsubscribe|UN-SUBSCRIBED|unsub|No emails|DO NOT EMAIL|DNC|Do not contact|no more e-mails',
  'Kein Newsletter|KEINE E-MAILS|keine Mails mehr|nicht mehr anschreiben|Newsletter: abgemeldet|Abmeldung|widerrufen',
  'Désinscrit·e|pas de newsletter|ne plus contacter|NE PAS ÉCRIRE|plus de courriels|sans consentement',
  'dada de baja|BAJA|no contactar|No enviar correos|no quiere recibir correos|desuscrito',
])('each of these tags is a refusal: %s', (tags) => {
  for (const tag of tags.split('|')) expect([tag, isOptOutWord(tag)]).toEqual([tag, true]);
});

it.each([
  'Inactive|UNCONFIRMED|Blocked|Deceased|Hard Bounce|noemail|no-mail|bad email|Remove from list|Mailsperre',
  'Abgemeldet|inaktiv|gesperrt|Verstorben|Werbesperre|Nicht anschreiben|ausgetreten|Keinerlei Werbung',
  'désabonné|inactif|Bloqué|décédé|Ne veut plus recevoir nos mails|baja|inactivo|fallecida|Bloqueado',
])('each of these tags states that someone gets no email: %s', (tags) => {
  for (const tag of tags.split('|')) expect([tag, isRefusalName(tag)]).toEqual([tag, true]);
});

it.each([
  'vip',
  'no',
  'Off',
  'x',
  'Active',
  'Subscribed',
  'Norway',
  'Baja California',
  'Retired',
  'Steering',
])('a tag %s states no refusal', (tag) => expect(isRefusalName(tag)).toBe(false));

it.each([
  'bitte keine Mails',
  'Trifft sich gern. Möchte keine E-Mails mehr!',
  'hat sich am 3.5. abgemeldet',
  'Asked to be removed from our mailing list',
  `${'A long note about a friend. '.repeat(20)}Please do not email her.`,
  'ne veut plus recevoir nos mails',
  'no quiere recibir más correos',
])('the note “%s” is a refusal', (note) => expect(isRefusalNote(note)).toBe(true));

it.each([
  'Met at the fair',
  'Lives in Baja California',
  'Wants the newsletter',
  'inactive volcano expert',
  '',
])('the note “%s” is not a refusal', (note) => expect(isRefusalNote(note)).toBe(false));

it.each(['vip', 'Post office', 'Norway', 'Newsletter', 'Contact 2024', 'Baja California', 'No. 5', 'opt-in'])(
  'a tag %s is not a refusal',
  (tag) => expect(isOptOutWord(tag)).toBe(false),
);

it.each([
  ['Volunteer', ['yes', 'no'], true],
  ['Mag uns', ['weiß nicht', 'vielleicht', 'Nein, danke'], true],
  ['Kontaktart', ['JA', 'NO', 'AB'], true],
  ['Nationality', ['NO', 'DE', 'SE'], false],
  ['Children', ['0', '1', '2'], false],
])('%s with %j may be the question about email: %j', (column, cells, may) => {
  expect(isUnknownAnswer(column, cells, ['email', column])).toBe(may);
});

it.each([
  ['Mail ok', 'nein', true, true],
  ['Status', 'NO', true, true],
  ['Kind', 'opt-out since May', true, true],
  ['Kind', 'nein', false, true],
  ['Kind', 'nein', true, false],
  ['Nationality', 'NO', false, false],
])(
  'a late cell of %s is a refusal: %s, with another column about consent %j: %j',
  (column, cell, isStated, is) => {
    expect(refusesIn(column, cell, isStated)).toBe(is);
  },
);

it('is read line by line with any line ending, and without a line that names the delimiter', async () => {
  for (const end of ['\n', '\r\n', '\r'])
    expect(
      await look(Buffer.from(['sep=;', 'E-Mail;Ort', 'a@example.org;Bern', ''].join(end))),
    ).toMatchObject({
      columns: ['E-Mail', 'Ort'],
      examples: [['a@example.org', 'Bern']],
      lines: 1,
    });
});

it('is recognized wherever its bytes are split', async () => {
  const text = 'email,status\r\na@example.org,unsubscribed\r\n';
  for (let cut = 1; cut < text.length; cut += 1) {
    const pieces = [text.slice(0, cut), text.slice(cut)].map((piece) => Buffer.from(piece));
    const { head, all } = await headOf(Readable.from(pieces));
    const format = formatOf(head);
    expect([cut, format.endsInReturns]).toEqual([cut, false]);
    const rows = [];
    for await (const row of rowsOf(all, format, () => undefined)) rows.push(row);
    expect(rows).toMatchObject([{ line: 2, cells: ['a@example.org', 'unsubscribed'] }]);
  }
});

it('counts delimiters outside quotation marks', () => {
  expect(formatOf(Buffer.from('"a,b,c,d";e\n')).delimiter).toBe(';');
});

it.each<[string, string, number, string]>([
  ['a title', 'Report, 2024, "May\n\nemail;city\na@example.org;Bern\n', 2, ';'],
  ['a title and the delimiter', 'sep=|\nReport\nE-Mail|Ort\n', 2, '|'],
  ['no known header', 'Ort;Kontakt\nBern;a@example.org\nemail;city\n', 0, ';'],
])('the header is found below %s', (_, text, skip, delimiter) => {
  expect(formatOf(Buffer.from(text))).toMatchObject({ skip, delimiter });
});

it.each(['utf-16le', 'utf-16be'])('%s is recognized without a byte order mark', async (encoding) => {
  const bytes = Buffer.from('E-Mail,Ort\na@example.org,Łódź\n', 'utf16le');
  const table = encoding === 'utf-16be' ? bytes.swap16() : bytes;
  expect(formatOf(table).encoding).toBe(encoding);
  expect((await look(table)).examples).toEqual([['a@example.org', 'Łódź']]);
});

it('rows that end with CR are read one by one, even if one contains a stray LF', async () => {
  const text = 'email,city\ra@example.org,Bern\rb@example.org,St.\nGallen\rc@example.org,Ulm\r';
  expect((await look(Buffer.from(text))).lines).toBe(4);
});

describe('the character set', () => {
  const WESTERN = [
    'Zoé Müller',
    'où è la città',
    'Søren Bjørn Østby',
    'João Conceição õe',
    'Íñigo',
    'cœur',
    'O’Brien – €',
    'Jõgeva',
  ];
  const CENTRAL = [
    'Łukasz Żółć',
    'Jiří Dvořák',
    'Růžena Němcová',
    'Győző Szűcs',
    'Ľubomír Ťažký',
    'Kraków paś',
  ];
  const bytesOf = (text: string, encoding: string) => {
    const decoder = decoderOf(encoding);
    const table = new Map(Array.from({ length: 256 }, (_, byte) => [decoder.decode(Buffer.of(byte)), byte]));
    return Buffer.from([...text].map((character) => table.get(character)!));
  };
  it('is recognized by the last letter of a table', () => {
    expect(formatOf(bytesOf('email,news\na@example.org,sí\n', 'windows-1252')).encoding).toBe('windows-1252');
    expect(formatOf(Buffer.from('email,news\na@example.org,sí').subarray(0, -1)).encoding).toBe('utf-8');
  });
  it.each([
    ...WESTERN.map((text) => ['windows-1252', text] as const),
    ...CENTRAL.map((text) => ['windows-1250', text] as const),
  ])('of an 8-bit table is recognized by its words: %s, %s', (encoding, text) => {
    expect(formatOf(bytesOf(`email\n${text}\n`, encoding)).encoding).toBe(encoding);
  });
});
/** How often other work ran in the meantime. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isGoing = true;
  const ended = work.finally(() => (isGoing = false));
  while (isGoing) {
    await nextTurn();
    turns += 1;
  }
  await ended;
  return turns;
}

it('a long table leaves time for other work', async () => {
  const rows = Array.from({ length: 20_000 }, (_, n) => `p${n}@example.org,Bern`);
  expect(await turnsDuring(look(Buffer.from(['email,Ort', ...rows].join('\r\n'))))).toBeGreaterThan(30);
});

it('the rows of its first bytes are complete ones only, in any character set', async () => {
  for (const encoding of ['utf8', 'utf16le'] as const) {
    const text = Buffer.from('\uFEFFemail,status\r\na@example.org,"un\r\nsubscribed"\r\n', encoding);
    const format = formatOf(text);
    for (let cut = text.length / 2; cut <= text.length; cut += 1) {
      const head = text.subarray(0, cut);
      const read = (chunks: AsyncIterable<Uint8Array>) => rowsOf(chunks, format, () => undefined);
      const rows = [];
      for await (const row of completeRows({ head, isWhole: false }, read)) rows.push(row);
      const isComplete = cut === text.length;
      expect([cut, rows.length]).toEqual([cut, isComplete ? 1 : 0]);
    }
  }
});
