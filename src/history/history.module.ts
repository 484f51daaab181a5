import { type DynamicModule, Module } from '@nestjs/common';
import { operationsModule } from '#libs/rpc';
import { Checkpoints } from '#libs/sealing';
import { Cosigning } from '../cosigning/index.js';
import { HistoryReads } from './history-reads.js';
import { LogController } from './log.controller.js';
import * as operations from './operations.js';

const { controllers = [], providers = [] } = operationsModule(operations);

@Module({})
export class HistoryModule {
  static of(checkpoints: Checkpoints, cosigning: Cosigning): DynamicModule {
    const sealing = [
      { provide: Checkpoints, useValue: checkpoints },
      { provide: Cosigning, useValue: cosigning },
    ];
    return {
      module: HistoryModule,
      controllers: [...controllers, LogController],
      providers: [...providers, ...sealing, HistoryReads],
    };
  }
}
