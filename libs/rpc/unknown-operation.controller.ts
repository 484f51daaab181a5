import { All, Controller, Req } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { type Request } from 'express';
import { Documented } from './documented.js';
import { RpcError } from './errors.js';
import { RpcExpressAdapter } from './http-adapter.js';
import { findOperation, operationNames } from './operation.js';
import { mostSimilar } from './similar.js';

/** Responds to paths without an operation. It is a normal route, so the rate limit applies. */
@Controller()
@Documented(({ ApiExcludeController }) => [ApiExcludeController()])
export class UnknownOperationController {
  constructor(private readonly host: HttpAdapterHost<RpcExpressAdapter>) {}

  @All('{*path}')
  answer(@Req() request: Request): never {
    const allowed = this.host.httpAdapter.allowedMethods(request.path);
    // The routes of a path may be disabled.
    if (allowed.length > 0 && !allowed.includes(request.method)) {
      throw new RpcError('METHOD_NOT_ALLOWED', `This operation only accepts ${allowed.join(', ')}.`, {
        headers: { Allow: allowed.join(', ') },
      });
    }
    throw new RpcError(
      'NOT_FOUND',
      `This operation does not exist. ${suggestion(request.path)}See the list of all operations: /docs`,
    );
  }
}

/** For `/v1/contact.create`, `/contacts/create` or `/v1/createContact`. */
function suggestion(path: string): string {
  const meant = mostSimilar(path.replace(/^\/v\d+\//, ''), operationNames());
  return meant === undefined ? '' : `Did you mean ${findOperation(meant)!.method} /v1/${meant}? `;
}
