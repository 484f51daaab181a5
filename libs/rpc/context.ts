import { type Actor } from '#libs/event-store';

/** Who asks and how, known before the input is read. */
export type RequestContext = {
  organizationId: string;
  actor: Actor;
  requestId: string;
  idempotencyKey?: string;
  /** Ends when the client goes away: long answers stop with it. */
  signal?: AbortSignal;
};
