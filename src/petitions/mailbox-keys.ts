/**
 * The unique key of a signature on the public site: a mailbox signs a petition once, however its address is
 * written.
 */
export function mailboxKey(petitionId: string, canonicalEmail: string): string[] {
  return ['petition.signature.mailbox', petitionId, canonicalEmail];
}

/** The unique key of a mailbox's latest open request for a petition. */
export function requestKey(petitionId: string, canonicalEmail: string): string[] {
  return ['petition.signature.request', petitionId, canonicalEmail];
}
