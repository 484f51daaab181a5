import { compare } from '#libs/projections';
import { Resources } from '#libs/resources';
import { handlerOf, Id, Operation, PageInput } from '#libs/rpc';
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

export const ListOfflineSignaturesHandler = handlerOf(
  ListOfflineSignatures,
  [Resources],
  async (query, resources) => {
    const { organizationId, petitionId } = query;
    if (petitionId !== undefined) await resources.require(petitions, organizationId, petitionId);
    return resources.list(offlineCounts, query, [compare('petition = ?', petitionId)]);
  },
);
