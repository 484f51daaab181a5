import { recognize } from './columns.js';
import { momentIn } from './evidence.js';

describe('momentIn', () => {
  it.each([
    ['2024-05-31', '2024-05-31T00:00:00.000Z'],
    ['2024-05-31 14:30', '2024-05-31T14:30:00.000Z'],
    ['2024-05-31 14:30:59', '2024-05-31T14:30:59.000Z'],
    ['2024-05-31T14:30:59.123Z', '2024-05-31T14:30:59.000Z'],
    ['2024-05-31T14:30:59+02:00', '2024-05-31T12:30:59.000Z'],
    ['2024-05-31 14:30:59 -0530', '2024-05-31T20:00:59.000Z'],
    ['2024-05-31 14:30:59 UTC', '2024-05-31T14:30:59.000Z'],
    ['2024/5/1', '2024-05-01T00:00:00.000Z'],
    ['31.05.2024', '2024-05-31T00:00:00.000Z'],
    ['3.4.2024, 09:05', '2024-04-03T09:05:00.000Z'],
    ['31/05/2024 09:05', '2024-05-31T09:05:00.000Z'],
    ['05/31/2024 9:05 PM', '2024-05-31T21:05:00.000Z'],
    ['05/31/2024 12:05 am', '2024-05-31T00:05:00.000Z'],
    ['4/4/2024', '2024-04-04T00:00:00.000Z'],
  ])('%s is %s', (cell, moment) => expect(momentIn(cell)).toBe(moment));

  it.each(['', 'yes', 'May 2024', '03/04/2024', '2024-02-30', '2024-13-01', '31.05.24', '2024-05-31 25:00'])(
    '%s is not a time, or is ambiguous',
    (cell) => expect(momentIn(cell)).toBeUndefined(),
  );
});

it.each([
  ['OPTIN_TIME', 'consentTime'],
  ['opt-in time', 'consentTime'],
  ['CONFIRM_TIME', 'consentTime'],
  ['Subscribed at', 'consentTime'],
  ['Datum der Einwilligung', 'consentTime'],
  ['Einwilligung am', 'consentTime'],
  ['Opt-in-Datum', 'consentTime'],
  ["Date d'inscription", 'consentTime'],
  ['Fecha de suscripción', 'consentTime'],
  ['OPTIN_IP', 'consentIp'],
  ['opt-in IP', 'consentIp'],
  ['IP Anmeldung', 'consentIp'],
  ['IP inscription', 'consentIp'],
  ['IP alta', 'consentIp'],
  ['source', 'consentSource'],
  ['Herkunft', 'consentSource'],
  ['Origine', 'consentSource'],
  ['Fuente', 'consentSource'],
  ['unsubscribed_at', 'optOut'],
])('a column %s becomes %s', (column, meaning) => expect(recognize([column], [[]])).toEqual([meaning]));
