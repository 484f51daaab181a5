import { Injectable } from '@nestjs/common';
import { RecordReader } from '#libs/commands';
import { PublicAddress } from '../config/index.js';
import { organization } from './organization.js';

/** Milliseconds for which an organization's slug is not asked for again: a former one leads to the page, too. */
const KNOWN_MS = 1_000;
/** Then all are forgotten. */
const MOST_KNOWN = 10_000;

/** Where the pages of an organization are. */
@Injectable()
export class SiteAddress {
  private readonly known = new Map<string, { name: string; until: number }>();

  constructor(
    private readonly records: RecordReader,
    private readonly address: PublicAddress,
  ) {}

  /** Without a slash at its end; null where the operator has switched the site off. */
  async of(organizationId: string): Promise<string | null> {
    if (!this.address.hasSite) return null;
    const known = this.known.get(organizationId);
    if (known && performance.now() < known.until) return `${this.address.url}/${known.name}`;
    const { state } = await this.records.look(organization, organizationId, organizationId);
    const name = (state.status === 'standing' ? state.slug : null) ?? organizationId;
    if (this.known.size >= MOST_KNOWN) this.known.clear();
    this.known.set(organizationId, { name, until: performance.now() + KNOWN_MS });
    return `${this.address.url}/${name}`;
  }

  /** As `of`, where the slug is known. */
  with(organizationId: string, slug: string | null): string | null {
    return this.address.hasSite ? `${this.address.url}/${slug ?? organizationId}` : null;
  }

  /** It has another one. */
  forget(organizationId: string): void {
    this.known.delete(organizationId);
  }
}
