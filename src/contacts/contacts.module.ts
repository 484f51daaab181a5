import { Commands, RecordReader } from '#libs/commands';
import { ProductModule } from '#libs/modules';
import { Linking } from '#libs/resources';
import { ContactsByEmail } from './contact-address.js';
import { replayableContacts } from './contact-record.js';
import { consent } from './consent/consent.js';
import { Consents } from './consent/consents.js';
import { ContactErasure } from './erasure/contact-erasure.js';
import { contact, contactShapes } from './contact.js';
import { ContactUpdates } from './contact-updates.js';
import { ContactsByIds } from './contacts-by-ids.js';
import { ContactsTable } from './contacts-table.js';
import { contactsProjection } from './contacts.projection.js';
import { AssignedGroups } from './groups/assigned-groups.js';
import { Places } from './filters/places.js';
import { ImportedLinks } from './import/imported-links.js';
import { ImportedSignatures } from './import/imported-signatures.js';
import { FieldsModule } from '../fields/index.js';
import { OptionCounts } from './option-counts.js';
import * as operations from './operations.js';
import { reasons } from './reasons.js';
import { MergedLinks } from './merge/merged-links.js';
import { PartReads } from './parts/contact-parts.js';

/** Links records of other modules to contacts. */
const linking = {
  provide: Linking,
  useFactory: (...[commands, records, contacts]: ConstructorParameters<typeof Linking>) =>
    new Linking(commands, records, contacts),
  inject: [Commands, RecordReader, ContactsTable],
};
const forOthers = [
  AssignedGroups,
  Consents,
  ContactErasure,
  ContactsByEmail,
  ContactsByIds,
  ContactsTable,
  ContactUpdates,
  ImportedSignatures,
  linking,
  Places,
];

@ProductModule({
  operations,
  services: { contact: 'The people an organization knows, with their consent to receive email.' },
  reasons,
  streams: [contact, consent],
  projections: [contactsProjection],
  replayables: [replayableContacts],
  upcasters: contactShapes,
  imports: [FieldsModule],
  providers: [...forOthers, ImportedLinks, OptionCounts, MergedLinks, PartReads],
  exports: forOthers,
})
export class ContactsModule {}
