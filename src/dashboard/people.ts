import { Injectable } from '@nestjs/common';
import { type Request } from 'express';
import { Mailer } from '#libs/mail';
import {
  type Caller,
  hasScope,
  operationNamed,
  operationOf,
  OperationRunner,
  requestContext,
  type StreamedBody,
} from '#libs/rpc';
import { OrganizationNames } from '../organizations/index.js';
import { type Role, scopesOf, type Session, Sessions, Team } from '../team/index.js';
import { isFromThisMachine, readCookie } from './cookie.js';

/** A signed-in person and the organization of the page. */
export type Person = {
  session: Session;
  organization: { id: string; name: string; colour: string | null; role: Role; memberId: string } | undefined;
  may: (scope: string) => boolean;
  /** The request comes from the machine on which this server writes emails to files. */
  hasOutbox: boolean;
};

export type Member = Person & { organization: NonNullable<Person['organization']> };

/** Options for running an operation. */
type Run = {
  request: { storedRequestId?: string; isGivenUp?: boolean };
  /** A form that is sent twice is executed once. */
  idempotencyKey?: string | undefined;
  /** The streamed body of an operation. */
  body?: StreamedBody | undefined;
  /** See `RequestContext`. */
  beforeAnswer?: ((work: Promise<unknown>) => void) | undefined;
};

/** Identifies the person of a request, and runs the API's operations for them with the scopes of their role. */
@Injectable()
export class People {
  constructor(
    private readonly sessions: Sessions,
    private readonly team: Team,
    private readonly names: OrganizationNames,
    private readonly runner: OperationRunner,
    private readonly mailer: Mailer,
  ) {}

  /**
   * Undefined if the person is not signed in, or if their permissions have changed since. They must then sign in again.
   *
   * @param organizationId the page's organization. The result includes it if the person is a member and their role has not changed
   *   since they signed in.
   * @param isFresh whether to skip the cache. Reads accept sessions up to half a second old; changes do not.
   */
  async find(
    request: Request,
    organizationId?: string,
    isFresh = request.method !== 'GET',
  ): Promise<Person | undefined> {
    const token = readCookie(request);
    if (token === undefined) return undefined;
    // Loads both in parallel, because every page waits for them.
    const [session, named] = await Promise.all([
      isFresh ? this.sessions.find(token) : this.sessions.findForReading(token),
      organizationId === undefined ? undefined : this.names.find(organizationId),
    ]);
    if (!session || isOver(session, organizationId)) return undefined;
    const hasOutbox = this.mailer.written !== undefined && isFromThisMachine(request);
    return { ...personOf(session, organizationId, named), hasOutbox };
  }

  /** The person as a caller of the API, for logs and concurrency limits. */
  callerOf({ session, organization }: Member): Caller {
    const actor = { type: 'user', id: session.userId } as const;
    return { organizationId: organization.id, actor, scopes: scopesOf(organization.role) };
  }

  /**
   * Runs an operation for the person and returns its result.
   *
   * @param name of the operation.
   * @param fields its input, from a form or an address.
   * @throws RpcError as the operation does: BAD_REQUEST with issues, INSUFFICIENT_PERMISSIONS, …
   */
  run<Answer>(
    name: string,
    member: Member,
    fields: Record<string, unknown>,
    { request, idempotencyKey, body, beforeAnswer }: Run,
  ): Promise<Answer> {
    const context = requestContext(this.callerOf(member), request);
    if (idempotencyKey !== undefined) context.idempotencyKey = idempotencyKey;
    if (beforeAnswer) context.beforeAnswer = beforeAnswer;
    // If the person is removed while a command runs, it can no longer store anything.
    const type = operationNamed(name);
    if (operationOf(type)!.method !== 'GET') context.requireAccess = () => this.team.guardOfActor(context);
    return this.runner.run(type, fields, context, body);
  }
}

function isOver({ memberships, outdated }: Session, organizationId: string | undefined): boolean {
  return (
    outdated.some((one) => one.organizationId === organizationId) ||
    (memberships.length === 0 && outdated.length > 0)
  );
}

export function isMember(person: Person): person is Member {
  return person.organization !== undefined;
}

/** @param named the organization; undefined if it does not exist. */
function personOf(
  session: Session,
  organizationId?: string,
  named?: { name: string; colour: string | null },
): Person {
  const membership = session.memberships.find((one) => one.organizationId === organizationId);
  if (!membership || named === undefined)
    return { session, organization: undefined, may: () => false, hasOutbox: false };
  const { organizationId: id, role, memberId } = membership;
  const scopes = scopesOf(role);
  const may = (scope: string) => hasScope(scopes, scope);
  return { session, organization: { id, ...named, role, memberId }, may, hasOutbox: false };
}
