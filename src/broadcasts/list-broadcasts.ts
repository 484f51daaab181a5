import { compare, search, SEARCH_RULE } from '#libs/projections';
import { listHandler } from '#libs/resources';
import { OneOf, Operation, PageInput, Text } from '#libs/rpc';
import { STATUSES } from './broadcast.js';
import { broadcasts, listedBroadcastSchema } from './broadcasts.js';

@Operation({
  name: 'broadcast.list-broadcasts',
  summary: 'List broadcasts',
  answers: listedBroadcastSchema,
  list: true,
})
export class ListBroadcasts extends PageInput('name') {
  @OneOf(STATUSES, { optional: true })
  status?: string;

  @Text({ max: 200, optional: true, description: `Part of the name or the subject. ${SEARCH_RULE}` })
  q?: string;

  @OneOf(['content'], {
    optional: true,
    description: 'Includes fields that are left out by default because they are long.',
  })
  include?: 'content';
}

export const ListBroadcastsHandler = listHandler(ListBroadcasts, broadcasts, ({ status, q }) => [
  compare('status = ?', status),
  search(['name', 'subject'], q),
]);
