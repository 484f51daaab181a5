import { type Folded, initialState } from '#libs/event-store';
import { folding, type Replayable } from '#libs/projections';
import { type MailAddress } from '#libs/mail';
import { recordSchema, textOrNull, timestamp } from '#libs/rpc';
import { organization, type Organization, existingOrganization } from './organization.js';
import { publicLog, publicLogId, type PublicLog } from './public-log.js';
import { LANGUAGES, sender, type SenderFields, senderId } from './sender.js';

export const organizationSchema = recordSchema({
  id: { type: 'string' },
  createdAt: timestamp,
  updatedAt: timestamp,
  name: { type: 'string' },
  website: textOrNull,
  email: textOrNull,
  country: textOrNull,
  publicLog: { type: 'boolean', description: 'Whether everybody may read `/log/…` of the organization.' },
  mailFrom: {
    ...recordSchema({ name: textOrNull, address: { type: 'string', format: 'email' } }),
    type: ['object', 'null'],
    description: 'Who mail comes from; null: who the operator of this server says.',
  },
  replyTo: { ...textOrNull, description: 'Where answers to mail go; null: to whom it comes from.' },
  postalAddress: {
    ...textOrNull,
    description: 'Stands at the foot of mail to many; may have several lines.',
  },
  language: {
    type: 'string',
    enum: LANGUAGES,
    description: 'In which mail of the program itself is written.',
  },
  slug: { ...textOrNull, description: 'What the addresses of its pages begin with; null: its id.' },
  url: {
    ...textOrNull,
    description: 'Of its page; null where the operator has switched the public site off.',
  },
  colour: { ...textOrNull, description: 'Of its pages, as #rrggbb.' },
  imageId: { ...textOrNull, description: 'Its logo.' },
  privacyUrl: {
    ...textOrNull,
    description: 'Where people who sign read what becomes of what they say of themselves.',
  },
  mailHook: {
    ...textOrNull,
    description:
      'The path of this server at which mail providers report bounces and complaints; null for keys without ' +
      '`organization:write`. As it is now, also with `asOf`.',
  },
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
  mailFrom: MailAddress | null;
  replyTo: string | null;
  postalAddress: string | null;
  language: string;
  slug: string | null;
  url: string | null;
  colour: string | null;
  imageId: string | null;
  privacyUrl: string | null;
  mailHook: string | null;
};

/** The organization out of its exported history. */
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
 * The organization as the API answers it.
 *
 * @param server what only a server knows: `mailHook` for who may know it.
 * @throws RpcError NOT_FOUND before it was created.
 */
export function organizationRecord(
  id: string,
  { state, createdAt, updatedAt }: Omit<Folded<Organization>, 'version'>,
  log: Omit<Folded<PublicLog>, 'version'>,
  mail: Omit<Folded<SenderFields>, 'version'>,
  { mailHook, url }: Pick<OrganizationRecord, 'mailHook' | 'url'> = { mailHook: null, url: null },
): OrganizationRecord {
  const { name, website, email, country, slug, colour, imageId, privacyUrl } = existingOrganization(state);
  const { isPublic } = log.state;
  const { mailFrom, replyTo, postalAddress, language } = mail.state;
  const changes = [updatedAt!, log.updatedAt ?? updatedAt!, mail.updatedAt ?? updatedAt!];
  return {
    id,
    createdAt: createdAt!,
    updatedAt: new Date(Math.max(...changes.map(Number))),
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
    mailHook,
  };
}
