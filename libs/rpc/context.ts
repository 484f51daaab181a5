import { type Actor } from '#libs/event-store';

/** Who asks and how, known before the input is read. */
export type RequestContext = {
  organizationId: string;
  actor: Actor;
  /** What the caller may do: scopes, or `*`. */
  scopes: readonly string[];
  /** As it is stored: `storedRequestId`. */
  requestId: string;
  idempotencyKey?: string;
};
