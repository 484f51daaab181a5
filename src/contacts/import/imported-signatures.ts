import { Injectable } from '@nestjs/common';
import { Commands, RecordReader } from '#libs/commands';
import { type LinkDetails, type Resource } from '#libs/resources';
import { type RequestContext } from '#libs/rpc';
import { ImportedLinks } from './imported-links.js';
import { type SignedRow } from './signed-rows.js';

export type Signing = {
  petitionId: string;
  /** Whether contacts that exist with other details keep them and sign. */
  keepsDetails: boolean;
  /** The id of a line's signature. It is the same in each attempt. */
  signatureIdOf(this: void, line: number): string;
};

/** A line whose contact exists. `signatureId`: of the signature that the line adds. */
export type Signer = { contactId: string; isNew: boolean; signatureId: string; signature: SignedRow };

/** What petitions declare about their signatures. */
type Signable = {
  resource: Resource;
  /** @throws RpcError CONFLICT if the petition in this state accepts no imported signatures. */
  requireImportable(this: void, state: object): void;
  /** What is stored with a signature. */
  detailsOf(this: void, row: SignedRow): Omit<LinkDetails, 'linkId'>;
};
let signable: Signable | undefined;

/** Lets imports add signatures. Call it where petitions are declared, before the first request. */
export function importSignaturesOf(petitions: Signable): void {
  signable = petitions;
}

function petitions(): Signable {
  if (!signable) throw new Error('No module has signatures.');
  return signable;
}

@Injectable()
export class ImportedSignatures {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly links: ImportedLinks,
  ) {}

  /** @throws RpcError NOT_FOUND if the petition does not exist, CONFLICT if it accepts no imported signatures. */
  async require(organizationId: string, petitionId: string): Promise<void> {
    const { resource, requireImportable } = petitions();
    const { state } = await this.records.load(resource.decider, organizationId, petitionId);
    requireImportable(resource.existing(state));
  }

  /**
   * Adds the signatures of a page. A contact that signed before keeps that signature.
   *
   * @returns the ids of the signatures that these lines added, in this attempt or in an earlier one.
   */
  async add(
    context: RequestContext,
    petitionId: string,
    signers: readonly Signer[],
  ): Promise<ReadonlySet<string>> {
    const { resource, detailsOf } = petitions();
    const details = new Map<string, LinkDetails>();
    for (const { contactId, signatureId, signature } of signers) {
      // Of several lines of a person, the first one counts.
      if (!details.has(contactId)) details.set(contactId, { ...detailsOf(signature), linkId: signatureId });
    }
    const isNew = new Set(signers.flatMap((one) => (one.isNew ? [one.contactId] : [])));
    const adding = { isNew: (contactId: string) => isNew.has(contactId), details };
    if (details.size > 0)
      await this.links.add(context, { resource, id: petitionId }, [...details.keys()], adding);
    const found = await this.findSignatures(context.organizationId, petitionId, [...details.keys()]);
    return new Set(found.filter((id) => id !== undefined));
  }

  /** The contacts among these that have signed. */
  async findSigners(
    organizationId: string,
    petitionId: string,
    contactIds: readonly string[],
  ): Promise<ReadonlySet<string>> {
    const signatures = await this.findSignatures(organizationId, petitionId, contactIds);
    return new Set(contactIds.filter((_, n) => signatures[n] !== undefined));
  }

  private findSignatures(organizationId: string, petitionId: string, contactIds: readonly string[]) {
    const { link } = petitions().resource;
    const keys = contactIds.map((contactId) => link!.keyOf(petitionId, contactId));
    return this.commands.findOwners(organizationId, keys);
  }
}
