import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { Commands, RecordReader } from '#libs/commands';
import { ReadSource } from '#libs/database';
import { EventStore } from '#libs/event-store';
import { findRows, type RowPage } from '#libs/projections';
import { newId } from '#libs/random';
import { Resources } from '#libs/resources';
import { Flag, noSuch, Operation, RecordInput, StreamedAnswer } from '#libs/rpc';
import { localeNear } from '#locales';
import { ContactsByIds, countryName } from '../contacts/index.js';
import { organization, senderOf } from '../organizations/index.js';
import { deliveryFoot, deliveryHead, deliveryRows, type Signer } from './delivery-document.js';
import { OfflineSignatures } from './offline-counts.js';
import { petitionDelivery, type PetitionDeliveryEvent } from './petition-delivery.js';
import { type PetitionFields } from './petition.js';
import { petitions } from './petitions.js';
import { PublicComments } from './public-comments.js';
import { type SignatureRow, SIGNATURES } from './signature-rows.js';

/** Signers per query, and per chunk of the response. */
const PAGE = 1_000;
/** The newest public comments. All of them are in the export of signatures. */
const MAX_COMMENTS = 1_000;

@Operation({
  name: 'petition.get-delivery',
  summary: 'Get the document to hand over a petition',
  description:
    'Streams an HTML document to print, in the language of the petition. It contains the title, what the petition asks for, the ' +
    'number of signatures, and the newest 1,000 comments that its page may show. `contacts` adds the names and places of all signers. Deleted ' +
    'signers have a row without a name. Records `PetitionDelivered` in the history with the numbers. The addressee can ' +
    'check the number of signatures from the page with `petition.get-count-certificate`. A response without its last ' +
    'chunk (RFC 9112, section 8) is incomplete.',
  answers: { type: 'string', description: 'The document.' },
  answerTypes: ['text/html'],
  fieldScopes: { contacts: 'contact:read' },
})
export class GetDelivery extends RecordInput('petitionId') {
  @Flag({ optional: true, description: 'Includes the names and places of the signers.' })
  contacts?: boolean;
}

@QueryHandler(GetDelivery)
export class GetDeliveryHandler implements IQueryHandler<GetDelivery> {
  constructor(
    private readonly reads: ReadSource,
    private readonly resources: Resources,
    private readonly records: RecordReader,
    private readonly commands: Commands,
    private readonly store: EventStore,
    private readonly contacts: ContactsByIds,
    private readonly comments: PublicComments,
    private readonly offline: OfflineSignatures,
  ) {}

  async execute(query: GetDelivery): Promise<StreamedAnswer> {
    const { organizationId, petitionId, contacts = false } = query;
    const petition = await this.resources.findAt(petitions, organizationId, petitionId);
    if (!petition) throw noSuch('petition');
    const signatures = petition.signatures as number;
    const offlineSignatures = await this.offline.total(organizationId, petitionId);
    const data = { petitionId, signatures, offlineSignatures, contacts };
    await this.record(query, { type: 'PetitionDelivered', data });
    return new StreamedAnswer(
      'text/html; charset=utf-8',
      'delivery.html',
      this.write(query, petition as unknown as PetitionFields, { signatures, offlineSignatures }),
    );
  }

  private async record(query: GetDelivery, event: PetitionDeliveryEvent): Promise<void> {
    const recordId = newId();
    await this.commands.run(query, () =>
      Promise.resolve({
        recordId,
        writes: [
          {
            streamType: petitionDelivery.streamType,
            streamId: recordId,
            expectedVersion: 0,
            events: [event],
          },
        ],
      }),
    );
  }

  private async *write(
    { organizationId, petitionId, contacts: isNamed = false, ...query }: GetDelivery,
    petition: PetitionFields,
    numbers: { signatures: number; offlineSignatures: number },
  ): AsyncGenerator<string> {
    const { name, language: preset } = await senderOf(this.records, organizationId);
    const { state } = await this.records.look(organization, organizationId, organizationId);
    const timeZone = state.status === 'standing' ? state.timeZone : 'UTC';
    const language = petition.language ?? preset;
    const words = localeNear(language, preset).site;
    yield deliveryHead(words, language, name, petition, numbers, { isNamed, at: new Date(), timeZone });
    let after: RowPage<SignatureRow>['next'];
    let written = 0;
    do {
      if (!isNamed) break;
      const listing = { ...query, organizationId, within: petitionId, limit: PAGE, sort: 'createdAt', after };
      const { rows, next } = await findRows<SignatureRow>(this.reads, listing, SIGNATURES.CONFIRMED, {
        kind: 'export',
      });
      // People who sign in the meantime are not in the number at the top either.
      const counted = rows.slice(0, numbers.signatures - written);
      const signers = await this.signersOf(organizationId, words.locale, counted);
      if (counted.length > 0) yield deliveryRows(words, signers, written);
      written += counted.length;
      after = next;
    } while (after !== undefined && written < numbers.signatures);
    const comments = await this.comments.newest(organizationId, petitionId, petition.comments, MAX_COMMENTS);
    yield deliveryFoot(words, comments, { isNamed });
  }

  private async signersOf(
    organizationId: string,
    locale: string,
    rows: readonly SignatureRow[],
  ): Promise<Signer[]> {
    const ids = rows.flatMap(({ subject_id }) => subject_id ?? []);
    const contacts = await this.contacts.find(organizationId, ids);
    return rows.map(({ subject_id }) => {
      const contact = contacts.get(subject_id ?? '');
      if (!contact) return null;
      const { firstName, lastName, zip, city, country } = contact;
      const place = [zip, city].filter((part) => part !== null).join(' ');
      return {
        name: [firstName, lastName].filter((part) => part !== null).join(' '),
        place: [place, country && countryName(locale, country)].filter((part) => part).join(', '),
      };
    });
  }
}
