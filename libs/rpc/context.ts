import { type Actor, type Guard } from '#libs/event-store';

/** Who asks and how, known before the input is read. */
export type RequestContext = {
  organizationId: string;
  actor: Actor;
  /** What the caller may do: scopes, or `*`. */
  scopes: readonly string[];
  /** As it is stored: `storedRequestId`. */
  requestId: string;
  idempotencyKey?: string;
  /** Whether the caller was told that this is not worked on any more: then nothing may be stored for it. */
  isGivenUp?: () => boolean;
  /**
   * What must be so until the command is stored, asked with each decision: that who asks is still there.
   *
   * @throws RpcError where it is not so.
   */
  standing?: () => Promise<readonly Guard[]>;
  /** Called if the answer is that of an earlier, identical request. */
  onReplay?: () => void;
  /** Takes what has to be done before the answer leaves, but not before it is made. Without it that is waited for at once. */
  beforeAnswer?: (work: Promise<unknown>) => void;
};
