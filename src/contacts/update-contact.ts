import { Commands, type Decision } from '#libs/commands';
import { handlerOf, Id, Operation } from '#libs/rpc';
import { CustomFields } from '../fields/index.js';
import { ContactFields } from './contact-fields.js';
import { contactSchema, recordFromHistory } from './contact-record.js';
import { evidenceOf, requireStated } from './consent/consent-fields.js';
import { Consents } from './consent/consents.js';
import { contact, existingContact, updateContact } from './contact.js';
import { emailTaken, moveEmail } from './contact-address.js';
import { moveExternalIds } from './external-ids.js';
import { contactWrite } from './contact-stream.js';
import { AcceptsGroups, ASSIGNED_SCOPES, AssignedGroups, withAssignment } from './groups/assigned-groups.js';

@Operation({
  name: 'contact.update-contact',
  summary: 'Update a contact',
  description:
    'Changes only the fields you send; `null` clears an optional field. Returns the whole contact.',
  answers: contactSchema,
  reasons: ['MERGED', 'EMAIL_TAKEN', 'EXTERNAL_ID_TAKEN'],
  fieldScopes: ASSIGNED_SCOPES,
})
@AcceptsGroups
export class UpdateContact extends ContactFields {
  @Id()
  contactId!: string;
}

export const UpdateContactHandler = handlerOf(
  UpdateContact,
  [Commands, Consents, CustomFields, AssignedGroups],
  async (command, commands, consents, fields, groups) => {
    requireStated(command);
    const { context, organizationId, contactId, consent, customFields, ...others } = command;
    const changes = { ...others, ...(await fields.read(organizationId, customFields)) };
    const evidence = evidenceOf(consent);
    const answered = await commands.change(
      contact,
      command,
      contactId,
      (state) => updateContact(existingContact(state), changes),
      async ({ state, version }, events) => {
        const { details, externalIds } = existingContact(state);
        const before = details.email!;
        const moved = moveEmail(before, changes.email ?? before, contactId, (owner) =>
          Promise.reject(
            emailTaken(owner, 'Use another address, or merge the two contacts with contact.merge-contacts.'),
          ),
        );
        const ids = moveExternalIds(externalIds, changes.externalIds ?? externalIds, contactId);
        const change = { contactId, version, events };
        const given = changes.subscribed ?? existingContact(state).subscribed;
        const changed: Decision = {
          recordId: contactId,
          writes: [
            contactWrite(contactId, version, events),
            ...(await consents.ofChange(organizationId, change, given, evidence)),
          ],
          claims: [...ids.claims, ...(moved.claims ?? [])],
          releases: [...ids.releases, ...(moved.releases ?? [])],
        };
        return withAssignment(changed, await groups.of(command, contactId, false));
      },
    );
    const record = recordFromHistory(organizationId, contactId, answered);
    await fields.name(organizationId, [record]);
    return record;
  },
);
