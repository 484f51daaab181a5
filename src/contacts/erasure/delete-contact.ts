import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { Commands, RecordReader } from '#libs/commands';
import { EventStore, type Folded } from '#libs/event-store';
import { Id, Input, Operation } from '#libs/rpc';
import { contactIdSchema } from '../contact-record.js';
import { contact, type Contact, type ContactEvent, eraseContact } from '../contact.js';
import { contactWrite } from '../contact-stream.js';
import { cascadeErasure } from './cascade-erasure.js';

@Operation({
  method: 'DELETE',
  name: 'contact.delete-contact',
  object: 'contact',
  summary: 'Delete a contact',
  description:
    "Permanently erases the person's data everywhere, including the history, by destroying its encryption key. " +
    "The history keeps its structure. You can't undo this.",
  answers: contactIdSchema,
  reasons: ['MERGED'],
})
export class DeleteContact extends Input {
  @Id()
  contactId!: string;
}

@CommandHandler(DeleteContact)
export class DeleteContactHandler implements ICommandHandler<DeleteContact> {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly store: EventStore,
    private readonly source: DataSource,
  ) {}

  async execute(command: DeleteContact): Promise<{ contactId: string }> {
    const { organizationId, contactId } = command;
    const { recordId } = await this.commands.run(command, async () => {
      const loaded = await this.records.load(contact, organizationId, contactId);
      const events = eraseContact(loaded.state);
      const write = contactWrite(contactId, loaded.version, events);
      if (events.length === 0) return { recordId: contactId, writes: [write], erases: [contactId] };
      const emails = await emailsOf(this.store, organizationId, contactId, loaded);
      const reads = { records: this.records, store: this.store, source: this.source };
      const { writes, erases, releasesAll } = await cascadeErasure(reads, organizationId, emails);
      return {
        recordId: contactId,
        writes: [write, ...writes],
        erases: [contactId, ...erases],
        releasesAll,
      };
    });
    return { contactId: recordId };
  }
}

/** The current address, all previous ones, and those of contacts merged into this one, from the contact's history. */
export async function emailsOf(
  store: EventStore,
  organizationId: string,
  contactId: string,
  { state, version }: Folded<Contact>,
): Promise<string[]> {
  if (version === 1 && state.status === 'standing') return [state.details.email!];
  const emails = new Set<string>();
  for await (const events of store.readStreamPages<ContactEvent>(organizationId, contactId, {})) {
    for (const event of events) for (const email of emailsIn(event)) emails.add(email);
  }
  return [...emails];
}

function emailsIn(event: ContactEvent): string[] {
  if (!('personal' in event) || !event.personal) return [];
  if (event.type === 'DuplicatesMerged') return event.personal.duplicates.flatMap(({ emails }) => emails);
  const { email } = event.personal;
  return email == null ? [] : [email];
}
