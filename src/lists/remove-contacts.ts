import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { RecordReader, Requests } from '#libs/commands';
import { Id, Ids, Input, Operation } from '#libs/rpc';
import { type ListRecord, listRecord, listSchema } from './list-record.js';
import { list } from './list.js';
import { ListsTable } from './lists.projection.js';
import { Members, MOST_MEMBERS } from './members.js';

@Operation({
  method: 'DELETE',
  name: 'list.remove-contacts',
  object: 'list',
  summary: 'Remove contacts from a list',
  description:
    'Who is not on the list is left alone; who never was a contact is 404 and named, and nobody is removed. The ' +
    'contacts themselves remain.',
  answers: listSchema,
})
export class RemoveContacts extends Input {
  @Id()
  listId!: string;

  @Ids({ max: MOST_MEMBERS })
  contactIds!: string[];
}

@CommandHandler(RemoveContacts)
export class RemoveContactsHandler implements ICommandHandler<RemoveContacts> {
  constructor(
    private readonly records: RecordReader,
    private readonly requests: Requests,
    private readonly members: Members,
    private readonly lists: ListsTable,
  ) {}

  async execute(command: RemoveContacts): Promise<ListRecord> {
    const { organizationId, listId, contactIds } = command;
    const { version } = await this.members.remove(command, listId, contactIds);
    const answered = await this.records.look(list, organizationId, listId, { version });
    const count = () => this.lists.count(organizationId, listId);
    return listRecord(organizationId, listId, answered, await this.requests.figure(command, count));
  }
}
