import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Resources } from '#libs/resources';
import { SiteAddress } from '../organizations/index.js';
import { petitions } from './petitions.js';

/** The public URL of a petition's page. */
@Injectable()
export class PetitionAddress implements OnModuleInit {
  constructor(
    private readonly resources: Resources,
    private readonly site: SiteAddress,
  ) {}

  onModuleInit(): void {
    this.resources.completeBy(petitions, async (organizationId, records) => {
      for (const record of records)
        record.url = await this.of(organizationId, record.id, record as unknown as { slug: string | null });
    });
  }

  /** null if the operator has disabled the public site. */
  async of(
    organizationId: string,
    petitionId: string,
    { slug }: { slug: string | null },
  ): Promise<string | null> {
    const site = await this.site.of(organizationId);
    return site && `${site}/petitions/${slug ?? petitionId}`;
  }
}
