import { Module } from '@nestjs/common';
import { operationsModule } from '#libs/rpc';
import { CreateOrganizationHandler } from './create-organization.js';
import * as operations from './operations.js';

const { controllers = [], providers = [] } = operationsModule(operations);

// Organizations are made on the command line: that handler has no route.
@Module({ controllers, providers: [...providers, CreateOrganizationHandler] })
export class OrganizationsModule {}
