import { type Folded, unborn } from '#libs/event-store';
import { folding, type Replayable } from '#libs/projections';
import { recordSchema, textOrNull, timestamp } from '#libs/rpc';
import { organization, type Organization, standingOrganization } from './organization.js';
import { publicLog, publicLogId, type PublicLog } from './public-log.js';

export const organizationSchema = recordSchema({
  id: { type: 'string' },
  createdAt: timestamp,
  updatedAt: timestamp,
  name: { type: 'string' },
  website: textOrNull,
  email: textOrNull,
  country: textOrNull,
  publicLog: { type: 'boolean', description: 'Whether everybody may read `/log/…` of the organization.' },
});

export type OrganizationRecord = {
  id: string;
  createdAt: Date;
  updatedAt: Date;
  name: string;
  website: string | null;
  email: string | null;
  country: string | null;
  publicLog: boolean;
};

/** The organization out of its exported history. */
export const replayableOrganization: Replayable = {
  object: 'organization',
  streamTypes: [organization.streamType, publicLog.streamType],
  start() {
    const [records, logs] = [folding(organization), folding(publicLog)];
    return {
      apply: (event) => (event.streamType === publicLog.streamType ? logs : records).apply(event),
      *records() {
        for (const [id, folded] of records.all) {
          yield organizationRecord(id, folded, logs.all.get(publicLogId(id)) ?? unborn(publicLog));
        }
      },
    };
  },
};

/** The organization as the API answers it. @throws RpcError NOT_FOUND before it was created. */
export function organizationRecord(
  id: string,
  { state, createdAt, updatedAt }: Omit<Folded<Organization>, 'version'>,
  log: Omit<Folded<PublicLog>, 'version'>,
): OrganizationRecord {
  const { name, website, email, country } = standingOrganization(state);
  const changedAt = log.updatedAt && log.updatedAt > updatedAt! ? log.updatedAt : updatedAt!;
  const { isPublic } = log.state;
  return {
    id,
    createdAt: createdAt!,
    updatedAt: changedAt,
    name,
    website,
    email,
    country,
    publicLog: isPublic,
  };
}
