import { Global, Module } from '@nestjs/common';
import { ErrorPagesController } from './error-pages.controller.js';
import { OperationRunner } from './operation-runner.js';
import { UnknownOperationController } from './unknown-operation.controller.js';

/** Import it last: its last route matches every path that no other route matches. */
@Global()
@Module({
  controllers: [ErrorPagesController, UnknownOperationController],
  providers: [OperationRunner],
  exports: [OperationRunner],
})
export class RpcModule {}
