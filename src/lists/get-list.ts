import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { RecordReader } from '#libs/commands';
import { Id, Input, Operation, PastRecord, Timestamp } from '#libs/rpc';
import { type ListRecord, listRecord, listSchema } from './list-record.js';
import { list, standingList } from './list.js';
import { ListsTable } from './lists.projection.js';

@Operation({
  method: 'GET',
  name: 'list.get-list',
  object: 'list',
  summary: 'Retrieve a list',
  description: 'Its contacts: contact.list-contacts with `listId`.',
  answers: listSchema,
})
export class GetList extends Input {
  @Id()
  listId!: string;

  @Timestamp({ optional: true, description: 'The list as it was at this moment.' })
  asOf?: string;
}

@QueryHandler(GetList)
export class GetListHandler implements IQueryHandler<GetList> {
  constructor(
    private readonly records: RecordReader,
    private readonly lists: ListsTable,
  ) {}

  async execute({ organizationId, listId, asOf }: GetList): Promise<ListRecord | PastRecord<ListRecord>> {
    const record = asOf === undefined ? await this.lists.find(organizationId, listId) : undefined;
    if (record) return record;
    const past = await this.records.past(asOf);
    const folded = await this.records.look(list, organizationId, listId, past);
    standingList(folded.state);
    if (!past) {
      return listRecord(organizationId, listId, folded, await this.lists.count(organizationId, listId));
    }
    const contacts = await this.lists.countAt(organizationId, listId, past);
    return new PastRecord(listRecord(organizationId, listId, folded, contacts), past);
  }
}
