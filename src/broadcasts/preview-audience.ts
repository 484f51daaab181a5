import { RecordReader } from '#libs/commands';
import { Projections } from '#libs/projections';
import { Resources } from '#libs/resources';
import { handlerOf, Id, Input, jsonIn, Operation, recordSchema, Text } from '#libs/rpc';
import { DataSource } from 'typeorm';
import { Suppressions } from '../suppressions/index.js';
import { EXCLUSIONS, type Exclusion, reachOf } from './audience.js';
import { readAudience } from './broadcast-fields.js';
import { type Audience, broadcast, existingBroadcast } from './broadcast.js';

/** More than the ids of each kind that an audience can have. */
const MAX_AUDIENCE_CHARACTERS = 500_000;

const WHY: Record<Exclusion, string> = {
  duplicate:
    'Selected more than once, for example by several lists. Every selection after the first is counted.',
  unknown: 'Not a contact, or no longer one.',
  excluded: 'On an excluded list, or a signer of an excluded petition.',
  filtered: 'Does not match `filter`.',
  unsubscribed: 'Not `subscribed`.',
  withoutAddress: 'Has no email address that mail can be sent to.',
  suppressed: 'Has a suppressed address.',
};

@Operation({
  name: 'broadcast.preview-audience',
  summary: 'Count the recipients of a broadcast',
  description:
    'Returns exact current numbers for a broadcast, or for an audience that you have not saved. `total` contacts would ' +
    'receive the broadcast. `excluded` counts all other selected contacts once each, by the first reason that applies.',
  answers: recordSchema({
    broadcastId: { type: ['string', 'null'] },
    total: { type: 'integer' },
    excluded: recordSchema(
      Object.fromEntries(EXCLUSIONS.map((one) => [one, { type: 'integer', description: WHY[one] }])),
    ),
  }),
  exactlyOne: ['broadcastId', 'audience'],
  fieldScopes: { audience: 'contact:read' },
})
export class PreviewAudience extends Input {
  @Id({ optional: true, description: 'Either this or `audience` is required.' })
  broadcastId?: string;

  @Text({
    max: MAX_AUDIENCE_CHARACTERS,
    optional: true,
    description: 'An audience as JSON, with the fields of create-broadcast.',
  })
  audience?: string;
}

export const PreviewAudienceHandler = handlerOf(
  PreviewAudience,
  [DataSource, Projections, Suppressions, RecordReader, Resources],
  async (query, source, projections, suppressions, records, resources) => {
    const { organizationId, broadcastId = null } = query;
    const audience = await audienceOf(query, records, resources);
    const { total, excluded } = await reachOf(source, projections, suppressions, organizationId, audience);
    return { broadcastId, total, excluded };
  },
);

async function audienceOf(
  { organizationId, context, broadcastId, audience }: PreviewAudience,
  records: RecordReader,
  resources: Resources,
): Promise<Audience> {
  if (broadcastId === undefined)
    return readAudience({ organizationId, context }, jsonIn('audience', audience!), resources);
  const { state } = await records.look(broadcast, organizationId, broadcastId);
  return existingBroadcast(state).audience;
}
