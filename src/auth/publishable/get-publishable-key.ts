import { getHandler } from '#libs/resources';
import { Operation, PastInput } from '#libs/rpc';
import { publishableKeys, publishableKeySchema } from './publishable-keys.js';

@Operation({
  name: 'publishable-key.get-publishable-key',
  scope: 'api-key:read',
  summary: 'Retrieve a publishable key',
  answers: publishableKeySchema,
})
export class GetPublishableKey extends PastInput('publishableKeyId', 'key') {}

export const GetPublishableKeyHandler = getHandler(GetPublishableKey, publishableKeys);
