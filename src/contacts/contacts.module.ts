import { Module } from '@nestjs/common';
import { operationsModule } from '#libs/rpc';
import { ContactGroups } from './contact-groups.js';
import { ContactsByEmail } from './contacts-by-email.js';
import { ContactsTable } from './contacts.projection.js';
import * as operations from './operations.js';

const { controllers = [], providers = [] } = operationsModule(operations);
const forOthers = [ContactGroups, ContactsByEmail, ContactsTable];

@Module({ controllers, providers: [...providers, ...forOthers], exports: forOthers })
export class ContactsModule {}
