import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Projections } from '#libs/projections';
import { operationOf } from '#libs/rpc';

/**
 * Commands update the projections of their own version. While instances of another version serve the same database, each
 * operation first projects their events, so that clients also find those writes here. It runs as the last guard, only for
 * requests that the others admit.
 */
@Injectable()
export class ReadYourWritesGuard implements CanActivate {
  constructor(private readonly projections: Projections) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    if (!this.projections.hasMixedVersions || !operationOf(context.getHandler())) return true;
    return this.projections.catchUpWithOthers().then(() => true);
  }
}
