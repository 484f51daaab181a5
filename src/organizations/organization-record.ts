import { type Folded, initialState } from '#libs/event-store';
import { folding, type Replayable } from '#libs/projections';
import { type MailAddress } from '#libs/mail';
import { recordSchema, recordVersion, textOrNull, timestamp } from '#libs/rpc';
import { organization, type Organization, existingOrganization } from './organization.js';
import { publicLog, publicLogId, type PublicLog } from './public-log.js';
import { LANGUAGES, sender, type SenderFields, senderId } from './sender.js';

export const organizationSchema = recordSchema({
  id: { type: 'string' },
  createdAt: timestamp,
  updatedAt: timestamp,
  version: recordVersion,
  name: { type: 'string' },
  website: textOrNull,
  email: textOrNull,
  country: textOrNull,
  publicLog: { type: 'boolean', description: "Whether anyone can read the organization's `/log/…`." },
  mailFrom: {
    ...recordSchema({ name: textOrNull, address: { type: 'string', format: 'idn-email' } }),
    type: ['object', 'null'],
    description: 'The sender of email. If null, the operator of the server sets it.',
  },
  replyTo: { ...textOrNull, description: 'The reply address of email. If null, replies go to the sender.' },
  postalAddress: {
    ...textOrNull,
    description: 'Appears at the bottom of bulk email. Can have several lines.',
  },
  language: {
    type: 'string',
    enum: LANGUAGES,
    description: 'The language of email that the server itself writes.',
  },
  slug: { ...textOrNull, description: 'The first part of the path of its pages; null: its id.' },
  url: {
    ...textOrNull,
    description: 'The URL of its page; null if the operator has disabled the public site.',
  },
  colour: { ...textOrNull, description: 'The accent colour of its pages, as #rrggbb.' },
  imageId: { ...textOrNull, description: 'Its logo.' },
  privacyUrl: {
    ...textOrNull,
    description: 'The URL of the privacy policy for people who sign.',
  },
  timeZone: {
    type: 'string',
    description: 'The IANA name of the time zone of its pages, like `Europe/Berlin`.',
  },
  mailHook: {
    ...textOrNull,
    description:
      'The path on this server at which email providers report bounces and complaints. Null for keys without ' +
      '`organization:write`. With `asOf`, this is still the current path.',
  },
});

export type OrganizationRecord = {
  id: string;
  createdAt: Date;
  updatedAt: Date;
  version: number;
  name: string;
  website: string | null;
  email: string | null;
  country: string | null;
  publicLog: boolean;
  mailFrom: MailAddress | null;
  replyTo: string | null;
  postalAddress: string | null;
  language: (typeof LANGUAGES)[number];
  slug: string | null;
  url: string | null;
  colour: string | null;
  imageId: string | null;
  privacyUrl: string | null;
  timeZone: string;
  mailHook: string | null;
};

export const replayableOrganization: Replayable = {
  object: 'organization',
  streamTypes: [organization.streamType, publicLog.streamType, sender.streamType],
  start() {
    const [records, logs, senders] = [folding(organization), folding(publicLog), folding(sender)];
    const beside = new Map<string, Pick<typeof records, 'apply'>>([
      [publicLog.streamType, logs],
      [sender.streamType, senders],
    ]);
    return {
      apply: (event) => (beside.get(event.streamType) ?? records).apply(event),
      *records() {
        for (const [id, folded] of records.all) {
          yield organizationRecord(
            id,
            folded,
            logs.all.get(publicLogId(id)) ?? initialState(publicLog),
            senders.all.get(senderId(id)) ?? initialState(sender),
          );
        }
      },
    };
  },
};

/**
 * The organization as the API returns it.
 *
 * @param server values that are not in the history: `mailHook`, if the caller can see it.
 * @throws RpcError NOT_FOUND before it was created.
 */
export function organizationRecord(
  id: string,
  { state, version, createdAt, updatedAt }: Folded<Organization>,
  log: Folded<PublicLog>,
  mail: Folded<SenderFields>,
  { mailHook, url }: Pick<OrganizationRecord, 'mailHook' | 'url'> = { mailHook: null, url: null },
): OrganizationRecord {
  const { name, website, email, country, slug, colour, imageId, privacyUrl, timeZone } =
    existingOrganization(state);
  const { isPublic } = log.state;
  const { mailFrom, replyTo, postalAddress, language } = mail.state;
  const changes = [updatedAt!, log.updatedAt ?? updatedAt!, mail.updatedAt ?? updatedAt!];
  return {
    id,
    createdAt: createdAt!,
    updatedAt: new Date(Math.max(...changes.map(Number))),
    // Each change of it changes one or more of its three streams.
    version: version + log.version + mail.version,
    name,
    website,
    email,
    country,
    publicLog: isPublic,
    mailFrom,
    replyTo,
    postalAddress,
    language,
    slug,
    url,
    colour,
    imageId,
    privacyUrl,
    timeZone,
    mailHook,
  };
}
