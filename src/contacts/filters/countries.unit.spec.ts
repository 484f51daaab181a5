import { countryChoices, countryCode, countryName, inCountry, sumByCountry } from './countries.js';

it.each([
  ['Germany', 'DE'],
  ['germany', 'DE'],
  ['Deutschland', 'DE'],
  ['ALLEMAGNE', 'DE'],
  ['Alemania', 'DE'],
  ['de', 'DE'],
  ['osterreich', 'AT'],
  ['ÖSTERREICH', 'AT'],
  ['U.S.A.', 'US'],
  ['UK', 'GB'],
  ['Great Britain', 'GB'],
  ['Turkey', 'TR'],
  ['Trinidad and Tobago', 'TT'],
  ["Cote d'Ivoire", 'CI'],
  ['São Tomé & Príncipe', 'ST'],
  ['Niger', 'NE'],
  ['Nigeria', 'NG'],
  [' Serbia ', 'RS'],
  ['Atlantis', undefined],
  ['European Union', undefined],
  ['', undefined],
])('the code of %j is %s', (text, code) => {
  expect(countryCode(text)).toBe(code);
});

it('the names and codes of a country find the same contacts, and no others', () => {
  const find = (text: string) => inCountry(text)!.value as string[];
  expect(find('Deutschland')).toEqual(find('DE'));
  expect(find('DE')).toEqual(
    expect.arrayContaining(['germany', 'deutschland', 'allemagne', 'alemania', 'de', 'brd']),
  );
  expect(find('AT')).toEqual(expect.arrayContaining(['österreich', 'Österreich', 'osterreich', 'autriche']));
  expect(find('DE').filter((form) => find('AT').includes(form))).toEqual([]);
  expect(find('Atlantis')).toEqual(['atlantis']);
  expect(inCountry(undefined)).toBeUndefined();
});

it('numbers of a country are added up under its most frequent spelling', () => {
  const numbers = [
    ['DE', 1],
    ['Germany', 3],
    ['germany', 2],
    ['Atlantis', 1],
    ['ATLANTIS', 1],
    [null, 4],
  ] as const;
  expect([...sumByCountry(numbers)]).toEqual([
    ['Germany', 6],
    ['Atlantis', 2],
    [null, 4],
  ]);
});

it('a form lists countries in the order of the language, with their codes', () => {
  const german = countryChoices('de');
  expect(german).toHaveLength(250);
  expect(german).toContainEqual({ value: 'DE', text: 'Deutschland' });
  const names = german.map(({ text }) => text);
  // By code or code point, Österreich would be last.
  expect(names.indexOf('Österreich') - names.indexOf('Oman')).toBe(1);
  for (const reserved of ['IC', 'DD', 'EU']) expect(german.map(({ value }) => value)).not.toContain(reserved);
  expect(countryChoices('fr')).toContainEqual({ value: 'DE', text: 'Allemagne' });
});

it.each([
  ['germany', { value: 'germany', text: 'Deutschland' }, 250],
  ['DE', { value: 'DE', text: 'Deutschland' }, 250],
  ['Atlantis', { value: 'Atlantis', text: 'Atlantis' }, 251],
])('a form keeps the stored country %s', (stored, choice, count) => {
  const choices = countryChoices('de', stored);
  expect(choices).toHaveLength(count);
  expect(choices.filter(({ value }) => value === stored)).toEqual([choice]);
});

it('a stored code is shown as a name, and a name as it was entered', () => {
  expect(['DE', 'Germany', 'de', 'Atlantis'].map((stored) => countryName('de', stored))).toEqual([
    ...['Deutschland', 'Germany', 'de', 'Atlantis'],
  ]);
});
