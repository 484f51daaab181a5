import { Injectable } from '@nestjs/common';
import { ApiKeysTable } from '../../../auth/index.js';
import { type Actor, type Guard } from '#libs/event-store';
import { type RequestContext, requireScope, RpcError } from '#libs/rpc';
import { Team } from '../../../team/index.js';

/** How long the result of a check is used. Changes since then are noticed when rows are stored. */
const CHECK_MS = 250;

/** What the caller has done, for messages. */
type Deed = 'started' | 'undid';

/** The permissions of the caller who started or undid an import, while that runs. */
@Injectable()
export class ImportAccess {
  constructor(
    private readonly team: Team,
    private readonly keys: ApiKeysTable,
  ) {}

  /**
   * The current permissions.
   *
   * @throws RpcError NOT_FOUND if the user has left the team; UNAUTHORIZED if the API key can no longer be used.
   */
  async scopesOf(
    organizationId: string,
    { type, id }: Actor,
    deed: Deed = 'started',
  ): Promise<readonly string[]> {
    if (type === 'api-key') return (await this.key(organizationId, id!, deed)).scopes;
    const caller = await this.team.callerOf(organizationId, id!);
    if (!caller) throw hasLeft(deed);
    return caller.scopes;
  }

  /**
   * A function for `requireAccess`: the guard that the caller still has all scopes of the context.
   *
   * @param onLost called once the caller has lost one of them, or all access.
   */
  guardOf(context: RequestContext, onLost: (error: RpcError) => void): () => Promise<readonly Guard[]> {
    let guards: Promise<readonly Guard[]> | undefined;
    let until = 0;
    return () => {
      if (guards && performance.now() < until) return guards;
      until = performance.now() + CHECK_MS;
      guards = this.guards(context);
      guards.catch((error: unknown) => {
        guards = undefined;
        if (error instanceof RpcError && error.status < 500) onLost(error);
      });
      return guards;
    };
  }

  /** The guard that the caller has all scopes of the context. @throws RpcError if not. */
  async guards(context: RequestContext, deed: Deed = 'started'): Promise<readonly Guard[]> {
    const { organizationId, actor, scopes } = context;
    if (actor.type !== 'api-key')
      return this.team.guardOfActor(context).catch((error: unknown) => explain(error, deed));
    const key = await this.key(organizationId, actor.id!, deed);
    for (const scope of scopes) requireScope(key.scopes, scope);
    return [{ streamId: key.id, version: key.version }];
  }

  private async key(organizationId: string, id: string, deed: Deed) {
    const key = await this.keys.findUsable(organizationId, id);
    if (!key) {
      const message = `The API key that ${deed} this import has expired or was revoked.`;
      throw new RpcError('UNAUTHORIZED', message, { reason: 'KEY_INVALID' });
    }
    return key;
  }
}

function hasLeft(deed: Deed): RpcError {
  return new RpcError('NOT_FOUND', `The person who ${deed} this import has left the team.`);
}

/** The errors of `guardOfActor` are about the caller of a request. */
function explain(error: unknown, deed: Deed): never {
  if (!(error instanceof RpcError)) throw error;
  if (error.code === 'NOT_FOUND') throw hasLeft(deed);
  if (error.code !== 'INSUFFICIENT_PERMISSIONS') throw error;
  const work = deed === 'started' ? 'import these columns' : 'delete contacts';
  const message = `The person who ${deed} this import is no longer allowed to ${work}.`;
  throw new RpcError(error.code, message, { reason: 'SCOPE_MISSING' });
}
