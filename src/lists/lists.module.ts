import { Module } from '@nestjs/common';
import { operationsModule } from '#libs/rpc';
import { ContactsModule } from '../contacts/index.js';
import { ListsTable } from './lists.projection.js';
import { Members } from './members.js';
import * as operations from './operations.js';

const { controllers = [], providers = [] } = operationsModule(operations);

@Module({ imports: [ContactsModule], controllers, providers: [...providers, ListsTable, Members] })
export class ListsModule {}
