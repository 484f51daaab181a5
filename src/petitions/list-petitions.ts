import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { ReadSource } from '#libs/database';
import { compare, findRows, search, SEARCH_RULE } from '#libs/projections';
import { listingOf, OneOf, Operation, type Page, PageInput, pageOf, Text } from '#libs/rpc';
import { listedPetitionSchema, type PetitionRecord } from './petition-record.js';
import { petitionPage, PETITIONS_TABLE, recordFromRow, type PetitionRow } from './petitions.projection.js';

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
  constructor(private readonly reads: ReadSource) {}

  async execute(query: ListPetitions): Promise<Page<PetitionRecord>> {
    const { rows, next } = await findRows<PetitionRow>(this.reads, listingOf(query), {
      table: PETITIONS_TABLE,
      ...petitionPage(query.include),
      sortColumns: { name: { column: 'name', type: 'text' } },
      conditions: [compare('status = ?', query.status), search(['name', 'title'], query.q)],
    });
    return pageOf(query, rows.map(recordFromRow), next);
  }
}
