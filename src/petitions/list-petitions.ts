import { compare, search, SEARCH_RULE } from '#libs/projections';
import { listHandler } from '#libs/resources';
import { OneOf, Operation, PageInput, Text } from '#libs/rpc';
import { OUTCOMES, STATUSES } from './petition.js';
import { listedPetitionSchema, petitions } from './petitions.js';

@Operation({
  name: 'petition.list-petitions',
  summary: 'List petitions',
  answers: listedPetitionSchema,
  list: true,
})
export class ListPetitions extends PageInput('name') {
  @OneOf(STATUSES, { optional: true })
  status?: string;

  @OneOf(OUTCOMES, { optional: true })
  outcome?: string;

  @Text({ max: 200, optional: true, description: `Part of the name or the title. ${SEARCH_RULE}` })
  q?: string;

  @OneOf(['content'], {
    optional: true,
    description: 'Includes fields that are left out by default because they are long.',
  })
  include?: 'content';
}

export const ListPetitionsHandler = listHandler(ListPetitions, petitions, ({ status, outcome, q }) => [
  compare('status = ?', status),
  compare('outcome = ?', outcome),
  search(['name', 'title'], q),
]);
