import { Module } from '@nestjs/common';
import { operationsModule } from '#libs/rpc';
import { ContactsTable } from './contacts.projection.js';
import * as operations from './operations.js';

const { controllers, providers = [] } = operationsModule(operations);

@Module({ controllers: controllers ?? [], providers: [...providers, ContactsTable] })
export class ContactsModule {}
