import { keyOf, keysFor } from './field-key.js';

it.each([
  ['Shoe size', 'shoeSize'],
  ['shoe_size (EU)', 'shoeSizeEu'],
  ['shoeSize', 'shoeSize'],
  ['Straße & Haus-Nr.', 'strasseAndHausNr'],
  ['2024 donor', 'field2024Donor'],
  ['サイズ', 'field'],
  ['Ё', 'yo'],
  ['…', 'field'],
  ['x'.repeat(200), 'x'.repeat(50)],
])('the key of %j is %s', (name, key) => {
  expect(keyOf(name)).toBe(key);
});

it('numbers further keys, and the first one if a contact has a field with that name', () => {
  expect(keysFor('Shoe size', 3)).toEqual(['shoeSize', 'shoeSize2', 'shoeSize3']);
  expect(keysFor('City', 2)).toEqual(['city2', 'city3']);
});
