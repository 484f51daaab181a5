import { EventStore } from '#libs/event-store';
import { Resources } from '#libs/resources';
import { handlerOf, Operation, RecordInput, StreamedAnswer } from '#libs/rpc';
import { Checkpoints } from '#libs/sealing';
import { areSame, COUNTED, leafHash, SignatureCount, Tree } from '#libs/verify';
import { exportedLine, sealed } from '../history/index.js';
import { petitions } from './petitions.js';

/** Events per query, and per chunk of the response. */
const PAGE = 1_000;

@Operation({
  name: 'petition.get-count-certificate',
  object: 'certificate',
  summary: 'Get a certificate of the number of signatures',
  description:
    'Streams a text that anyone can verify offline with `history verify-count` or `advocacy-verify count`. It contains the ' +
    'events that change the number of valid signatures, without readable personal data. It also contains the hashes that lead ' +
    'from them to the root of the organization’s history, and the signed checkpoint. It proves that these events were recorded. ' +
    'Its creator can hide events behind hashes. Events recorded so far are sealed first. A response without its last ' +
    'chunk (RFC 9112, section 8) is incomplete.',
  reasons: ['NOT_SEALED'],
  answers: {
    type: 'object',
    additionalProperties: true,
    description: 'A line of the certificate, as specified in the history format.',
  },
  answerTypes: ['application/x-ndjson'],
})
export class GetCountCertificate extends RecordInput('petitionId') {}

type Opened = Awaited<ReturnType<Checkpoints['openTree']>>;

export const GetCountCertificateHandler = handlerOf(
  GetCountCertificate,
  [Resources, EventStore, Checkpoints],
  async (query, resources, store, checkpoints) => {
    await resources.require(petitions, query.organizationId, query.petitionId);
    const opened = await sealed(checkpoints.openTree(query.organizationId));
    return new StreamedAnswer(
      'application/x-ndjson',
      'count-certificate.ndjson',
      write(query, opened, store),
    );
  },
);

/** docs/spec/history-format.md, "Count certificate". */
async function* write(
  { organizationId, petitionId }: GetCountCertificate,
  { checkpoint, indexesOf, between }: Opened,
  store: EventStore,
): AsyncGenerator<string> {
  const { note, size, root, position: upTo } = checkpoint;
  const format = 'advocacy-count-certificate/1';
  yield `${JSON.stringify({ format, organizationId, petitionId, checkpoint: note })}\n`;
  const count = new SignatureCount(petitionId);
  const tree = new Tree();
  const subtrees = async (end: number) => {
    let lines = '';
    for await (const { leaves, hash } of between(tree.size, end)) {
      tree.append(hash, Math.log2(leaves));
      lines += `${JSON.stringify({ leaves, hash: hash.toString('base64') })}\n`;
    }
    return lines;
  };
  let previous = 0;
  for (let after = 0, hasMore = true; hasMore;) {
    const filter = { type: COUNTED };
    const page = await store.readHistory(organizationId, { after, upTo }, PAGE, filter, 'export');
    const events = page.events.filter(({ data }) => data.petitionId === petitionId);
    const indexes = await indexesOf(events.map(({ position }) => position));
    for (const [n, event] of events.entries()) {
      const line = exportedLine({ ...event, personal: null }, previous);
      yield (await subtrees(indexes[n]!)) + line;
      tree.append(leafHash(event.position, event.digest.toString('hex')));
      count.add(event);
      previous = event.position;
    }
    hasMore = page.hasMore;
    after = page.events.at(-1)?.position ?? upTo;
  }
  const rest = await subtrees(size);
  // Cut off rather than complete and wrong.
  if (!areSame(tree.root(), root))
    throw new Error(`The tiles of ${organizationId} do not lead to its checkpoint.`);
  yield `${rest}${JSON.stringify(count.result())}\n`;
}
