import { Injectable } from '@nestjs/common';
import { timingSafeEqual } from 'node:crypto';
import { DataSource } from 'typeorm';
import { RecordReader } from '#libs/commands';
import { EventStore } from '#libs/event-store';
import { contact } from '../contacts/index.js';
import { petitions, signature } from './petitions.js';

/** 64 bits: guessing one takes a request for each attempt. */
const MAC = 8;
const ID = 16;
/** Larger numbers are not counted further. */
export const MOST_COUNTED = 10_000;

/** Signatures that share links of other signers brought. */
@Injectable()
export class Recruiting {
  constructor(
    private readonly source: DataSource,
    private readonly records: RecordReader,
    private readonly store: EventStore,
  ) {}

  /**
   * The token in a signer's share link: 32 characters, always the same. It reveals nothing: the id of the signature, which contains
   * its time, is masked by a hash that depends on all of it.
   */
  tokenOf(petitionId: string, signatureId: string): string {
    const id = Buffer.from(signatureId.replaceAll('-', ''), 'hex');
    const mac = this.macOf(petitionId, id);
    return Buffer.concat([mac, this.masked(petitionId, mac, id)]).toString('base64url');
  }

  /** The signature whose link contains the token; null if it is not of this petition, or was not issued here. */
  readToken(petitionId: string, token: unknown): string | null {
    if (typeof token !== 'string' || !/^[\w-]{32}$/.test(token)) return null;
    const bytes = Buffer.from(token, 'base64url');
    const mac = bytes.subarray(0, MAC);
    const id = this.masked(petitionId, mac, bytes.subarray(MAC));
    if (!timingSafeEqual(mac, this.macOf(petitionId, id))) return null;
    return id.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  }

  /**
   * The recruiter of a signature; null if their own signature is no longer valid, if they were erased, or if they are the signer.
   *
   * @param via the signature whose link was used.
   */
  async recruiterOf(
    organizationId: string,
    petitionId: string,
    { via, signerId }: { via: string | null; signerId: string },
  ): Promise<string | null> {
    if (via === null) return null;
    const { state } = await this.records.load(signature.decider, organizationId, via);
    if (state.status !== 'standing' || state.recordId !== petitionId || state.subjectId === signerId)
      return null;
    const recruiter = await this.records.load(contact, organizationId, state.subjectId);
    return recruiter.state.status === 'standing' ? via : null;
  }

  /** The number of valid signatures that a signer's link brought, up to {@link MOST_COUNTED}. */
  async count(organizationId: string, signatureId: string): Promise<number> {
    const [row] = await this.source.query<{ signatures: number }[]>(
      `SELECT count(*)::int AS signatures FROM (
         SELECT FROM ${petitions.linkTable!} WHERE organization_id = $1 AND via = $2 AND ended_at IS NULL
         LIMIT ${MOST_COUNTED}
       ) recruited`,
      [organizationId, signatureId],
    );
    return row!.signatures;
  }

  private macOf(petitionId: string, id: Buffer): Buffer {
    return this.store.keyring.hash('recruiter', petitionId, id.toString('hex')).subarray(0, MAC);
  }

  /** Applied twice, it returns what it was given. */
  private masked(petitionId: string, mac: Buffer, bytes: Buffer): Buffer {
    const mask = this.store.keyring.hash('recruiter mask', petitionId, mac.toString('hex')).subarray(0, ID);
    return Buffer.from(bytes.map((byte, n) => byte ^ mask[n]!));
  }
}
