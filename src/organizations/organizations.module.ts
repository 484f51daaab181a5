import { Module } from '@nestjs/common';
import { CreateOrganizationHandler } from './create-organization.js';

@Module({ providers: [CreateOrganizationHandler] })
export class OrganizationsModule {}
