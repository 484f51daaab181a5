import { type DynamicModule, Module } from '@nestjs/common';
import { operationsModule } from '#libs/rpc';
import { Sealer, Signer } from '#libs/sealing';
import { HistoryReads } from './history-reads.js';
import * as operations from './operations.js';

const { controllers = [], providers = [] } = operationsModule(operations);

@Module({})
export class HistoryModule {
  static of(sealer: Sealer, signer: Signer): DynamicModule {
    const sealing = [
      { provide: Sealer, useValue: sealer },
      { provide: Signer, useValue: signer },
    ];
    return { module: HistoryModule, controllers, providers: [...providers, ...sealing, HistoryReads] };
  }
}
