/** What is unique about who signs on the public site: one mailbox signs a petition once, in whatever form its address is written. */
export function mailboxKey(petitionId: string, canonicalEmail: string): string[] {
  return ['petition.signature.mailbox', petitionId, canonicalEmail];
}

/** Of the requests of one mailbox for one petition the last one that is still open has it. */
export function requestKey(petitionId: string, canonicalEmail: string): string[] {
  return ['petition.signature.request', petitionId, canonicalEmail];
}
