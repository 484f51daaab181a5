import { type Client, retryAfter, SharedApi } from './harness.js';
import { isLong } from './length.js';

let api: SharedApi;
let client: Client;
let instances: Client[];
beforeAll(async () => {
  api = await SharedApi.open();
  client = await api.organization();
  instances = api.instances.map(({ origin }) => client.at(origin));
});
afterAll(() => api.stop());

async function openPetition(name: string): Promise<string> {
  const { petitionId } = (await client.post('petition.create-petition', { name })).body.data;
  expect((await client.post('petition.publish-petition', { petitionId })).status).toBe(200);
  return petitionId;
}

/** Runs the work for every item, with this many in parallel, alternating between the instances. */
async function each<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item, instance: Client, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < items.length) {
      const index = next++;
      await work(items[index]!, instances[index % 2]!, index);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

type Recorded = { type: string; position: string; contact: string };
async function recorded(petitionId: string): Promise<Recorded[]> {
  return api.database.source.query(
    `SELECT type, position, data->>'contactId' AS contact FROM events
     WHERE organization_id = $1 AND (data->>'petitionId' = $2 OR stream_id::text = $2) ORDER BY position`,
    [client.organizationId, petitionId],
  );
}

async function listSignatures(petitionId: string, instance: Client): Promise<{ contactId: string }[]> {
  const all: { contactId: string }[] = [];
  let cursor: string | undefined;
  do {
    const query = { petitionId, limit: '100', ...(cursor ? { cursor } : {}) };
    const { body } = await instance.get('petition.list-signatures', query);
    all.push(...body.data);
    cursor = body.pagination.cursor ?? undefined;
  } while (cursor);
  return all;
}

const SIGNERS = isLong ? 5_000 : 100;
const AT_ONCE = isLong ? 64 : 32;
/** Every twentieth signer withdraws. */
const REMAINING = SIGNERS * 0.95;

it(`${SIGNERS} signers, ${AT_ONCE} in parallel, on two instances: the count is exact on both after the last response`, async () => {
  const petitionId = await openPetition('Save the river');
  const signers = new Set<string>();
  const remaining = new Set<string>();
  const statuses = new Set<number>();

  await each(
    Array.from({ length: SIGNERS }, (_, n) => n),
    AT_ONCE,
    async (n, instance) => {
      const body = { petitionId, contact: { email: `signer-${n}@example.org` }, comment: `Comment ${n}` };
      const twice = n % 10 === 0;
      const other = instances.find((one) => one !== instance)!;
      const sign = (through: Client) => retryAfter(() => through.post('petition.add-signature', body));
      const answers = await Promise.all([sign(instance), ...(twice ? [sign(other)] : [])]);
      for (const { status } of answers) statuses.add(status);
      expect(new Set(answers.map(({ body }) => body.data.signatureId)).size).toBe(1);
      const { contactId } = answers[0].body.data;
      signers.add(contactId);
      if (n % 20 === 7) {
        const withdraw = () => other.delete('petition.remove-signature', { petitionId, contactId });
        statuses.add((await retryAfter(withdraw)).status);
      } else remaining.add(contactId);
    },
  );

  expect(statuses).toEqual(new Set([200]));
  expect([signers.size, remaining.size]).toEqual([SIGNERS, REMAINING]);
  const counts = await Promise.all(
    instances.map((instance) => instance.get('petition.get-petition', { petitionId })),
  );
  expect(counts.map(({ body }) => body.data.signatures)).toEqual([REMAINING, REMAINING]);
  const listed = await listSignatures(petitionId, instances[1]!);
  expect(listed).toHaveLength(REMAINING);
  expect(new Set(listed.map(({ contactId }) => contactId))).toEqual(remaining);
  const events = await recorded(petitionId);
  const signed = events.filter(({ type }) => type === 'PetitionSigned');
  expect([signed.length, new Set(signed.map(({ contact }) => contact)).size]).toEqual([SIGNERS, SIGNERS]);
  expect(events.filter(({ type }) => type === 'SignatureWithdrawn')).toHaveLength(SIGNERS - REMAINING);
});

const LATE = isLong ? 1_200 : 240;

it('closed during signing: no signature is recorded after the close, and each rejected signer gets a 409', async () => {
  const petitionId = await openPetition('Plant trees');
  const answers: { status: number; contact: string | undefined }[] = [];
  let closed: Promise<unknown> | undefined;

  await each(
    Array.from({ length: LATE }, (_, n) => n),
    AT_ONCE,
    async (n, instance) => {
      if (n === LATE / 2) closed = instances[0]!.post('petition.close-petition', { petitionId });
      const contact = { email: `late-${n}@example.org` };
      const sign = () => instance.post('petition.add-signature', { petitionId, contact });
      const { status, body } = await retryAfter(sign);
      answers.push({ status, contact: body.data?.contactId });
    },
  );
  expect(await closed).toMatchObject({ status: 200 });

  const accepted = answers.filter(({ status }) => status === 200);
  const refused = answers.filter(({ status }) => status === 409);
  expect(accepted.length + refused.length).toBe(LATE);
  expect(accepted.length).toBeGreaterThanOrEqual(LATE / 3);
  expect(refused.length).toBeGreaterThanOrEqual(LATE / 8);
  const events = await recorded(petitionId);
  // PetitionGoalReached may be recorded later.
  const last = events.findLast(({ type }) => type !== 'PetitionGoalReached');
  expect(last!.type).toBe('PetitionClosed');
  const signers = events.flatMap(({ type, contact }) => (type === 'PetitionSigned' ? [contact] : []));
  expect(signers.sort()).toEqual(accepted.map(({ contact }) => contact).sort());
  const { body } = await instances[1]!.get('petition.get-petition', { petitionId });
  expect(body.data).toMatchObject({ status: 'CLOSED', signatures: accepted.length });
  // Rejected signers leave no contact behind.
  const { rows } = await countContacts('late-');
  expect(rows).toBe(accepted.length);
});

async function countContacts(q: string): Promise<{ rows: number }> {
  let rows = 0;
  let cursor: string | undefined;
  do {
    const query = { q, limit: '100', ...(cursor ? { cursor } : {}) };
    const { body } = await client.get('contact.list-contacts', query);
    rows += body.data.length;
    cursor = body.pagination.cursor ?? undefined;
  } while (cursor);
  return { rows };
}
