import { Injectable } from '@nestjs/common';
import { Resources } from '#libs/resources';
import { type RequestContext } from '#libs/rpc';
import { type Filter, namesCustomFields, readFilter, requireNamed } from '../contacts/index.js';
import { CustomFields } from '../fields/index.js';

/** Reads the filters that clients send. */
@Injectable()
export class FilterReader {
  constructor(
    private readonly customFields: CustomFields,
    private readonly resources: Resources,
  ) {}

  /** @throws RpcError BAD_REQUEST naming the wrong part: see `readFilter`. */
  async read(organizationId: string, given: unknown): Promise<Filter> {
    const customFields = namesCustomFields(given) ? await this.customFields.definitions(organizationId) : [];
    return readFilter(given, customFields);
  }

  /** @throws as `requireNamed`. */
  requireNamed(filter: Filter, { organizationId, scopes }: RequestContext): Promise<void> {
    return requireNamed(filter, organizationId, scopes, this.resources);
  }
}
