import { Injectable, type OnModuleInit } from '@nestjs/common';
import { type Condition, linkedTo } from '#libs/projections';
import { type ContactGroup, ContactGroups } from '../contacts/index.js';
import { PetitionsTable, SIGNATURES_TABLE } from './petitions.projection.js';

/** Lets contacts be listed by the petition they signed. */
@Injectable()
export class Signers implements ContactGroup, OnModuleInit {
  constructor(
    private readonly groups: ContactGroups,
    private readonly petitions: PetitionsTable,
  ) {}

  onModuleInit(): void {
    this.groups.register('petitionId', this);
  }

  async members(organizationId: string, petitionId: string): Promise<Condition> {
    await this.petitions.require(organizationId, petitionId);
    return { sql: linkedTo(SIGNATURES_TABLE), value: petitionId };
  }
}
