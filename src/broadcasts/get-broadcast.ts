import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { Resources } from '#libs/resources';
import { Operation, PastInput, PastRecord } from '#libs/rpc';
import { BroadcastFigures, type BroadcastRecord } from './broadcast-figures.js';
import { broadcasts, broadcastSchema } from './broadcasts.js';

@Operation({
  name: 'broadcast.get-broadcast',
  summary: 'Retrieve a broadcast',
  answers: broadcastSchema,
})
export class GetBroadcast extends PastInput('broadcastId', 'broadcast') {}

@QueryHandler(GetBroadcast)
export class GetBroadcastHandler implements IQueryHandler<GetBroadcast> {
  constructor(
    private readonly resources: Resources,
    private readonly figures: BroadcastFigures,
  ) {}

  async execute(query: GetBroadcast): Promise<BroadcastRecord | PastRecord<BroadcastRecord>> {
    const record = await this.resources.get(broadcasts, query);
    return record instanceof PastRecord ? record : this.figures.of(record);
  }
}
