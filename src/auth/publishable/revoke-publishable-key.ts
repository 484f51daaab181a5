import { deleteHandler } from '#libs/resources';
import { Operation, RecordInput } from '#libs/rpc';
import { revokePublishableKey } from './publishable-key.js';
import { publishableKeyIdSchema, publishableKeys } from './publishable-keys.js';

@Operation({
  name: 'publishable-key.revoke-publishable-key',
  scope: 'api-key:write',
  summary: 'Revoke a publishable key',
  description: 'All instances reject the key within a second.',
  answers: publishableKeyIdSchema,
})
export class RevokePublishableKey extends RecordInput('publishableKeyId') {}

export const RevokePublishableKeyHandler = deleteHandler(
  RevokePublishableKey,
  publishableKeys,
  revokePublishableKey,
);
