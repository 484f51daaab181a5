import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { Resources } from '#libs/resources';
import { Id, Input, Operation, PastRecord, Timestamp } from '#libs/rpc';
import { BroadcastFigures, type BroadcastRecord } from './broadcast-figures.js';
import { broadcasts, broadcastSchema } from './broadcasts.js';

@Operation({
  method: 'GET',
  name: 'broadcast.get-broadcast',
  object: 'broadcast',
  summary: 'Retrieve a broadcast',
  answers: broadcastSchema,
})
export class GetBroadcast extends Input {
  @Id()
  broadcastId!: string;

  @Timestamp({ optional: true, description: 'Returns the broadcast as it was at this time.' })
  asOf?: string;
}

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
