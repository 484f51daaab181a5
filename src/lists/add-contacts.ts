import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { RecordReader, Requests } from '#libs/commands';
import { Id, Ids, Input, Operation } from '#libs/rpc';
import { type ListRecord, listRecord, listSchema } from './list-record.js';
import { list } from './list.js';
import { ListsTable } from './lists.projection.js';
import { Members, MOST_MEMBERS } from './members.js';

@Operation({
  method: 'POST',
  name: 'list.add-contacts',
  object: 'list',
  summary: 'Add contacts to a list',
  description: 'All of them or none: an unknown one is 404 and named. Who is on the list already stays.',
  answers: listSchema,
})
export class AddContacts extends Input {
  @Id()
  listId!: string;

  @Ids({ max: MOST_MEMBERS })
  contactIds!: string[];
}

@CommandHandler(AddContacts)
export class AddContactsHandler implements ICommandHandler<AddContacts> {
  constructor(
    private readonly records: RecordReader,
    private readonly requests: Requests,
    private readonly members: Members,
    private readonly lists: ListsTable,
  ) {}

  async execute(command: AddContacts): Promise<ListRecord> {
    const { organizationId, listId, contactIds } = command;
    const { version } = await this.members.add(command, listId, contactIds);
    const answered = await this.records.look(list, organizationId, listId, { version });
    const count = () => this.lists.count(organizationId, listId);
    return listRecord(organizationId, listId, answered, await this.requests.figure(command, count));
  }
}
