import { splitName, withoutFormatCharacters } from './names.js';

it.each([
  ['Ada Lovelace', 'Ada', 'Lovelace'],
  ['Lovelace, Ada', 'Ada', 'Lovelace'],
  ['  Ludwig   van Beethoven ', 'Ludwig', 'van Beethoven'],
  ['Maria de la Cruz', 'Maria', 'de la Cruz'],
  ['Mary Ann Evans', 'Mary Ann', 'Evans'],
  ['Van Morrison', 'Van', 'Morrison'],
  ['Madonna', 'Madonna', undefined],
  ['Lovelace,', 'Lovelace', undefined],
  [' , ', undefined, undefined],
])('the name %j is split into %j and %j', (name, firstName, lastName) => {
  expect({ firstName: undefined, lastName: undefined, ...splitName(name) }).toEqual({ firstName, lastName });
});

it('invisible characters are removed, except joiners that change how a script looks', () => {
  expect(withoutFormatCharacters('\u200bada@example.org\ufeff')).toBe('ada@example.org');
  expect(withoutFormatCharacters('Zo\u00ade\u200d')).toBe('Zoe');
  expect(withoutFormatCharacters('می\u200cخواهم\u200c')).toBe('می\u200cخواهم');
  expect(withoutFormatCharacters('क्\u200dष')).toBe('क्\u200dष');
});
