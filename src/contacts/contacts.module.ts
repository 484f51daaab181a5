import { Module } from '@nestjs/common';
import { operationsModule } from '#libs/rpc';
import { ContactGroups } from './contact-groups.js';
import { ContactsTable } from './contacts.projection.js';
import * as operations from './operations.js';

const { controllers, providers = [] } = operationsModule(operations);

@Module({
  controllers: controllers ?? [],
  providers: [...providers, ContactsTable, ContactGroups],
  exports: [ContactGroups],
})
export class ContactsModule {}
