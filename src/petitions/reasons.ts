export const reasons = {
  CONFLICT: {
    PETITION_NOT_PUBLISHED: 'The petition is a draft, so it cannot be signed or closed. Publish it first.',
    PETITION_CLOSED: 'The petition is closed and accepts no signatures. To reopen it, publish it again.',
    NO_PUBLIC_COMMENT:
      'The signature has no public comment: its signer wrote none, kept it private, or was erased.',
    PETITION_NOT_CLOSED: 'The petition is not closed, so it has no outcome yet. Close it first.',
    TOO_MANY_OFFLINE_COUNTS: 'The petition has the maximum number of counts of signatures on paper.',
    PETITION_PUBLISHED: 'The petition is published and cannot be deleted. Close it first.',
  },
} as const;

declare module '#libs/rpc' {
  interface ModuleReasons {
    petitions: typeof reasons;
  }
}
