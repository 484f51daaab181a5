import { Injectable } from '@nestjs/common';
import { RecordReader } from '#libs/commands';
import { PublicAddress } from '../config/index.js';
import { organization } from './organization.js';

/** How long a slug is cached, in milliseconds. A previous slug also leads to the page. */
const CACHE_MS = 1_000;
/** When the cache is full, it is cleared. */
const MAX_CACHED = 10_000;

/** The URLs of organizations' pages. */
@Injectable()
export class SiteAddress {
  private readonly known = new Map<string, { name: string; until: number }>();

  constructor(
    private readonly records: RecordReader,
    private readonly address: PublicAddress,
  ) {}

  /** Without a trailing slash; null if the operator has disabled the site. */
  async of(organizationId: string): Promise<string | null> {
    if (!this.address.hasSite) return null;
    const known = this.known.get(organizationId);
    if (known && performance.now() < known.until) return `${this.address.url}/${known.name}`;
    const { state } = await this.records.look(organization, organizationId, organizationId);
    const name = (state.status === 'standing' ? state.slug : null) ?? organizationId;
    if (this.known.size >= MAX_CACHED) this.known.clear();
    this.known.set(organizationId, { name, until: performance.now() + CACHE_MS });
    return `${this.address.url}/${name}`;
  }

  /** Like `of`, for a known slug. */
  with(organizationId: string, slug: string | null): string | null {
    return this.address.hasSite ? `${this.address.url}/${slug ?? organizationId}` : null;
  }

  /** Drops a slug from the cache after it changed. */
  forget(organizationId: string): void {
    this.known.delete(organizationId);
  }
}
