import { type DynamicModule, Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { ReadSource, ReservedConnections, IncidentLog } from '#libs/database';
import { EventStore } from '#libs/event-store';
import { Projections } from '#libs/projections';
import { Commands } from './commands.js';
import { RecordReader } from './record-reader.js';
import { Requests } from './requests.js';

/** Provides the foundation of commands and queries to all modules of the product. */
@Module({})
export class CommandsModule {
  static of(
    source: DataSource,
    reads: ReadSource,
    reserved: ReservedConnections,
    store: EventStore,
    projections: Projections,
    incidents: IncidentLog,
  ): DynamicModule {
    return {
      module: CommandsModule,
      global: true,
      providers: [
        { provide: DataSource, useValue: source },
        { provide: ReadSource, useValue: reads },
        { provide: ReservedConnections, useValue: reserved },
        { provide: EventStore, useValue: store },
        { provide: Projections, useValue: projections },
        { provide: IncidentLog, useValue: incidents },
        { provide: Commands, useValue: new Commands(store, projections) },
        { provide: RecordReader, useValue: new RecordReader(store, projections) },
        { provide: Requests, useValue: new Requests(store, projections) },
      ],
      exports: [
        DataSource,
        ReadSource,
        ReservedConnections,
        EventStore,
        Projections,
        IncidentLog,
        Commands,
        RecordReader,
        Requests,
      ],
    };
  }
}
