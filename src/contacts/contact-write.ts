import { type Claim } from '#libs/commands';
import { type StreamWrite } from '#libs/event-store';
import { RpcError } from '#libs/rpc';
import { comparableEmail, contact, type ContactEvent } from './contact.js';

/** Events for a contact's stream; the contact is the subject of its personal data. */
export function contactWrite(
  contactId: string,
  expectedVersion: number,
  events: ContactEvent[],
): StreamWrite {
  return {
    streamType: contact.streamType,
    streamId: contactId,
    expectedVersion,
    events,
    subjectId: contactId,
  };
}

/** One live contact per organization and address. */
export function emailClaim(email: string, contactId: string, taken: Claim['taken']): Claim {
  return { value: emailKey(email), streamId: contactId, taken };
}

export function emailKey(email: string): string[] {
  return ['contact.email', comparableEmail(email)];
}

export function emailTaken(advice: string): RpcError {
  return new RpcError('CONFLICT', `Another contact of your organization has this e-mail address. ${advice}`);
}
