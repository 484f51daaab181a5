import { Module } from '@nestjs/common';
import { ErrorPagesController } from './error-pages.controller.js';
import { UnknownOperationController } from './unknown-operation.controller.js';

/** To be imported last: its last route takes every path that no other module's does. */
@Module({ controllers: [ErrorPagesController, UnknownOperationController] })
export class RpcModule {}
