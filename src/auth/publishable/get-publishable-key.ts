import { getHandler } from '#libs/resources';
import { Id, Input, Operation, Timestamp } from '#libs/rpc';
import { publishableKeys, publishableKeySchema } from './publishable-keys.js';

@Operation({
  method: 'GET',
  name: 'publishable-key.get-publishable-key',
  scope: 'api-key:read',
  object: 'publishable-key',
  summary: 'Retrieve a publishable key',
  answers: publishableKeySchema,
})
export class GetPublishableKey extends Input {
  @Id()
  publishableKeyId!: string;

  @Timestamp({ optional: true, description: 'Returns the key as it was at this time.' })
  asOf?: string;
}

export const GetPublishableKeyHandler = getHandler(GetPublishableKey, publishableKeys);
