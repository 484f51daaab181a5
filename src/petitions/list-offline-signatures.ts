import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { compare } from '#libs/projections';
import { type ResourceRecord, Resources } from '#libs/resources';
import { Id, Operation, type Page, PageInput } from '#libs/rpc';
import { offlineCounts, offlineCountSchema } from './offline-counts.js';
import { petitions } from './petitions.js';

@Operation({
  name: 'petition.list-offline-signatures',
  object: 'offline-counts',
  summary: 'List counts of signatures on paper',
  answers: offlineCountSchema,
  list: true,
})
export class ListOfflineSignatures extends PageInput() {
  @Id({ optional: true, description: 'Only counts of this petition.' })
  petitionId?: string;
}

@QueryHandler(ListOfflineSignatures)
export class ListOfflineSignaturesHandler implements IQueryHandler<ListOfflineSignatures> {
  constructor(private readonly resources: Resources) {}

  async execute(query: ListOfflineSignatures): Promise<Page<ResourceRecord>> {
    const { organizationId, petitionId } = query;
    if (petitionId !== undefined) await this.resources.require(petitions, organizationId, petitionId);
    return this.resources.list(offlineCounts, query, [compare('petition = ?', petitionId)]);
  }
}
