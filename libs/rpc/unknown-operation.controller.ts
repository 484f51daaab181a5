import { All, Controller, Req } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { type Request } from 'express';
import { Documented } from './documented.js';
import { RpcError } from './errors.js';
import { RpcExpressAdapter } from './http-adapter.js';

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
    throw new RpcError('NOT_FOUND', 'This operation does not exist. See the list of all operations: /docs');
  }
}
