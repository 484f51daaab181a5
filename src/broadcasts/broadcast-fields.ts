import { type Resources } from '#libs/resources';
import { Flag, Ids, Input, Nested, OneOf, parseInput, requireScope, Text } from '#libs/rpc';
import { forEachKindOfContacts, kindsOfContacts } from '../contacts/index.js';
import { type Audience, audienceFields, type Format } from './broadcast.js';

const MAX_IDS = 1_000;
const MAX_CONTENT_BYTES = 256 * 1024;

class AudienceFilter {
  @Text({ max: 500, optional: true })
  country?: string;

  @Text({ max: 500, optional: true })
  city?: string;

  @Text({ max: 500, optional: true })
  zip?: string;
}

class AudienceInput {
  @Flag({ optional: true, description: 'Everyone who is subscribed.' })
  all?: boolean;

  @Ids({ max: MAX_IDS, optional: true, namesRecord: false, description: 'These contacts.' })
  contactIds?: string[];

  @Nested(() => AudienceFilter, {
    optional: true,
    description: 'Keeps only contacts that match these conditions.',
  })
  filter?: AudienceFilter;

  [recordIds: `${string}Ids`]: string[] | undefined;
}

forEachKindOfContacts(({ resource, members }) => {
  const { chosen, excluded } = audienceFields(resource.object);
  const choose = (field: string, description: string) => {
    Ids({ max: MAX_IDS, optional: true, description })(AudienceInput.prototype, field);
  };
  choose(chosen, `Contacts ${members}.`);
  choose(excluded, `Excludes contacts ${members}.`);
});

class AudienceOnly {
  @Nested(() => AudienceInput)
  audience!: AudienceInput;
}

/** The fields shared by create-broadcast and update-broadcast, all optional. */
export abstract class BroadcastFieldsInput extends Input {
  @Text({ max: 200, optional: true, example: 'News of the river, in May' })
  name?: string;

  @Text({
    max: 200,
    optional: true,
    description: 'Supports the same merge fields as the content. Default: the name.',
    example: 'The river is clean, {{ contact.firstName | default: "friend" }}',
  })
  subject?: string;

  @Text({
    max: 500,
    optional: true,
    nullable: true,
    description: 'The preview text that email programs show next to the subject.',
  })
  preheader?: string | null;

  @Text({
    max: MAX_CONTENT_BYTES,
    optional: true,
    description:
      'The message, with merge fields in Liquid: `{{ contact.firstName | default: "friend" }}`, `organization.…`, ' +
      '`unsubscribeUrl`, and `petition.…` if the audience is one petition’s or excludes one petition’s signers. Markup that is unsafe in email is ' +
      'removed.',
  })
  content?: string;

  @OneOf(['MARKDOWN', 'HTML'], { optional: true, documentedDefault: 'MARKDOWN' })
  format?: Format;

  @Nested(() => AudienceInput, {
    optional: true,
    description:
      'The recipients: every contact selected by `all`, by `contactIds` or by one of the other lists of IDs, once each, ' +
      'unless an `exclude…` field excludes them. Contacts that are unsubscribed, suppressed, erased or without an ' +
      'address are always left out. Default: no one.',
  })
  audience?: AudienceInput;

  @Flag({
    optional: true,
    description:
      'Counts how often each link is followed, without recording by whom: links that are the same for everyone lead through this server. ' +
      'Default: false.',
  })
  countClicks?: boolean;
}

/** Choosing recipients by a list or petition reveals who is on it. @throws RpcError INSUFFICIENT_PERMISSIONS, NOT_FOUND */
export async function checkAudience(
  {
    organizationId,
    context,
    audience,
  }: Pick<BroadcastFieldsInput, 'organizationId' | 'context' | 'audience'>,
  resources: Pick<Resources, 'require'>,
): Promise<void> {
  if (!audience) return;
  for (const resource of kindsOfContacts()) {
    const { chosen, excluded } = audienceFields(resource.object);
    const ids = [...(audience[chosen] ?? []), ...(audience[excluded] ?? [])];
    if (ids.length > 0) requireScope(context.scopes, `${resource.object}:read`, 'audience');
    await Promise.all(ids.map((id) => resources.require(resource, organizationId, id)));
  }
}

/**
 * Reads an audience that is not part of a broadcast.
 *
 * @throws RpcError BAD_REQUEST, and as `checkAudience`.
 */
export async function readAudience(
  { organizationId, context }: Pick<BroadcastFieldsInput, 'organizationId' | 'context'>,
  given: unknown,
  resources: Pick<Resources, 'require'>,
): Promise<Audience> {
  const { audience } = parseInput(AudienceOnly, { audience: given }, 'body');
  await checkAudience({ organizationId, context, audience }, resources);
  return audienceOf(audience);
}

/** Converts the input to plain JSON, as it is stored. */
export function audienceOf(audience: AudienceInput): Audience {
  return JSON.parse(JSON.stringify(audience)) as Audience;
}
