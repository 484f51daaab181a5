import { given } from '#libs/testing';
import {
  answersFor,
  contact,
  type ContactEvent,
  createContact,
  type CustomValues,
  eraseContact,
  existingContact,
  type ExistingContact,
  updateContact,
} from './contact.js';

const created: ContactEvent = {
  type: 'ContactCreated',
  data: { subscribed: true },
  personal: { email: 'ada@example.org', firstName: 'Ada' },
};
const unsubscribed: ContactEvent = { type: 'ContactUnsubscribed', data: {} };
const erased: ContactEvent = { type: 'ContactErased', data: {} };

describe('createContact', () => {
  it('stores the given details and subscribes by default', () => {
    expect(createContact({ email: 'ada@example.org', firstName: 'Ada', bio: null })).toEqual([created]);
    expect(createContact({ email: 'a@b.org', subscribed: false })[0]!.data).toEqual({ subscribed: false });
  });
});

describe('updateContact', () => {
  const update = (changes: Parameters<typeof updateContact>[1]) => (state: typeof contact.initial) =>
    updateContact(existingContact(state), changes);

  it('records only what changes', () => {
    given(contact, [created])
      .when(update({ firstName: 'Ada', city: 'London', subscribed: true }))
      .then([{ type: 'ContactUpdated', data: {}, personal: { city: 'London' } }]);
  });

  it('records nothing when nothing changes', () => {
    given(contact, [created])
      .when(update({ email: 'ada@example.org', city: null }))
      .then([]);
  });

  it('clears with null', () => {
    given(contact, [created])
      .when(update({ firstName: null }))
      .then([{ type: 'ContactUpdated', data: {}, personal: { firstName: null } }]);
  });

  it('records giving and withdrawing consent as separate events', () => {
    given(contact, [created])
      .when(update({ subscribed: false }))
      .then([unsubscribed]);
    given(contact, [created, unsubscribed])
      .when(update({ subscribed: true }))
      .then([{ type: 'ContactSubscribed', data: {} }]);
  });

  it('rejects erased and unknown contacts', () => {
    given(contact, [created, erased])
      .when(update({ city: 'London' }))
      .thenThrows('NOT_FOUND');
    given(contact, [])
      .when(update({ city: 'London' }))
      .thenThrows('NOT_FOUND');
  });
});

describe('external ids and values of custom fields', () => {
  const [size, sizes] = ['f1', 'f2'];
  const extras = { externalIds: ['a:1'], customFields: { [size]: 'S', [sizes]: ['S', 'M'] } };
  const full: ContactEvent = { ...created, personal: { email: 'ada@example.org', ...extras } };
  const update = (changes: Parameters<typeof updateContact>[1]) => (state: typeof contact.initial) =>
    updateContact(existingContact(state), changes);

  it('are stored with a new contact, without empty ones', () => {
    const given = { ...extras, customFields: { ...extras.customFields, f3: null } };
    expect(createContact({ email: 'ada@example.org', ...given })).toEqual([full]);
    expect(createContact({ email: 'a@b.org', externalIds: [], customFields: { f3: null } })).toEqual([
      { ...created, personal: { email: 'a@b.org' } },
    ]);
  });

  it('are recorded if they change: ids as a whole, values one by one', () => {
    given(contact, [full])
      .when(update({ externalIds: ['a:1'], customFields: { [size]: 'S', [sizes]: ['S', 'M'], f3: null } }))
      .then([]);
    given(contact, [full])
      .when(update({ externalIds: ['a:1', 'b:2'], customFields: { [size]: null, [sizes]: ['S', 'M'] } }))
      .then([
        {
          type: 'ContactUpdated',
          data: {},
          personal: { externalIds: ['a:1', 'b:2'], customFields: { [size]: null } },
        },
      ]);
  });

  it('are merged into the state', () => {
    const changed: ContactEvent[] = [
      full,
      { type: 'ContactUpdated', data: {}, personal: { customFields: { [size]: null, f3: false } } },
      { type: 'ContactUpdated', data: {}, personal: { externalIds: [] } },
    ];
    const state = changed.reduce((s, event) => contact.evolve(s, event, new Date(0)), contact.initial);
    expect(existingContact(state)).toMatchObject({ externalIds: [] });
    expect(existingContact(state).customFields).toEqual({ [sizes]: ['S', 'M'], f3: false });
  });
});

describe('eraseContact', () => {
  it('erases once', () => {
    given(contact, [created]).when(eraseContact).then([erased]);
    given(contact, [created, erased]).when(eraseContact).then([]);
  });

  it('rejects a contact that was merged into another one', () => {
    const merged: ContactEvent[] = [created, { type: 'ContactMerged', data: { into: 'other' } }, erased];
    given(contact, merged).when(eraseContact).thenThrows('NOT_FOUND');
    const state = merged.reduce((s, event) => contact.evolve(s, event, new Date(0)), contact.initial);
    expect(state).toEqual({ status: 'erased', mergedInto: 'other' });
  });

  it('rejects a contact that never existed', () => {
    given(contact, []).when(eraseContact).thenThrows('NOT_FOUND');
  });
});

it('replays a history whose personal data is deleted', () => {
  const state = [
    { ...created, personal: null },
    { type: 'ContactUpdated', data: {}, personal: null },
  ] as ContactEvent[];
  expect(
    existingContact(state.reduce((s, event) => contact.evolve(s, event, new Date(0)), contact.initial))
      .details.email,
  ).toBe(null);
});

it.each([
  ['sets what the contact lacks', { a: 1 }, { b: 2 }, false, { b: 2 }],
  ['replaces nothing if the address is not proved', { a: 1 }, { a: 2, b: 2 }, false, { b: 2 }],
  ['replaces values if the address is proved', { a: 1 }, { a: 2 }, true, { a: 2 }],
  ['sets nothing if there is no room', { a: 'x'.repeat(16_000) }, { b: 'x'.repeat(500) }, true, {}],
])('an answer in a form %s', (_, before, answers, isProved, values) => {
  const state = contact.evolve(
    contact.initial,
    { type: 'ContactCreated', data: { subscribed: true }, personal: { customFields: before } },
    new Date(),
  );
  expect(answersFor(state as ExistingContact, answers as CustomValues, isProved)).toEqual(values);
});
