import { changeHandler } from '#libs/resources';
import { Operation, RecordInput, Text } from '#libs/rpc';
import { updatePublishableKey } from './publishable-key.js';
import { Origins, publishableKeys, publishableKeySchema } from './publishable-keys.js';

@Operation({
  name: 'publishable-key.update-publishable-key',
  scope: 'api-key:write',
  summary: 'Update a publishable key',
  description: 'Changes only the fields you send. Within a second, the key works only on the new `origins`.',
  answers: publishableKeySchema,
})
export class UpdatePublishableKey extends RecordInput('publishableKeyId') {
  @Text({ max: 200, optional: true, example: 'Website' })
  name?: string;

  @Origins({ optional: true })
  origins?: string[];
}

export const UpdatePublishableKeyHandler = changeHandler(
  UpdatePublishableKey,
  publishableKeys,
  (state, { name, origins }) =>
    updatePublishableKey(state, { ...(name !== undefined && { name }), ...(origins && { origins }) }),
);
