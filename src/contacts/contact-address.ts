import { Injectable } from '@nestjs/common';
import { type Claim, Commands, type Decision, RecordReader } from '#libs/commands';
import { comparableEmail, type Input, RpcError } from '#libs/rpc';
import { type Evidence } from './consent/consent.js';
import { Consents } from './consent/consents.js';
import { contactWrite } from './contact-stream.js';
import {
  answersFor,
  contact,
  type CustomValues,
  hasEmail,
  type ExistingContact,
  updateContact,
} from './contact.js';

/** At most one contact per organization and address. */
export function emailClaims(email: string, contactId: string, taken: Claim['taken']): Claim[] {
  return emailKeys(email).map((value) => ({ value, streamId: contactId, taken }));
}

/**
 * The unique keys of an address: the form in which it is compared, preceded by the form in which version 0.1.0
 * compared it, if that differs. Contacts from that version have only the earlier key, and its instances check
 * only that one.
 */
export function emailKeys(email: string): string[][] {
  return [...new Set([earlierForm(email), comparableEmail(email)])].map((form) => ['contact.email', form]);
}

function earlierForm(email: string): string {
  return email.normalize('NFC').toLowerCase();
}

/** The keys a contact needs when its address changes; both addresses may be equal. */
export function moveEmail(
  before: string,
  after: string,
  contactId: string,
  taken: Claim['taken'],
): Pick<Decision, 'claims' | 'releases'> {
  // An old contact may have only the earlier key of its current address. It gets another key only if the
  // address really changes. So a trivial change never conflicts with a second contact of the same person.
  if (earlierForm(before) === earlierForm(after)) return {};
  const kept = new Set(emailKeys(after).map(String));
  return {
    claims: emailClaims(after, contactId, taken),
    releases: emailKeys(before)
      .filter((key) => !kept.has(String(key)))
      .map((value) => ({ value, streamId: contactId })),
  };
}

/** @param contactId the contact that has the address. */
export function emailTaken(contactId: string, advice: string): RpcError {
  const message = `Another contact in your organization already has this email address. ${advice}`;
  return new RpcError('CONFLICT', message, { reason: 'EMAIL_TAKEN', fields: { contactId } });
}

type Answers = {
  /** Whether the person asked to receive email, and proved that the address is theirs. `evidence`: of that. */
  subscribes: boolean;
  evidence: Evidence | undefined;
  isProved: boolean;
  customFields: CustomValues;
};

@Injectable()
export class ContactsByEmail {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly consents: Consents,
  ) {}

  /**
   * The contact that owns a key of this address. Undefined if it now has another address or was deleted: then
   * the key is free. Instances of version 0.1.0 leave behind the key that they do not know.
   */
  async find(
    input: Input,
    contactId: string,
    email: string,
  ): Promise<{ state: ExistingContact; version: number } | undefined> {
    const { state, version } = await this.records.load(contact, input.organizationId, contactId);
    if (hasEmail(state, email)) return { state, version };
    await this.commands.release(input, { streamId: contactId, version }, emailKeys(email));
    return undefined;
  }

  /** The contact that owns the key of this external id. Undefined if it has lost the id since. */
  async findByExternalId(
    { organizationId }: Input,
    contactId: string,
    externalId: string,
  ): Promise<{ state: ExistingContact; version: number } | undefined> {
    const { state, version } = await this.records.load(contact, organizationId, contactId);
    return state.status === 'standing' && state.externalIds.includes(externalId)
      ? { state, version }
      : undefined;
  }

  /**
   * What a person's answers in a form change about their contact, and the guard under which `find` keeps finding it.
   * Undefined if it does not.
   */
  async answer(
    input: Input,
    contactId: string,
    email: string,
    { subscribes, isProved, evidence, customFields }: Answers,
  ): Promise<Required<Pick<Decision, 'guards' | 'writes'>> | undefined> {
    const found = await this.find(input, contactId, email);
    if (!found) return undefined;
    const { state, version } = found;
    const values = answersFor(state, customFields, isProved);
    const events = updateContact(state, {
      ...(subscribes ? { subscribed: true } : {}),
      customFields: values,
    });
    const change = { contactId, version, events };
    const recorded = subscribes
      ? await this.consents.ofChange(input.organizationId, change, true, evidence)
      : [];
    if (events.length === 0) return { guards: [{ streamId: contactId, version }], writes: recorded };
    return { guards: [], writes: [contactWrite(contactId, version, events), ...recorded] };
  }
}
