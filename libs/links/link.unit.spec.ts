import { type DomainEvent, type RecordedEvent } from '#libs/event-store';
import { Link } from './link.js';

const signature = new Link(
  { object: 'contact', erased: 'ContactErased' },
  {
    record: 'petition',
    streamType: 'signature',
    begins: 'PetitionSigned',
    ends: 'SignatureWithdrawn',
    moves: 'SignatureMoved',
    uniqueKey: 'petition.signature',
    atErasure: 'loses its name',
    detail: 'comment',
    suspended: { begins: 'SignaturesInvalidated', ends: 'SignaturesRestored', field: 'signatureIds' },
  },
);
const data = { petitionId: 'river', contactId: 'ada' };
const signed: DomainEvent = { type: 'PetitionSigned', data, personal: { comment: 'Why' } };
const withdrawn: DomainEvent = { type: 'SignatureWithdrawn', data };
const moved: DomainEvent = {
  type: 'SignatureMoved',
  data: { petitionId: 'river', contactId: 'lady ada', from: 'ada' },
  personal: { comment: 'Why' },
};
const recorded = (event: DomainEvent) => event as RecordedEvent;
const ends = { recordId: 'river', subjectId: 'ada' };

it('begins once per record and person, with the text of the person as personal data', () => {
  const { linkId, write, claim } = signature.begin('river', 'ada', () => undefined, { comment: 'Why' });
  expect(write).toEqual({
    streamType: 'signature',
    streamId: linkId,
    expectedVersion: 0,
    events: [signed],
    subjectId: 'ada',
  });
  expect(claim).toMatchObject({ value: ['petition.signature', 'river', 'ada'], streamId: linkId });
});

it('belongs to another record of the person once it was moved', () => {
  const state = [signed, moved].reduce(
    (before, event) => signature.decider.evolve(before, event, new Date(0)),
    signature.decider.initial,
  );
  expect(state).toEqual({ status: 'standing', recordId: 'river', subjectId: 'lady ada' });
});

it('ends, and releases its key', () => {
  const { write, release } = signature.end('one', 'river', 'ada');
  expect(write).toMatchObject({ streamId: 'one', expectedVersion: 1, events: [withdrawn], subjectId: 'ada' });
  expect(release).toEqual({ value: ['petition.signature', 'river', 'ada'], streamId: 'one' });
});

it.each<[string, DomainEvent[], string]>([
  ['unknown', [], 'unknown'],
  ['standing', [signed], 'standing'],
  ['ended', [signed, withdrawn], 'ended'],
  ['ended after a move', [signed, moved, withdrawn], 'ended'],
])('is %s', (_, events, status) => {
  const state = events.reduce(
    (before, event) => signature.decider.evolve(before, event, new Date(0)),
    signature.decider.initial,
  );
  expect(state).toEqual(status === 'unknown' ? { status } : { status, ...ends });
});

it.each<[DomainEvent, object[]]>([
  [signed, [{ kind: 'begins', ...ends, detail: 'Why' }]],
  [{ ...signed, personal: null }, [{ kind: 'begins', ...ends, detail: null }]],
  [withdrawn, [{ kind: 'ends', ...ends }]],
  [moved, [{ kind: 'moved', from: 'ada', subjectId: 'lady ada', detail: 'Why' }]],
  [
    { type: 'SignaturesInvalidated', data: { petitionId: 'river', signatureIds: ['one'] } },
    [{ kind: 'suspended', recordId: 'river', linkIds: ['one'] }],
  ],
  [
    { type: 'SignaturesRestored', data: { petitionId: 'river', signatureIds: ['one'] } },
    [{ kind: 'resumed', recordId: 'river', linkIds: ['one'] }],
  ],
  [{ type: 'ContactErased', data: {} }, [{ kind: 'erased' }]],
  [{ type: 'PetitionClosed', data: {} }, []],
])('$type changes %j', (event, changes) => {
  expect(signature.changes(recorded(event))).toEqual(changes.map((change) => ({ ...change, event })));
});
