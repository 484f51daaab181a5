import { Module } from '@nestjs/common';
import { operationsModule } from '#libs/rpc';
import * as operations from './operations.js';

@Module(operationsModule(operations))
export class PostsModule {}
