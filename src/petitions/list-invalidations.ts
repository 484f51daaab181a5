import { compare } from '#libs/projections';
import { Resources } from '#libs/resources';
import { handlerOf, Id, Operation, PageInput } from '#libs/rpc';
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

export const ListInvalidationsHandler = handlerOf(
  ListInvalidations,
  [Resources],
  async (query, resources) => {
    const { organizationId, petitionId } = query;
    if (petitionId !== undefined) await resources.require(petitions, organizationId, petitionId);
    return resources.list(invalidations, query, [compare('petition = ?', petitionId)]);
  },
);
