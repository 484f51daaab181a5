import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { compare, search, SEARCH_RULE } from '#libs/projections';
import { type ResourceRecord, Resources } from '#libs/resources';
import { OneOf, Operation, type Page, PageInput, Text } from '#libs/rpc';
import { listedPetitionSchema, petitions } from './petitions.js';

@Operation({
  method: 'GET',
  name: 'petition.list-petitions',
  object: 'petitions',
  summary: 'List petitions',
  answers: listedPetitionSchema,
  list: true,
})
export class ListPetitions extends PageInput('name') {
  @OneOf(['DRAFT', 'PUBLISHED', 'CLOSED'], { optional: true })
  status?: string;

  @Text({ max: 200, optional: true, description: `Part of the name or the title. ${SEARCH_RULE}` })
  q?: string;

  @OneOf(['content'], { optional: true, description: 'What is left out otherwise, because it is long.' })
  include?: 'content';
}

@QueryHandler(ListPetitions)
export class ListPetitionsHandler implements IQueryHandler<ListPetitions> {
  constructor(private readonly resources: Resources) {}

  execute(query: ListPetitions): Promise<Page<ResourceRecord>> {
    const conditions = [compare('status = ?', query.status), search(['name', 'title'], query.q)];
    return this.resources.list(petitions, query, conditions);
  }
}
