/** The parts of an event for benchmarks. */
import { randomUUID } from 'node:crypto';

export const metadata = { actor: { type: 'api-key', id: randomUUID() }, requestId: randomUUID() };
export const data = {
  petitionId: randomUUID(),
  contactId: randomUUID(),
  source: 'https://example.org/petitions/save-the-river',
  comment: 'The river is where our children learned to swim.',
  newsletter: true,
};
export const personal = { email: 'ada@example.org', firstName: 'Ada', lastName: 'Example', zip: '10115' };
