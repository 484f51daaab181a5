import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { RecordReader } from '#libs/commands';
import {
  Integer,
  listingOf,
  OneOf,
  Operation,
  type Page,
  pageOf,
  RecordInput,
  recordSchema,
  RpcError,
  Text,
  textOrNull,
} from '#libs/rpc';
import { broadcast, existingBroadcast } from './broadcast.js';
import { RECIPIENT_STATUSES, type RecipientRecord, Recipients } from './recipients.js';

/** The only possible order: a recipient has neither a name nor a time of its own. */
const SORT = 'contactId';

@Operation({
  name: 'broadcast.list-recipients',
  summary: 'List the recipients of a broadcast',
  description:
    'Available once sending starts, ordered by contact id. `PENDING` recipients are waiting and `CLAIMED` ' +
    'ones are being sent. The mail server accepted `SENT` messages and rejected `FAILED` ones. ' +
    '`SKIPPED` recipients received nothing: they were unsubscribed, suppressed or erased after sending ' +
    'started, or the broadcast was cancelled. `IN_DOUBT` recipients may have received the message. ' +
    'Either the sending process crashed, stalled for half a minute or lost the database, or the connection ' +
    'to the mail server broke after the message was transferred. `detail` contains the cause. The server deletes ' +
    'recipients some time after the broadcast (by default, two years). The request then fails with ' +
    '`RECIPIENTS_DELETED`, and `get-broadcast` still returns the figures.',
  answers: recordSchema({
    contactId: { type: 'string' },
    status: { type: 'string', enum: [...RECIPIENT_STATUSES] },
    at: { type: ['string', 'null'], format: 'date-time', description: 'When the status last changed.' },
    detail: textOrNull,
  }),
  list: true,
  reasons: ['RECIPIENTS_DELETED'],
})
export class ListRecipients extends RecordInput('broadcastId') {
  @OneOf(RECIPIENT_STATUSES, { optional: true })
  status?: string;

  @Integer({ min: 1, max: 1_000, default: 100, description: 'Recipients per page.' })
  limit!: number;

  @Text({ max: 2_000, optional: true, description: '`pagination.cursor` of the previous page.' })
  cursor?: string;
}

@QueryHandler(ListRecipients)
export class ListRecipientsHandler implements IQueryHandler<ListRecipients> {
  constructor(
    private readonly records: RecordReader,
    private readonly recipients: Recipients,
  ) {}

  async execute(query: ListRecipients): Promise<Page<RecipientRecord>> {
    const { organizationId, broadcastId, status, limit } = query;
    const { after } = listingOf({ ...query, sort: SORT });
    const { state } = await this.records.look(broadcast, organizationId, broadcastId);
    const { sendingId } = existingBroadcast(state);
    if (sendingId === null) return pageOf({ sort: SORT }, [], undefined);
    const found = await this.recipients.page(sendingId, { status, after: after?.[1], limit: limit + 1 });
    if (found.length === 0 && (await this.recipients.areDeleted(organizationId, sendingId)))
      throw new RpcError(
        'CONFLICT',
        'The recipients of this broadcast were deleted. Use get-broadcast to get its figures.',
        {
          reason: 'RECIPIENTS_DELETED',
        },
      );
    const records = found.slice(0, limit);
    const last = records.at(-1);
    const next = found.length > limit && last ? ([last.contactId, last.contactId] as const) : undefined;
    return pageOf({ sort: SORT }, records, next);
  }
}
