import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { RecordReader } from '#libs/commands';
import { Projections } from '#libs/projections';
import { Id, Input, Operation, recordSchema } from '#libs/rpc';
import { DataSource } from 'typeorm';
import { Suppressions } from '../suppressions/index.js';
import { EXCLUSIONS, type Exclusion, reachOf } from './audience.js';
import { broadcast, existingBroadcast } from './broadcast.js';

type AudiencePreview = { broadcastId: string; total: number; excluded: Record<Exclusion, number> };

const WHY: Record<Exclusion, string> = {
  duplicate: 'Named more than once: by several lists, say. Each is counted once less than it is named.',
  unknown: 'No contact, or none any more.',
  excluded: 'On one of the lists, or a signer of one of the petitions, that are excluded.',
  filtered: 'Without what `filter` asks for.',
  unsubscribed: 'Not `subscribed`.',
  withoutAddress: 'Without an address that mail could be sent to.',
  suppressed: 'With an address that is suppressed.',
};

@Operation({
  method: 'GET',
  name: 'broadcast.preview-audience',
  object: 'audience',
  summary: 'Count who would get a broadcast',
  description:
    'As of now, exactly: `total` people would get it. `excluded` are all others whom the audience names, each counted once, by the ' +
    'first reason that holds.',
  answers: recordSchema({
    broadcastId: { type: 'string' },
    total: { type: 'integer' },
    excluded: recordSchema(
      Object.fromEntries(EXCLUSIONS.map((one) => [one, { type: 'integer', description: WHY[one] }])),
    ),
  }),
})
export class PreviewAudience extends Input {
  @Id()
  broadcastId!: string;
}

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
