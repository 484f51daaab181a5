import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Resources } from '#libs/resources';
import { SiteAddress } from '../organizations/index.js';
import { posts } from './posts.js';

/** Adds the URL of a post's page to responses. */
@Injectable()
export class PostAddress implements OnModuleInit {
  constructor(
    private readonly resources: Resources,
    private readonly site: SiteAddress,
  ) {}

  onModuleInit(): void {
    this.resources.completeBy(posts, async (organizationId, records) => {
      const site = records.length > 0 ? await this.site.of(organizationId) : null;
      for (const record of records)
        record.url = site && `${site}/posts/${(record.slug as string | null) ?? record.id}`;
    });
  }
}
