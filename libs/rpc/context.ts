import { type Request } from 'express';
import { randomUUID } from 'node:crypto';
import { type Actor, type Guard } from '#libs/event-store';
import { type Caller } from './request.js';

/** The caller of a command or query, and its circumstances. */
export type RequestContext = {
  organizationId: string;
  actor: Actor;
  /** The caller's scopes, or `*`. */
  scopes: readonly string[];
  /** The `storedRequestId`. */
  requestId: string;
  idempotencyKey?: string;
  /** Whether the caller already got an error, such as a timeout. Then nothing may be stored. */
  isGivenUp?: () => boolean;
  /**
   * Guards of each decision of a command, such as that the caller is still a member.
   *
   * @throws RpcError if the caller has lost access.
   */
  requireAccess?: () => Promise<readonly Guard[]>;
  /** Called if the response is that of an earlier, identical request. */
  onReplay?: () => void;
  /** The client's address and the website that it claims to run on, as sent. undefined: unknown. */
  client?: { address: string | undefined; origin: string | undefined };
  /** Accepts work that must be done before the response is sent. Without this function, the operation waits for such work itself. */
  beforeAnswer?: (work: Promise<unknown>) => void;
};

/** The context of an operation that a request runs. */
export function requestContext(
  { organizationId, actor, scopes }: Caller,
  request: Partial<Pick<Request, 'storedRequestId' | 'isGivenUp' | 'ip' | 'headers'>>,
): RequestContext {
  const isGivenUp = () => request.isGivenUp === true;
  const client = { address: request.ip, origin: request.headers?.origin };
  return { organizationId, actor, scopes, requestId: request.storedRequestId!, isGivenUp, client };
}

/**
 * The context of an operation that the operator or the program itself runs.
 *
 * @param actorId the actor in the history, such as `command-line`.
 */
export function systemContext(organizationId: string, actorId: string): RequestContext {
  const actor = { type: 'system', id: actorId } as const;
  return { organizationId, actor, scopes: ['*'], requestId: `${actorId}-${randomUUID()}` };
}
