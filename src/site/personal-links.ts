import { Injectable } from '@nestjs/common';
import { type Request } from 'express';
import { RecordReader } from '#libs/commands';
import { inputOf, OperationRunner } from '#libs/rpc';
import { type LinkedSigner, SignLinks } from '../broadcasts/index.js';
import { findMerged } from '../contacts/index.js';
import { SignFromEmail, Signers } from '../petitions/index.js';
import { addressOf, contextOf } from './signing.js';

/** The recipient of a personal link, as its page names them. */
export type PersonalSigner = { name: string; signatureId: string | undefined };

/** Personal links in broadcasts. Forged, expired and foreign ones, and those of erased contacts, lead to no one. */
@Injectable()
export class PersonalLinks {
  constructor(
    private readonly links: SignLinks,
    private readonly records: RecordReader,
    private readonly signers: Signers,
    private readonly runner: OperationRunner,
  ) {}

  /** @param petition the one in the link's address. */
  async read(
    token: string,
    petition: { organizationId: string; petitionId: string },
  ): Promise<LinkedSigner | undefined> {
    const link = await this.links.read(token);
    const isOfPetition =
      link?.organizationId === petition.organizationId && link.petitionId === petition.petitionId;
    return isOfPetition ? link : undefined;
  }

  async signer({ organizationId, petitionId, contactId }: LinkedSigner): Promise<PersonalSigner | undefined> {
    const found = await findMerged(this.records, organizationId, contactId);
    if (!found) return undefined;
    const { firstName, lastName, email } = found.state.details;
    const name = [firstName, lastName].filter((part) => part !== null).join(' ') || email;
    if (name === null) return undefined;
    const signer = { contactId: found.contactId, email };
    const signatureId = await this.signers.findOf(organizationId, petitionId, signer);
    return { name, signatureId };
  }

  /** Counts immediately, and once. @returns whether they have signed. */
  sign({ organizationId, ...link }: LinkedSigner, language: string, request: Request): Promise<boolean> {
    const fields = { ...link, language, clientAddress: addressOf(request) };
    return this.runner.execute(inputOf(SignFromEmail, fields, contextOf(request, organizationId)));
  }
}
