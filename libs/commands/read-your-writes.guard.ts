import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Projections } from '#libs/projections';
import { operationOf } from '#libs/rpc';

/**
 * Commands drive the read models of their own version. While instances of another version serve beside this one, each
 * operation first takes in what those have written, so that their clients find it here. The last of the guards: for
 * nobody who is refused.
 */
@Injectable()
export class ReadYourWritesGuard implements CanActivate {
  constructor(private readonly projections: Projections) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    if (!this.projections.hasMixedVersions || !operationOf(context.getHandler())) return true;
    return this.projections.catchUpWithOthers().then(() => true);
  }
}
