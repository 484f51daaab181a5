import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Resources } from '#libs/resources';
import { SiteAddress } from '../organizations/index.js';
import { petitions } from './petitions.js';

/** Where the page of a petition is. */
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

  /** null where the operator has switched the public site off. */
  async of(
    organizationId: string,
    petitionId: string,
    { slug }: { slug: string | null },
  ): Promise<string | null> {
    const site = await this.site.of(organizationId);
    return site && `${site}/petitions/${slug ?? petitionId}`;
  }
}
