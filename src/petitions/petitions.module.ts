import { Module } from '@nestjs/common';
import { operationsModule } from '#libs/rpc';
import { ContactsModule } from '../contacts/index.js';
import { OpenPetitions } from './open-petitions.js';
import * as operations from './operations.js';
import { PetitionsTable } from './petitions.projection.js';
import { Signers } from './signers.js';

const { controllers = [], providers = [] } = operationsModule(operations);

@Module({
  imports: [ContactsModule],
  controllers,
  providers: [...providers, PetitionsTable, OpenPetitions, Signers],
})
export class PetitionsModule {}
