import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { RecordReader } from '#libs/commands';
import { Projections } from '#libs/projections';
import { Operation, RecordInput, recordSchema } from '#libs/rpc';
import { DataSource } from 'typeorm';
import { Suppressions } from '../suppressions/index.js';
import { EXCLUSIONS, type Exclusion, reachOf } from './audience.js';
import { broadcast, existingBroadcast } from './broadcast.js';

type AudiencePreview = { broadcastId: string; total: number; excluded: Record<Exclusion, number> };

const WHY: Record<Exclusion, string> = {
  duplicate:
    'Selected more than once, for example by several lists. Every selection after the first is counted.',
  unknown: 'Not a contact, or no longer one.',
  excluded: 'On an excluded list, or a signer of an excluded petition.',
  filtered: 'Does not match `filter`.',
  unsubscribed: 'Not `subscribed`.',
  withoutAddress: 'Has no email address that mail can be sent to.',
  suppressed: 'Has a suppressed address.',
};

@Operation({
  name: 'broadcast.preview-audience',
  summary: 'Count the recipients of a broadcast',
  description:
    'Returns exact current numbers. `total` contacts would receive the broadcast. `excluded` counts all other ' +
    'selected contacts once each, by the first reason that applies.',
  answers: recordSchema({
    broadcastId: { type: 'string' },
    total: { type: 'integer' },
    excluded: recordSchema(
      Object.fromEntries(EXCLUSIONS.map((one) => [one, { type: 'integer', description: WHY[one] }])),
    ),
  }),
})
export class PreviewAudience extends RecordInput('broadcastId') {}

@QueryHandler(PreviewAudience)
export class PreviewAudienceHandler implements IQueryHandler<PreviewAudience> {
  constructor(
    private readonly source: DataSource,
    private readonly projections: Projections,
    private readonly suppressions: Suppressions,
    private readonly records: RecordReader,
  ) {}

  async execute({ organizationId, broadcastId }: PreviewAudience): Promise<AudiencePreview> {
    const { state } = await this.records.look(broadcast, organizationId, broadcastId);
    const { audience } = existingBroadcast(state);
    const { source, projections, suppressions } = this;
    const reach = await reachOf(source, projections, suppressions, organizationId, audience);
    return { broadcastId, total: reach.total, excluded: reach.excluded };
  }
}
