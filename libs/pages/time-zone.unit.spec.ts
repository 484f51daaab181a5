import { localTime, momentAt, timeZoneNamed, timeZones } from './time-zone.js';

it.each([
  ['UTC', '2027-06-30T22:00', '2027-06-30T22:00:00.000Z'],
  ['Europe/Berlin', '2027-06-30T22:00', '2027-06-30T20:00:00.000Z'],
  ['Europe/Berlin', '2027-01-30T22:00', '2027-01-30T21:00:00.000Z'],
  ['Asia/Kolkata', '2027-01-01T02:00', '2026-12-31T20:30:00.000Z'],
  ['America/St_Johns', '2027-07-01T00:00', '2027-07-01T02:30:00.000Z'],
  ['Pacific/Kiritimati', '2027-01-01T00:00', '2026-12-31T10:00:00.000Z'],
  // The last hour before clocks are set forward, and the first one after.
  ['Europe/Berlin', '2027-03-28T01:59', '2027-03-28T00:59:00.000Z'],
  ['Europe/Berlin', '2027-03-28T03:00', '2027-03-28T01:00:00.000Z'],
  ['America/New_York', '2027-11-07T00:30', '2027-11-07T04:30:00.000Z'],
  ['America/New_York', '2027-11-07T02:00', '2027-11-07T07:00:00.000Z'],
])('in %s, %s is %s, and the other way round', (zone, local, moment) => {
  expect(momentAt(zone, local)?.toISOString()).toBe(moment);
  expect(localTime(zone, new Date(moment))).toBe(local);
});

it('of two times, takes the first one; a time that does not exist is later by the change', () => {
  expect(momentAt('Europe/Berlin', '2027-10-31T02:30')?.toISOString()).toBe('2027-10-31T00:30:00.000Z');
  expect(localTime('Europe/Berlin', new Date('2027-10-31T01:30:00Z'))).toBe('2027-10-31T02:30');
  const skipped = momentAt('Europe/Berlin', '2027-03-28T02:30')!;
  expect([skipped.toISOString(), localTime('Europe/Berlin', skipped)]).toEqual([
    '2027-03-28T01:30:00.000Z',
    '2027-03-28T03:30',
  ]);
});

it.each(['', 'soon', '2027-13-01T00:00', '2027-01-01'])('%j is not a time', (text) => {
  expect(momentAt('UTC', text)).toBeUndefined();
});

it.each([
  ['UTC', 'UTC'],
  ['Europe/Berlin', 'Europe/Berlin'],
  ['europe/BERLIN', 'Europe/Berlin'],
  ['Asia/Kolkata', 'Asia/Kolkata'],
  ['America/Argentina/Buenos_Aires', 'America/Argentina/Buenos_Aires'],
  ['Etc/GMT+5', 'Etc/GMT+5'],
  ['+02:00', undefined],
  ['Berlin', undefined],
  ['Europe/Berlin ', undefined],
  ['<b>', undefined],
  ['', undefined],
])('the time zone named %j is %s', (text, name) => {
  expect(timeZoneNamed(text)).toBe(name);
});

it('offers every time zone once', () => {
  const zones = timeZones();
  expect(new Set(zones).size).toBe(zones.length);
  expect(zones.filter((zone) => timeZoneNamed(zone) !== zone)).toEqual([]);
  expect(zones).toEqual(expect.arrayContaining(['UTC', 'Europe/Berlin', 'Asia/Tokyo']));
});
