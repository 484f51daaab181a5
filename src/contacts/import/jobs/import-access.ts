import { Injectable } from '@nestjs/common';
import { ApiKeysTable } from '../../../auth/index.js';
import { type Actor, type Guard } from '#libs/event-store';
import { type RequestContext, requireScope, RpcError } from '#libs/rpc';
import { Team } from '../../../team/index.js';

/** How long the result of a check is used. Changes since then are noticed when rows are stored. */
const CHECK_MS = 250;

/** The permissions of the caller who started an import, while it runs. */
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
  async scopesOf(organizationId: string, { type, id }: Actor): Promise<readonly string[]> {
    if (type === 'api-key') return (await this.key(organizationId, id!)).scopes;
    const caller = await this.team.callerOf(organizationId, id!);
    if (!caller) throw hasLeft();
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

  private async guards(context: RequestContext): Promise<readonly Guard[]> {
    const { organizationId, actor, scopes } = context;
    if (actor.type !== 'api-key') return this.team.guardOfActor(context).catch(explain);
    const key = await this.key(organizationId, actor.id!);
    for (const scope of scopes) requireScope(key.scopes, scope);
    return [{ streamId: key.id, version: key.version }];
  }

  private async key(organizationId: string, id: string) {
    const key = await this.keys.findUsable(organizationId, id);
    if (!key) {
      throw new RpcError('UNAUTHORIZED', 'The API key that started this import has expired or was revoked.', {
        reason: 'KEY_INVALID',
      });
    }
    return key;
  }
}

function hasLeft(): RpcError {
  return new RpcError('NOT_FOUND', 'The person who started this import has left the team.');
}

/** The errors of `guardOfActor` are about the caller of a request. */
function explain(error: unknown): never {
  if (!(error instanceof RpcError)) throw error;
  if (error.code === 'NOT_FOUND') throw hasLeft();
  if (error.code !== 'INSUFFICIENT_PERMISSIONS') throw error;
  const message = 'The person who started this import is no longer allowed to import these columns.';
  throw new RpcError(error.code, message, { reason: 'SCOPE_MISSING' });
}
