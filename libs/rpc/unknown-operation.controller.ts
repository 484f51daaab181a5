import { All, Controller, Req } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { type Request } from 'express';
import { Documented } from './documented.js';
import { RpcError } from './errors.js';
import { RpcExpressAdapter } from './http-adapter.js';

/** Answers what no operation serves; a route like any other, so that it counts against the rate limit. */
@Controller()
@Documented(({ ApiExcludeController }) => [ApiExcludeController()])
export class UnknownOperationController {
  constructor(private readonly host: HttpAdapterHost<RpcExpressAdapter>) {}

  @All('{*path}')
  answer(@Req() request: Request): never {
    const allowed = this.host.httpAdapter.allowedMethods(request.path);
    // What is served there may be switched off.
    if (allowed.length > 0 && !allowed.includes(request.method)) {
      throw new RpcError('METHOD_NOT_ALLOWED', `This operation only accepts ${allowed.join(', ')}.`, {
        headers: { Allow: allowed.join(', ') },
      });
    }
    throw new RpcError('NOT_FOUND', 'This operation does not exist. See the list of all operations: /docs');
  }
}
