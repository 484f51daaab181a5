import { Checker, fact, type Found, type Intent, type Outcome } from './checker.js';

const [organizationId, petitionId, listId, contactId] = ['organization', 'petition', 'list', 'contact'];
const details = { email: 'mary@example.org', city: 'Lyon', firstName: null };

const create: Intent = {
  method: 'POST',
  operation: 'contact.create-contact',
  fields: { organizationId, ...details },
  leaves: (data) => [fact.of('ContactCreated', data.contactId)],
};
const sign: Intent = {
  method: 'POST',
  operation: 'petition.add-signature',
  fields: { organizationId, petitionId, contactId },
  leaves: () => [fact.link('PetitionSigned', petitionId, contactId)],
};

function answer(status: number, body: unknown, contentType = 'application/json; charset=utf-8'): Outcome {
  return { status, contentType, text: typeof body === 'string' ? body : JSON.stringify(body) };
}
const created = answer(200, { data: { contactId, created: true }, object: 'contact' });
const signed = answer(200, {
  data: { signatureId: 'signature', petitionId, contactId, signatures: 1, consentRecorded: false },
  object: 'signature',
});
const refused = {
  code: 'SERVICE_UNAVAILABLE',
  reason: 'DATABASE_UNREACHABLE',
  message: 'The database cannot be reached.',
  docs: 'http://localhost/errors',
  requestId: 'request',
};

/** A checker that has seen a contact created and a petition signed, both acknowledged. */
function acknowledged(): Checker {
  const checker = new Checker();
  expect(checker.judge(create, created)).toEqual({
    acknowledged: true,
    data: { contactId, created: true },
  });
  checker.contacts.set(contactId, details);
  expect(checker.judge(sign, signed)).toMatchObject({ acknowledged: true });
  return checker;
}

const event = (type: string, streamId: string, data: object = {}) => ({
  ...{ type, streamId, data, version: 1 },
  recordedAt: '2026-11-20T09:30:00.000Z',
});
const creation = event('ContactCreated', contactId);
const signing = event('PetitionSigned', 'signature', { petitionId, contactId });

/** The expected records and events. */
const whole: Found = {
  events: [creation, signing],
  contacts: [{ id: contactId, ...details }],
  petition: { id: petitionId, signatures: 1 },
  list: { id: listId, contacts: 0 },
};

it('reports nothing if everything is as acknowledged', () => {
  const checker = acknowledged();
  expect(checker.compare(whole)).toEqual({ lost: [], doubled: [] });
  expect([checker.requests, checker.acknowledged, checker.outside]).toEqual([2, 2, []]);
});

describe('reports as lost', () => {
  it.each<[string, Partial<Found>]>([
    ['an event', { events: [creation] }],
    ['a contact', { contacts: [] }],
    ['a change of a contact', { contacts: [{ id: contactId, ...details, city: 'Paris' }] }],
    ['a counter', { petition: { id: petitionId, signatures: 0 } }],
    ['a version of a stream', { events: [creation, { ...signing, version: 2 }] }],
    [
      'the order of time',
      {
        events: [
          creation,
          signing,
          { ...event('PostUpdated', contactId), version: 2, recordedAt: '2026-11-20T09:29:59.000Z' },
        ],
      },
    ],
  ])('%s', (_, found) => {
    const { lost, doubled } = acknowledged().compare({ ...whole, ...found });
    expect([lost.length, doubled]).toEqual([1, []]);
  });

  it('a write that another instance did not show immediately', () => {
    const checker = acknowledged();
    checker.read(contactId, { ...details, city: 'Paris' });
    expect(checker.compare(whole).lost).toHaveLength(1);
  });

  it('an erasure', () => {
    const checker = acknowledged();
    const erase: Intent = {
      method: 'DELETE',
      operation: 'contact.delete-contact',
      fields: { contactId },
      leaves: () => [fact.of('ContactErased', contactId)],
    };
    checker.judge(erase, answer(200, { data: { contactId }, object: 'contact' }));
    checker.contacts.set(contactId, null);
    const { lost, doubled } = checker.compare(whole);
    expect([lost.length, doubled.length]).toEqual([1, 1]);
  });
});

describe('reports as doubled', () => {
  it.each<[string, Partial<Found>]>([
    ['an event', { events: [creation, signing, event('ContactCreated', 'another')] }],
    ['a contact', { contacts: [...whole.contacts, { id: 'another', ...details }] }],
    ['a counter', { petition: { id: petitionId, signatures: 2 } }],
    ['a membership', { list: { id: listId, contacts: 1 } }],
  ])('%s', (_, found) => {
    const { lost, doubled } = acknowledged().compare({ ...whole, ...found });
    expect([lost, doubled.length]).toEqual([[], 1]);
  });

  it('but not a request that was retried and acknowledged once', () => {
    const checker = new Checker();
    for (const outcome of [{ failure: 'timed out' } as const, answer(503, { error: refused }), created]) {
      checker.judge(create, outcome);
    }
    checker.contacts.set(contactId, details);
    const petition = { id: petitionId, signatures: 0 };
    expect(checker.compare({ ...whole, events: [creation], petition })).toEqual({ lost: [], doubled: [] });
    expect(Object.fromEntries(checker.failures)).toEqual({
      'timed out': 1,
      '503 DATABASE_UNREACHABLE': 1,
    });
    expect(checker.outside).toEqual([]);
  });
});

describe('reports as outside the specification', () => {
  it.each<[string, Outcome]>([
    ['a 500 in place of a 503', answer(500, { error: { ...refused, code: 'INTERNAL_SERVER_ERROR' } })],
    ['a rejected valid request', answer(404, { error: { ...refused, code: 'NOT_FOUND' } })],
    ['an error page of a proxy', answer(503, '<html>no server is available</html>', 'text/html')],
    ['half a response', answer(200, '{"data": {"contactId": "contact"}')],
    ['an error without a request id', answer(503, { error: { ...refused, requestId: undefined } })],
    ['an error with internal details', answer(503, { error: { ...refused, stack: 'at Object' } })],
    ['an undocumented reason', answer(503, { error: { ...refused, reason: 'BAD_WEATHER' } })],
    ['a different object', answer(200, { data: { contactId, created: true }, object: 'petition' })],
    ['a response without its record', answer(200, { data: {}, object: 'contact' })],
    ['a field of the wrong type', answer(200, { data: { contactId: null }, object: 'contact' })],
  ])('%s', (_, outcome) => {
    const checker = new Checker();
    expect(checker.judge(create, outcome)).toMatchObject({ acknowledged: false });
    expect(checker.outside).toHaveLength(1);
  });
});
