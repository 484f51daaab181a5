import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { compare } from '#libs/projections';
import { type ResourceRecord, Resources } from '#libs/resources';
import { Id, Operation, type Page, PageInput } from '#libs/rpc';
import { invalidations, invalidationSchema } from './invalidations.js';
import { petitions } from './petitions.js';

@Operation({
  name: 'petition.list-invalidations',
  summary: 'List invalidations of signatures',
  answers: invalidationSchema,
  list: true,
})
export class ListInvalidations extends PageInput() {
  @Id({ optional: true, description: 'Only invalidations of this petition.' })
  petitionId?: string;
}

@QueryHandler(ListInvalidations)
export class ListInvalidationsHandler implements IQueryHandler<ListInvalidations> {
  constructor(private readonly resources: Resources) {}

  async execute(query: ListInvalidations): Promise<Page<ResourceRecord>> {
    const { organizationId, petitionId } = query;
    if (petitionId !== undefined) await this.resources.require(petitions, organizationId, petitionId);
    return this.resources.list(invalidations, query, [compare('petition = ?', petitionId)]);
  }
}
