import { replayable } from '#libs/projections';
import { recordSchema, textOrNull, timestamp } from '#libs/rpc';
import { organization, type Organization, standingOrganization } from './organization.js';

export const organizationSchema = recordSchema({
  id: { type: 'string' },
  createdAt: timestamp,
  updatedAt: timestamp,
  name: { type: 'string' },
  website: textOrNull,
  email: textOrNull,
  country: textOrNull,
});

export type OrganizationRecord = {
  id: string;
  createdAt: Date;
  updatedAt: Date;
  name: string;
  website: string | null;
  email: string | null;
  country: string | null;
};

/** The organization out of its exported history. */
export const replayableOrganization = replayable('organization', organization, (id, _, folded) =>
  organizationRecord(id, folded),
);

/** The organization as the API answers it. @throws RpcError NOT_FOUND before it was created. */
export function organizationRecord(
  id: string,
  { state, createdAt, updatedAt }: { state: Organization; createdAt: Date | null; updatedAt: Date | null },
): OrganizationRecord {
  const { name, website, email, country } = standingOrganization(state);
  return { id, createdAt: createdAt!, updatedAt: updatedAt!, name, website, email, country };
}
