export { Places } from './filters/places.js';
export { chooseContactsBy, forEachKindOfContacts, kindsOfContacts } from './filters/contact-filters.js';
export { countryChoices, countryCode, countryName, isInCountry, sumByCountry } from './filters/countries.js';
export {
  type FieldCondition,
  type Filter,
  FILTER_RULES,
  type FilterValue,
  filterContactsBy,
  namedInFilters,
  namesCustomFields,
  partOf,
  readFilter,
  recordsIn,
  requireNamed,
} from './filters/filter.js';
export { CUSTOM_OPS, type FieldType, filterFields, type Op, OPS_OF } from './filters/filter-fields.js';
export { filterProjections, filterSql } from './filters/filter-sql.js';
export { type FilteredContact, matchesFilter } from './filters/filter-match.js';
export { canonicalEmail } from './canonical-email.js';
export { contactLink } from './contact-links.js';
export {
  AcceptsGroups,
  ASSIGNED_SCOPES,
  AssignedGroups,
  type Assignment,
  withAssignment,
} from './groups/assigned-groups.js';
export {
  forEachGroupOfContacts,
  type GroupKind,
  groupOfContacts,
  groupsOfContacts,
} from './groups/group-of-contacts.js';
export { ContactsByEmail, emailKeys } from './contact-address.js';
export { externalIdKey } from './external-ids.js';
export { type Evidence } from './consent/consent.js';
export { ConsentFields, evidenceOf, requireStated } from './consent/consent-fields.js';
export { Consents } from './consent/consents.js';
export { type ConsentRecord } from './consent/list-consents.js';
export {
  contact,
  type ContactDetails,
  existingContact,
  type ExistingContact,
  updateContact,
} from './contact.js';
export { contactWrite, findMerged } from './contact-stream.js';
export { contactsProjection } from './contacts.projection.js';
export { ContactsTable, hasEmailDomain, joinCountry, searchContacts } from './contacts-table.js';
export { ContactsModule } from './contacts.module.js';
export { eraseWithContacts } from './erasure/cascade-erasure.js';
export { createInline, InlineContact } from './inline-contact.js';
export { CreateContact } from './create-contact.js';
export { DeleteContact } from './erasure/delete-contact.js';
export { UpdateContact } from './update-contact.js';
export { type ContactRecord, contactSchema } from './contact-record.js';
export { mergeWithContacts } from './merge/cascade-merge.js';
export { exportWithPersons } from './export/person-sources.js';
export { contactParts, includeInContacts, type PartReads } from './parts/contact-parts.js';
export { ContactsByIds } from './contacts-by-ids.js';
export { ExportContacts } from './export-contacts.js';
export {
  type ImportAnswer,
  ImportContacts,
  importContactsInto,
  suppressImportedBy,
  UNSUBSCRIBED,
} from './import/import-contacts.js';
export { importSignaturesOf } from './import/imported-signatures.js';
export { isConsent, isEvidence, type Meaning, meaningsIn } from './import/columns.js';
export { decoderOf } from './import/encodings.js';
export { writeNames } from './import/name-cells.js';
export { importContactsByName } from './import/imported-contacts.js';
export { type ChosenBy, type ChosenContact, chosenContacts } from './filters/chosen-contacts.js';
