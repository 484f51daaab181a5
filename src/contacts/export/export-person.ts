import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { RecordReader } from '#libs/commands';
import { EventStore } from '#libs/event-store';
import { Operation, RecordInput, recordSchema, StreamedAnswer, timestamp } from '#libs/rpc';
import { contactSchema } from '../contact-record.js';
import { contact, existingContact } from '../contact.js';
import { emailsOf } from '../erasure/contact-erasure.js';
import { GetContact, GetContactHandler } from '../get-contact.js';
import { PartReads } from '../parts/contact-parts.js';
import { type ExportedPerson, personSources } from './person-sources.js';

@Operation({
  name: 'contact.export-person',
  summary: 'Export everything about one person',
  description:
    'Streams one JSON object with everything that is stored about the person, to answer a request under GDPR article ' +
    '15: the contact; tags, lists, signatures and consents; signatures that await confirmation; suppressions of all ' +
    'addresses that the contact ever had; deliveries of broadcasts; and every event about the person, with its personal ' +
    'data. A response without its last chunk (RFC 9112, section 8) is incomplete: request it again.',
  answers: {
    ...recordSchema({ exportedAt: timestamp, contact: contactSchema }),
    get properties() {
      const names = [...personSources().keys()];
      const arrays = names.map((name) => [name, { type: 'array', items: { type: 'object' } }] as const);
      return { exportedAt: timestamp, contact: contactSchema, ...Object.fromEntries(arrays) };
    },
  },
  answerTypes: ['application/json'],
  // It contains records of other services, and the history.
  scope: 'contact:export',
  reasons: ['MERGED'],
})
export class ExportPerson extends RecordInput('contactId') {}

@QueryHandler(ExportPerson)
export class ExportPersonHandler implements IQueryHandler<ExportPerson> {
  constructor(
    private readonly records: RecordReader,
    private readonly store: EventStore,
    private readonly source: DataSource,
    private readonly from: PartReads,
    private readonly contacts: GetContactHandler,
  ) {}

  async execute({ organizationId, contactId, context }: ExportPerson): Promise<StreamedAnswer> {
    const loaded = await this.records.look(contact, organizationId, contactId);
    existingContact(loaded.state);
    const query = Object.assign(new GetContact(), { organizationId, contactId, context });
    const record = await this.contacts.execute(query);
    const emails = await emailsOf(this.store, organizationId, contactId, loaded);
    return new StreamedAnswer(
      'application/json',
      `person-${contactId}.json`,
      this.write(record, { organizationId, contactId, emails }),
    );
  }

  private async *write(record: object, person: ExportedPerson): AsyncGenerator<string> {
    yield `{\n"exportedAt": ${JSON.stringify(new Date())},\n"contact": ${JSON.stringify(record)}`;
    for (const [name, pages] of personSources()) {
      let separator = `,\n${JSON.stringify(name)}: [`;
      for await (const page of pages(this.from, person, this.source)) {
        for (const one of page) {
          yield `${separator}\n${JSON.stringify(one)}`;
          separator = ',';
        }
      }
      yield separator === ',' ? '\n]' : `${separator}]`;
    }
    yield '\n}\n';
  }
}
