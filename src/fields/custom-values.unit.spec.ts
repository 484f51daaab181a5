import { type FieldDefinition, readValue, readValues, valueIn } from './custom-values.js';
import { type FIELD_TYPES } from './field.js';

const fieldOf = (type: (typeof FIELD_TYPES)[number]): FieldDefinition => ({
  id: `id of ${type}`,
  key: type.toLowerCase(),
  name: type,
  type,
  options: type.startsWith('CHOICE') ? ['S', 'M', 'Très grand'] : null,
});

it.each([
  ['TEXT', ' a ', { value: 'a' }],
  ['TEXT', ' ', { value: null }],
  ['TEXT', null, { value: null }],
  ['TEXT', '😀'.repeat(1_000), { value: '😀'.repeat(1_000) }],
  ['TEXT', 'x'.repeat(1_001), { problem: 'must have at most 1000 characters' }],
  ['TEXT', 'a\0', { problem: 'must not contain NUL characters or lone surrogates' }],
  ['TEXT', 1, { problem: 'must be a string' }],
  ['NUMBER', -1.5, { value: -1.5 }],
  ['NUMBER', 0, { value: 0 }],
  ['NUMBER', '1', { problem: 'must be a number' }],
  ['NUMBER', Infinity, { problem: 'must be a number' }],
  ['DATE', '2024-02-29', { value: '2024-02-29' }],
  ['DATE', '2023-02-29', { problem: 'must be a date like 2024-05-31' }],
  ['DATE', '2024-13-01', { problem: 'must be a date like 2024-05-31' }],
  ['DATE', '0000-01-01', { problem: 'must be a date like 2024-05-31' }],
  ['DATE', '2024-5-1', { problem: 'must be a date like 2024-05-31' }],
  ['DATE', 20240531, { problem: 'must be a date like 2024-05-31' }],
  ['BOOLEAN', false, { value: false }],
  ['BOOLEAN', 'true', { problem: 'must be true or false' }],
  ['CHOICE', 'S', { value: 'S' }],
  ['CHOICE', 's', { problem: 'must be one of: S, M, Très grand' }],
  ['CHOICE', ['S'], { problem: 'must be one of: S, M, Très grand' }],
  ['CHOICES', ['M', 'S', 'M'], { value: ['M', 'S'] }],
  ['CHOICES', [], { value: null }],
  ['CHOICES', 'S', { problem: 'must be a list of: S, M, Très grand' }],
  ['CHOICES', ['S', 1], { problem: 'must be a list of: S, M, Très grand' }],
  ['CHOICES', ['S', 'L'], { problem: 'must be a list of: S, M, Très grand' }],
] as const)('a value of the type %s: %j', (type, value, expected) => {
  expect(readValue(fieldOf(type), value)).toEqual(expected);
});

it('values are read by the id of their field, and each problem names the key', () => {
  expect(readValues([fieldOf('TEXT'), fieldOf('NUMBER')], { text: null, number: 'x', size: 1 })).toEqual({
    values: { 'id of TEXT': null },
    issues: [
      { path: 'customFields.number', message: 'must be a number' },
      {
        path: 'customFields.size',
        message: 'is not a custom field. Your organization has these: text, number',
      },
    ],
  });
  expect(readValues([], { size: 1 }).issues[0]!.message).toMatch(/has none/);
});

it.each([
  ['NUMBER', '1.5', 1.5],
  ['NUMBER', ' -1,5 ', -1.5],
  ['NUMBER', '1,234', '1,234'],
  ['NUMBER', 'many', 'many'],
  ['BOOLEAN', 'Ja', true],
  ['BOOLEAN', 'NON', false],
  ['BOOLEAN', 'maybe', 'maybe'],
  ['CHOICE', 'très grand', 'Très grand'],
  ['CHOICE', 'L', 'L'],
  ['CHOICES', 's|M', ['S', 'M']],
  ['TEXT', ' 1 ', ' 1 '],
  ['DATE', '', null],
] as const)('a text for the type %s: %j', (type, text, expected) => {
  expect(valueIn(fieldOf(type), text, (list) => list.split('|'))).toEqual(expected);
});
