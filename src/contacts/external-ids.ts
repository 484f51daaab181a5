import { type Claim, type Decision } from '#libs/commands';
import { RpcError } from '#libs/rpc';

export const EXTERNAL_ID = /^[\w.-]{1,50}:[!#-+\--:<-{}~]+$/;
export const EXTERNAL_ID_RULE =
  'must contain only IDs like civicrm:123, without spaces, commas, semicolons, pipes or quotation marks';

/** The unique value for an external id, which only one contact of the organization can have. */
export function externalIdKey(externalId: string): string[] {
  return ['contact.externalId', externalId];
}

/** @param taken called with the contact that has the id. */
export function externalIdClaims(
  externalIds: readonly string[],
  contactId: string,
  taken: (owner: string, externalId: string) => ReturnType<Claim['taken']>,
): Claim[] {
  return externalIds.map((externalId) => ({
    value: externalIdKey(externalId),
    streamId: contactId,
    taken: (owner) => taken(owner, externalId),
  }));
}

/** The keys that a contact needs and releases when its external ids change. */
export function moveExternalIds(
  before: readonly string[],
  after: readonly string[],
  contactId: string,
): Required<Pick<Decision, 'claims' | 'releases'>> {
  return {
    claims: externalIdClaims(
      after.filter((externalId) => !before.includes(externalId)),
      contactId,
      (owner, externalId) => Promise.reject(externalIdTaken(externalId, owner)),
    ),
    releases: before
      .filter((externalId) => !after.includes(externalId))
      .map((externalId) => ({ value: externalIdKey(externalId), streamId: contactId })),
  };
}

/** @param contactId the contact that has it. */
export function externalIdTaken(externalId: string, contactId: string): RpcError {
  return new RpcError(
    'CONFLICT',
    `The contact ${contactId} already has the external ID ${externalId}. Update that contact, or remove the ID from it.`,
    {
      reason: 'EXTERNAL_ID_TAKEN',
      fields: { contactId },
      issues: [{ path: 'externalIds', message: `belongs to the contact ${contactId}` }],
    },
  );
}
