import { Email, Nested, NestedList, Text } from './fields.js';
import { invalid } from './input.js';
import { unknownField } from './unknown-field.js';

class Person {
  @Email()
  email!: string;

  @Text({ max: 10 })
  firstName!: string;
}

class Line {
  @Text({ max: 10 })
  colour!: string;
}

class Signature {
  @Nested(() => Person)
  contact!: Person;

  @NestedList(() => Line, { max: 3 })
  lines!: Line[];

  @Text({ max: 10 })
  comment!: string;

  @Text({ max: 10 })
  petitionId!: string;
}

it.each([
  ['Comment', 'is not known: use comment'],
  ['email', 'is not known: use contact.email'],
  ['given_name', 'is not known: use contact.firstName'],
  ['emailAddress', 'is not known: use contact.email'],
  ['commnet', 'is not known. Did you mean comment?'],
  ['petitonId', 'is not known. Did you mean petitionId?'],
  ['petition', 'is not a field of this operation'],
  ['colour', 'is not a field of this operation'],
  ['postcode', 'is not a field of this operation'],
  ['constructor', 'is not a field of this operation'],
  ['', 'is not a field of this operation'],
])('of the name %j, the issue says that it %s', (name, message) => {
  expect(unknownField(Signature, '', name)).toEqual({ path: name, message });
});

it('names fields of an object with its path, and shortens long names', () => {
  expect(unknownField(Person, 'contact.', 'mail').message).toBe('is not known: use contact.email');
  expect(unknownField(Person, '', 'x'.repeat(1_000)).path).toBe(`${'x'.repeat(100)}…`);
});

it('a question ends the message of the error without a full stop', () => {
  const of = (...names: string[]) => invalid(names.map((name) => unknownField(Signature, '', name))).message;
  expect(of('commnet')).toBe('commnet is not known. Did you mean comment?');
  expect(of('colour')).toBe('colour is not a field of this operation.');
  expect(of('commnet', 'colour')).toMatch(/operation\.$/);
});
